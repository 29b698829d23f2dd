# SPDX-License-Identifier: GPL-2.0
"""The table of peers over queue pairs (soft-RoCE), and TCP beside them. See docs/peers.md."""
import contextlib

from suite import test
from traffic import A, A6, B, B6, Flows, counters, exact, ping, wait_counter, wait_finding

IB = True
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand
C = "10.9.0.3"  # another address of guest b
# On no adapter, so TCP's.
BESIDE_A, BESIDE_B = "10.8.0.1", "10.8.0.2"


def peer(t, words, machine=None):
    return (machine or t.a).check(f"{t.tool('rdsctl')} peer {words}")


def add_key(t, machine, other):
    machine.check("umask 077 && echo secret >/run/key")
    peer(t, f"replace {other} key-file /run/key", machine)
    machine.check("rm /run/key")


def monitor(t, machine):
    command = machine.spawn(f"exec {t.tool('rdsctl')} peer monitor")
    command.wait_output("^Peer Cause$")
    return command


def no_answer(t, machine, source, target):
    rc, said = machine.run(f"{t.tool('rds-ping')} -c 1 -w 1 -I {source} {target}")
    assert rc == 1, f"{rc}: {said}"


def back(t, machine):
    """A path is up; one that was refused is tried again once a second."""
    machine.wait_until("grep -q ' up ' /proc/net/rds/paths", t.seconds(60))


@contextlib.contextmanager
def held(t, mine, other):
    """A socket of guest a with a message that is not delivered yet."""
    holder = t.a.spawn(f"exec {t.prog('rds_hold')} --bind {mine} --to {other} --messages 1", stdin=True)
    holder.wait_output("^ready$")
    yield
    holder.kill()
    holder.wait()


@contextlib.contextmanager
def a_message_waits(t):
    """Guest a has a message for guest b, which arrives in the end."""
    with held(t, A, B):
        yield
        back(t, t.a)


@contextlib.contextmanager
def tcp_beside_it(t):
    """The two hosts have addresses that no adapter has, with a stream between them."""
    for machine, mine, other, via in ((t.a, BESIDE_A, BESIDE_B, B), (t.b, BESIDE_B, BESIDE_A, A)):
        machine.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_tcp.ko;"
                      f" ip addr add {mine}/32 dev lo; ip route add {other}/32 via {via}")
    flows = Flows(t, t.a, BESIDE_A, t.b, BESIDE_B, "--flows 4 --max-payload 2048",
                  send_options="--rate 200")
    flows.wait_progress()
    look = "ss -Htn 'dport = :16385' | awk '{ print $4 }'"
    sockets = set(t.a.check(look).split())
    assert any(BESIDE_A in one for one in sockets), sockets
    yield flows
    # Others may have come: one that is often full is joined by seven.
    now = set(t.a.check(look).split())
    assert sockets <= now, f"{sockets} before, {now} now"
    flows.wait_progress()
    t.note(exact(flows.stop()))
    for machine, mine, other in ((t.a, BESIDE_A, BESIDE_B), (t.b, BESIDE_B, BESIDE_A)):
        machine.check(f"ip addr del {mine}/32 dev lo; ip route del {other}/32")


@test(vms=2, only="ours", timeout=240)
def refused_host(t):
    """A host that is refused loses its connection, neither calls nor is called; another one goes
    on, over a queue pair and over TCP; without the entry the message that waited arrives."""
    t.b.check(f"ip addr add {C}/24 dev eth0")
    ping(t, t.a, A, B)
    ping(t, t.a, A, C)
    with tcp_beside_it(t):
        heard = monitor(t, t.a)
        peer(t, f"add {B} refuse")
        with a_message_waits(t):
            t.a.wait_until("grep -q 'refused here$' /proc/net/rds/paths", t.seconds(20))
            heard.wait_output(f"^{B} not-called$")
            no_answer(t, t.a, A, B)
            no_answer(t, t.b, B, A)
            heard.wait_output(f"^{B} called-us$", t.seconds(20))
            assert counters(t, t.a)["ib_peer_refused"] >= 2, counters(t, t.a)
            ping(t, t.a, A, C)
            ping(t, t.b, C, A)
            peer(t, f"del {B}")
        heard.kill()
        heard.wait()
        ping(t, t.b, B, A)
    t.b.check(f"ip addr del {C}/24 dev eth0")


