# SPDX-License-Identifier: GPL-2.0
"""Every call is answered as it was when parity_facts compared the answers with mainline's, on kernels
that have no modules of mainline. See facts.py above this directory."""
import facts
from suite import test

KERNELS = ["uml"]


@test(only="ours", timeout=300)
def poll(t):
    """poll, select, epoll in all modes."""
    facts.as_kept(t, "poll")


@test(only="ours", timeout=300)
def waiting(t):
    """Several waiters, a full send queue, time limits."""
    facts.as_kept(t, "waiting")


@test(only="ours", timeout=300)
def congestion(t):
    """A receiver that is full, with and without a monitor: told, polled, blocked, woken."""
    facts.as_kept(t, "congestion")


@test(only="ours", timeout=300)
def signals(t):
    """Signals with and without SA_RESTART that meet a call that sleeps; SIGIO."""
    facts.as_kept(t, "signals")


@test(only="ours", timeout=300)
def calls(t):
    """dup, fork, SCM_RIGHTS; each bit of the flags; every other call on a descriptor."""
    facts.as_kept(t, "calls")


@test(only="ours", timeout=300)
def options(t):
    """Options of all levels by number, ioctls, what a socket tells of itself."""
    facts.as_kept(t, "options")


@test(only="ours", timeout=300)
def tables(t):
    """RDS_INFO_* field by field in both families."""
    facts.as_kept(t, "tables")


@test(only="ours", timeout=300)
def files(t):
    """/proc, sysctls, modules' parameters."""
    facts.as_kept(t, "files")
