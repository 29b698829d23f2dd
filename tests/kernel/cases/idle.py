# SPDX-License-Identifier: GPL-2.0
"""Connections that nobody uses go, with their memory; whoever sends does not notice."""
from quiet import all_collected, forgotten_by_one, messages_in_between
from suite import test


@test(vms=2, only="ours")
def collected(t):
    """Both hosts forget a connection that ended in order, IPv4 and IPv6, and make it again."""
    all_collected(t, "tcp", lambda machine: machine.check(
        "! ss -Htno state established '( sport = :16385 or dport = :16385 )' | grep -q ."))


@test(vms=2, only="ours", extra=True)
def nobody_notices(t):
    """Messages that come just when a connection is about to go: exactly once, in order."""
    messages_in_between(t, 5)


@test(vms=2, only="ours")
def one_host_forgets(t):
    """The other keeps its connection: the numbers that it remembers are not the new ones'."""
    forgotten_by_one(t, "tcp")
