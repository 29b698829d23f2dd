# SPDX-License-Identifier: GPL-2.0
"""The wire, as tcpdump has it: build/captures/NAME.pcap.gz.

tests/wireshark/corpus has such files, which the dissector's tests read; after a change of the wire they
are made anew: run.py capture capture_ib, and cp build/captures/* tests/wireshark/corpus.
"""
import base64
import gzip

from guest import TOP
from parity_flood import STOPPED
from suite import test
from traffic import A, B, ping, stress

EXTRA = True


HEADER = 24  # bytes of a pcap file before its first packet
STAGE = 120  # packets of each stage are kept


def kill_connections(t):
    t.b.check("modprobe tcp_diag; ss -HtnK '( sport = :16385 or dport = :16385 )' >/dev/null")


def stage(t, what):
    """The bytes of a pcap file: what goes by while `what` is done, its beginning."""
    dump = t.a.spawn(f"tcpdump -Z root -p -U --immediate-mode -i eth0 -c {STAGE} -w /tmp/c.pcap tcp port 16385 2>&1")
    dump.wait_output("listening on")
    kill_connections(t)  # each stage has its own, from the beginning
    what()
    t.a.run("kill -INT $(pidof tcpdump)")  # unless it has them all
    dump.check(30)
    return base64.b64decode(t.a.check("base64 /tmp/c.pcap"))


def cut(t):
    """The connections end, and are made anew."""
    ping(t, t.a, A, B)
    kill_connections(t)
    ping(t, t.b, B, A)


def fill(t):
    """A port fills, and clears."""
    reader = t.b.spawn(f"{STOPPED} reader {B}", stdin=True)
    reader.wait_output("^ready$")
    flood = t.a.spawn(f"{STOPPED} flood {A} {B} 1", stdin=True)
    flood.wait_output("^stopped$")
    flood.write("\n")
    reader.write(flood.wait_output(r"^\{.*\}\n")[0])
    reader.check(100)
    flood.write("", close=True)
    flood.check()


def capture(t, name):
    """Pings; few and many messages under way, either way; connections that are killed; a full port."""
    parts = [stage(t, what) for what in (
        lambda: ping(t, t.a, A, B),
        lambda: stress(t, t.a, t.b, B, "-t 1 -d 1 -q 100 -a 64 -T 1"),
        lambda: cut(t),
        lambda: stress(t, t.b, t.a, A, "-t 2 -d 16 -q 250 -a 64 -T 1"),
        lambda: fill(t))]
    assert all(len(part) > HEADER for part in parts), [len(part) for part in parts]
    data = parts[0] + b"".join(part[HEADER:] for part in parts[1:])
    into = TOP / "build/captures"
    into.mkdir(exist_ok=True)
    (into / f"{name}.pcap.gz").write_bytes(gzip.compress(data, mtime=0))
    t.note(f"{len(data)} bytes")


@test(vms=2, only="ours")
def ours(t):
    """Between two hosts of ours."""
    capture(t, "ours")


@test(vms=2, modules=("mainline", "mainline"))
def mainlines(t):
    """Between two hosts with mainline's modules."""
    capture(t, "mainlines")


@test(vms=2, modules=("ours", "mainline"))
def one_of_each(t):
    """Between one of ours and one of mainline's."""
    capture(t, "one_of_each")
