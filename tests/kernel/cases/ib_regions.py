# SPDX-License-Identifier: GPL-2.0
"""Memory regions of an adapter (soft-RoCE): made, used again and let go, to the last one."""
import re

import suite
from ib_rdma_traffic import nothing_pinned, pins, regions_used
from suite import test
from traffic import A, B, counters, helper

IB = True
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand
BATCH, KEPT = 32, 32  # regions that are cleared at once, and that are kept at least
INVALIDATE = 4
SMALL, LARGE = 4096, 100000


class Owner:
    """A program that has regions, and does one thing after the other."""

    def __init__(self, t):
        self.lines = 0
        self.process = t.a.spawn(f"{helper('rds_regions.py')} {A}", stdin=True)
        self.process.wait_output("^ready$")

    def do(self, what, said="ok"):
        self.lines += 1
        self.process.write(f"{what}\n")
        self.process.wait_output(f"^{self.lines} .*$")
        answer = re.search(f"^{self.lines} (.*)$", self.process.output, re.M)[1]
        assert answer == said, f"{what}: {answer}"

    def end(self):
        self.process.write("", close=True)
        self.process.check()


def regions(t, kind):
    """(made, that ended, used now, used again)"""
    seen = counters(t, t.a)
    return tuple(seen[f"ib_rdma_mr_{kind}_{what}"] for what in ("alloc", "free", "used", "reused"))


@test(vms=2, modules=("ours", "none"), only="ours", extra=True)
def used_again(t):
    """A region that was freed and cleared, by ones and by batches, is used again, under another key."""
    owner = Owner(t)
    for kind, size in (("8k", SMALL), ("1m", LARGE)):
        made = again = clean = 0
        for count in (1, 2, BATCH, 2 * BATCH + 3, 2 * BATCH + 3):
            more = min(count, max(0, KEPT - 1 + count - clean))  # before one is used again
            again += count - more
            made += more
            clean = made
            owner.do(f"get {count} {size}")
            assert regions(t, kind) == (made, 0, count, again), f"{count}: {regions(t, kind)}"
            owner.do("free")
            owner.do("flush")
            assert regions(t, kind) == (made, 0, 0, again), f"{count}: {regions(t, kind)}"
            first, last = pins(t.a)
            assert first == last > 0, "what was flushed is pinned"
        owner.do("stale", "error 22")
        # A program that asks for it at once has it at once; else it is done within a second or so.
        owner.do(f"get 3 {size}")
        owner.do(f"free {INVALIDATE}")
        first, last = pins(t.a)
        assert first == last, "what was invalidated is pinned"
        owner.do(f"get 3 {size}")
        owner.do("free")
        nothing_pinned(t, t.a)
    owner.do(f"get 5 {SMALL}")
    owner.end()  # with them
    nothing_pinned(t, t.a)
    assert not regions_used(t, t.a)


@test(vms=2, modules=("ours", "none"), only="ours", extra=True)
def as_many_as_are_allowed(t):
    """There are no more than the parameter says; when they are freed some are kept for the next."""
    most = KEPT + 8
    t.a.unload()
    t.a.check(t.a.load_command(suite.where(t.options, "ours"))
              + f" rds_ib_mr_8k_pool_size={most} rds_ib_mr_1m_pool_size={most}")
    owner = Owner(t)
    for kind, size in (("8k", SMALL), ("1m", LARGE)):
        owner.do(f"get {most} {size}")
        owner.do(f"get 1 {size}", "error 11")
        assert counters(t, t.a)[f"ib_rdma_mr_{kind}_pool_depleted"] == 1
        # A message that waits for one would be woken by nobody: it does not wait.
        owner.do(f"map {B} {size}", "error 11")
        assert regions(t, kind) == (most, 0, most, 0), regions(t, kind)
        owner.do("free")
        owner.do("flush")
        assert regions(t, kind) == (most, most - KEPT, 0, 0), regions(t, kind)
        owner.do(f"get {most} {size}")
        assert regions(t, kind) == (2 * most - KEPT, most - KEPT, most, KEPT), regions(t, kind)
        owner.do("free")
    owner.end()
    nothing_pinned(t, t.a)
