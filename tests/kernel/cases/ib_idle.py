# SPDX-License-Identifier: GPL-2.0
"""Connections over InfiniBand that nobody uses go, with their rings; whoever uses them does not
notice."""
from adapter import PATIENT
from ib_rdma_traffic import Owner, nothing_pinned
from ib_traffic import queue_pairs
from suite import test
from traffic import A, A6, B, B6, Flows, counters, exact, ping

SMP = 2  # completions, worker and process of one host at the same time
IB = PATIENT
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand
IDLE_MS = 200


def impatient(*machines):
    for machine in machines:
        machine.check(f"sysctl -qw net.rds.idle_timeout_ms={IDLE_MS}")


def gone(machine):
    """Until no connection over an adapter is left."""
    machine.wait_until("! grep -qw infiniband /proc/net/rds/paths")


@test(vms=2, only="ours")
def collected(t):
    """Both hosts forget a connection that ended in order, IPv4 and IPv6, and make it again."""
    impatient(t.a, t.b)
    for own, other in ((A, B), (A6, B6), (A, B)):
        ping(t, t.a, own, other)
        for machine in (t.a, t.b):
            gone(machine)
            assert not queue_pairs(t, machine)
    for machine in (t.a, t.b):
        now = counters(t, machine)
        assert now["conn_collected"] == 3 and not now["conn_drain_timeout"], now
        assert not now["conn_reset"], now
    assert sum(counters(t, m)["conn_idle"] for m in (t.a, t.b)) >= 3


@test(vms=2, only="ours", timeout=180)
def nobody_notices(t):
    """Messages that come just when a connection is about to go: exactly once, in order."""
    impatient(t.a, t.b)
    flows = Flows(t, t.a, A, t.b, B, "--flows 4", send_options="--rate 4 --drain 15")
    for _ in range(600):
        flows.wait_progress(1)
        if counters(t, t.b)["conn_collected"] >= 3:
            break
    else:
        raise AssertionError("it was never idle for long enough")
    t.note(exact(flows.stop()))
    t.note(f"{counters(t, t.a)['conn_collected']} and {counters(t, t.b)['conn_collected']}"
           " connections collected")


@test(vms=2, only="ours", timeout=240)
def memory_is_reached(t):
    """Operations, and silent ones of which the memory's host sees nothing: each is carried out and
    told of once, however often its connection has gone."""
    t.a.check("sysctl -qw net.rds.idle_timeout_ms=1")
    t.b.check("sysctl -qw net.rds.idle_timeout_ms=1")
    Owner(t, t.b, B, A).tap(t.a, "check")
    for machine in (t.a, t.b):
        gone(machine)
        nothing_pinned(t, machine)
    ended = counters(t, t.b)["conn_collected"]
    assert ended > 1, "no connection was idle in between"
    t.note(f"{ended} connections collected")


@test(vms=2, only="ours")
def one_host_forgets(t):
    """The other keeps its connection: the numbers that it remembers are not the new ones'."""
    impatient(t.a)
    ping(t, t.b, B, A)  # or we would be a stranger, whom nobody remembers
    for _ in range(3):
        ping(t, t.a, A, B)
        gone(t.a)
    now = counters(t, t.b)
    assert now["conn_collected"] == 0 and now["recv_drop_old_seq"] == 0, now
