# SPDX-License-Identifier: GPL-2.0
"""Frames on the wire, well and badly formed, from a peer without RDS. The same go to mainline's
modules, to show that the peer speaks what is spoken there."""
import collections
import contextlib
import json
import re

import memcg
from suite import test
from traffic import A, B, counters, helper, unavailable, wait_counter

NEW_GUESTS = True  # it measures memory
# Of these each object is counted, with its maker, and never the whole slab of a processor.
BOOT = "slub_debug=U,kmalloc-*,skbuff*,rds_msg*"

# After these mainline waits for the rest of a message; so do we where it could still come.
BROKEN = ("too_long", "huge", "huge_map", "half_header", "half_payload", "half_map", "http",
          "random")
# Longer than a message may be, http and random by what stands where the length should.
FATAL = {"too_long", "huge", "huge_map", "http", "random"}
# Every port of the peer is congested now, so mainline holds back the answer to a ping.
HELD = ("map_ones",)
COUNTED = {"recv_drop_bad_length": 5, "recv_drop_bad_cong": 3, "recv_drop_bad_port": 1,
           "recv_bad_flags": 2, "recv_bad_exthdr": 2, "recv_foreign_exthdr": 3,
           "recv_drop_no_sock": 1, "recv_drop_old_seq": 1, "recv_bad_ack": 1,
           "recv_ack_only": 1, "recv_ack_required": 1}
PEERS, MEBIBYTE = 200, 1 << 20
NOBODYS, BOUND = 9, 4000
SLOW, SLOWLY = 16, 10000  # peers, and bytes of each
SEGMENTS = 20000
NOISE_KB = 1000  # a guest's other memory, between two looks


def each(t, options):
    """{frame: outcome} of frames that get a connection each and are followed by a ping."""
    said = t.a.check(f"{t.prog('rds_peer')} --connect {B} --each {options}", 100)
    lines = [json.loads(line) for line in said.splitlines()]
    assert lines and all(line["recovers"] for line in lines), said
    return {line["frame"]: line["outcome"] for line in lines}


def outcomes(t, silent, never=()):
    """Of all frames. Those after which nothing comes are given less time than the others."""
    after = each(t, "--wait 400 " + " ".join(f"--frame {name}" for name in silent))
    return after | each(t, "--wait 20000 " + " ".join(f"--except {name}"
                                                      for name in (*silent, *never)))


@test(vms=2, modules=("none", "ours"), only="ours", extra=True)
def malformed(t):
    """Any bytes of a bad peer are counted, dropped or answered by a reset; the host lives."""
    sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
    sink.wait_output("^ready$")
    before = counters(t, t.b)
    found = outcomes(t, silent=[name for name in BROKEN if name not in FATAL])
    names = t.a.check(f"{t.prog('rds_peer')} --list").splitlines()
    assert set(found) == {line.partition(":")[0] for line in names}
    for name, outcome in found.items():
        wanted = {"closed", "reset"} if name in FATAL else {
            "silent" if name in BROKEN else "pong"}
        assert outcome in wanted, f"{name}: {outcome}"
    after = counters(t, t.b)
    for name, least in COUNTED.items():
        assert after[name] - before[name] >= least, f"{name}: {before[name]} then {after[name]}"
    assert not sink.done, sink.output
    sink.write("", close=True)
    lengths = [int(line.split()[0]) for line in sink.check().splitlines()[1:]]
    assert {0, 5, 65536, MEBIBYTE} <= set(lengths), lengths
    t.note(f"{len(found)} kinds of frames, {len(lengths)} messages among them delivered")


@test(vms=2, modules=("none", "mainline"))
def mainline_understands_the_peer(t):
    """59 frames to mainline's modules: each ping after one is answered, or it waits for more."""
    # Its reader would hit a BUG.
    found = outcomes(t, silent=BROKEN + HELD, never=["rdma_dest"])
    for name, outcome in found.items():
        assert outcome == ("silent" if name in BROKEN + HELD else "pong"), f"{name}: {outcome}"
    t.note(f"{len(found)} frames")


@contextlib.contextmanager
def many_peers(t):
    """A stands for PEERS hosts, and python's text for a header to port @port of B."""
    t.a.check("for i in $(seq PEERS); do echo addr add 10.8.0.$i/32 dev eth0; done | ip -batch -"
              .replace("PEERS", str(PEERS)))
    t.b.check("ip route add 10.8.0.0/16 dev eth0")
    yield
    t.a.check("ip addr flush dev eth0 to 10.8.0.0/16")
    t.b.check("ip route del 10.8.0.0/16 dev eth0")


def announcing(t, peers, port, then):
    """Python on A: @peers connections that send a header for 1 MiB to @port in a segment of its
    own, and after that what @then does with peers, the list of them; they stay until its input
    ends."""
    header = f"bytes(16) + ({MEBIBYTE}).to_bytes(4, \"big\") + bytes((0, 9)) + " \
             f"({port}).to_bytes(2, \"big\") + bytes(24)"
    return t.a.spawn("python3 -I -S -c '"
                     "import socket, sys\n"
                     f"peers = [socket.create_connection((\"{B}\", 16385), source_address="
                     f"(f\"10.8.0.{{i}}\", 0)) for i in range(1, {peers + 1})]\n"
                     "for peer in peers:\n"
                     "    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
                     f"    peer.sendall({header})\n"
                     "print(\"announced\", flush=True)\n"
                     "sys.stdin.readline()\n"
                     f"{then}\n"
                     "print(\"through\", flush=True)\n"
                     "sys.stdin.read()'", stdin=True)


