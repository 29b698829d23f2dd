# SPDX-License-Identifier: GPL-2.0
"""Connections over InfiniBand that nobody uses go, with their rings; whoever uses them does not
notice."""
from adapter import PATIENT
from ib_rdma_traffic import Owner, nothing_pinned
from ib_traffic import queue_pairs
from quiet import all_collected, forgotten_by_one, gone, impatient, messages_in_between
from suite import test
from traffic import A, B, Flows, counters, exact, ping, unavailable

SMP = 2  # completions, worker and process of one host at the same time
IB = PATIENT
NEW_GUESTS = True  # it measures memory
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand


@test(vms=2, only="ours")
def collected(t):
    """Both hosts forget a connection that ended in order, IPv4 and IPv6, and make it again."""
    def nothing_left(machine):
        assert not queue_pairs(t, machine)
    all_collected(t, "infiniband", nothing_left)


@test(vms=2, only="ours", timeout=180, extra=True)
def nobody_notices(t):
    """Messages that come just when a connection is about to go: exactly once, in order."""
    messages_in_between(t, 3)


@test(vms=2, only="ours", timeout=240, extra=True)
def memory_is_reached(t):
    """Operations, and silent ones of which the memory's host sees nothing: each is carried out and
    told of once, however often its connection has gone."""
    impatient(t.a, t.b, ms=1)
    Owner(t, t.b, B, A, "--idle").tap(t.a, "check")
    for machine in (t.a, t.b):
        gone(machine, "infiniband")
        nothing_pinned(t, machine)
    ended = sum(counters(t, m)["conn_collected"] for m in t.vms)
    assert ended > 20, f"{ended} connections"
    t.note(f"{ended} connections collected")


@test(vms=2, only="ours")
def one_host_forgets(t):
    """The other keeps its connection: the numbers that it remembers are not the new ones'."""
    forgotten_by_one(t, "infiniband")


@test(vms=2, only="ours")
def quiet_ones_are_small(t):
    """Each type of service is a connection, and has few buffers while little comes. (Soft-RoCE's
    queues take most of what is measured; with all its buffers one took 5 MiB.)"""
    many = 40
    ping(t, t.a, A, B)  # what is made once
    before = [unavailable(m) for m in t.vms]
    for tos in range(1, many + 1):
        ping(t, t.a, A, B, count=1, options=f"-Q {tos}")
    each = [(unavailable(m) - was) // many for m, was in zip(t.vms, before)]
    t.note(f"{each[0]} and {each[1]} KiB a connection")
    assert max(each) < 2000, each
    assert len(queue_pairs(t, t.a)) == many + 1


@test(vms=2, only="ours")
def newcomers_find_buffers(t):
    """A stream takes what there is, but for a quarter: that is for connections which have none. The
    stream's sender, to whom acknowledgements come, has few however often its slots have gone round.
    """
    for machine in t.vms:
        machine.check("cd /proc/sys/net/rds/ib && echo 256 >max_recv_allocation &&"
                      " echo 256 >max_recv_wr")
    stream = Flows(t, t.a, A, t.b, B, "--flows 16")
    while counters(t, t.a)["ib_rx_frames"] < 300:
        stream.wait_progress()
    for tos in (1, 2):
        ping(t, t.b, B, A, options=f"-Q {tos}")
    t.note(exact(stream.stop()))
