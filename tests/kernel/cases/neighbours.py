# SPDX-License-Identifier: GPL-2.0
"""A pair of sockets beside a user who does his worst in a loop: nothing of it is lost, all get on, and
the kernel does not stand still. What it costs is said by `tests/bench/run.py --neighbour`."""
from netns_pair import IN_X, IN_Y, X, Y, pair, unpair
from suite import test
from traffic import Flows, exact, helper

NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups"
DEEDS = ("cancel", "info", "bind", "flap", "lend", "open_close", "namespaces", "dead_hosts")
DO = helper("rds_neighbour.py")


def beside(t, deeds):
    pair(t)
    users = {deed: t.a.spawn(f"exec {IN_X} {NOBODY} {DO} {deed} {X} {Y}", stdin=True)
             for deed in deeds}
    for user in users.values():
        user.wait_output("^ready$", timeout=240)
    for user in users.values():
        user.write("go\n")
    flows = Flows(t, t.a, X, t.a, Y, "--flows 8 --max-payload 4096", messages=200,
                  prefixes=(IN_X, IN_Y))
    t.note(exact(flows.result()))
    for deed, user in users.items():
        assert not user.done, f"{deed} did not go on: {user.output}"
        user.write("", close=True)
        rounds = int(user.check(timeout=240).split()[-1])
        assert rounds > 0, deed
        t.note(f"{deed} {rounds} times")
    unpair(t)


@test(only="ours", timeout=600, extra=True)
def all_together(t):
    """All deeds at once."""
    beside(t, DEEDS)


@test(only="ours", timeout=600, extra=True)
def each(t):
    """One after the other."""
    for deed in DEEDS:
        beside(t, [deed])


@test(only="ours", timeout=600)
def inside_one_call(t):
    """Others get on inside of a cancel, a close, a table of messages, with 100,000 queued."""
    pair(t)
    t.note(t.a.check(f"exec {IN_X} {DO} inside {X} {Y}", timeout=500).replace("\n", "; "))
    unpair(t)
