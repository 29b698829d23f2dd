# SPDX-License-Identifier: GPL-2.0
"""RDMA between ours and mainline's (soft-RoCE), who owns the memory and who uses it."""
from ib_rdma_traffic import Owner, example, nothing_pinned, pinned
from suite import test
from traffic import A, B

# See ib_rdma.py.
IB = "rds_ib_retry_count=6"
EXTRA = True
KERNELS = ["6.1", "6.12"]  # see ib_mainline.py


def mixed(t, what, ours):
    """@ours uses the memory of mainline's, and the other way round. Mainline has no atomics that
    soft-RoCE can do: it asks for masks, and the operation never ends."""
    others = t.b if ours is t.a else t.a
    mine, its = (A, B) if ours is t.a else (B, A)
    before = pinned(ours)
    Owner(t, others, its, mine, "--peer mainline --no-atomics").tap(ours, what)
    nothing_pinned(t, ours, before)


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def ours_uses_mainlines(t):
    """Data of all sizes, in pieces, fenced, alone; and what is refused on this side."""
    mixed(t, "check", t.a)
    mixed(t, "errors", t.a)


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def mainline_uses_ours(t):
    """The same data, and mainline uses ours."""
    before = pinned(t.a)
    Owner(t, t.a, A, B, "--self mainline --no-atomics").tap(t.b, "check")
    nothing_pinned(t, t.a, before)


@test(vms=2, modules=("mainline", "ours"), timeout=240)
def ours_is_the_larger(t):
    """Both ways, with mainline's modules on the host with the smaller address."""
    before = pinned(t.b)
    mixed(t, "check", t.b)
    Owner(t, t.b, B, A, "--self mainline --no-atomics").tap(t.a, "check")
    nothing_pinned(t, t.b, before)


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def the_example(t):
    """examples/lend, whose server is ours or mainline's; without the atomic."""
    before = pinned(t.a)
    example(t, t.b, B, t.a, A)
    example(t, t.a, A, t.b, B)
    nothing_pinned(t, t.a, before)
