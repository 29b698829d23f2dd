# SPDX-License-Identifier: GPL-2.0
"""What goes wrong between two hosts: links, connections, hosts, frames, modules."""
from suite import test
from traffic import A, B, Flows, exact

LOAD = "--flows 16 --max-payload 8192"


@test(vms=2)
def link_goes_down(t):
    """Six times the link is down for half a second under traffic: nothing lost, all in order."""
    flows = Flows(t, t.a, A, t.b, B, LOAD)
    for _ in range(6):
        flows.wait_progress()
        t.b.check("ip link set eth0 down; sleep 0.5; ip link set eth0 up")
    flows.wait_progress()
    t.note(exact(flows.stop()))
