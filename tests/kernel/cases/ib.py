# SPDX-License-Identifier: GPL-2.0
"""Two hosts over InfiniBand (soft-RoCE on their network interface), ours with ours and mainline."""
import json

from suite import test
from traffic import (A, A6, B, B6, Flows, counters, exact, from_first, large_buffers, load_again,
                     ping, slow_reader, stress)

IB = True
KERNELS = ["6.1", "6.12", "7.2", "uml"]  # the other debug kernels have no InfiniBand

MIXED = "--flows 16"  # lengths from 0 to 64 KiB
LOAD = "--flows 16 --max-payload 8192"
STEADY = "--rate 300 --drain 15"
ROUNDS = 4
ROCE = 4791  # UDP port


def queue_pairs(t, machine):
    """What rds-info shows of the connections' queue pairs."""
    return json.loads(machine.check(f"{t.tool('rds-info')} -I --json"))["ib_connections"]


def pings(t):
    for source, target in ((A, B), (A6, B6)):
        ping(t, t.a, source, target)
        ping(t, t.b, target, source)


def all_but_told(found):
    """Exact, but for the last acknowledgements: mainline's says what it has when it is asked to,
    which is every few messages, or when it has something to say."""
    said = exact({**found, "clean": not any(
        found[what] for what in ("lost", "duplicates", "reordered", "corrupted", "strangers"))})
    return f"{said}, {found['unacknowledged']} not acknowledged yet"


def flows(t, messages=12):
    """Mixed sizes both ways, IPv4 and IPv6; exactly once and in order."""
    for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A), (t.a, A6, t.b, B6), (t.b, B6, t.a, A6)):
        to_mainline = t.flavour(t.vms.index(ends[2])) == "mainline"
        judge, options = (all_but_told, "--drain 2") if to_mainline else (exact, "")
        judge(Flows(t, *ends, MIXED, messages=messages, send_options=options).result())
    t.note(f"4 times {16 * messages} messages, each exactly once and in order")


@test(vms=2)
def ours_with_ours(t):
    """Pings and exact flows of mixed sizes, both ways and families; rds-info shows the adapters."""
    pings(t)
    flows(t)
    for machine, me, peer in ((t.a, A, B), (t.b, B, A)):
        found = [(c["local_addr"], c["remote_addr"], c["local_gid"])
                 for c in queue_pairs(t, machine)]
        assert (me, peer, me) in found, found


@test(vms=2, modules=("ours", "mainline"))
def ours_is_the_smaller(t):
    """The same with mainline's modules on the host with the larger address."""
    pings(t)
    flows(t)


@test(vms=2, modules=("mainline", "ours"))
def mainline_is_the_smaller(t):
    """The same with mainline's modules on the host with the smaller address."""
    pings(t)
    flows(t)


@test(vms=2, only="ours")
def tcp_beside_it(t):
    """With both transports an address is served by InfiniBand, unless asked otherwise."""
    for machine in (t.a, t.b):
        machine.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_tcp.ko")
    before = counters(t, t.a)["ib_tx_frames"]
    ping(t, t.a, A, B)
    assert counters(t, t.a)["ib_tx_frames"] > before
    assert not t.a.run("ss -Htn 'dport = :16385' | grep .")[1], "a TCP connection was made"


@test(vms=2)
def a_mebibyte(t):
    """Messages of up to exactly 1 MiB, as flows and in rds-stress."""
    with large_buffers(t):
        t.note(exact(Flows(t, t.a, A, t.b, B, "--flows 4 --max-payload 1048544",
                           messages=8).result()))
        t.note(f"1 MiB both ways: {stress(t, t.a, t.b, B, '-T 2 -t 1 -d 2 -q 1m -a 1m')} messages")


@test(vms=2, only="ours")
def credits(t):
    """Both count buffers, of which there are few: none is missed, and messages are exact."""
    for machine in (t.a, t.b):
        machine.check("cd /proc/sys/net/rds/ib && echo 1 >flow_control && echo 16 >max_recv_wr")
    flows(t)
    for machine in (t.a, t.b):
        seen = counters(t, machine)
        assert seen["ib_rx_credit_updates"] > 0 and seen["ib_tx_throttle"] > 0, seen
        # Soft-RoCE counts when a peer had no buffer and was asked again.
        said = machine.check("rdma stat show link rxe0")
        assert "rcvd_rnr_err 0 " in said, said


@test(vms=2, only="ours")
def types_of_service(t):
    """Each type of service is a connection of its own."""
    for tos in (0, 3):
        stress(t, t.a, t.b, B, f"-T 1 -t 1 -d 2 -q 1k -Q {tos}")
    assert {c["tos"] for c in queue_pairs(t, t.a)} == {0, 3}, queue_pairs(t, t.a)


