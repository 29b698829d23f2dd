# SPDX-License-Identifier: GPL-2.0
"""An address fails over again and again, every other second, under messages both ways and RDMA: to the
other port of a bond, and to another adapter, as an administrator's script does it."""
import contextlib
import time

from ib_rdma_traffic import Storm, nothing_pinned
from ib_traffic import LOAD, STEADY
from suite import test
from traffic import A, B, Flows, counters, exact, soon

SMP = 2
IB = True
KERNELS = ["6.1", "6.12", "7.2"]

FIXED, MOVING = "10.99.0.1", "10.99.0.2"  # of a, and of b
CABLES = ("g0", "g1")
FEW, A_MINUTES = 4, 30  # times
EVERY = 2.0  # s
BACK = 2.0  # s: quiet guests take 0.2, and up to 4.8 where their adapters have to notice
TRACING = "/sys/kernel/tracing"


def all_of(commands):
    return " && ".join(commands)


@contextlib.contextmanager
def two_cables(t):
    """Two tunnels between the hosts, which end in a's switch: one network for both ends of b."""
    for machine, me, peer in ((t.a, A, B), (t.b, B, A)):
        machine.check(all_of(f"ip link add {cable} type gretap local {me} remote {peer} key {key}"
                             f" && ip link set {cable} up" for key, cable in enumerate(CABLES, 1)))
    t.a.check("ip link add br0 type bridge && ip link set br0 up && "
              + all_of(f"ip link set {cable} master br0" for cable in CABLES)
              + f" && ip addr add {FIXED}/24 dev br0 && rdma link add rxe1 type rxe netdev br0")
    yield
    t.a.check("rdma link del rxe1 && ip link del br0")
    for machine in (t.a, t.b):
        machine.check(all_of(f"ip link del {cable}" for cable in CABLES))


def fails_over(t, move, times):
    """move(0) and move(1) in turn: messages are exact and back soon, and operations told truly. How
    often either host took note."""
    flows = [Flows(t, *ends, LOAD, send_options=STEADY, timeout=350)
             for ends in ((t.a, FIXED, t.b, MOVING), (t.b, MOVING, t.a, FIXED))]
    storm = Storm(t, t.a, FIXED, t.b, MOVING)
    for one in (*flows, storm):
        one.wait_progress()
    for nth in range(1, times + 1):
        due = time.monotonic() + EVERY
        move(nth % 2)
        for flow in flows:
            flow.wait_progress()
        time.sleep(max(0.0, due - time.monotonic()))
    storm.wait_progress()
    storm.stop(faults=times)
    for flow in flows:
        t.note(exact(flow.stop(), gap=soon(t, BACK)))
    noticed = [counters(t, machine)["ib_address_moved"] for machine in t.vms]
    t.note(f"noticed {noticed[0]} times at a, {noticed[1]} times at b")
    assert noticed[1] >= times, noticed
    for machine in t.vms:
        nothing_pinned(t, machine)
    return noticed


@contextlib.contextmanager
def nobody_is_asked(t, times):
    """a has heard nothing, and lets b's calls in at once: they prove that the connection is over."""
    t.a.check(f"mountpoint -q {TRACING} || mount -t tracefs none {TRACING}")
    t.a.check(f"echo 1 >{TRACING}/events/rds/rds_path_event/enable")
    yield
    said = t.a.check(f"cat {TRACING}/trace; echo 0 >{TRACING}/events/rds/rds_path_event/enable;"
                     f" echo >{TRACING}/trace")
    at_once, asked = (said.count(f"accepted in up -> {state}") for state in ("down", "up"))
    assert at_once >= times // 2, f"{at_once} let in at once, {asked} were to wait"


def bond(t, times):
    """b's cables are a bond, one of them active and one a spare, which change places."""
    def move(to):
        t.b.check(f"ip link set bond1 type bond active_slave {CABLES[to]}")
    with two_cables(t):
        t.b.check("ip link add bond1 type bond mode active-backup && ip link set bond1 up && "
                  + all_of(f"ip link set {cable} down && ip link set {cable} master bond1"
                           for cable in CABLES)
                  + f" && ip addr add {MOVING}/24 dev bond1"
                  " && rdma link add rxe1 type rxe netdev bond1")
        move(0)
        with nobody_is_asked(t, times):
            fails_over(t, move, times)
        t.b.check("rdma link del rxe1 && ip link del bond1")


@test(vms=2, only="ours", timeout=240)
def a_bond(t):
    """A bond fails over a few times: messages are exact, back soon, and operations told truly."""
    bond(t, FEW)


@test(vms=2, only="ours", timeout=400, extra=True)
def by_bonding(t):
    """The same for a minute."""
    bond(t, A_MINUTES)


@test(vms=2, only="ours", timeout=400, extra=True, kernels=["6.1"])
def by_script(t):
    """Each of b's cables has an adapter; the address goes from one to the other, and says so."""
    # In 6.12 soft-RoCE's queue pair 1 stands still for good when an address leaves its adapter, and
    # a packet of IPv6 that comes for an address that has left takes the kernel down.
    def move(to):
        t.b.check(f"ip addr del {MOVING}/24 dev {CABLES[1 - to]};"
                  f" ip addr add {MOVING}/24 dev {CABLES[to]} && "
                  f"/run/busybox arping -q -U -c 1 -I {CABLES[to]} {MOVING}")
    with two_cables(t):
        t.b.check(all_of(f"rdma link add rxe{nth} type rxe netdev {cable}"
                         for nth, cable in enumerate(CABLES, 1)))
        move(0)
        noticed = fails_over(t, move, A_MINUTES)
        assert noticed[0] >= A_MINUTES // 2, "a hears of it by b's calls alone"
        t.b.check(f"ip addr del {MOVING}/24 dev {CABLES[0]} && rdma link del rxe1 && rdma link del rxe2")
