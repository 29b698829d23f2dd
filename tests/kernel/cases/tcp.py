# SPDX-License-Identifier: GPL-2.0
"""Streams between two hosts over TCP: every payload once and in order, whichever end is mainline,
whichever has the smaller address, and whatever happens to the connection."""
import contextlib
import json
import time

from suite import test

SMP = 2  # softirq and process of one host at the same time

V4, V6 = ("10.9.0.1", "10.9.0.2"), ("fd00:9::1", "fd00:9::2")
KILL = "ss -K -t state established '( sport = 16385 or dport = 16385 )' >/dev/null"
# Mainline gives a message up for delivered when the peer's TCP has it; so do we until the delivery
# ack is there. What was in flight when a connection died may therefore be lost.
FAULTS = ("lost", "duplicates", "reordered", "corrupted", "strangers", "unacknowledged")


@contextlib.contextmanager
def flows(t, sender, receiver, addrs, flows=16, payload=65536, limit=100, **options):
    """Runs the body while messages flow from @sender to @receiver; yields what will be the result
    when the body has ended."""
    prog = t.prog("rds_flows")
    common = f"--flows {flows} --max-payload {payload} --timeout {limit} --report-only"
    result = {}
    sink = receiver.spawn(f"{prog} receive --bind {addrs[1]} {common}")
    sink.wait_output("^ready$")
    extra = " ".join(f"--{key} {value}" for key, value in options.items())
    source = sender.spawn(f"{prog} send --bind {addrs[0]} --to {addrs[1]} {common} {extra}")
    yield result
    result.update(json.loads(source.check(limit).splitlines()[-1]))
    sink.check(limit)


def describe(result):
    faults = ", ".join(f"{result[key]} {key}" for key in FAULTS if result[key])
    return (f"{result['delivered']} of {result['sent']} messages in {result['seconds']:.0f} s, "
            + (faults or "no fault"))


def clean(result):
    assert result["clean"], describe(result)
    assert result["delivered"] == result["sent"] > 0, describe(result)


def stream(t, sender, receiver, addrs, **options):
    with flows(t, sender, receiver, addrs, **options) as result:
        pass
    clean(result)


def four_ways(t, **options):
    """Either end sends, over IPv4 and IPv6."""
    for lower, higher in (V4, V6):
        stream(t, t.a, t.b, (lower, higher), **options)
        stream(t, t.b, t.a, (higher, lower), **options)


def connected(vm, addr):
    """The number of TCP connections to @addr."""
    return int(vm.check(f"ss -Htn state established | grep -c '{addr}' || true"))


@test(vms=2, timeout=240)
def streams(t):
    """All sizes up to 64 KiB, both directions, both families."""
    four_ways(t, messages=30)


@test(vms=2, timeout=240)
def big_and_small(t):
    """1 MiB and empty messages: pages by reference, small ones gathered."""
    for vm in (t.a, t.b):
        vm.check("cd /proc/sys/net/core; echo 4194304 | tee rmem_default wmem_default")
    stream(t, t.a, t.b, V4, flows=4, payload=1048000, messages=12)
    stream(t, t.b, t.a, V4[::-1], flows=4, payload=1048000, messages=12)
    stream(t, t.a, t.b, V4, flows=32, payload=64, messages=300)


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def streams_with_mainline_higher(t):
    """Mainline has the larger address."""
    four_ways(t, messages=15)


@test(vms=2, modules=("mainline", "ours"), timeout=240)
def streams_with_mainline_lower(t):
    """Mainline has the smaller address: it is the one that connects."""
    four_ways(t, messages=15)


def kills(t, victim, seconds=12):
    with flows(t, t.a, t.b, V4, payload=16384, messages=0, seconds=seconds) as result:
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            time.sleep(1.5)
            victim.check(KILL)
            count += 1
    t.note(f"{count} kills: {describe(result)}")
    for key in ("reordered", "corrupted", "strangers", "unacknowledged"):
        assert not result[key], describe(result)
    assert result["delivered"] > 0, describe(result)


@test(vms=2, timeout=180)
def killed_at_the_sender(t):
    """`ss -K` on the connection, again and again: it comes back, order is kept."""
    kills(t, t.a)


@test(vms=2, timeout=180)
def killed_at_the_receiver(t):
    """The same at the other end, which does not connect by itself."""
    kills(t, t.b)


@test(vms=2, timeout=240)
def link_down(t):
    """The cable is pulled for some seconds, twice; TCP goes on where it was."""
    with flows(t, t.a, t.b, V4, payload=16384, messages=0, seconds=15) as result:
        for vm in (t.a, t.b):
            time.sleep(2)
            dev = vm.check("ip -o -4 addr | awk '/10.9.0/ {print $2}'").strip()
            vm.check(f"ip link set {dev} down; sleep 2; ip link set {dev} up")
    clean(result)


@test(vms=2, timeout=180)
def buffer_sysctls(t):
    """A written buffer size makes all connections anew; they end in order and lose nothing."""
    with flows(t, t.a, t.b, V4, payload=16384, messages=0, seconds=12) as result:
        for n in range(6):
            time.sleep(1.5)
            vm, name = (t.a, t.b)[n % 2], ("snd", "rcv")[n // 2 % 2]
            vm.check(f"echo {20000 + n * 10000} >/proc/sys/net/rds/tcp/rds_tcp_{name}buf")
    t.note(describe(result))
    clean(result)
    for vm in (t.a, t.b):
        assert vm.run("echo 1000 >/proc/sys/net/rds/tcp/rds_tcp_sndbuf")[0]


@test(vms=2, timeout=180)
def reload(t):
    """The peer's modules are unloaded and loaded in mid-stream; who is left gets through again."""
    stream(t, t.a, t.b, V4, messages=5)
    for vm, other, addrs in ((t.b, t.a, V4), (t.a, t.b, V4[::-1])):
        vm.unload()
        vm.load(f"ours:{t.modules_dir}" if t.flavour() == "ours" else t.flavour())
        stream(t, other, vm, addrs, messages=5)
        stream(t, vm, other, addrs[::-1], messages=5)


@test(vms=2, timeout=120, only="ours")
def one_connection(t):
    """Whoever speaks first, there is one connection, and the smaller address has made it."""
    stream(t, t.b, t.a, V4[::-1], flows=2, messages=3)
    stream(t, t.a, t.b, V4, flows=2, messages=3)
    for vm, peer in ((t.a, V4[1]), (t.b, V4[0])):
        assert connected(vm, f"{peer}.*16385\\|16385.*{peer}") == 1
    assert connected(t.a, f"{V4[1]}:16385") == 1
