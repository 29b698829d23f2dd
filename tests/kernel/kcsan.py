# SPDX-License-Identifier: GPL-2.0
"""KCSAN's reports in a kernel log: which are of races in our modules, and which of the kernel's own.

A report names two accesses, each with the stack that led to it; of one it may not know who it was.
"""
import re

BEGIN = re.compile(r"BUG: KCSAN: ")
END = re.compile(r"^={20,}$")
ACCESS = re.compile(r"^(read|write|read-write|race|assert|value)\b")
OURS = re.compile(r"\[rds\w*\]$")
NEAR = 3  # frames: memcpy, list or skb functions that we have called


def is_ours(report):
    """A function of ours made one of the accesses, or is near both: what is above our calls on one
    side only (TCP that we have called, say, racing with other TCP) is the kernel's affair."""
    stacks = []
    for line in report:
        if ACCESS.match(line):
            stacks.append([])
        elif line.startswith(" ") and stacks:
            stacks[-1].append(bool(OURS.search(line)))
    stacks = [stack[:NEAR] for stack in stacks if stack]
    return any(stack[0] for stack in stacks) or (len(stacks) > 1 and all(map(any, stacks)))


def without_foreign(lines):
    """The log without the reports of the kernel's own races."""
    kept, report = [], []
    for line in lines:
        if report and not END.match(line):
            report.append(line)
        elif report:
            kept += report if is_ours(report) else []
            report = []
        elif BEGIN.search(line):
            report = [line]
        else:
            kept.append(line)
    return kept + (report if is_ours(report) else [])