@test(vms=2, timeout=240)
def congestion(t):
    """A slow reader: ENOBUFS, monitor, blocked senders, SO_SNDTIMEO, recovery; both families."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B6, t.a, A6, t.flavour(1))


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def congestion_with_mainline(t):
    """The same between ours and mainline, both ways."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B, t.a, A, t.flavour(1))


def cut(t, machine, ours):
    """Nothing gets to `machine` until a connection is given up. (Not by `ip link set down`: when
    soft-RoCE has something to send then, its queue pair 1 is in error for good, and nobody can
    connect any more until the adapter is removed. Mainline's RDS shows the same.)"""
    def resets():
        return [counters(t, m)["conn_reset"] for m in ours]
    before = resets()
    machine.check("nft -f - <<'EOF'\ntable inet cut { chain in { type filter hook input priority 0;"
                  f"\nudp dport {ROCE} drop\n}}\n}}\nEOF")
    for _ in range(1000):
        if resets() != before:
            break
    else:
        raise AssertionError("no connection broke")
    machine.check("nft delete table inet cut")


def broken_streams(t):
    """Traffic both ways goes on however often the connection breaks; its accounts."""
    ours = [m for n, m in enumerate(t.vms) if t.flavour(n) == "ours"]
    for machine in (t.a, t.b):
        machine.check("modprobe nf_tables")  # slow, not to be done under load
    flows = [Flows(t, *ends, LOAD, send_options=STEADY)
             for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A))]
    for machine in (t.a, t.b):
        for flow in flows:
            flow.wait_progress()
        cut(t, machine, ours)
    for flow in flows:
        flow.wait_progress()
        to_mainline = t.flavour(t.vms.index(flow.receiver)) == "mainline"
        t.note((all_but_told if to_mainline else exact)(flow.stop()))
    assert sum(counters(t, m)["ib_completion_errors"] for m in ours) > 0


@test(vms=2, only="ours", timeout=240)
def queue_pairs_break(t):
    """Adapters give connections up under traffic, both ways: nothing lost, all in order."""
    broken_streams(t)


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def breaks_with_mainline_larger(t):
    """The same, and mainline has the larger address."""
    broken_streams(t)


@test(vms=2, modules=("mainline", "ours"), timeout=240)
def breaks_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    broken_streams(t)


@test(vms=2, only="ours", timeout=240)
def no_buffers(t):
    """A host may have no buffers any more: who sends gives up after a while, and loses nothing."""
    limit = "/proc/sys/net/rds/ib/max_recv_allocation"
    # Long enough to be kept where they arrived.
    flow = Flows(t, t.a, A, t.b, B, "--flows 4 --max-payload 16384 --length 16384",
                 send_options=STEADY)
    flow.wait_progress()
    usual = t.b.check(f"cat {limit}; echo 0 >{limit}").strip()
    for _ in range(1000):
        if counters(t, t.a)["ib_tx_stuck"]:
            break
    else:
        raise AssertionError("nobody gave up")
    assert counters(t, t.b)["ib_rx_alloc_limit"] > 0
    t.b.check(f"echo {usual} >{limit}")
    flow.wait_progress()
    t.note(exact(flow.stop()))


@test(vms=2, only="ours", timeout=240)
def adapter_goes(t):
    """The adapter is taken away and comes back under traffic, at either host: nothing is lost."""
    flow = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
    for machine in (t.a, t.b) * (ROUNDS // 2):
        flow.wait_progress()
        machine.unplug()
        assert not queue_pairs(t, machine)
        machine.plug()
    flow.wait_progress()
    t.note(exact(flow.stop()))


@test(vms=2, only="ours")
def modules_go_under_load(t):
    """rmmod is refused while sockets are open, clean after; the other host finds the new ones."""
    flow = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
    flow.wait_progress()
    for module in ("rds_rdma", "rds"):
        rc, said = t.b.run(f"rmmod {module}")
        assert rc and "in use" in said, f"rmmod {module}: {rc} {said}"
    flow.sink.kill()
    flow.sink.wait()
    t.b.unload()
    load_again(t, t.b)
    flow.receive("--from-first")
    flow.wait_progress()
    t.note(from_first(flow.stop()))
    # And the host that sends: its queues are full when the sockets and the modules go.
    flow = Flows(t, t.a, A, t.b, B, LOAD)
    flow.wait_progress()
    flow.source_end.kill()
    flow.source_end.wait()
    t.a.unload()
    flow.sink.kill()
    flow.sink.wait()
    t.b.unload()
