# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours with peers that only want to cost something: lengths that are
announced, strangers by the hundred. See parity.py above this directory."""
import parity
from parity_strangers import many_hosts, strangers
from suite import test
from traffic import B, helper, unavailable

KERNELS = parity.KERNELS
PEERS = 200


def claims(t, side, what, port, trickle=""):
    before = unavailable(t.b)
    peers = t.a.spawn(f"{helper('rds_claims.py')} {B} {PEERS} {port} {trickle}", stdin=True)
    peers.wait_output("^said$", 100)
    side.less(f"memory for {PEERS} peers, {what}", unavailable(t.b) - before, "kB")
    peers.write("", close=True)
    peers.check()


@test(vms=2, modules="mainline", timeout=300, extra=True)
def announced_lengths(t):
    """200 raw peers announce 1 MiB each, in a header alone in its segment, and say no more; or a
    little, for a port that nobody has."""
    def play(side):
        sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
        sink.wait_output("^ready$")
        with many_hosts(t):
            claims(t, side, "who say no more", 4000)
            claims(t, side, "for no port, who say no more", 9)
            claims(t, side, "for no port, byte by byte", 9, "trickle")
            claims(t, side, "byte by byte", 4000, "trickle")
        sink.kill()
        sink.wait()
    parity.compare(t, play, {"memory*": (1.1, PEERS * 40)})


@test(vms=2, modules="mainline", timeout=300, extra=True)
def strangers_who_ping(t):
    """500 addresses, more than there is room for, ask for one answer and reset; a host never heard
    of is answered, known ones are not refused."""
    parity.compare(t, strangers(t, 500, "ping", room=400))


@test(vms=2, modules="mainline", timeout=300, extra=True)
def strangers_who_say_nothing(t):
    """500 addresses connect and reset, as those do who look for open ports."""
    parity.compare(t, strangers(t, 500, room=400))
