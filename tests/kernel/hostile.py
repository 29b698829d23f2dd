# SPDX-License-Identifier: GPL-2.0
"""The parts of cases/hostile.py: whose networks these are, who does what, what is counted."""
import collections
import contextlib
import json
import os
import re
import subprocess
import time

import guest
from netns_pair import LISTEN
from traffic import A, A6, B, B6, Flows, helper, load_again, unavailable

# From this one on seeds are kept: one that found something goes here, with its reason.
KEPT = 1
SEEDS, STEPS = int(os.environ.get("SEEDS") or 6), 500
ENOUGH, MANY = 6, 50  # seeds that reach most of what strangers can, and all of it

# Namespaces of guest b: one is the witness's, another comes and goes.
WITNESS, OTHER_END = "10.9.4.1", "10.9.4.2"
PASSING = "10.9.8.2"
IN_W, IN_V = "ip netns exec w", "ip netns exec v"

# More than before that is no finding: kB and objects of kmalloc that a kernel sets aside for hosts
# that it has met (routes, TCP's metrics). Other objects come back, but for the last namespace that
# has gone: Linux frees it when the next one goes. Many seeds leave some 8 MB of pages, and no object:
# with 6 seeds it is 2. KASAN keeps a copy of each stack trace that it has not seen before.
SLACK = {"kB": 4096 if SEEDS < MANY else 12288, "kmalloc": 500, "skbuff_head_cache": 50}
SLACK_OF_OTHERS = 2
LOOKS, PAUSE = 10, 2  # at the account, until it is as before; s

# Counters that strangers move in a few seeds, ten times and more: one that stands still says that
# its handler is not reached any more.
REACHED = {
    "conn_reset", "recv_drop_old_seq", "recv_drop_no_sock", "recv_delivered", "recv_queued",
    "recv_ack_required", "recv_ping", "send_pong", "send_retransmitted", "send_cancelled",
    "cong_update_queued", "cong_update_received", "recv_drop_bad_length", "recv_drop_bad_port",
    "recv_bad_flags", "recv_bad_exthdr", "recv_foreign_exthdr", "recv_ack_only", "send_ack_only",
    "recv_bad_ack", "recv_bad_refusal", "send_refused", "conn_knock", "conn_takeover_refused",
    "conn_fold", "conn_wrong_path", "tcp_knock_refused", "tcp_knock_sent", "tcp_sndbuf_full"}
# And those that they move in many seeds.
REACHED_BY_MANY = REACHED | {"conn_fan_out", "conn_evicted", "conn_tombstone", "recv_refused",
                             "recv_sock_full", "recv_delayed_retry", "send_queue_full"}


