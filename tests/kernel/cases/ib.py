# SPDX-License-Identifier: GPL-2.0
"""Two hosts over InfiniBand (soft-RoCE on their network interface), ours with ours and mainline."""
import json

from suite import test
from traffic import A, A6, B, B6, Flows, exact, paths, ping

IB = True
KERNELS = ["6.1", "6.12", "7.2"]  # the debug kernels have no InfiniBand

MIXED = "--flows 16"  # lengths from 0 to 64 KiB


def over_ib(t, machine):
    """All of a host's paths go over InfiniBand, and one is up."""
    found = paths(t, machine)
    assert found and all(p["transport"] == "infiniband" for p in found), found
    return found


@test(vms=2)
def pings(t):
    """Pings both ways, IPv4 and IPv6; rds-info shows that they went over InfiniBand."""
    for source, target in ((A, B), (A6, B6)):
        ping(t, t.a, source, target)
        ping(t, t.b, target, source)
    t.note(json.dumps(over_ib(t, t.a)))
