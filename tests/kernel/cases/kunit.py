# SPDX-License-Identifier: GPL-2.0
"""KUnit suites (tests/kunit): the seam's Linux side, payloads, kernel sockets."""
import facts
import scarce
from suite import test
from tap import ktap

KERNELS = ["uml", "x86"]
SUITES = {"rds_locks", "rds_deferral", "rds_payload", "rds_pool", "rds_pinned", "rds_source",
          "rds_kept", "rds_socket", "rds_closing", "rds_conn", "rds_info"}


@test(timeout=200)
def suites(t):
    """Every case of every suite passes, and the module goes again."""
    scarce.prepare(t.a)
    with facts.wire(t):
        t.a.check(f"/run/busybox insmod {t.modules_dir}/rds_kunit.ko", timeout=150)
        log = t.a.dmesg()
        t.a.check("/run/busybox rmmod rds_kunit")
    totals, bad = ktap(log)
    assert not bad, "\n".join(bad)
    assert set(totals) == SUITES, totals
    said = [line.split("rds: kunit: ")[1] for line in log if "rds: kunit: " in line]
    assert said == ["both (::ffff:10.8.0.1 - fd00:8::2)", "none (:: - ::)"], said
    t.note(f"{sum(totals.values())} cases in {len(totals)} suites")
