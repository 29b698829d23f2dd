# SPDX-License-Identifier: GPL-2.0
"""Two hosts change over from mainline's modules, one after the other, and one goes back."""
import guest
import walk
from suite import test

PAGE = guest.TOP / "docs/migrating.md"
PROGRAMS = f"{guest.TOP}/build/tools"


def play(t, mark):
    """The page's blocks of this mark; host1 and host2 are the guests."""
    machines = {"host1": t.a, "host2": t.b}
    steps = walk.steps(PAGE, mark)
    assert steps, mark
    for command, lines in steps:
        where, _, what = command.partition(" ")
        walk.repeat(t.seconds(60), lambda c, m=machines[where]: m.run(
            f"cd /run; PATH={PROGRAMS}:$PATH; {c}", t.seconds(80)), what, lines)
    t.note(f"{mark}: {len(steps)} commands")


@test(vms=2, modules=("mainline", "mainline"), timeout=300)
def the_walk(t):
    """Each command of docs/migrating.md, and what it shows."""
    for machine in (t.a, t.b):
        machine.check(machine.tree_command(guest.module_tree(machine.kernel, t.modules_dir)))
    play(t, "migrate")
    t.b.check(t.b.tree_command(t.b.kernel.modules))
    play(t, "migrate-back")