def seeds(count):
    """[(first, how many)]"""
    if os.environ.get("SEED"):
        return [(int(os.environ["SEED"]), count)]
    commit = subprocess.run(["git", "-C", guest.TOP, "rev-parse", "--short=7", "HEAD"], text=True,
                            capture_output=True).stdout.strip()
    return [(KEPT, count // 2), (int(commit or "1", 16), count - count // 2)]


def more_seeds():
    """Always the same, beside those."""
    return [(KEPT + 1000, SEEDS)]


OF_A = f"""
ip route replace local 10.8.0.0/16 dev eth0
ip route replace local 10.200.0.0/16 dev eth0
ip -6 route replace local fd00:8::/64 dev lo
ip -6 route replace local fd00:a::/64 dev lo
ip route replace 10.9.8.0/24 via {B}
echo 1 >/proc/sys/net/ipv6/ip_nonlocal_bind
"""
OF_B = f"""
ip -batch - <<EOF
route replace 10.8.0.0/16 via {A}
route replace 10.200.0.0/16 via {A}
route replace fd00:8::/64 via {A6}
route replace fd00:a::/64 via {A6}
netns add w
link add tow type veth peer name cable netns w
addr add {WITNESS}/24 dev tow
link set tow up
EOF
ip -n w -batch - <<EOF
link set lo up
addr add {OTHER_END}/24 dev cable
link set cable up
EOF
echo 1 >/proc/sys/net/ipv4/ip_forward
ip netns exec w sh -c 'echo 1 >{LISTEN}'
"""
GONE_FROM_A = f"""
ip route del local 10.8.0.0/16 dev eth0
ip route del local 10.200.0.0/16 dev eth0
ip -6 route del local fd00:8::/64 dev lo
ip -6 route del local fd00:a::/64 dev lo
ip route del 10.9.8.0/24 via {B}
"""
GONE_FROM_B = f"""
ip route del 10.8.0.0/16 via {A}
ip route del 10.200.0.0/16 via {A}
ip -6 route del fd00:8::/64 via {A6}
ip -6 route del fd00:a::/64 via {A6}
ip netns del w
"""
COMES = f"""
ip -batch - <<EOF
netns add v
link add tov type veth peer name cable netns v
addr add 10.9.8.1/24 dev tov
link set tov up
EOF
ip -n v -batch - <<EOF
link set lo up
addr add {PASSING}/24 dev cable
link set cable up
route add default via 10.9.8.1
EOF
"""


def reached():
    """Counters that the seeds of this run have to move."""
    return REACHED_BY_MANY if SEEDS >= MANY else REACHED if SEEDS >= ENOUGH else set()


@contextlib.contextmanager
def networks(t):
    t.a.check(f"set -e; {OF_A}")
    t.b.check(f"set -e; {OF_B}")
    yield
    t.b.check(GONE_FROM_B)
    t.a.check(GONE_FROM_A)


def strangers(t, first, count, steps, control=True):
    return t.a.spawn(f"{t.prog('rds_hostile')} strangers --to {B} --to {B6} --to {PASSING}"
                     f" --seed {first} --seeds {count} --steps {steps}"
                     + (f" --control {B}" if control else ""))


def host(t):
    """The programs of guest b; they go when the strangers have gone."""
    ends = t.b.spawn(f"nice {t.prog('rds_hostile')} host --local {B} --local {B6}")
    ends.wait_output("^ready$")
    return ends


def namespaces_pass(t, until):
    """A namespace comes, is talked to, and ends under load, again and again."""
    passed = 0
    while not passed or not until.done:
        t.b.check(f"set -e; {COMES}")
        inside = t.b.spawn(f"exec nice {IN_V} {t.prog('rds_hostile')} host --alone"
                           f" --local {PASSING} --seed {passed}", stdin=True)
        inside.wait_output("^ready$")
        time.sleep(0.5)  # it is talked to
        # Its last user is a name, or a program with sockets.
        gone = [lambda: t.b.check("ip netns del v"), inside.kill]
        for end in gone if passed % 2 else reversed(gone):
            end()
        inside.wait()
        passed += 1
        t.b.wait_until("! [ -e /sys/class/net/tov ]", 120)
    return passed


def warm_up(t):
    """All that is set aside once, is."""
    ends = host(t)
    strangers(t, 0, 1, STEPS // 2).check(90)
    ends.check(120)


def meet(t, seeds, steps):
    """Strangers, programs, namespaces and the witness; how often what was done, and the witness's
    accounts."""
    flows = "--flows 3 --max-payload 20000"
    witnesses = [Flows(t, t.b, WITNESS, t.b, OTHER_END, flows, send_options="--rate 60",
                       prefixes=("", IN_W), timeout=1000),
                 Flows(t, t.b, OTHER_END, t.b, WITNESS,
                       f"{flows} --control 4200 --base-port 5100", send_options="--rate 60",
                       prefixes=(IN_W, ""), timeout=1000)]
    killer = t.b.spawn(f"exec nice {helper('rds_kill.py')} 1000000 0.7")
    told, passed = collections.Counter(), 0
    for first, count in seeds:
        ends = host(t)
        talk = strangers(t, first, count, steps)
        passed += namespaces_pass(t, talk)
        said = json.loads(talk.check(600 + 30 * count).splitlines()[-1])
        told.update(said["account"])
        told["deeds"] += sum(said["deeds"].values())
        t.note(f"programs: {ends.check(120).splitlines()[-1]}")
    assert not killer.done, killer.output
    killer.kill()
    killer.wait()
    t.note(f"{passed} namespaces came and went")
    return told, [flows.stop() for flows in witnesses]


def modules_come_and_go(t, first, steps):
    """The transport is taken away and loaded again while strangers talk, and goes as they do."""
    talk = strangers(t, first, 2, steps, control=False)
    talk.wait_output("^seed")
    again = f"/run/busybox insmod {t.modules_dir}/rds_tcp.ko"
    rounds = 0
    while not rounds or not talk.done:
        t.b.check(f"/run/busybox rmmod rds_tcp && sleep 0.2 && {again} && sleep 0.3")
        rounds += 1
    t.note(f"the transport went {rounds} times")
    talk.check()


# Sockets in TIME_WAIT stay for a minute, whoever has closed them: they are not looked at.
CACHES = "skbuff_head_cache|skbuff_fclone_cache|TCP|TCPv6|net_namespace"
# kmalloc's smallest are left out: a processor's slab counts as used, which is hundreds of those.
LOOK = ("echo 0 | tee /sys/kernel/slab/*/cpu_partial >/dev/null 2>&1; "
        "echo 1 | tee /sys/kernel/slab/*/shrink >/dev/null; "
        "awk '/^kmalloc/ && $1 !~ /-(8|16)$/ {n += $2} END {print \"kmalloc\", n}"
        f" $1 ~ /^({CACHES})$/ {{print $1, $2}}' /proc/slabinfo; "
        "awk '/^TCP:/ {print \"sockets\", $9}' /proc/net/sockstat")


class Account:
    """Memory, objects and sockets of guest b while our modules are not loaded."""

    def __init__(self, t):
        t.b.unload()
        self.before = self.look(t.b)
        load_again(t, t.b)

    @staticmethod
    def look(machine):
        found = {name: int(n) for name, n in
                 re.findall(r"^(\S+) (\d+)$", machine.check(LOOK), re.M)}
        missing = {"kmalloc", "sockets", *CACHES.split("|")} - {"skbuff_fclone_cache"} - set(found)
        assert not missing, f"not told of: {missing}"
        return {**found, "kB": unavailable(machine)}

    def compare(self, t):
        """Nothing more than before, as soon as TCP and RCU have let go of theirs."""
        t.b.unload()
        for at in range(LOOKS):
            if at:
                t.b.check(f"sleep {PAUSE}")
            grown = {name: n - self.before.get(name, 0) for name, n in self.look(t.b).items()}
            left = {name: n for name, n in grown.items()
                    if n > SLACK.get(name, SLACK_OF_OTHERS)}
            if not left:
                break
        t.note("more than before: " + ", ".join(f"{name} {n:+d}" for name, n in grown.items()))
        assert not left, f"left behind: {left}"
        load_again(t, t.b)
