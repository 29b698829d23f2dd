# SPDX-License-Identifier: GPL-2.0
"""A slow reader on one host, senders on the other: refused, told, woken; nothing is lost."""
import re

from suite import test
from traffic import A, A6, B, B6, PYTHON, counters, crowded_ports, ping, slow_reader


@test(vms=2, timeout=300)
def ours_with_ours(t):
    """Both directions and families: ENOBUFS, monitor, blocked senders, SO_SNDTIMEO, recovery."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B6, t.a, A6, t.flavour(1))
    crowded_ports(t, t.a, A, t.b, B)
    crowded_ports(t, t.b, B6, t.a, A6)


@test(vms=2, modules=("ours", "mainline"), timeout=240, extra=True)
def mainline_is_the_larger(t):
    """The same between ours and mainline: the congestion maps are understood both ways."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B, t.a, A, t.flavour(1))
    crowded_ports(t, t.a, A, t.b, B)


@test(vms=2, modules=("mainline", "ours"), timeout=240, extra=True)
def mainline_is_the_smaller(t):
    """The same with the addresses the other way round, IPv6."""
    slow_reader(t, t.a, A6, t.b, B6, t.flavour(0))
    slow_reader(t, t.b, B6, t.a, A6, t.flavour(1))
    crowded_ports(t, t.b, B6, t.a, A6)


@test(vms=2, modules="mainline", timeout=240, extra=True)
def mainline_with_mainline(t):
    """Mainline does as the program demands."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))


READS = 400
READER = f"""
import socket, time
s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
s.bind(("{B}", 4000))
print("ready", flush=True)
got = []
for i in range({READS}):
    if i % 8 == 0:
        time.sleep(0.02)  # the port is full by then
    data, writer = s.recvfrom(2000)
    got.append(int.from_bytes(data[:4], "big"))
assert got == list(range({READS})), got
s.sendto(b"", writer)
"""
# A socket that is closed takes back what has not gone, so it stays until all was read.
WRITER = f"""
import socket
s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
s.bind(("{A}", 0))
for i in range({READS}):
    s.sendto(i.to_bytes(4, "big") + bytes(996), ("{B}", 4000))
s.recv(1)
"""


def sent_over_tcp(t):
    """Bytes that guest b has sent on its connections of RDS."""
    said = t.b.check("ss -Htin '( sport = :16385 or dport = :16385 )'")
    return sum(int(n) for n in re.findall(r"bytes_sent:(\d+)", said))


@test(vms=2, timeout=200, only="ours")
def a_change_is_no_map(t):
    """A port that fills and clears again and again is told by frames, not each time by 8 KiB."""
    ping(t, t.a, A, B)
    bytes_before, before = sent_over_tcp(t), counters(t, t.b)["cong_update_queued"]
    reader = t.b.spawn(f"{PYTHON} - <<'END'\n{READER}END")
    reader.wait_output("^ready$")
    t.a.check(f"{PYTHON} - <<'END'\n{WRITER}END", 100)
    reader.check(100)
    told = counters(t, t.b)["cong_update_queued"] - before
    sent = sent_over_tcp(t) - bytes_before
    t.note(f"{told} changes told, {sent} bytes sent")
    assert told >= 10, told
    # A header each, and acks; several at once make a map now and then.
    assert sent < told * 8192 // 10, sent
