# SPDX-License-Identifier: GPL-2.0
"""Ordering hints: rds-stress sends requests that may overtake each other and judges what arrives."""
import contextlib
import re

from suite import test
from traffic import A, B, counters, paths, stress

# One task that floods another: what one path has no room for spreads. Fewer messages are under way
# than lie between two ordered ones, behind which none may leave their path.
FLOOD = "-t 1 -d 4096 -q 4k --send-buffer 1m --recv-buffer 8m"
SMP = 2  # workers of several paths at the same time

# One message of a thousand at least takes another path than the one before it: a flood is tens of
# thousands, and what one connection has no room for goes elsewhere in batches.
AWAY = 1000
FLOODS = 10  # of paths_die, of 4 s each: two are enough on a quiet machine
ORDERS = ("unordered", "half:64", "ordered:512")


def small_pipes(t):
    """One connection is soon full."""
    for machine in (t.a, t.b):
        machine.check("sysctl -qw net.rds.tcp.rds_tcp_sndbuf=5000")


@contextlib.contextmanager
def rough_path(machine, index, how):
    """Of the connections that @machine called the one of path @index is bad for the time being."""
    dev = machine.check(f"ip -o route get {B}").split(" dev ")[1].split()[0]
    machine.check(
        f"tc qdisc add dev {dev} root handle 1: prio bands 4 priomap {'0 ' * 16}&&"
        f" tc qdisc add dev {dev} parent 1:4 netem {how} limit 10000 &&"
        f" tc filter add dev {dev} parent 1: protocol ip u32 match ip protocol 6 0xff"
        f" match u16 {index} 7 at 20 match ip dport 16385 0xffff flowid 1:4")
    try:
        yield
    finally:
        machine.check(f"tc qdisc del dev {dev} root; rmmod cls_u32 sch_netem sch_prio")


def flood(t, order, options=""):
    before = counters(t, t.a)
    verified = stress(t, t.a, t.b, B, f"{FLOOD} --order {order} {options}")
    after = counters(t, t.a)
    away, waits = (after[n] - before[n] for n in ("send_order_away", "send_order_wait"))
    t.note(f"{order}: {verified} messages, {away} away, {waits} waited")
    return verified, away, waits


@test(vms=2, only="ours", extra=True)
def one_bad_path_of_eight(t):
    """With loss and delay on one path every request arrives once, and where the table lets it."""
    small_pipes(t)
    flood(t, "ordered", "-T 2")
    with rough_path(t.a, 3, "delay 10ms 5ms loss 1%"):
        for order in ORDERS:
            verified, away, waits = flood(t, order, "-T 5")
            assert away > 20 + verified // AWAY, f"{away} of {verified}"
            assert waits if order == "half:64" else order != "unordered" or not waits, waits
    assert sum(p["state"] == "up" for p in paths(t, t.a)) == 8, paths(t, t.a)


@test(vms=2, only="ours", extra=True)
def paths_die(t):
    """Connections are killed all the time: the table holds, and nothing is lost."""
    for machine in (t.a, t.b):
        machine.check("modprobe tcp_diag")
    small_pipes(t)
    for order in ORDERS:
        before = sum(p["resets"] for p in paths(t, t.a))
        killer = t.b.spawn("renice -n 19 $$ >/dev/null; while :; do for i in 0 1 2 3 4 5 6 7; do"
                           " p=$(ss -Htn state established '( sport = :16385 )' |"
                           " awk -v i=$i '{ n = split($4, a, \":\"); if (a[n] % 8 == i)"
                           " { print a[n]; exit } }');"
                           " [ -n \"$p\" ] && ss -HtnK \"( dport = :$p )\" >/dev/null; done; done")
        verified = away = resets = 0
        # The killer has what the flood leaves it of a processor that others want, too.
        for _ in range(FLOODS):
            more, far, _ = flood(t, order, "-T 4")
            verified, away = verified + more, away + far
            resets = sum(p["resets"] for p in paths(t, t.a)) - before
            if resets >= 4 and away > 20 + verified // AWAY:
                break
        killer.kill()
        killer.wait()
        t.note(f"{resets} resets")
        assert away > 20 + verified // AWAY, f"{away} of {verified}"
        assert resets >= 4, f"{resets} resets: not even half of the paths died"


@test(vms=2, only="ours", timeout=240)
def the_example(t):
    """examples/bulk: a file in blocks that overtake each other is whole when 'done' comes."""
    bulk = t.example("bulk")
    small_pipes(t)
    t.a.check("head -c 20000000 /dev/urandom >/tmp/from")
    receiver = t.b.spawn(f"{bulk} recv {B} 4000 /tmp/to")
    t.b.wait_until("grep -q 4000 /proc/net/rds/sockets")
    with rough_path(t.a, 5, "delay 20ms"):
        said = t.a.check(f"{bulk} send {A} {B} 4000 /tmp/from", timeout=180)
    assert "20000000 bytes delivered" in said, said
    said = receiver.check(30)
    t.note(said.strip())
    assert int(re.search(r"(\d+) blocks were overtaken", said)[1]) > 0, said
    sums = {m.check(f"sha256sum <{f}").strip() for m, f in ((t.a, "/tmp/from"), (t.b, "/tmp/to"))}
    assert len(sums) == 1, sums


@test(vms=2, only="ours")
def how_much_is_held(t):
    """RDS_RECV_QUERY, asked all the time by two threads while messages of eight paths overtake each
    other: a span is never less than what is held, and 0 only with it."""
    query = t.prog("rds_query")
    small_pipes(t)
    asking = t.b.spawn(f"{query} recv --bind {B} --to {A}", stdin=True)
    asking.wait_output("^ready$")
    sending = t.a.spawn(f"{query} send --bind {A} --to {B}", stdin=True)
    for _ in range(300):
        if counters(t, t.a)["send_order_away"] > 500:
            break
    else:
        raise AssertionError(f"never 500 messages away: {counters(t, t.a)['send_order_away']}")
    for one in (sending, asking):
        one.write("", close=True)
    sending.check(30)
    t.note(asking.check(30).splitlines()[-1])