@test(vms=2, only="ours", timeout=240)
def by_default(t):
    """default refuse holds for queue pairs: connections that are up end, a stranger's request costs
    no object; hosts with an entry are served, and the default that accepts brings all back."""
    ping(t, t.a, A, B)
    peer(t, "default refuse", t.b)
    t.b.wait_until("! grep -q ' up ' /proc/net/rds/paths", t.seconds(20))
    no_answer(t, t.a, A, B)
    no_answer(t, t.b, B, A)
    peer(t, f"add {A} accept", t.b)
    ping(t, t.a, A, B)
    ping(t, t.b, B, A)
    peer(t, f"del {A}", t.b)
    with a_message_waits(t):
        t.a.wait_until("grep -q 'connect failed$' /proc/net/rds/paths", t.seconds(60))
        t.a.check(f"ip addr add {C}/24 dev eth0")
        before = counters(t, t.b)["ib_peer_refused"]
        no_answer(t, t.a, C, B)
        wait_counter(t, t.b, "ib_peer_refused", before + 1)
        assert C not in t.b.check("cat /proc/net/rds/connections")
        t.a.check(f"ip addr del {C}/24 dev eth0")
        peer(t, "default accept", t.b)
    ping(t, t.b, B, A)


@test(vms=2, only="ours", timeout=240)
def nothing_is_signed(t):
    """A host with a key is not spoken to over queue pairs, and the event says why; TCP signs."""
    ping(t, t.a, A, B)
    with tcp_beside_it(t):
        heard = monitor(t, t.a)
        add_key(t, t.a, B)
        with a_message_waits(t):
            heard.wait_output(f"^{B} cannot-sign$", t.seconds(20))
            t.a.wait_until("grep -q 'refused here$' /proc/net/rds/paths", t.seconds(20))
            no_answer(t, t.b, B, A)
            assert counters(t, t.a)["ib_key_refused"] >= 1, counters(t, t.a)
            assert counters(t, t.a)["ib_peer_refused"] == 0, counters(t, t.a)
            peer(t, f"replace {B} accept")
        heard.kill()
        heard.wait()
        assert "not-called" not in heard.output, heard.output
        ping(t, t.b, B, A)


def not_reached(t, remote, why):
    """Doctor says of this host why it is not reached."""
    assert wait_finding(t, "paths", why)["what"].startswith(f"{remote} has not")


@test(vms=2, only="ours", timeout=240)
def doctor_calls(t):
    """Doctor calls the port of a host that is not reached: nobody has that address, nobody listens,
    the table there refuses us, a filter drops calls. Then the message arrives."""
    t.a.check("modprobe rdma_ucm")
    with held(t, A, "10.9.0.77"):
        not_reached(t, "10.9.0.77", "no way to it")
    t.b.check("/run/busybox rmmod rds_rdma")
    for mine, other, port in ((A, B, "RDMA port 18634"), (A6, B6, "RDMA port 16385")):
        with held(t, mine, other):
            not_reached(t, other, f"refuses {port}: rds_rdma")
    t.b.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_rdma.ko")
    peer(t, f"replace {A} refuse", t.b)
    with a_message_waits(t):
        not_reached(t, B, "RDMA port 18634 is open")
        refused = counters(t, t.b)["ib_version_refused"]
        t.b.check("modprobe nf_tables; nft 'add table inet f; add chain inet f i { type filter hook input"
                  " priority 0; }; add rule inet f i udp dport 4791 drop'")
        not_reached(t, B, "RDMA port 18634 is not answered")
        assert counters(t, t.b)["ib_version_refused"] == refused > 0
        t.b.check("nft delete table inet f")
        peer(t, f"del {A}", t.b)
