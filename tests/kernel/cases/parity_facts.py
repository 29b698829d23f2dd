# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours answer every call alike: what rds_errno and rds_parity tell, on one host
with two network namespaces. See parity.py above this directory; differences are in docs/abi.md."""
import facts
import parity
from suite import test

KERNELS = parity.KERNELS
EXTRA = True  # minutes
MEM = 1024
SMP = 2
LINK_LOCAL = "fe80::ff:fe00:1"  # of the hardware address in facts.WIRE


def compare(t, globs, extra=""):
    parity.compare(t, lambda side: facts.tell(side, t, globs, extra))


@test(vms=1, modules="mainline", timeout=700)
def errnos(t):
    """Every call with good and bad arguments: the answers of rds_errno's table."""
    def play(side):
        with facts.wire(t):
            t.a.wait_until("! ip -6 addr show dev cable scope link tentative | grep -q inet6")
            side.run(t.a, f"{t.prog('rds_errno')} --facts --local {facts.NEAR}"
                     f" --local6 {facts.NEAR6} --link-local {LINK_LOCAL}%cable", 300)
    parity.compare(t, play)


@test(vms=1, modules="mainline", timeout=900)
def waiting(t):
    """poll, select, epoll in all modes, several waiters, a full send queue, time limits."""
    compare(t, facts.GROUPS["poll"] + facts.GROUPS["waiting"])


@test(vms=1, modules="mainline", timeout=900)
def congestion(t):
    """A receiver that is full, with and without a monitor: told, polled, blocked, woken."""
    compare(t, facts.GROUPS["congestion"])


@test(vms=1, modules="mainline", timeout=900)
def signals(t):
    """Signals with and without SA_RESTART that meet a call that sleeps; SIGIO."""
    compare(t, facts.GROUPS["signals"])


@test(vms=1, modules="mainline", timeout=900)
def calls(t):
    """dup, fork, SCM_RIGHTS; each bit of the flags; every other call on a descriptor."""
    compare(t, facts.GROUPS["calls"])


@test(vms=1, modules="mainline", timeout=900)
def options(t):
    """Options of all levels by number, ioctls, what a socket tells of itself."""
    compare(t, facts.GROUPS["options"] + facts.GROUPS["layer"])


@test(vms=1, modules="mainline", timeout=900)
def tables(t):
    """RDS_INFO_* field by field in both families; /proc, sysctls, modules' parameters."""
    compare(t, facts.GROUPS["tables"] + facts.GROUPS["files"])


@test(vms=1, modules="mainline", timeout=900)
def nobody(t):
    """The answers to user nobody that differ from root's."""
    compare(t, ("calls/names*", "calls/others*", "options/SOL_*", "ioctl*", "socket*",
                "info/*", "files/*"), extra="--nobody")
