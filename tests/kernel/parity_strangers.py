# SPDX-License-Identifier: GPL-2.0
"""Hosts that nobody has heard of, by the hundred (cases/parity_attacks.py) and by the thousand
(cases/parity_many.py)."""
import contextlib
import re

from traffic import A, B, Flows, helper

KNOWN, NEW = "10.8.200.1", "10.8.200.2"
TALK = helper("rds_talk.py")
ROOM = "/proc/sys/net/rds/max_passive_connections"


@contextlib.contextmanager
def many_hosts(t):
    """A is all the hosts of 10.8.0.0/16, and B knows the way there."""
    t.a.check("ip route add local 10.8.0.0/16 dev lo")
    t.b.check(f"ip route add 10.8.0.0/16 via {A}")
    yield
    t.b.check("ip route del 10.8.0.0/16")
    t.a.check("ip route del local 10.8.0.0/16 dev lo")


def answered(t, source):
    said = t.a.check(f"{t.tool('rds-ping')} -q -c 5 -i 10ms -w 20 -I {source} {B}; true", 60)
    return re.search(r"5 sent, (\d answered)", said)[1]


def strangers(t, count, ping="", room=0):
    """So many come and go while hosts that are known talk on, and one that is new is heard; `room`
    is what ours is to have for them, if it has such a setting."""
    def play(side):
        t.a.check("modprobe tcp_diag")
        if room:
            t.b.check(f"[ ! -e {ROOM} ] || echo {room} >{ROOM}")
        with many_hosts(t):
            sink = t.b.spawn(f"{TALK} answer {B}", stdin=True)
            sink.wait_output("^ready$")
            t.a.check(f"{TALK} ask {KNOWN} {B} once")
            sink.write("", close=True)
            flows = Flows(t, t.b, B, t.a, A, "--flows 4 --max-payload 1000 --base-port 5000",
                          send_options="--rate 50 --drain 15", timeout=100 + count / 10)
            flows.wait_progress(10)
            said = t.a.check(f"{helper('rds_strangers.py')} {B} 10.8.0.1 {count} {ping}", 300)
            t.note(f"{side.who}: {said.strip()}")
            side.fact("a new host, pings answered", answered(t, NEW))
            flows.wait_progress(10)
            t.a.check(f"ss -HtnK 'src {KNOWN}'")
            side.fact("a host that has sent to us, pings answered", answered(t, KNOWN))
            found = flows.stop()
            side.fact("a stream meanwhile", f"{found['lost']} lost, {found['duplicates']} twice")
    return play
