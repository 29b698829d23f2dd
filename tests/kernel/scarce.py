# SPDX-License-Identifier: GPL-2.0
"""Makes allocations fail in a guest whose kernel has fault injection."""
import contextlib
import re

DEBUG = "/sys/kernel/debug"
# Caches that RDS, TCP and veth allocate from outside of system calls. Generic sizes are left out:
# the agent's port and the shell live off them.
CACHES = ["skbuff_head_cache", "skbuff_fclone_cache", "skbuff_ext_cache", "kmalloc-1k",
          "kmalloc-4k", "TCP", "TCPv6", "request_sock_TCP", "tw_sock_TCP"]


def prepare(machine):
    """Every kind of allocation may fail by fail-nth, and failing is not worth a line in the log."""
    machine.check(f"cd {DEBUG} && for d in fail_usercopy failslab fail_page_alloc; do"
                  " echo 0 >$d/verbose || exit; done; echo N >failslab/ignore-gfp-wait && cd"
                  " fail_page_alloc && echo N >ignore-gfp-wait && echo 0 >min-order")


@contextlib.contextmanager
def memory(machine, percent):
    """Meanwhile so many of a hundred allocations fail, whoever asks (softirqs and workers too), in
    those slabs that the network uses."""
    prepare(machine)
    caches = [*CACHES, "RDS*", "rds*"]
    every = " ".join(f"/sys/kernel/slab/{c}/failslab" for c in caches)
    machine.check(f"for f in {every}; do [ ! -e $f ] || echo 1 >$f; done; cd {DEBUG}/failslab &&"
                  f" echo Y >cache-filter && echo N >task-filter && echo -1 >times &&"
                  f" echo 1 >interval && echo {percent} >probability")
    try:
        yield
    finally:
        machine.check(f"echo 0 >{DEBUG}/failslab/probability")


# A caller without memory may say so, with a stack; tracing even warns, once.
JUST_TOLD = re.compile(r"^Call Trace|^gcov: could not add|^ +(\[<|\? |\w[\w.]*\+0x)"
                       r"|kernel/trace/trace_events.c")


# IPv4's own tables, when a namespace gets none, are given back without the lock they ought to be.
# Lockdep says so once.
NOT_OURS = re.compile(r"^net/ipv4/fib_frontend\.c:\d+ RCU-list traversed")


def judge(t):
    """The kernel around us talks a lot when it is without memory; none of that is a bug of ours."""
    bad = [line for line in t.a.dmesg_problems() if not JUST_TOLD.search(line)]
    if any(NOT_OURS.search(line) for line in t.a.dmesg()):
        bad.remove("WARNING: suspicious RCU usage")
    assert not bad, "\n".join(bad)
    t.a.dmesg_mark()
