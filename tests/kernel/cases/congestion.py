# SPDX-License-Identifier: GPL-2.0
"""A slow reader on one host, senders on the other: refused, told, woken; nothing is lost."""
from suite import test
from traffic import A, A6, B, B6, crowded_ports, slow_reader


@test(vms=2, timeout=300)
def ours_with_ours(t):
    """Both directions and families: ENOBUFS, monitor, blocked senders, SO_SNDTIMEO, recovery."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B6, t.a, A6, t.flavour(1))
    crowded_ports(t, t.a, A, t.b, B)
    crowded_ports(t, t.b, B6, t.a, A6)


@test(vms=2, modules=("ours", "mainline"), timeout=240, extra=True)
def mainline_is_the_larger(t):
    """The same between ours and mainline: the congestion maps are understood both ways."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B, t.a, A, t.flavour(1))
    crowded_ports(t, t.a, A, t.b, B)


@test(vms=2, modules=("mainline", "ours"), timeout=240, extra=True)
def mainline_is_the_smaller(t):
    """The same with the addresses the other way round, IPv6."""
    slow_reader(t, t.a, A6, t.b, B6, t.flavour(0))
    slow_reader(t, t.b, B6, t.a, A6, t.flavour(1))
    crowded_ports(t, t.b, B6, t.a, A6)


@test(vms=2, modules="mainline", timeout=240)
def mainline_with_mainline(t):
    """Mainline does as the program demands."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
