# SPDX-License-Identifier: GPL-2.0
"""rds-stress -D between two hosts of ours over InfiniBand (soft-RoCE)."""
import json

from ib_traffic import RDMA_WAYS, rdma, rdma_each_way
from suite import test
from traffic import A, B, B6, ping

IB = True
KERNELS = ["6.1", "6.12", "7.2", "uml"]
PAGE = 4096


@test(vms=2, timeout=240)
def every_way(t):
    """Use-once, fence and notifications, with and without; either end active, both families."""
    rdma_each_way(t)


@test(vms=2, timeout=240)
def every_size(t):
    """From a byte to a mebibyte, from anywhere in a page; every byte and notification is right."""
    for size, align in ((1, 0), (8, PAGE - 4), (PAGE, 0), (PAGE, 1), (3 * PAGE, 17), (65536, 100),
                        (1 << 20, 0), (1 << 20, PAGE - 1)):
        count = rdma(t, t.a, t.b, B, f"-T 1 -t 1 -d 4 --rdma-alignment {align}", size)
        t.note(f"{size} bytes at {align}: {count} operations")


@test(vms=2, timeout=240)
def many_at_once(t):
    """Sixteen flows, eight operations each, beside messages of 8 KiB; IPv6."""
    t.note(f"{rdma(t, t.a, t.b, B6, '-T 3 -t 4 -d 8 -q 8k -a 1k', 16384)} operations")


@test(vms=2, only="ours")
def regions_are_shown(t):
    """rds-info shows what an adapter may have of regions."""
    ping(t, t.a, A, B)
    found = json.loads(t.a.check(f"{t.tool('rds-info')} -I -v --json"))["ib_connections"]
    assert found and all(c["mr_max"] > 0 and c["mr_size"] > 0 for c in found), found


@test(vms=2, only="ours")
def nowhere_else(t):
    """To an address of the host itself, and over loopback, there is no RDMA: said so, status 2."""
    tool = t.tool("rds-stress")
    for here in (A, "127.0.0.1"):
        waiting = t.a.spawn(f"{tool} -r {here} -p 4000")
        t.a.wait_until("ss -Hltn 'sport = :4000' | grep -q .")
        rc, said = t.a.run(f"{tool} -s {here} -p 4000 -T 2 -D 4096 {RDMA_WAYS[0]} 2>&1")
        assert rc == 2 and "no RDMA on this transport" in said, f"{rc}: {said}"
        waiting.wait()
        assert waiting.rc == 2, waiting.output
