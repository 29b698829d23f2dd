# SPDX-License-Identifier: GPL-2.0
"""Two hosts of ours over InfiniBand (soft-RoCE on their network interface)."""
import re

import filters
from ib_traffic import LOAD, STEADY, broken_streams, flows, pings, queue_pairs
from suite import test
from traffic import (A, A6, B, B6, Flows, acks_are_timed, counters, exact, helper, mebibytes,
                     modules_go, ping, slow_reader, stress)

SMP = 2  # completions, worker and process of one host at the same time
IB = True
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand

ROUNDS = 4
NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups"


@test(vms=2, timeout=180)
def ours_with_ours(t):
    """Pings and exact flows of mixed sizes, both ways and families; rds-info shows the adapters."""
    pings(t)
    flows(t)
    for machine, ends in ((t.a, ((A, B), (A6, B6))), (t.b, ((B, A), (B6, A6)))):
        found = [(c["local_addr"], c["remote_addr"], c["local_gid"])
                 for c in queue_pairs(t, machine, "-a")]
        for me, peer in ends:
            assert (me, peer, me) in found, found


@test(vms=2, only="ours")
def further_addresses(t):
    """A connection is between the addresses that are asked for, not an interface's first."""
    mine, peer = "10.9.0.101", "10.9.0.102"
    own = ((t.a, mine), (t.b, peer))
    for machine, address in own:
        machine.check(f"ip addr add {address}/24 dev {machine.kernel.interface}")
    ping(t, t.a, mine, peer)
    for machine, ends in ((t.a, (mine, peer)), (t.b, (peer, mine))):
        assert [(c["local_addr"], c["remote_addr"]) for c in queue_pairs(t, machine)] == [ends]
        acks_are_timed(t, machine)
    for machine, address in own:
        machine.check(f"ip addr del {address}/24 dev {machine.kernel.interface}")


@test(vms=2, only="ours")
def tcp_beside_it(t):
    """With both transports an address is served by InfiniBand, unless asked otherwise."""
    for machine in (t.a, t.b):
        machine.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_tcp.ko")
    before = counters(t, t.a)["ib_tx_frames"]
    ping(t, t.a, A, B)
    assert counters(t, t.a)["ib_tx_frames"] > before
    assert not t.a.run("ss -Htn 'dport = :16385' | grep .")[1], "a TCP connection was made"


@test(vms=2, only="ours")
def no_port_is_left(t):
    """A socket that cannot be told which transport has its address is not bound over another."""
    t.a.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_tcp.ko")
    taken = f"{helper('rds_policy.py')} taken {A}"
    ports = "/proc/sys/net/ipv4/ip_local_port_range"
    before = t.a.check(f"cat {ports}").strip()
    t.a.check(f"echo 45000 45000 >{ports}")
    assert t.a.check(taken).strip() == "0"
    # rdma_cm gives no port twice running. Who may have any port finds out nevertheless.
    assert t.a.check(f"{NOBODY} {taken}").strip() == "EADDRINUSE"
    assert t.a.check(taken).strip() == "0"
    t.a.check(f"echo {before} >{ports}")
    assert t.a.check(f"{NOBODY} {taken}").strip() == "0"


@test(vms=2, extra=True)
def a_mebibyte(t):
    """Messages of up to exactly 1 MiB, as flows and in rds-stress."""
    mebibytes(t)


@test(vms=2, only="ours", timeout=180, extra=True)
def credits(t):
    """Two of ours count buffers, of which there are few: none is missed, and messages are exact."""
    def asked_again():
        """Counts of soft-RoCE: a peer had no buffer, and was asked again."""
        said = [machine.check("rdma stat show link rxe0") for machine in t.vms]
        return [re.findall("rcvd_rnr_err [0-9]+", text) for text in said]
    before = asked_again()
    for machine in (t.a, t.b):
        machine.check("echo 16 >/proc/sys/net/rds/ib/max_recv_wr")
    flows(t)
    for machine in (t.a, t.b):
        seen = counters(t, machine)
        assert seen["ib_rx_credit_updates"] > 0 and seen["ib_tx_throttle"] > 0, seen
    assert asked_again() == before and all(before), before


@test(vms=2, only="ours")
def types_of_service(t):
    """Each type of service is a connection of its own, and the host that is called hears which."""
    # b only answers, and where it was asked: what it has is what has arrived there.
    for tos in (0, 3):
        ping(t, t.a, A, B, options=f"-Q {tos}")
    for machine, peer in ((t.a, B), (t.b, A)):
        found = sorted((c["remote_addr"], c["tos"]) for c in queue_pairs(t, machine))
        assert found == [(peer, 0), (peer, 3)], found
    stress(t, t.a, t.b, B, "-T 1 -t 1 -d 2 -q 1k -Q 3")