def left_to_come(t, each, peers):
    """Waits until that many streams want @each bytes of a message."""
    t.b.wait_until(f"test $({t.tool('rds-info')} -T | grep -cw {each}) = {peers}")


def cost_of_claims(t, port):
    """kB on B for PEERS peers that announce 1 MiB to @port and say nothing, then one byte."""
    before = unavailable(t.b)
    peers = announcing(t, PEERS, port, "for peer in peers: peer.sendall(b\"x\")")
    peers.wait_output("^announced$")
    left_to_come(t, MEBIBYTE, PEERS)
    grown = unavailable(t.b) - before
    peers.write("\n")
    left_to_come(t, MEBIBYTE - 1, PEERS)
    grown = max(grown, unavailable(t.b) - before)
    peers.write("", close=True)
    peers.check()
    t.note(f"port {port}: {grown} kB for {PEERS} peers")
    return grown


@test(vms=2, modules=("none", "ours"), only="ours")
def claims_cost_nothing(t):
    """200 peers say that 1 MiB follows, and nothing, and one byte: no memory is set aside."""
    sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
    sink.wait_output("^ready$")
    with many_peers(t):
        for port in NOBODYS, BOUND:
            grown = cost_of_claims(t, port)
            assert grown < PEERS * 100, f"{grown} kB"
    sink.write("", close=True)
    sink.check()


