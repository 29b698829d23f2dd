# SPDX-License-Identifier: GPL-2.0
"""The socket interface: every call and its errno, and how sockets behave.

The same programs run against mainline's modules, which proves what they demand.
"""
import re

from suite import test
from tap import tap
from traffic import A, A6, B, B6

MEM = 1024  # the flow control tests watch free memory, 65534 sockets take 200 MiB
SMP = 2  # several senders and readers of one socket at the same time


def errno_table(t):
    """The table with all the addresses it can use, a link-local one among them."""
    found = t.a.check("ip -6 -o addr show dev eth0 scope link")
    link_local = re.search(r"inet6 (fe80::[0-9a-f:]+)/", found)[1]
    tap(t, t.a, f"{t.prog('rds_errno')} --flavour {t.flavour()} --local {A} --local6 {A6}"
        f" --link-local {link_local}%eth0", 150)


def behaviour(t):
    tap(t, t.a, f"{t.prog('rds_sockets')} --flavour {t.flavour()} --local {A} --local6 {A6}"
        f" --remote {B} --remote6 {B6}", 280)


def without_leaks(t):
    """Mainline's bind() leaks a reference of rds_tcp when it fails: only a boot unloads that."""
    problems = [line for machine in (t.a, t.b) for line in machine.dmesg_problems()]
    assert not problems, problems
    t.a.power_cycle()


@test(vms=2, timeout=200)
def errnos(t):
    """Every call with good and bad arguments: 966 answers, IPv4 and IPv6, loopback and TCP."""
    errno_table(t)
    if t.flavour() == "mainline":
        without_leaks(t)


@test(vms=2, modules="mainline", timeout=200, extra=True)
def errnos_of_mainline(t):
    """Mainline's modules give the answers that the table says they give."""
    errno_table(t)
    without_leaks(t)


@test(vms=2, timeout=300)
def behave(t):
    """Order, sizes, waiting, closing, forking, threads, cancelling, zero copy, flow control."""
    behaviour(t)


@test(vms=2, modules="mainline", timeout=300, extra=True)
def behave_mainline(t):
    """Mainline's sockets behave as the programs demand, apart from what only ours do."""
    behaviour(t)
    without_leaks(t)


@test(only="ours")
def copies(t):
    """Memory that ends in the middle of what is copied, both ways; tables into room of any size."""
    tap(t, t.a, str(t.prog("rds_copy")), 100)


@test(timeout=200, extra=True)
def all_ports(t):
    """All 65534 ports of an address in use: one more is refused, one less is found."""
    tap(t, t.a, f"{t.prog('rds_sockets')} --flavour {t.flavour()} --all-ports"
        " --only 'all ports in use*'", 180)
    if t.flavour() == "mainline":
        without_leaks(t)
