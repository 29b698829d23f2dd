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
