# SPDX-License-Identifier: GPL-2.0
"""Users of one host, some of them roots of containers, make system calls on RDS sockets as long
as a seed lasts, each with a memory of what it has opened (tests/progs/rds_users). Allocations and
copies fail on purpose, processes are killed in calls, sockets are passed from one to another, namespaces
end. What a call may not do is told with the turn in which it was; a witness loses nothing and waits
for a bounded number of turns; when all are gone, the host has what it had before.

`SEED=N SEEDS=100 TURNS=500 run.py users` plays N and those after it, or a prefix of each.
"""
import os

import memcg
import scarce
import users
from hostile import Account
from judges import exact
from suite import leaks, test
from traffic import load_again, soon
from vm import VMError

BOOT, SMP = users.POISON, 2
NEW_GUESTS = True  # it measures memory


def play(t, seeds, turns):
    """And judge; a failure is an exception."""
    scarce.prepare(t.a)
    with users.network(t):
        users.play(t, 0, 1, 200)  # what is set aside once is
        before = Account(t)
        witnesses = users.flows(t)
        for first, count in seeds:
            told = users.play(t, first, count, turns)
            t.note(", ".join(f"{name} {made}/{good}/{failed}" for name, (made, good, failed)
                             in sorted(told["deeds"].items())))
            t.note(f"{told['witnessed']} messages of the witness, each within {told['slowest']}"
                   " turns")
        for flow in witnesses:
            t.note("witness: " + exact(flow.stop(), soon(t)))
        users.nothing_is_counted(t)
        before.compare(t)
    scarce.judge(t)


@test(timeout=300 + 60 * users.SEEDS, only="ours", kernels=["uml"])
def with_memory(t):
    """A few seeds: no call does what it may not, the witness notices nothing, nothing is left."""
    seeds = [(first, count) for first, count in users.seeds(users.SEEDS) if count]
    t.note(f"seeds {', '.join(f'{first}..{first + count - 1}' for first, count in seeds)}, "
           f"{users.TURNS} turns each; deeds made/well/with a failure on purpose:")
    play(t, seeds, users.TURNS)


def failure(t, seed, turns):
    """In a guest that has just booted; None where all is well."""
    t.a.power_cycle()
    load_again(t, t.a)
    try:
        play(t, [(seed, 1)], turns)
    except (AssertionError, VMError) as error:
        return str(error)
    return "".join(leaks(t.a))


@test(timeout=3600, only="ours", extra=True, kernels=["uml"])
def smallest_prefix(t):
    """After how many turns a seed fails (SEED=N), by halves; passes if it does not."""
    seed, well, bad = int(os.environ.get("SEED") or users.KEPT), 0, users.TURNS
    said = failure(t, seed, bad)
    while said and bad - well > 1:
        turns = (well + bad) // 2
        told = failure(t, seed, turns)
        said, well, bad = (told, well, turns) if told else (said, turns, bad)
    assert not said, f"seed {seed} fails with {bad} turns, not with {well}: {said}"


@test(timeout=400, only="ours", kernels=["6.1", "6.12", "7.2"])
def of_a_cgroup(t):
    """A seed on two processors, in a cgroup: no byte of sockets is charged to it afterwards, and of
    slabs no more than other parts of the kernel keep."""
    *_, (first, _) = users.seeds(1)
    with users.network(t), memcg.group(t):
        users.play(t, 0, 1, 100, memcg.GROUP)
        before = users.charged(t)
        told = users.play(t, first, 1, users.TURNS // 3, memcg.GROUP)
        t.note(f"seed {first}: {told['witnessed']} messages of the witness, each within"
               f" {told['slowest']} turns")
        users.nothing_is_counted(t)
        t.a.wait_until(f"grep -qx 'sock 0' {memcg.GROUP}/memory.stat")
        for _ in range(20):  # namespaces die in the background
            grown = users.charged(t) - before
            if grown < users.SLAB_SLACK:
                break
            t.a.check("sleep 1")
        t.note(f"slabs: {grown:+d} bytes")
        assert grown < users.SLAB_SLACK, grown
