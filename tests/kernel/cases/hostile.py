# SPDX-License-Identifier: GPL-2.0
"""Strangers talk to the host for as long as a seed lasts, each with a memory of what was said, and
programs, settings, namespaces and modules come and go meanwhile (tests/progs/rds_hostile). Two
sockets that nobody wants harm are the witness: none of their messages is lost, twice or late. When
all are gone, the host has what it had before.

Half of the seeds are kept ones, half are drawn from the commit. `SEED=N run.py hostile` plays N and
those after it, `SEEDS=100` so many. The kernel's log of guest b has a line for each.
"""
import hostile
from judges import exact
from suite import test
from traffic import counters, soon

KERNELS = ["uml"]


def still_at_zero(t):
    """Counters of guest b that no stranger has moved."""
    return {name for name, count in counters(t, t.b).items() if not count}


@test(vms=2, modules=("none", "ours"), timeout=400 + 60 * hostile.SEEDS, only="ours")
def strangers_with_memory(t):
    """A few seeds: the host lives, its honest sockets notice nothing, and nothing is left."""
    seeds = hostile.seeds(hostile.SEEDS)
    t.note(f"seeds {', '.join(f'{first}..{first + count - 1}' for first, count in seeds)}, "
           f"{hostile.STEPS} steps each")
    with hostile.networks(t):
        hostile.warm_up(t)
        before = hostile.Account(t)
        told, witnesses = hostile.meet(t, seeds, hostile.STEPS)
        if hostile.reached() & still_at_zero(t):
            # A guest that got little of the processor did little: it has as much again.
            more, others = hostile.meet(t, hostile.more_seeds(), hostile.STEPS)
            told, witnesses = told + more, witnesses + others
        t.note(", ".join(f"{name} {count}" for name, count in sorted(told.items())))
        for found in witnesses:
            t.note("witness: " + exact(found, soon(t)))
        moved = counters(t, t.b)
        never = still_at_zero(t)
        t.note(f"{len(moved) - len(never)} counters moved; never: {', '.join(sorted(never))}")
        missed = hostile.reached() & never
        assert not missed, f"no stranger reached {', '.join(sorted(missed))}"
        hostile.modules_come_and_go(t, seeds[0][0], hostile.STEPS)
        before.compare(t)
