#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Files and functions that the documentation names exist.

In README.md and docs/*.md: a word with a slash that begins with a directory of the tree is a path
and must be there; a name followed by () in `code` must be defined or declared somewhere in net,
transports, tools or tests. Links to docs/... are paths too.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("net", "transports", "include", "tools", "tests", "docs", "scripts", "packaging", "kbuild", ".ci")
PATH = re.compile(r"(?<![\w/.-])((?:%s)/[\w./-]*\w)" % "|".join(map(re.escape, ROOMS)))
FUNCTION = re.compile(r"`(?:\w+::)?(\w+)\(\)`")
SHORT = re.compile(r"\b(decisions/\d{3})\b")


def words(rooms):
    found = set()
    for room in rooms:
        for path in (TOP / room).rglob("*"):
            if path.suffix in (".c", ".cc", ".h", ".py", ".sh"):
                found |= set(re.findall(r"\b(\w+)\s*\(", path.read_text(errors="replace")))
    return found


def main():
    known = words(("net", "transports", "include", "tools", "tests"))
    faults, paths, functions = [], 0, 0
    pages = [TOP / "README.md", *sorted((TOP / "docs").rglob("*.md"))]
    for page in pages:
        name = page.relative_to(TOP)
        for number, line in enumerate(page.read_text().splitlines(), 1):
            for path in PATH.findall(line):
                paths += 1
                if not (TOP / path).exists():
                    faults.append(f"{name}:{number}: there is no {path}")
            for short in SHORT.findall(line):
                paths += 1
                if not list((TOP / "docs").glob(short + "-*.md")):
                    faults.append(f"{name}:{number}: there is no docs/{short}-*.md")
            for function in FUNCTION.findall(line):
                functions += 1
                if function not in known:
                    faults.append(f"{name}:{number}: there is no function {function}()")
    if not paths or not functions:
        faults.append("nothing was found to check: the patterns do not fit the pages any more")
    print(f"{len(pages)} pages, {paths} paths, {functions} functions")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
