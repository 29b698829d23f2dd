# SPDX-License-Identifier: GPL-2.0
"""A full socket's port is refused between two hosts of ours over TCP, and nothing else waits (docs/
wire.md, REFUSED and RESUME). The receiver takes nothing beyond its hard limit (recv_spill)."""
import contextlib
import json

from parity_flood import SENDERS, STOPPED, TIMES, delayed
from suite import test
from traffic import A, B, counters, ping, wait_counter

PORT = 4000  # of rds_stopped.py's reader
SPILL = "/proc/sys/net/rds/recv_spill"


@contextlib.contextmanager
def no_spill(machine):
    usual = machine.check(f"cat {SPILL}; echo 0 >{SPILL}").strip()
    yield
    machine.check(f"echo {usual} >{SPILL}")


def pair_talks(asker, me, answerer, peer):
    """Two others exchange messages; each comes within a second."""
    other = answerer.spawn(f"{STOPPED} answer {peer}", stdin=True)
    other.wait_output("^ready$")
    said = asker.check(f"{STOPPED} ask {me} {peer} {TIMES}", 100)
    assert said == f"{TIMES} of {TIMES}\n", said
    other.write("", close=True)
    other.check()


@contextlib.contextmanager
def hears_late(sender, receiver, peer):
    """However slow its host is, the sender has sent more than there is room for before it hears that
    the port is full: its first flight is of 60 segments, and all that comes back is late."""
    sender.check(f"ip route add {peer}/32 dev eth0 initcwnd 60")
    with delayed(sender, "delay 20ms"), delayed(receiver, "delay 500ms"):
        yield
    sender.check(f"ip route del {peer}/32 dev eth0")


def names_the_port(t, machine):
    """The path says which port is refused, and for how long, as columns and as JSON."""
    path = f"path show refused-ports {PORT}"
    machine.wait_until(f"{t.tool('rdsctl')} {path} | grep 'peer refuses messages for 1 of its ports:"
                       f" {PORT} for [0-9][0-9.ms]*$'")
    rows = json.loads(machine.check(f"{t.tool('rdsctl')} -j {path}"))["paths"]
    ports = [port for row in rows for port in row["refused-ports"]]
    assert {port["port"] for port in ports} == {PORT}, rows
    assert all(0 <= port["refused-ms"] < 1000 * t.seconds(240) for port in ports), rows


def flood(t, ends, between=names_the_port):
    """SENDERS sockets fill one that does not read, until it has refused its port, and that is what
    the senders' host was told; another pair talks on; then it reads each message once, in order."""
    sender, me, receiver, peer = ends
    with hears_late(sender, receiver, peer), no_spill(receiver):
        ping(t, sender, me, peer)
        reader = receiver.spawn(f"{STOPPED} reader {peer} watch", stdin=True)
        reader.wait_output("^ready$")
        many = sender.spawn(f"{STOPPED} flood {me} {peer} {SENDERS}", stdin=True)
        many.wait_output("^stopped$")
        wait_counter(t, receiver, "recv_refused", 1)
        wait_counter(t, sender, "send_refused", 1)
        refused = counters(t, receiver)["recv_refused"], counters(t, sender)["send_refused"]
        receiver.check("tc qdisc change dev eth0 root netem limit 100000 delay 20ms")
        between(t, sender)
        pair_talks(sender, me, receiver, peer)
        pair_talks(receiver, peer, sender, me)
        many.write("\n")
        reader.write(many.wait_output(r"^\{.*\}\n")[0])
        said = reader.check(100)
        assert "lost = 0\n" in said and "not in order = 0\n" in said, said
        many.write("", close=True)
        many.check()
    after = counters(t, receiver), counters(t, sender)
    sender.wait_until(f"! {t.tool('rdsctl')} path show refused +1 | grep -q up")
    assert not after[0]["recv_bad_refusal"] and not after[1]["recv_bad_refusal"], after
    t.note(f"{said.splitlines()[1]}; refused {refused}, then "
           f"({after[0]['recv_refused']}, {after[1]['send_refused']})")


@test(vms=2, only="ours", timeout=240)
def stopped_reader(t):
    """A reader that has stopped at the host that is called."""
    flood(t, (t.a, A, t.b, B))


@test(vms=2, only="ours", timeout=240)
def the_other_way(t):
    """The same at the host that calls."""
    flood(t, (t.b, B, t.a, A))


@test(vms=2, only="ours", timeout=240)
def reset_in_between(t):
    """The connections are killed while the port is refused; it is told of on the new ones."""
    def cut(*_):
        before = counters(t, t.a)["conn_reset"]
        told = counters(t, t.a)["send_refused"]
        t.a.check("modprobe tcp_diag && ss -HtnK dst 10.9.0.2 dport = :16385 >/dev/null")
        wait_counter(t, t.a, "conn_reset", before + 1)
        wait_counter(t, t.a, "send_refused", told + 1)
    flood(t, (t.a, A, t.b, B), cut)
