# SPDX-License-Identifier: GPL-2.0
"""Parts that tests of idle connections share, whatever the transport."""
from traffic import A, A6, B, B6, Flows, counters, exact, ping, wait_counter

IDLE_MS = 200


def impatient(*machines, ms=IDLE_MS):
    for machine in machines:
        machine.check(f"sysctl -qw net.rds.idle_timeout_ms={ms}")


def gone(machine, transport):
    """Until no connection over it is left."""
    machine.wait_until(f"! grep -qw {transport} /proc/net/rds/paths")


def all_collected(t, transport, nothing_left):
    """Both hosts forget a connection that ended in order, IPv4 and IPv6, and make it again."""
    impatient(t.a, t.b)
    for own, other in ((A, B), (A6, B6), (A, B)):
        ping(t, t.a, own, other)
        for machine in (t.a, t.b):
            gone(machine, transport)
            nothing_left(machine)
    for machine in (t.a, t.b):
        # A connection is found no more when it dies, and counted a grace period later; one that
        # is made between two pings, where the guests are slow, counts, too.
        wait_counter(t, machine, "conn_collected", 3)
        now = counters(t, machine)
        assert not now["conn_reset"] and not now["conn_drain_timeout"], now
    assert sum(counters(t, m)["conn_idle"] for m in (t.a, t.b)) >= 3


def messages_in_between(t, times):
    """Some that come just when a connection is about to go, so often: exactly once, in order."""
    impatient(t.a, t.b)
    flows = Flows(t, t.a, A, t.b, B, "--flows 4", send_options="--rate 4 --drain 15")
    # Of some thirty messages one comes late enough.
    for _ in range(600):
        flows.wait_progress(1)
        if counters(t, t.b)["conn_collected"] >= times:
            break
    else:
        raise AssertionError("it was never idle for long enough")
    t.note(exact(flows.stop()))
    t.note(f"{counters(t, t.a)['conn_collected']} and {counters(t, t.b)['conn_collected']}"
           " connections collected")


def forgotten_by_one(t, transport):
    """The other keeps its connection: the numbers that it remembers are not the new ones'."""
    impatient(t.a)
    ping(t, t.b, B, A)  # or we would be a stranger, whom nobody remembers
    for _ in range(3):
        ping(t, t.a, A, B)
        gone(t.a, transport)
    now = counters(t, t.b)
    assert now["conn_collected"] == 0 and now["recv_drop_old_seq"] == 0, now
