# SPDX-License-Identifier: GPL-2.0
"""Data races, on the kernel with KCSAN: traffic from several sides, and one race on purpose.

Each access has a small chance to be watched, so every run sees others. Only modules are watched in
this kernel: what is reported is an access of ours, and somebody else's to the same bytes. If that
one was made by the kernel itself, its origin is "unknown", for it is seen by the value it changed.
tests/kernel/planted.py shows what these tests would see.
"""
import os
import random
import re

from netns_pair import IN_X, IN_Y, X, X6, Y, Y6, pair, unpair
from suite import test
from traffic import Flows, exact, ping, soon

KERNELS = ["kcsan"]
PARAMETERS = "/sys/module/kcsan/parameters"
SWITCH = "/sys/kernel/debug/kcsan"
SEED = int(os.environ.get("SEED") or random.randrange(1, 1 << 31))
RDS_TCP = "'( sport = :16385 or dport = :16385 )'"
LOAD = "--flows 4 --max-payload 4000"


def watch_closely(t):
    """One access in fifty is watched for 0.2 ms, on average."""
    t.a.check(f"cd {PARAMETERS} && echo 100 >skip_watch && echo 400 >udelay_task &&"
              f" echo 200 >udelay_interrupt && echo on >{SWITCH}")


@test(modules="none")
def a_race_is_reported(t):
    """Two threads count in one variable (tests/kunit/rds_bugs.c)."""
    watch_closely(t)
    t.a.check(f"/run/busybox insmod {t.modules_dir}/rds_bugs.ko bug=race; "
              "/run/busybox rmmod rds_bugs")
    seen = [line for line in t.a.dmesg_problems() if "KCSAN: data-race in racer" in line]
    assert seen, "nothing was reported"
    t.note(f"{len(seen)} reports")
    t.a.dmesg_mark()


def tell_watched(t):
    """How often somebody else's access to the same bytes was waited for, since the boot."""
    said = t.a.check(f"cat {SWITCH}")
    t.note(re.search(r"setup_watchpoints: \d+", said)[0])


def look_around(t, prefix=""):
    """Reads every table again and again, when nobody else has anything to do."""
    return t.a.spawn(f"exec {prefix} nice -n 19 sh -c"
                     f" 'while :; do {t.tool('rds-info')} -v >/dev/null; done'")


def change_settings(t):
    """Writes what the core reads without a lock, all the time."""
    return t.a.spawn(f"exec {IN_Y} nice -n 19 sh -c 'cd /proc/sys/net/rds && while :; do"
                     " for n in 1 2 3 4; do echo $n >reconnect_min_delay_ms; echo $((n + 8))"
                     " >reconnect_max_delay_ms; echo $n >max_unacked_packets; echo $n"
                     " >ping_enable; echo $((n * 10000)) >max_unacked_bytes; done; done'")


@test(timeout=300)
def over_loopback(t):
    """Several senders, receivers and readers of tables at once, over loopback."""
    watch_closely(t)
    flows = Flows(t, t.a, "127.0.0.1", t.a, "127.0.0.1", LOAD, messages=3000)
    look = look_around(t)
    t.note(exact(flows.result(190)))
    look.kill()
    look.wait()
    tell_watched(t)


def both_ways(t):
    """Traffic in both directions between two namespaces."""
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    return [Flows(t, t.a, X, t.a, Y, LOAD, prefixes=(IN_X, IN_Y)),
            Flows(t, t.a, Y6, t.a, X6, f"{LOAD} --base-port 6000 --control 7000",
                  prefixes=(IN_Y, IN_X))]


@test(timeout=200)
def over_tcp(t):
    """The same between two namespaces, in both directions."""
    watch_closely(t)
    both = both_ways(t)
    look = look_around(t, IN_X)
    for flows in both * 4:
        flows.wait_progress(1000)
    for flows in both:
        t.note(exact(flows.stop()))
    look.kill()
    look.wait()
    tell_watched(t)
    unpair(t)


@test(timeout=200)
def broken_connections(t):
    """Meanwhile connections are killed and settings written."""
    watch_closely(t)
    both = both_ways(t)
    others = [look_around(t, IN_Y), change_settings(t)]
    for number, flows in enumerate(both * 6):
        flows.wait_progress()
        t.a.check(f"{IN_X} ss -HtnK {RDS_TCP} >/dev/null")
        flows.wait_progress(200)
        t.a.check(f"{IN_Y} sh -c 'echo {20000 + number} >/proc/sys/net/rds/tcp/rds_tcp_sndbuf'")
    for flows in both:
        t.note(exact(flows.stop(), gap=soon(t)))
    for other in others:
        other.kill()
        other.wait()
    tell_watched(t)
    unpair(t)


@test(timeout=240)
def random_calls(t):
    """Threads that share sockets make random calls, on loopback and to another namespace."""
    t.note(f"SEED={SEED}")
    watch_closely(t)
    pair(t)
    ends = [t.a.spawn(f"{prefix} {t.prog('rds_chaos')} --seed {SEED} --calls 20000"
                      f" --limit {t.seconds(30)} --local 127.0.0.1 --local {own} --remote {other}")
            for prefix, own, other in ((IN_X, X, Y), (IN_Y, Y, X))]
    for end in ends:
        end.check(110)
    tell_watched(t)
    unpair(t)
