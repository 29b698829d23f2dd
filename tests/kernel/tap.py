# SPDX-License-Identifier: GPL-2.0
"""Programs that print their results as TAP lines: "ok 1 - name", "not ok 2 - name: why"."""
import re


def tap(t, machine, command, timeout):
    """Runs a program that prints TAP; every line must be ok. Notes how many there were."""
    rc, out = machine.run(command, timeout)
    bad = [line for line in out.splitlines() if line.startswith("not ok")]
    plan = re.search(r"^1\.\.(\d+)$", out, re.M)
    last = out.rstrip().splitlines()[-1:]
    assert not bad, "\n".join(bad[:20])
    assert rc == 0 and plan and int(plan[1]) > 0, f"exit status {rc}, last line {last}"
    t.note(f"{plan[1]} checks")
