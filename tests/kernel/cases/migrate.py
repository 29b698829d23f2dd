# SPDX-License-Identifier: GPL-2.0
"""Two hosts change over from mainline's modules, one after the other, and one goes back."""
import guest
import walk
from suite import test

PAGE = guest.TOP / "docs/migrating.md"


@test(vms=2, modules=("mainline", "mainline"), timeout=300)
def the_walk(t):
    """Each command of docs/migrating.md, and what it shows."""
    for machine in (t.a, t.b):
        machine.check(machine.tree_command(guest.module_tree(machine.kernel, t.modules_dir)))
    walk.play(t, PAGE, "migrate")
    t.b.check(t.b.tree_command(t.b.kernel.modules))
    walk.play(t, PAGE, "migrate-back")
