#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Pages for operators name what there is.

Settings `net.rds.NAME` of README.md and docs/*.md, and those that docs/tuning.md says to change, are in
rds(7). docs/troubleshooting.md has every reason for which a path ends (net/rds/transport.h) and no
other, and errors of calls in the C library's words, which rds(7) has for that call.
"""
import errno
import os
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
MANUAL = (TOP / "docs/man/rds.7").read_text()
TROUBLES = (TOP / "docs/troubleshooting.md").read_text()
# Of the kernel's, not of RDS's.
FOREIGN = re.compile(r"net\.(core|ipv4)\.\w+")


def settings():
    """As net.rds.NAME, and names of parameters of modules."""
    return ({path.replace("/", ".") for path in re.findall(r"/proc/sys/(net/rds/[\w/]+)", MANUAL)},
            set(re.findall(r"\b(max_paths|rds_ib_\w+)\b", MANUAL)))


def table(text, head):
    """The cells of each row of the table whose first cell is this."""
    rows = re.search(rf"^\| {head} \|.*\n\|[-|: ]+\n((?:\|.*\n)+)", text, re.M)
    assert rows, head
    return [[c.strip() for c in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows[1].splitlines()]


def setting_faults():
    names, parameters = settings()
    for page in (TOP / "README.md", *(TOP / "docs").glob("*.md")):
        for name in re.findall(r"\bnet\.rds\.[\w.]*\w", page.read_text()):
            if name not in names and not any(n.startswith(f"{name}.") for n in names):
                yield f"{page.name}: there is no setting {name}"
    parts = (TOP / "docs/tuning.md").read_text().split("\n| end |")[1:]
    changes = [cells[1] for part in parts for cells in table(f"| end |{part}", "end")]
    short = {n.rpartition(".")[2] for n in names}
    for name in re.findall(r"`([\w.]+)`", " ".join(changes)):
        if not FOREIGN.fullmatch(name) and name not in names | short | parameters:
            yield f"tuning.md: there is no setting {name}"
    if len(changes) < 10 or len(names) < 20:
        yield "tuning.md: the tables were not found"


def reason_faults():
    text = (TOP / "net/rds/transport.h").read_text()
    reasons = set(re.findall(r'^\s+(?:X|LAST)\(\w+, "(.+?)"\)', text, re.M)) - {"-"}
    said = [word for row in table(TROUBLES, "last reason") for word in row[0].split(", ")]
    told = {word for word in said if not word.startswith(("any", "again", "and doctor"))}
    for word in sorted(reasons ^ told):
        yield f"troubleshooting.md: the reason '{word}' is {'not told' if word in reasons else 'none'}"


def errors_of(call):
    part = MANUAL.partition(".Sh ERROR NUMBERS")[2].partition(f".Ss {call}\n")[2].partition(".Ss ")[0]
    return {os.strerror(getattr(errno, name)) for name in re.findall(r"Er (E\w+)", part)}


def error_faults():
    found = 0
    for row in table(TROUBLES, "seen"):
        calls, _, words = row[0].partition(": ")
        for call in calls.split(", ") if words else ():
            found += 1
            if call != "modprobe" and words not in errors_of(call):
                yield f"troubleshooting.md: rds(7) has no '{words}' for {call}"
    if found < 8:
        yield "troubleshooting.md: no errors were found"


def main():
    faults = [*setting_faults(), *reason_faults(), *error_faults()]
    print("\n".join(faults) or "the pages name what there is")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
