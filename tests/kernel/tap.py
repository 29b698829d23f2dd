# SPDX-License-Identifier: GPL-2.0
"""Results that are told as TAP lines: "ok 1 - name", "not ok 2 - name: why"."""
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


KTAP = re.compile(r"^\s+(ok|not ok) \d+ (?:- )?(.*)$")
TOTALS = re.compile(r"^# (?!Totals)(\w+): pass:(\d+) fail:(\d+) skip:(\d+) total:(\d+)$")


def ktap(lines):
    """The KUnit suites in the kernel's log: {suite: total}, and lines about what failed.

    The suites' own totals are the judge; a suite whose totals are missing has died half-way.
    """
    began = [line.split()[-1] for line in lines if line.lstrip().startswith("# Subtest:")
             and line.startswith("    #")]
    totals, bad = {}, []
    for name, passed, failed, skipped, total in filter(None, (
            (m := TOTALS.match(line)) and m.groups() for line in lines)):
        totals[name] = int(total)
        if int(failed) or int(skipped) or int(passed) != int(total) or not int(total):
            bad.append(f"{name}: {passed} of {total} passed")
    bad += [f"{name}: has no end" for name in began if name not in totals]
    bad += [line.strip() for line in lines
            if (m := KTAP.match(line)) and (m[1] == "not ok" or "# skip" in line.lower())]
    why = [line.strip() for line in lines if re.match(r"\s+# .*(EXPECT|ASSERT|Expected)", line)]
    return totals, bad + why
