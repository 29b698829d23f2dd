# SPDX-License-Identifier: GPL-2.0
"""The host lives, for all that programs and peers do: random system calls, damaged streams.

Another seed every time; `SEED=N tests/kernel/run.py robust` does the same calls and streams again.
After each test the suite itself looks at the kernel's log and unloads the modules.
"""
import json
import os
import random
import re
from collections import Counter
from contextlib import contextmanager

from suite import test
from traffic import A, A6, B, B6, PYTHON, helper, load_again, ping

SMP = 2
NEW_GUESTS = True  # it measures memory
# Slabs are told who takes from them: then no processor has one for itself, and each object counts
# for what it is (a slab of a processor's counts as used, whole).
BOOT = "slub_debug=U,kmalloc-*"
SEED = int(os.environ.get("SEED") or random.randrange(1, 1 << 31))
CALLS, STREAMS = 40000, 500
# Beyond what comes and goes: less than one object for every tenth of the streams, or for every
# thousandth call. On debug kernels KASAN keeps what is freed for a while, and kmemleak sees single
# objects.
SLACK, SLACK_OF_DEBUG = STREAMS // 10, 4 * STREAMS
# Of random calls so many succeed at least, or they would be refused at the door and show nothing.
SUCCEED = 0.01


# The first socket of a host that wants time stamps, and the end of the last, patch the kernel's
# receive path (a static key). QEMU sometimes never leaves an instruction that is patched while
# another processor runs it (docs/testing.md, "What the emulator does").
STAMPED = ("import socket, sys; s = socket.socket(type=socket.SOCK_DGRAM);"
           " s.setsockopt(socket.SOL_SOCKET, 29, 1); print('on', flush=True); sys.stdin.read()")


@contextmanager
def stamped(*machines):
    """Somebody wants time stamps all the time."""
    holders = [machine.spawn(f'{PYTHON} -c "{STAMPED}"', stdin=True) for machine in machines]
    for holder in holders:
        holder.wait_output("^on$")
    yield
    for holder in holders:
        holder.write("", close=True)
        holder.check()


def chaos(t, calls, seed):
    """rds_chaos on both hosts, each sending to itself and to the other: calls that succeeded."""
    prog, ends = t.prog("rds_chaos"), []
    for machine, own, other in ((t.a, (A, A6), (B, B6)), (t.b, (B, B6), (A, A6))):
        ends.append(machine.spawn(
            f"{prog} --seed {seed} --calls {calls} --limit {t.seconds(30)} --local 127.0.0.1"
            f" --local {own[0]} --local {own[1]} --remote {other[0]} --remote {other[1]}"))
    said = "".join(end.check(230) for end in ends)
    return sum(int(n) for n in re.findall(r": (\d+) of \d+ succeeded", said))


# Objects of kmalloc that are in use, cache by cache. Looking opens files, each of which may leave an
# object for some seconds: more would be seen by looking more often.
OBJECTS = "awk '/^kmalloc/ {print $1, $2}' /proc/slabinfo"
PAUSE, LOOKS_BEFORE, LOOKS = 6, 3, 8  # s between two looks


def looks(machine, number):
    for at in range(number):
        if at:
            machine.check(f"sleep {PAUSE}")
        rows = machine.check(OBJECTS).splitlines()
        yield Counter({cache: int(used) for cache, used in map(str.split, rows)})


def objects(t, machine):
    """With our modules gone, which keep connections; they are loaded again. The most that is seen.

    The kernel loads rds_rdma as soon as a call asks for InfiniBand, which happens earlier or later,
    and what that one needs stays when it goes.
    """
    machine.unload()
    machine.check("modprobe rdma_cm")
    found = max(looks(machine, LOOKS_BEFORE), key=Counter.total)
    load_again(t, machine)
    return found


def nothing_is_left(t, machine, before):
    """No more objects than before, as soon as TCP and RCU have let go of theirs."""
    machine.unload()
    most = SLACK_OF_DEBUG if machine.kernel.debug else SLACK
    seen = []
    for found in looks(machine, LOOKS):
        seen.append(found.total() - before.total())
        if seen[-1] < most:
            break
    t.note(f"objects of kmalloc left: {', '.join(f'{n:+d}' for n in seen)}")
    assert seen[-1] < most, f"{seen}: {dict((found - before).most_common(8))}"
    load_again(t, machine)


