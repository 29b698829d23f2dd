# SPDX-License-Identifier: GPL-2.0
"""One reader that has stopped, played on whatever is between two hosts: cases/parity_flood*.py."""
import contextlib

from traffic import helper, unavailable

SENDERS, TIMES = 40, 50
STOPPED = helper("rds_stopped.py")


@contextlib.contextmanager
def delayed(machine, how, device="eth0"):
    """Packets that leave by this device are delayed, or lost, as tc-netem is told."""
    machine.check("modprobe sch_netem && "
                  f"tc qdisc add dev {device} root netem limit 100000 {how}")
    yield
    machine.check(f"tc qdisc del dev {device} root")


def talk(side, asker, me, answerer, peer, what):
    """Two others exchange messages; a second is enough for each."""
    other = answerer.spawn(f"{STOPPED} answer {peer}", stdin=True)
    other.wait_output("^ready$")
    said = asker.check(f"{STOPPED} ask {me} {peer} {TIMES}", 100)
    side.more(f"another pair{what}", *said.split(maxsplit=1))
    other.write("", close=True)
    other.check()


def flood(side, sender, me, receiver, peer, what="", full=""):
    """SENDERS sockets at `me` fill whatever there is on the way to a reader at `peer` who has
    stopped; the path goes on for others, both ways; then he reads, and misses nothing."""
    before = unavailable(receiver)
    reader = receiver.spawn(f"{STOPPED} reader {peer} {full}", stdin=True)
    reader.wait_output("^ready$")
    many = sender.spawn(f"{STOPPED} flood {me} {peer} {SENDERS}", stdin=True)
    many.wait_output("^stopped$")
    talk(side, sender, me, receiver, peer, f"{what}, the same way")
    talk(side, receiver, peer, sender, me, f"{what}, the other way")
    side.less(f"memory at the receiver{what}", unavailable(receiver) - before, "kB")
    many.write("\n")
    taken = many.wait_output(r"^\{.*\}\n")[0]
    reader.write(taken)
    said = reader.check(100)
    many.write("", close=True)
    side.read((said + many.check()).replace("fact flood:", f"fact flood{what}:"))
