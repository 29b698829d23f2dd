# SPDX-License-Identifier: GPL-2.0
"""RDMA and atomic operations between two hosts of ours (soft-RoCE)."""
import filters
from ib_rdma_traffic import Owner, Storm, example, lending, nothing_pinned, regions_used
from ib_traffic import cut, queue_pairs
from suite import test
from traffic import A, A6, B, B6, counters, load_again, ping

# Packets of one burst are lost here and there on the guests' network; the adapter is to send them
# again more than once.
IB = "rds_ib_retry_count=6"
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand


def moves(t, owner, at, of, user):
    """All kinds of operations of @user's, on memory of @owner's."""
    before = counters(t, user)
    Owner(t, owner, at, of).tap(user, "check")
    for machine in (t.a, t.b):
        nothing_pinned(t, machine)
    seen = counters(t, user)
    assert seen["ib_atomic_fadd"] - before["ib_atomic_fadd"] == 2, seen
    assert seen["ib_atomic_cswp"] - before["ib_atomic_cswp"] == 3, seen
    seen = counters(t, owner)
    assert seen["ib_rdma_mr_1m_pool_flush"] > 0, seen


@test(vms=2, only="ours", timeout=240)
def data(t):
    """1 byte to 1 MiB written and read, in pieces, fenced, alone; who is told; atomics; cookies."""
    moves(t, t.b, B, A, t.a)


@test(vms=2, only="ours", timeout=240)
def data_v6(t):
    """The same, of the other host and by IPv6."""
    moves(t, t.a, A6, B6, t.b)


@test(vms=2, only="ours", timeout=240)
def refused(t):
    """Errnos; and what the peer's adapter refuses: told, connections come back, nothing is lost."""
    Owner(t, t.b, B, A).tap(t.a, "errors")
    for machine in (t.a, t.b):
        nothing_pinned(t, machine)
    assert counters(t, t.a)["ib_completion_errors"] > 0
    assert not regions_used(t, t.b)


@test(vms=2, only="ours", timeout=240)
def the_example(t):
    """examples/lend: either host lends, the other writes, reads and adds; within a host there is no RDMA."""
    example(t, t.b, B, t.a, A, number=5)
    example(t, t.a, A, t.b, B, number=5)
    with lending(t, t.b, B):
        rc, said = t.b.run(f"{t.example('lend')} ask {B} {B} 4000", timeout=t.seconds(100))
        assert rc == 1 and "no RDMA" in said, f"{rc}: {said}"
    for machine in (t.a, t.b):
        nothing_pinned(t, machine)


@test(vms=2, only="ours", timeout=240, extra=True)
def connections_cut(t):
    """The wire is cut under operations: each is told of once, and messages are as they are told."""
    with filters.ready(t.a, t.b):
        storm = Storm(t, t.a, A, t.b, B)
        for machine in (t.a, t.b, t.a, t.b):
            storm.wait_progress()
            cut(t, machine, (t.a, t.b))
        storm.wait_progress()
        found = storm.stop(faults=4)
    assert found["dropped"] + found["other_error"] > 0, found
    for machine in (t.a, t.b):
        nothing_pinned(t, machine)


@test(vms=2, only="ours", timeout=240, extra=True)
def an_administrator_ends_them(t):
    """RDS_CONN_RESET under operations: each is told of once, and messages are as they are told."""
    storm = Storm(t, t.a, A, t.b, B)
    for machine, own, other in ((t.a, A, B), (t.b, B, A)) * 3:
        storm.wait_progress()
        machine.check(f"{t.tool('rds-stress')} --reset -r {own} -s {other}")
    storm.wait_progress()
    storm.stop(faults=3)
    for machine in (t.a, t.b):
        nothing_pinned(t, machine)


@test(vms=2, only="ours", timeout=240)
def freed_in_use(t):
    """Memory is freed while peers use it: they are told, nobody else notices."""
    storm = Storm(t, t.a, A, t.b, B, "--free-every 40")
    for _ in range(5):
        storm.wait_progress()
    found = storm.stop(faults=1)
    assert found["remote_error"] > 0, found
    for machine in (t.a, t.b):
        nothing_pinned(t, machine)


@test(vms=2, only="ours", timeout=240, extra=True)
def by_who_was_called(t):
    """The host that was called reads and writes as the one that called does."""
    ping(t, t.b, B, A)
    storm = Storm(t, t.a, A, t.b, B)
    storm.wait_progress()
    storm.stop(faults=0)
    for machine in (t.a, t.b):
        nothing_pinned(t, machine)


@test(vms=2, only="ours", timeout=240)
def adapter_goes(t):
    """Either adapter is taken away with regions held and operations under way, and comes back."""
    storm = Storm(t, t.a, A, t.b, B)
    for machine in (t.a, t.b, t.a, t.b):
        storm.wait_progress()
        machine.unplug()
        assert not queue_pairs(t, machine)
        machine.plug()
    storm.wait_progress()
    storm.stop(faults=4)
    # And for good: what was registered is let go, though its owner still holds it.
    owner = Owner(t, t.b, B, A)
    client = t.a.spawn(f"{t.prog('rds_rdma')} storm {owner.where}", stdin=True)
    client.wait_output("^storming$")
    t.b.unplug()
    nothing_pinned(t, t.b)
    assert regions_used(t, t.b) == 2
    owner.process.kill()
    owner.process.wait()
    client.kill()
    client.wait()
    assert not regions_used(t, t.b)
    t.b.plug()
    nothing_pinned(t, t.a)


@test(vms=2, only="ours", timeout=240, extra=True)
def killed(t):
    """Either program is killed with operations under way; nothing stays pinned, modules unload."""
    for which in ("client", "owner", "client", "owner"):
        storm = Storm(t, t.a, A, t.b, B)
        storm.wait_progress()
        first, second = storm.process, storm.owner.process
        for process in (first, second) if which == "client" else (second, first):
            process.kill(9)
            process.wait()
        for machine in (t.a, t.b):
            nothing_pinned(t, machine)
    Owner(t, t.b, B, A).tap(t.a, "check")
    for machine in (t.a, t.b):
        machine.unload()
        load_again(t, machine)
