# SPDX-License-Identifier: GPL-2.0
"""Data races, on the kernel with KCSAN: traffic from several sides, and one race on purpose."""
import re

from netns_pair import IN_X, IN_Y, X, X6, Y, Y6, pair, unpair
from suite import test
from traffic import Flows, exact, ping

KERNELS = ["kcsan"]
WATCH = "/sys/module/kcsan/parameters/skip_watch"


def watch_closely(t):
    """At boot it would take minutes."""
    t.a.check(f"echo 200 >{WATCH}")


@test(modules="none")
def a_race_is_reported(t):
    """Two threads count in one variable (tests/kunit/rds_bugs.c)."""
    watch_closely(t)
    t.a.check(f"/run/busybox insmod {t.modules_dir}/rds_bugs.ko bug=race; "
              "/run/busybox rmmod rds_bugs")
    seen = [line for line in t.a.dmesg_problems() if re.search(r"KCSAN: data-race in racer", line)]
    assert seen, "nothing was reported"
    t.note(f"{len(seen)} reports")
    t.a.dmesg_mark()


@test(timeout=200)
def over_loopback(t):
    """Several senders, receivers and readers of tables at once, over loopback."""
    watch_closely(t)
    flows = Flows(t, t.a, "127.0.0.1", t.a, "127.0.0.1", "--flows 8 --max-payload 20000",
                  messages=60)
    for _ in range(5):
        t.a.check(f"{t.tool('rds-info')} >/dev/null")
    t.note(exact(flows.result(150)))


@test(timeout=200)
def over_tcp(t):
    """The same between two namespaces, in both directions, with connections killed meanwhile."""
    watch_closely(t)
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    there = Flows(t, t.a, X, t.a, Y, "--flows 4 --max-payload 20000", messages=100,
                  prefixes=(IN_X, IN_Y))
    back = Flows(t, t.a, Y6, t.a, X6, "--flows 4 --max-payload 20000 --base-port 6000"
                 " --control 7000", messages=100, prefixes=(IN_Y, IN_X))
    for _ in range(3):
        t.a.check(f"{IN_X} {t.tool('rds-info')} >/dev/null")
    for flows in (there, back):
        t.note(exact(flows.result(150)))
    unpair(t)
