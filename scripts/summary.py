#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Adds up the results of several test runners.

    summary.py LOG...      prints what failed, then one line: N passed, N failed, N skipped

Understands, each in its own log file: our own last line (`N passed, N failed, N skipped`), ctest
(`98% tests passed, 1 tests failed out of 57`, with its list of tests not run), Google Test
(`[  PASSED  ] 9 tests.`), Python's unittest (`Ran 9 tests in 1.000s`) and TAP (`ok - x`, `not ok - x`,
`# skip`). A log without any result counts as one failure: a runner that died is not a runner that
passed. Each failure is told again here, with the lines that its runner indented below it: of a long
run often only the end is kept.
The exit status is 0 only if nothing failed and something passed.
"""
import pathlib
import re
import sys

OWN = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
CTEST = re.compile(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)$", re.M)
# In ctest's closing lists: a test that did not run is counted as failed there, unless skipped.
CTEST_SKIPPED = re.compile(r"^\s*\d+ - .* \((?:Skipped|Disabled|Not Run \(Disabled\))\)$", re.M)
GTEST_PASSED = re.compile(r"^\[  PASSED  \] (\d+) tests?\.$", re.M)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below:$", re.M)
GTEST_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below:$", re.M)
# "Ran 9 tests in 1.000s", an empty line, and "OK", or "FAILED (failures=1, errors=1, skipped=2)".
UNITTEST = re.compile(r"^Ran (\d+) tests? in [\d.]+s\n\n(?:OK|FAILED)(?: \((.*)\))?$", re.M)
# Our own runners put more than one space behind the word: one that died is not taken for TAP.
TAP = re.compile(r"^(not ok|ok) (\S.*)$", re.M)
# A failure: a guest's case with what is indented below it; a line of ctest's closing list; TAP's; unittest's.
FAILURE = re.compile(r"^FAIL .*(?:\n {6}.*)*|^\s*\d+ - .* \((?!Skipped|Disabled|Not Run \(D).*\)$"
                     r"|^not ok\b.*|^(?:FAIL|ERROR): .*", re.M)
LINES_OF_A_FAILURE = 30


def total(pattern, text):
    return sum(int(n) for n in pattern.findall(text))


def count(text):
    """(passed, failed, skipped), or None if the text has no result."""
    own = OWN.findall(text)
    if own:
        return tuple(map(int, own[-1]))
    ctest = CTEST.findall(text)
    if ctest:
        failed, out_of = map(int, ctest[-1])
        skipped = len(CTEST_SKIPPED.findall(text))
        return out_of - failed - skipped, failed, skipped
    if GTEST_PASSED.search(text) or GTEST_FAILED.search(text):
        return (total(GTEST_PASSED, text), total(GTEST_FAILED, text), total(GTEST_SKIPPED, text))
    python = UNITTEST.findall(text)
    if python:
        ran, rest = int(python[-1][0]), dict(re.findall(r"(\w+(?: \w+)?)=(\d+)", python[-1][1]))
        failed = sum(int(rest.get(word, 0)) for word in ("failures", "errors", "unexpected successes"))
        skipped = int(rest.get("skipped", 0))
        return max(ran - failed - skipped, 0), failed, skipped
    tap = TAP.findall(text)
    if not tap:
        return None
    skipped = sum(1 for _, rest in tap if re.search(r"#\s*skip", rest, re.I))
    failed = sum(1 for word, _ in tap if word == "not ok")
    return len(tap) - failed - skipped, failed, skipped


def failures(text):
    """Each failure as its runner told it, of a long one the beginning and the end."""
    for found in FAILURE.findall(text):
        lines = found.strip().splitlines()
        half = LINES_OF_A_FAILURE // 2
        if len(lines) > 2 * half:
            lines[half:-half] = ["      ..."]
        yield "\n".join(lines)


def main(argv):
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    totals = [0, 0, 0]
    for name in argv:
        path = pathlib.Path(name)
        text = path.read_text(errors="replace") if path.exists() else ""
        got = count(text)
        if got is None or got[1]:
            what = "has no result" if got is None else f"{got[1]} failed"
            print("\n".join([f"summary: {what}: {name}", *failures(text)]))
        totals = [a + b for a, b in zip(totals, got or (0, 1, 0))]
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