@test(vms=2, modules=("none", "ours"), only="ours", timeout=300)
def bytes_cost_what_they_are(t):
    """A message of 1 MiB whose bytes come one by one: nothing is kept of it for a port that nobody
    has, and about twice its bytes for another."""
    sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
    sink.wait_output("^ready$")
    with many_peers(t):
        for port in NOBODYS, BOUND:
            # In turns: one that brings no byte for long is hung up on.
            peers = announcing(t, SLOW, port,
                               f"[peer.send(b\"x\") for i in range({SLOWLY}) for peer in peers]")
            peers.wait_output("^announced$")
            left_to_come(t, MEBIBYTE, SLOW)
            before = unavailable(t.b)  # with all that 16 connections cost
            peers.write("\n")
            peers.wait_output("^through$", t.seconds(100))
            left_to_come(t, MEBIBYTE - SLOWLY, SLOW)
            grown = unavailable(t.b) - before
            peers.write("", close=True)
            peers.check()
            t.note(f"port {port}: {grown} kB for {SLOW} times {SLOWLY} bytes")
            most = 1500 + (SLOW * (2 * SLOWLY + 65536) // 1024 if port == BOUND else 0)
            assert grown < most, f"{grown} kB"
    sink.write("", close=True)
    sink.check()


def object_bytes(machine):
    """{(cache, maker): bytes} of the kernel's objects that messages can be made of.  Not of those
    of the console, by which this is asked: it frees what it has sent some time later."""
    rows = machine.check("grep -E '^(rds_msg|skbuff|kmalloc-[0-9])' /proc/slabinfo").splitlines()
    sizes = {row.split()[0]: int(row.split()[3]) for row in rows}
    traces = " ".join(f"{cache}/alloc_traces" for cache in sizes)
    taken = machine.check(f"cd /sys/kernel/debug/slab && grep -E '^ *[0-9]+ ' {traces} |"
                          " grep -v virtio_console").splitlines()
    found = collections.Counter()
    for line in taken:
        cache, count, maker = re.match(r"(\S+?)/alloc_traces: *(\d+) (\S+)", line).groups()
        found[cache, maker] += int(count) * sizes[cache]
    return found


def segments_in(machine):
    return int(machine.check("awk '/^Tcp: [0-9]/ { print $11 }' /proc/net/snmp"))


def until_queued(t, count):
    t.b.wait_until(f"test $({t.tool('rds-info')} -c | awk '$1 == \"recv_queued\" {{ print $2 }}')"
                   f" = {count}", t.seconds(20))


@test(vms=2, modules=("none", "ours"), only="ours", timeout=240)
def one_byte_segments(t):
    """A message in 20,000 segments of one byte, which TCP hands over one by one: while it is not
    whole, and when its socket has it, it costs twice its bytes and 64 KiB at most."""
    most = 2 * SEGMENTS + 65536
    t.b.check("ethtool -K eth0 gro off")
    with memcg.group(t, t.b):
        reader = t.b.spawn(f"sh -c 'echo $$ >{memcg.GROUP}/cgroup.procs &&"
                           f" exec {helper('rds_stopped.py')} reader {B}'", stdin=True)
        reader.wait_output("^ready$")
        peer = t.a.spawn(f"{helper('rds_bytes.py')} {A} {B} {BOUND} {SEGMENTS}", stdin=True)
        peer.wait_output("^announced$")
        left_to_come(t, SEGMENTS + 1, 1)
        before = unavailable(t.b), object_bytes(t.b), segments_in(t.b)
        peer.write("\n")
        peer.wait_output("^sent$", t.seconds(200))
        left_to_come(t, 1, 1)
        segments = segments_in(t.b) - before[2]
        # Of each maker by itself: neighbours of an earlier case's peers end some time or other.
        slab = (object_bytes(t.b) - before[1]).total()
        pages = unavailable(t.b) - before[0]
        had, paid = counters(t, t.b)["recv_queued"], memcg.sock_bytes(t.b)
        peer.write("\n")
        until_queued(t, had + 1)
        paid = memcg.sock_bytes(t.b, paid + SEGMENTS) - paid
        peer.write("", close=True)
        peer.check()
        reader.kill()
        reader.wait()
    t.b.check("ethtool -K eth0 gro on")
    t.note(f"{segments} segments: {slab} bytes of objects, {pages} kB unavailable, its cgroup"
           f" pays {paid}; {most} bytes may be")
    assert segments >= SEGMENTS, f"{segments}: they came together"
    assert SEGMENTS <= slab < most, f"{slab} bytes of objects"
    assert SEGMENTS <= paid < most, f"{paid} bytes paid"
    assert pages < most // 1024 + NOISE_KB, f"{pages} kB"


@test(vms=2, modules=("none", "ours"), only="ours")
def half_messages_of_many(t):
    """200 strangers send half of 1 MiB each to a bound port: most of them are hung up on, and they
    hold 8 MiB together."""
    sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
    sink.wait_output("^ready$")
    with many_peers(t):
        before, full = unavailable(t.b), counters(t, t.b)["recv_assembly_full"]
        peers = announcing(t, PEERS, BOUND,
                           f"for peer in peers:\n    try: peer.sendall(bytes({MEBIBYTE // 2}))\n"
                           "    except OSError: pass")
        peers.wait_output("^announced$")
        left_to_come(t, MEBIBYTE, PEERS)
        peers.write("\n")
        wait_counter(t, t.b, "recv_assembly_full", full + PEERS // 2, 60)
        grown = unavailable(t.b) - before
        peers.write("", close=True)
        peers.check()
        t.note(f"{grown} kB for {PEERS} halves of 1 MiB")
        assert grown < 8192 + PEERS * 100, f"{grown} kB"
    sink.write("", close=True)
    sink.check()


@test(vms=2, modules=("none", "ours"), only="ours")
def half_a_message_ends(t):
    """A peer that announces a message and brings no byte of it is hung up on after half a minute,
    though its TCP answers."""
    timeout = "/proc/sys/net/rds/idle_timeout_ms"
    sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
    sink.wait_output("^ready$")
    kept = t.b.check(f"cat {timeout}").strip()
    t.b.check(f"echo 4000 >{timeout}")  # so that it is looked at each second
    with many_peers(t):
        before = counters(t, t.b)["conn_stalled"]
        peers = announcing(t, 1, BOUND, "pass")
        peers.wait_output("^announced$")
        left_to_come(t, MEBIBYTE, 1)
        wait_counter(t, t.b, "conn_stalled", before + 1, 60)
        left_to_come(t, MEBIBYTE, 0)
        peers.write("", close=True)
        peers.check()
    t.b.check(f"echo {kept} >{timeout}")
    sink.write("", close=True)
    sink.check()


def calls_back(t, is_ours):
    """The peer has the larger address: it knocks, is called back, and pings over that."""
    said = t.b.check(f"{t.prog('rds_peer')} --listen {B} --knock {A} --frame map_zero"
                     " --frame ping --expect '0->7' --wait 20000", 60)
    frames = [json.loads(line) for line in said.splitlines()]
    if is_ours:
        hello = frames.pop(0)
        # delivery acks, ORDER, REFUSED (docs/wire.md)
        assert hello["exthdr"]["CAP_BITS"] == 2 + 4 + 8 + 16 and hello["exthdr"]["GEN_NUM"], hello
    assert frames[0]["flags"] == 1 and frames[0]["congested_ports"] == 0, frames[0]
    assert frames[-1]["state"] == "open", frames[-1]


@test(vms=2, modules=("ours", "none"))
def ours_calls_back(t):
    """A connection from the larger address is a knock: ours hangs up and connects itself."""
    calls_back(t, True)


@test(vms=2, modules=("mainline", "none"))
def mainline_calls_back(t):
    """As mainline does."""
    calls_back(t, False)


@test(vms=2, modules=("ours", "none"), only="ours")
def answered_badly(t):
    """A host that knocks all the time and answers each call by a bad header is called ever more
    rarely: forty times in a minute at most, so some thirty in the first third of it."""
    before = counters(t, t.a)
    calls = int(t.b.check(f"{helper('rds_badly.py')} {B} {A} 20", 60))
    bad = counters(t, t.a)["recv_drop_bad_length"] - before["recv_drop_bad_length"]
    t.note(f"{calls} calls in 20 s")
    assert 0 < calls < 30 and bad, f"{calls} calls, {bad} bad headers"
