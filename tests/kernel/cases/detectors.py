# SPDX-License-Identifier: GPL-2.0
"""The detectors of the debug kernels: a bug of each kind is made on purpose (tests/kunit/rds_bugs.c)
and must be seen by what judges all other tests."""
import suite
from suite import test

KERNELS = ["uml", "x86"]
# Lockdep first: it switches itself off when KASAN has reported something.
REPORTS = {
    "lock_order": "possible circular locking dependency",
    "shift": "UBSAN: shift-out-of-bounds",
    "use_after_free": "KASAN: use-after-free",
    "out_of_bounds": "KASAN: slab-out-of-bounds",
}


ON_SMP = {  # no preemption count on User-Mode Linux
    "sleep_in_atomic": "BUG: scheduling while atomic",
    "sleep_in_rcu": "BUG: sleeping function called from invalid context",
}


def make(t, bug):
    """Loads the module with one bug; what the judge says of it."""
    t.a.dmesg_mark()
    t.a.check(f"/run/busybox insmod {t.modules_dir}/rds_bugs.ko bug={bug}; "
              "/run/busybox rmmod rds_bugs")
    return "\n".join(t.a.dmesg_problems())


@test(modules="none")
def every_kind_is_reported(t):
    """Wrong lock order, shift, use after free, out of bounds, leak; lockdep's end is a stray."""
    before = suite.State.read(t.a)
    reports = REPORTS | (ON_SMP if t.a.kernel.name == "x86" else {})
    for bug, report in reports.items():
        assert report in make(t, bug), f"{bug}: no '{report}' in the log"
    assert "debug_locks 0" in suite.State.strays(t.a, before)
    make(t, "leak")
    found = suite.leaks(t.a)[0].count("unreferenced object")
    # Stacks and registers have old values, most of them of objects that were used shortly before:
    # the first that are leaked take the places of those.
    assert found >= 300, f"{found} of 400 leaked objects are seen"
    t.note(f"{len(reports)} bugs reported, {found} leaks seen")
    t.a.power_cycle()


@test(only="ours")
def broken_promises_are_told_once(t):
    """A fault that the core finds in itself is a warning, each text one, however often it is."""
    make(t, "promise")
    told = [line for line in t.a.dmesg() if "rds: promise" in line]
    assert [line.split("rds: ")[1] for line in told] == [f"promise {n:02}" for n in range(1, 17)]
    t.a.power_cycle()
