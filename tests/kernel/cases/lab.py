# SPDX-License-Identifier: GPL-2.0
"""The cluster of `make lab`, and what docs/lab.md says that one sees there."""
import lab
import walk
from suite import test


@test(only="ours", timeout=240)
def the_walk(t):
    """Each command of the page, and what it shows."""
    def run(command):
        return t.a.run(f". {lab.ENVIRONMENT}; {command}", t.seconds(40))

    lab.cluster_up(t.a)
    steps = walk.steps(lab.PAGE, "lab")
    for command, lines in steps:
        walk.repeat(t.seconds(40), run, command, lines)
    t.note(f"{len(steps)} commands")
    assert len(steps) > 15
    lab.cluster_down(t.a)
