# SPDX-License-Identifier: GPL-2.0
"""A host with very much of all: a hundred thousand sockets, ten thousand connections to hosts that are
not there, a million messages for them. No processor is held (the kernel would tell of a soft
lockup), a stream of others loses nothing, and in the end nothing is left.
"""
import json

import guest
from judges import exact
from memcg import objects
from suite import test
from traffic import A, B, Flows, ping, soon, unavailable

EXTRA, SMP, MEM = True, 2, 4096
ADDRESSES = [f"10.9.2.{n}" for n in (1, 2, 3, 4)]
SOCKETS, MESSAGES, HOSTS = 25000, 10, 2500  # of each address; of each socket; for each address
DEAD = "10.77.0.1"
SELDOM = 30000  # ms between two calls of a host: an emulated processor makes a few hundred a second
PAUSES = "/proc/sys/net/rds/reconnect"
HELD = 2  # s of a processor until the kernel's watchdog tells; half as long as it waits
# A user of one of these addresses sends one more message, and takes it back, again and again.
CANCELS = f"""import rds
one, dead = rds.Socket(("{ADDRESSES[0]}", 0)), ("{DEAD}", 4000)
for n in range(500):
    one.send_message(b"x", dead)
    one.cancel(dead if n % 2 else None)
"""
# Ends when the program has: it has a hundred thousand sockets to close.
KILL = "p=$(pidof rds_hold) && kill -9 $p && while [ -e /proc/$p ]; do sleep 0.1; done"
LEFT_KB = 30000  # the kernel's own of 2500 routes and 100,000 files, when all are gone


def around(t):
    """Addresses of the sockets, and the way to hosts that do not answer: guest b drops what is theirs."""
    t.a.check("".join(f"ip addr add {one}/32 dev eth0;" for one in ADDRESSES) +
              f"ip route add 10.77.0.0/16 via {B} && echo {HELD} >/proc/sys/kernel/watchdog_thresh &&"
              f" echo {SELDOM} >{PAUSES}_max_delay_ms && echo {SELDOM} >{PAUSES}_min_delay_ms")


def away(t):
    t.a.check("ip addr flush dev eth0 to 10.9.2.0/24; ip route del 10.77.0.0/16;"
              " echo 10 >/proc/sys/kernel/watchdog_thresh")


def crowd(t):
    """The sockets with their messages, in a process of its own."""
    binds = " ".join(f"--bind {one}" for one in ADDRESSES)
    holder = t.a.spawn(f"ulimit -n 200000 && exec {t.prog('rds_hold')} {binds} --count {SOCKETS}"
                       f" --to {DEAD} --hosts {HOSTS} --messages {MESSAGES} --length 64", stdin=True)
    taken = int(holder.wait_output(r"^(\d+) messages\nready$", 400)[1])
    assert taken == len(ADDRESSES) * SOCKETS * MESSAGES, taken
    return holder


def answered(t, while_this):
    """The slowest of pings between the two hosts while a command runs on the first, in ms."""
    running, slowest = t.a.spawn(while_this), 0
    while not running.done:
        said = json.loads(t.a.check(f"{t.tool('rds-ping')} --json -c 50 -i 10ms -w 30 -I {A} {B}"))
        assert said["answered"] == 50, said
        slowest = max(slowest, said["rtt_usec"]["max"] / 1000)
    running.check()
    return slowest


@test(vms=2, timeout=1500, only="ours")
def a_million_messages(t):
    """Tables, cancels and the end of all that, beside others' messages."""
    ping(t, t.a, A, B)
    around(t)
    before, witness = unavailable(t.a), Flows(t, t.a, A, t.b, B, "--flows 3", timeout=1000)
    holder = crowd(t)
    t.note(f"{unavailable(t.a) - before} kB with all of it")
    for what, command in {
            "all tables of /proc": "cat /proc/net/rds/* >/dev/null",
            "rds-info": f"{t.tool('rds-info')} >/dev/null",
            "rdsctl show": f"{t.tool('rdsctl')} show >/dev/null",
            "cancels": f"PYTHONPATH={guest.TOP}/python python3 - <<'END'\n{CANCELS}END",
            "the program is killed": KILL}.items():
        t.note(f"{what}: slowest answer beside it {answered(t, command):.1f} ms")
    holder.wait()
    t.note("witness: " + exact(witness.stop(), soon(t)))
    away(t)
    t.a.wait_until("[ $(awk '$1 == \"RDS\" {print $3}' /proc/net/protocols) -lt 20 ]", 60)
    t.note(f"{objects(t.a)}")
    t.a.unload()
    left = unavailable(t.a) - before
    t.note(f"{left} kB are left")
    assert left < LEFT_KB, left
    t.a.load("ours")
