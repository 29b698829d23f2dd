# SPDX-License-Identifier: GPL-2.0
"""KUnit suites (tests/kunit): the seam's Linux side, payloads, kernel sockets."""
import scarce
from suite import test
from tap import ktap

KERNELS = ["uml", "x86"]
SUITES = {"rds_locks", "rds_deferral", "rds_payload", "rds_source", "rds_socket", "rds_info"}


@test(timeout=200)
def suites(t):
    """Every case of every suite passes, and the module goes again."""
    scarce.prepare(t.a)
    t.a.check(f"/run/busybox insmod {t.modules_dir}/rds_kunit.ko", timeout=150)
    totals, bad = ktap(t.a.dmesg())
    t.a.check("/run/busybox rmmod rds_kunit")
    assert not bad, "\n".join(bad)
    assert set(totals) == SUITES, totals
    t.note(f"{sum(totals.values())} cases in {len(totals)} suites")
