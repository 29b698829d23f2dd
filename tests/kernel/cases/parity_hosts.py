# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours side by side: connections that others want to take, and hosts that
come back. See parity.py above this directory."""
import re

import filters
import parity
import suite
from suite import test
from traffic import A, B, Flows, helper

KERNELS = parity.KERNELS
STEADY = "--rate 300 --drain 15"
LOAD = "--flows 16 --max-payload 2048"
NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all --bounding-set=-all"
RDS_TCP = "'( sport = :16385 or dport = :16385 )'"
SOON, PATIENCE = 5000, 15  # ms, s


def account(side, flows, what=""):
    """Figures of a stream that has ended: none with ours, whatever mainline's have."""
    found = flows.stop()
    for fault in ("lost", "duplicates", "reordered", "corrupted"):
        side.less(f"{what}{fault}", found[fault])
        assert side.kind == "mainline" or not found[fault], found


@test(vms=2, modules="mainline", timeout=200, extra=True)
def takeover(t):
    """A user of the host with the smaller address cannot read what the other host sends to it."""
    def play(side):
        flows = Flows(t, t.b, B, t.a, A, LOAD, send_options=STEADY)
        flows.wait_progress()
        thief = t.a.spawn(f"{NOBODY} {helper('rds_takeover.py')} {A} {B} 8")
        while not thief.done:
            flows.wait_progress(20)
        side.read(thief.check())
        flows.wait_progress()
        account(side, flows)
    parity.compare(t, play)


def back(t, side, what):
    """A has a new connection to make, B believes in the old one: how long an answer takes."""
    said = t.a.run(f"{t.tool('rds-ping')} -c 1 -w {PATIENCE} -I {A} {B}")[1]
    time = re.search(r"(\d+) usec", said)
    took = int(time[1]) // 1000 if time else PATIENCE * 1000
    side.less(f"{what}, answered after", took, "ms")
    side.fact(f"{what}, answered within 5 s", "yes" if took <= SOON else "no")


@test(vms=2, modules="mainline", timeout=300, extra=True)
def comes_back(t):
    """A host whose connections ended without the other hearing of it is soon back, and once it has
    booted anew."""
    def play(side):
        for machine in t.vms:
            machine.check("modprobe -a tcp_diag nf_tables")
        t.a.check(f"{t.tool('rds-ping')} -c 1 -w 20 {B}")
        with filters.incoming(t.b, "tcp flags & rst == rst drop"):
            killed = t.a.check(f"ss -HtnK {RDS_TCP}")
            assert killed.strip(), "there was no connection to kill"
            back(t, side, "connection killed")
        kind = t.a.modules
        t.a.power_cycle()
        t.a.load(suite.where(t.options, kind))
        back(t, side, "host restarted")
    parity.compare(t, play, slack={"*answered after": (1, SOON)})


FIRSTS = 20


def first_contacts(side, asker, me, answerer, peer, what):
    """FIRSTS messages at once between addresses that have never met, and their answers."""
    ends = [machine.spawn(f"{helper('rds_first.py')} {role} {own} {other} {FIRSTS}", stdin=True)
            for machine, role, own, other in ((answerer, "answer", peer, me),
                                              (asker, "burst", me, peer))]
    for end in ends:
        end.wait_output("^ready$")
        end.write("go\n")
    said = ends[1].wait_output(r"^answered (\d+) of .* (\d+) ms", 80)
    side.more(f"{what} asks, answered", said[1], f"of {FIRSTS}")
    side.less(f"{what} asks, the slowest answer", said[2], "ms")
    for end in ends:
        end.write("", close=True)
        end.check()


@test(vms=2, modules="mainline", timeout=300, extra=True)
def first_contact(t):
    """Time to a first message and its answer, whichever host asks."""
    def play(side):
        for machine, net in ((t.a, 1), (t.b, 2)):
            machine.check("ip -batch - <<'EOF'\n" + "".join(
                f"addr add 10.9.{net}.{i}/16 dev eth0\n" for i in range(1, 1 + 2 * FIRSTS))
                + "EOF")
        for at, asker, me, answerer, peer, what in (
                (1, t.a, 1, t.b, 2, "the smaller address"),
                (1 + FIRSTS, t.b, 2, t.a, 1, "the larger address")):
            first_contacts(side, asker, f"10.9.{me}.{at}", answerer, f"10.9.{peer}.{at}", what)
        for machine, net in ((t.a, 1), (t.b, 2)):
            machine.check(f"ip addr flush dev eth0 to 10.9.{net}.0/24")
    parity.compare(t, play, {"*the slowest answer": (1.5, 300)})
