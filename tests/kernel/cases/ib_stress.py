# SPDX-License-Identifier: GPL-2.0
"""rds-stress -D between two hosts of ours over InfiniBand (soft-RoCE)."""
import json

from ib_traffic import patient, rdma, rdma_each_way
from suite import test
from traffic import A, B, B6, no_rdma, ping

IB = True
EXTRA = True
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]
PAGE = 4096
SIZES = ((1, 0), (8, PAGE - 4), (PAGE, 0), (PAGE, 1), (3 * PAGE, 17), (65536, 100), (1 << 20, 0),
         (1 << 20, PAGE - 1))


def fence(t):
    """The link between debug kernels loses a tenth of what comes in bursts, and then soft-RoCE of
    6.1 stands still at a fence, now and then."""
    return f"--rdma-use-fence {int(not t.a.kernel.debug)}"


@test(vms=2, timeout=240)
def every_way(t):
    """Use-once, fence and notifications, with and without; either end active, both families."""
    patient(t)
    rdma_each_way(t)


@test(vms=2, timeout=240)
def every_size(t):
    """From a byte to a mebibyte, from anywhere in a page; every byte and notification is right."""
    patient(t)
    for size, align in SIZES:
        count = rdma(t, t.a, t.b, B, f"-T 1 -t 1 -d 4 --rdma-alignment {align} {fence(t)}", size)
        t.note(f"{size} bytes at {align}: {count} operations")


@test(vms=2, timeout=240)
def many_at_once(t):
    """Sixteen flows, eight operations each, beside messages of 8 KiB; IPv6."""
    patient(t)
    load = f"-T 3 -t 4 -d 8 -q 8k -a 1k {fence(t)}"
    t.note(f"{rdma(t, t.a, t.b, B6, load, 16384)} operations")


@test(vms=2, only="ours")
def regions_are_shown(t):
    """rds-info shows what an adapter may have of regions."""
    ping(t, t.a, A, B)
    found = json.loads(t.a.check(f"{t.tool('rds-info')} -I -v --json"))["ib_connections"]
    assert found and all(c["mr_max"] > 0 and c["mr_size"] > 0 for c in found), found


@test(vms=2, only="ours")
def nowhere_else(t):
    """To an address of the host itself, and over loopback, there is no RDMA: said so, status 2."""
    for here in (A, "127.0.0.1"):
        no_rdma(t, t.a, t.a, here)
