# SPDX-License-Identifier: GPL-2.0
"""Two hosts: ours with ours and with mainline, whoever has the smaller address, IPv4 and IPv6."""
from suite import test
from traffic import A, A6, B, B6, PYTHON, Flows, counters, exact, helper, ping, stress

MIXED = "--flows 16"  # lengths from 0 to 64 KiB
FIRSTS = 20


def pings(t):
    for source, target in ((A, B), (A6, B6)):
        ping(t, t.a, source, target)
        ping(t, t.b, target, source)


def flows(t, messages=12):
    """Mixed sizes both ways, IPv4 and IPv6; exactly once and in order."""
    for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A), (t.a, A6, t.b, B6), (t.b, B6, t.a, A6)):
        exact(Flows(t, *ends, MIXED, messages=messages).result())
    t.note(f"4 times {16 * messages} messages, each exactly once and in order")


def together(t):
    pings(t)
    flows(t)


@test(vms=2)
def ours_with_ours(t):
    """Ours and ours: pings and exact flows of mixed sizes, both ways, both families."""
    together(t)


@test(vms=2, modules=("ours", "mainline"))
def ours_is_the_smaller(t):
    """The same with mainline's modules on the host with the larger address."""
    together(t)


@test(vms=2, modules=("mainline", "ours"))
def mainline_is_the_smaller(t):
    """The same with mainline's modules on the host with the smaller address."""
    together(t)
