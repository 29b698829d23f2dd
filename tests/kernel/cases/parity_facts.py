# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours answer every call alike: what rds_errno and rds_parity tell, on one host
with two network namespaces. See parity.py above this directory; differences are in docs/abi.md."""
import contextlib

import parity
from suite import test

KERNELS = parity.KERNELS
EXTRA = True  # minutes
MEM = 1024
SMP = 2
NEAR, FAR, SILENT = "10.8.0.1", "10.8.0.2", "10.8.0.77"
NEAR6, FAR6, SILENT6 = "fd00:8::1", "fd00:8::2", "fd00:8::77"
LINK_LOCAL = "fe80::ff:fe00:1"  # of the hardware address below
WIRE = fr"""
ends() {{ ip $1 -batch - <<EOF
link set lo up
addr add $2/24 dev cable
addr add $3/64 dev cable nodad
link set cable up
EOF
}}
ip netns add there && ip link add cable address 02:00:00:00:00:01 type veth \
	peer name cable address 02:00:00:00:00:02 netns there &&
ends "" {NEAR} {NEAR6} && ends "-n there" {FAR} {FAR6}"""


@contextlib.contextmanager
def wire(t):
    """The addresses of here, and of a network namespace there."""
    t.a.check(WIRE)
    yield
    t.a.check("ip netns del there")


def facts(t, *globs, extra=""):
    only = " ".join(f"--only '{glob}'" for glob in globs)

    def play(side):
        with wire(t):
            side.run(t.a, f"{t.prog('rds_parity')} --local {NEAR} --local6 {NEAR6}"
                     f" --netns there --remote {FAR} --remote6 {FAR6} --silent {SILENT}"
                     f" --silent6 {SILENT6} {only} {extra}", 600)
    parity.compare(t, play)


@test(vms=1, modules="mainline", timeout=700)
def errnos(t):
    """Every call with good and bad arguments: the answers of rds_errno's table."""
    def play(side):
        with wire(t):
            t.a.wait_until("! ip -6 addr show dev cable scope link tentative | grep -q inet6")
            side.run(t.a, f"{t.prog('rds_errno')} --facts --local {NEAR} --local6 {NEAR6}"
                     f" --link-local {LINK_LOCAL}%cable", 300)
    parity.compare(t, play)


@test(vms=1, modules="mainline", timeout=900)
def waiting(t):
    """poll, select, epoll in all modes, several waiters, a full send queue, time limits."""
    facts(t, "poll/*", "epoll/*", "waiters/*", "queue/*", "timeout/*")


@test(vms=1, modules="mainline", timeout=900)
def congestion(t):
    """A receiver that is full, with and without a monitor: told, polled, blocked, woken."""
    facts(t, "congestion/*")


@test(vms=1, modules="mainline", timeout=900)
def signals(t):
    """Signals with and without SA_RESTART that meet a call that sleeps; SIGIO."""
    facts(t, "signal/*")


@test(vms=1, modules="mainline", timeout=900)
def calls(t):
    """dup, fork, SCM_RIGHTS; each bit of the flags; every other call on a descriptor."""
    facts(t, "sharing/*", "flags/*", "calls/*")


@test(vms=1, modules="mainline", timeout=900)
def options(t):
    """Options of all levels by number, ioctls, what a socket tells of itself."""
    facts(t, "options/*", "ioctl*", "socket*")


@test(vms=1, modules="mainline", timeout=900)
def tables(t):
    """RDS_INFO_* field by field in both families; /proc, sysctls, modules' parameters."""
    facts(t, "info/*", "files/*")


@test(vms=1, modules="mainline", timeout=900)
def nobody(t):
    """The answers to user nobody that differ from root's."""
    facts(t, "calls/names*", "calls/others*", "options/SOL_*", "ioctl*", "socket*",
          "info/*", "files/*", extra="--nobody")