@test(vms=2, timeout=240, only="ours", extra=True)
def random_calls(t):
    """Bad pointers, lengths, flags, options and control messages from four threads a host."""
    t.note(f"SEED={SEED}")
    with stamped(t.a, t.b):
        chaos(t, CALLS // 5, SEED + 1)  # what is set aside once is
        before = objects(t, t.b)
        succeeded = chaos(t, CALLS, SEED)
    t.note(f"{2 * CALLS} calls, {succeeded} of them succeeded")
    assert succeeded > SUCCEED * 2 * CALLS, succeeded
    ping(t, t.a, A, B)
    ping(t, t.b, B6, A6)
    nothing_is_left(t, t.b, before)


def damage(t, streams, seed):
    """Damaged streams from the one host, while programs of the other read and misbehave; what
    became of the connections, and how many messages came."""
    sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
    sink.wait_output("^ready$")
    calls = t.b.spawn(f"nice {t.prog('rds_chaos')} --seed {seed} --calls {20 * streams}"
                      f" --limit {t.seconds(30)} --local {B} --remote {A}")
    said = t.a.check(f"{t.prog('rds_peer')} --connect {B} --chaos {streams} --seed {seed}"
                     " --wait 2000", 200)
    calls.check(200)
    sink.write("", close=True)
    return json.loads(said.splitlines()[-1]), len(sink.check().splitlines()) - 1


@test(vms=2, modules=("none", "ours"), timeout=240, only="ours", extra=True)
def damaged_streams(t):
    """A peer damages, replays and cuts off what it sends, while programs read and misbehave."""
    t.note(f"SEED={SEED}")
    with stamped(t.b):
        damage(t, STREAMS // 10, SEED + 1)  # what is set aside once is
        before = objects(t, t.b)
        done, messages = damage(t, STREAMS, SEED)
    t.note(f"{done['connections']} connections, {done['bytes']} bytes, {messages} messages in them"
           f" for who listens, ended: {done['ended']}")
    assert messages > 0 and done["connections"] == STREAMS, done
    # Damage is often such that the host must end the connection, but of four connections one is
    # looked at afterwards, for half a second (rds_peer/chaos.cc).
    ended = done["ended"].get("reset", 0) + done["ended"].get("closed", 0)
    assert ended >= STREAMS // 50, f"only {ended} of {STREAMS} connections were ended"
    nothing_is_left(t, t.b, before)


DELAYS = """
import mmap, os, sys
ROUNDS = 1000  # some hundred show it; each may cost two time slices of the host
open_ = lambda name: os.open("/proc/sys/net/rds/reconnect_" + name + "_delay_ms", os.O_RDWR)
low, high, turn = open_("min"), open_("max"), mmap.mmap(-1, 4096)
taken = 0

def write(fd, value):
    try:
        return os.pwrite(fd, value, 0)
    except OSError:
        return 0

def number(fd):
    return int(os.pread(fd, 20, 0))

if not os.fork():
    for n in range(1, ROUNDS + 1):
        while turn[0] != n % 256:
            pass
        write(low, b"1000")
        turn[1] = n % 256
    os._exit(0)
for n in range(1, ROUNDS + 1):
    write(low, b"1")
    assert write(high, b"1000")
    turn[0] = n % 256
    for _ in range(n % 64):  # it is not known how long the other takes to begin
        pass
    taken += bool(write(high, b"1"))
    while turn[1] != n % 256:
        pass
    assert number(low) <= number(high), (n, number(low), number(high))
write(low, b"1")
write(high, b"1000")
os.wait()
print(taken)
"""


# One processor cannot show it: User-Mode Linux does not give it up within a call.
@test(only="ours", kernels=["6.1", "6.12", "7.2", "x86"])
def two_write_delays(t):
    """One raises the shortest pause before a call, the other lowers the longest: one is refused."""
    taken = int(t.a.check(f"{PYTHON} - <<'END'\n{DELAYS}END", t.seconds(100)))
    t.note(f"the lower one was taken {taken} times")
