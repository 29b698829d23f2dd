# SPDX-License-Identifier: GPL-2.0
"""The cluster of `make lab`, and what docs/lab.md says that one sees there."""
import time

import lab
from suite import test


def repeat(t, command, lines):
    """The command until it shows these lines: nobody is told how long to wait before it."""
    end, said = time.monotonic() + t.seconds(40), ""
    while time.monotonic() < end:
        said = t.a.check(f". {lab.ENVIRONMENT}; {command}", t.seconds(40))
        if lab.is_shown(lines, said):
            return
        time.sleep(0.1)
    raise AssertionError(f"$ {command}\nhas not shown\n" + "\n".join(lines) + f"\nbut\n{said}")


@test(only="ours", timeout=240)
def the_walk(t):
    """Each command of the page, and what it shows."""
    lab.cluster_up(t.a)
    steps = lab.walk()
    for command, lines in steps:
        repeat(t, command, lines)
    t.note(f"{len(steps)} commands")
    assert len(steps) > 15
    lab.cluster_down(t.a)
