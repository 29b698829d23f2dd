# SPDX-License-Identifier: GPL-2.0
"""Two hosts meet: a first message and its answer, IPv4 and IPv6, whichever side asks."""
from suite import HERE, test

TALK = f"python3 -I -S {HERE}/rds_talk.py"


def exchange(asker, answerer, ask_addr, answer_addr):
    """One message there and one back; the answering side must have got it unchanged."""
    server = answerer.spawn(f"{TALK} answer {answer_addr}", stdin=True)
    server.wait_output("^ready$")
    got = asker.check(f"{TALK} ask {ask_addr} {answer_addr} from-{ask_addr}")
    assert got == f"re: from-{ask_addr}\n", got
    server.write("", close=True)
    assert f"from-{ask_addr}\n" in server.check()


def both_ways(t, a, b):
    exchange(t.a, t.b, a, b)
    exchange(t.b, t.a, b, a)


@test(vms=2)
def first_message_ipv4(t):
    """The first message between two hosts arrives and is answered; the lower address asks."""
    both_ways(t, "10.9.0.1", "10.9.0.2")


@test(vms=2)
def first_message_from_the_higher_address(t):
    """The same with the higher address asking first, which may not connect by itself."""
    exchange(t.b, t.a, "10.9.0.2", "10.9.0.1")
    exchange(t.a, t.b, "10.9.0.1", "10.9.0.2")


@test(vms=2)
def first_message_ipv6(t):
    """The same over IPv6."""
    both_ways(t, "fd00:9::1", "fd00:9::2")


def moves(t, net, bits, settled):
    """An address is on one host, then on the other, and then back: both hosts ask there each
    time, and are answered."""
    address = f"{net}50"
    for here in (t.a, t.b, t.a):
        here.check(f"ip addr add {address}/{bits} dev eth0")
        here.wait_until(settled)
        exchange(t.a, here, f"{net}1", address)
        exchange(t.b, here, f"{net}2", address)
        here.check(f"ip addr del {address}/{bits} dev eth0")


@test(vms=2)
def an_address_moves(t):
    """An address goes to the other host and comes back: over loopback it is reached no more, and
    again."""
    moves(t, "10.9.0.", 24, "true")


@test(vms=2)
def an_ipv6_address_moves(t):
    """The same of IPv6, where it is anybody's only when both have been asked."""
    moves(t, "fd00:9::", 64, "! ip -6 addr show tentative | grep -q fd00:9::50")


@test(vms=2, modules=("ours", "mainline"))
def mainline_is_the_higher(t):
    """Ours and mainline meet, mainline has the higher address; both families, both ways."""
    both_ways(t, "10.9.0.1", "10.9.0.2")
    both_ways(t, "fd00:9::1", "fd00:9::2")


@test(vms=2, modules=("mainline", "ours"))
def mainline_is_the_lower(t):
    """Ours and mainline meet, mainline has the lower address; both families, both ways."""
    both_ways(t, "10.9.0.1", "10.9.0.2")
    both_ways(t, "fd00:9::1", "fd00:9::2")