@test(vms=2, only="ours", timeout=180, extra=True)
def rings_of_any_size(t):
    """Ring sizes have mainline's range; rings are as large as the adapter can, 4 at least, and for
    what is sent as large as the largest operation wants."""
    def wanted(size):
        for machine in (t.a, t.b):
            machine.check(f"cd /proc/sys/net/rds/ib && for f in max_send_wr max_recv_wr; do"
                          f" echo {size} >$f && [ $(cat $f) = {size} ] || exit 1; done")

    def rings(tos):
        return [(c["max_send_wr"], c["max_recv_wr"]) for machine in (t.a, t.b)
                for c in queue_pairs(t, machine, "-v") if c["tos"] == tos]
    wanted(1)
    flows(t)
    assert set(rings(0)) == {(64, 4)}, rings(0)
    wanted(4294967295)
    ping(t, t.a, A, B, options="-Q 1")
    (send, recv), other = rings(1)
    assert other == (send, recv) and send == recv > 1024 and not send & (send - 1), rings(1)
    t.note(f"the largest ring has {send} entries")
    for name in ("max_send_wr", "max_recv_wr"):
        assert t.a.run(f"echo 0 >/proc/sys/net/rds/ib/{name}")[0], f"{name} may be 0"


# The last of the three messages in which rdma_cm connects (RTU), to queue pair 1's datagrams.
READY_TO_USE = "udp dport 4791 @th,64,8 0x64 @th,352,16 0x14 counter drop"


@test(vms=2, only="ours", extra=True)
def last_word_is_lost(t):
    """The host that was called never hears that its answer came; frames that come say as much."""
    with filters.ready(t.a), filters.incoming(t.a, READY_TO_USE):
        ping(t, t.b, B, A)
        assert re.search(r"packets [1-9]", t.a.check("nft list table inet cut")), "none was lost"


# The first of the three (REQ): two of them, of 308 bytes each; or all.
REQUEST = "udp dport 4791 @th,64,8 0x64 @th,352,16 0x10"
FIRST_REQUESTS = (f"{REQUEST} quota until 700 bytes counter drop",)


@test(vms=2, only="ours")
def requests_are_lost(t):
    """Rdma_cm asks again, and a call lasts until it has: the first one succeeds."""
    with filters.ready(t.b, modules="nft_quota"), filters.incoming(t.b, *FIRST_REQUESTS):
        ping(t, t.a, A, B, count=1)
        lost = t.b.check("nft list table inet cut")
        assert "packets 2 " in lost, lost
    called = t.a.check(f"{t.tool('rdsctl')} path show remote {B}")
    assert "attempts 1 " in called, called


# Soft-RoCE of 6.1 tells that its port is active whenever the interface changes.
PORT_ACTIVE = "for on in on off; do ip link set eth0 dynamic $on; sleep 0.05; done"
# Frames but for those that come at their time.
OTHERS = ("awk '$1 == \"ib_tx_frames\" { n += $2 }"
          " $1 ~ /^ib_(tx_keepalive|[rt]x_heartbeat)$/ { n -= $2 } END { print n }'")


@test(vms=2, only="ours", kernels=["6.1", "uml"])
def the_port_comes_back(t):
    """A call that was made while the port was down is made anew; of what is up, the peer is asked
    for at once."""
    counted = f"{t.tool('rds-info')} -c | "
    with filters.ready(t.b):
        with filters.incoming(t.b, f"{REQUEST} drop"):
            first = t.a.spawn(f"{t.tool('rds-ping')} -c 1 {B}")
            t.a.wait_until(f"{PORT_ACTIVE}; {counted} grep -q 'ib_call_renewed  *[1-9]'")
        # The next call may have been made before its request could pass.
        t.a.wait_until(f"{PORT_ACTIVE}; {t.tool('rds-ping')} -c 1 {B}")
        first.wait()
    called = t.a.check(f"{t.tool('rdsctl')} path show remote {B}")
    assert "attempts 1 " not in called, called
    enough = int(t.a.check(counted + OTHERS)) + 10
    t.a.wait_until(f"{PORT_ACTIVE}; [ $({counted} {OTHERS}) -ge {enough} ]")


@test(vms=2, timeout=240)
def congestion(t):
    """A slow reader: ENOBUFS, monitor, blocked senders, SO_SNDTIMEO, recovery; both families."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B6, t.a, A6, t.flavour(1))


@test(vms=2, only="ours", timeout=240, extra=True)
def queue_pairs_break(t):
    """Adapters give connections up under traffic, both ways: nothing lost, all in order."""
    broken_streams(t)


@test(vms=2, only="ours", timeout=240, extra=True)
def no_buffers(t):
    """A host may have no buffers any more, for a while: as long as it says anything its peers wait,
    and nothing is lost."""
    limit = "/proc/sys/net/rds/ib/max_recv_allocation"
    # Long enough to be kept where they arrived.
    flow = Flows(t, t.a, A, t.b, B, "--flows 4 --max-payload 16384 --length 16384",
                 send_options=STEADY)
    flow.wait_progress()
    usual = t.b.check(f"cat {limit}; echo 0 >{limit}").strip()
    for _ in range(1000):
        now = counters(t, t.b)
        # Fifteen seconds: longer than one that says nothing is given.
        if now["ib_rx_alloc_limit"] and now["ib_tx_keepalive"] >= 3:
            break
    else:
        raise AssertionError("it had buffers")
    assert not counters(t, t.a)["ib_tx_stuck"] and not counters(t, t.a)["conn_reset"]
    t.b.check(f"echo {usual} >{limit}")
    flow.wait_progress()
    t.note(exact(flow.stop()))


@test(vms=2, only="ours", timeout=240, extra=True)
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
    modules_go(t, "rds_rdma", LOAD, STEADY)
