#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A program's text in a page is that of a file, which is tried elsewhere.

`<!-- from FILE -->` stands before the block, whose lines are lines of FILE in one piece. In docs/python.md,
docs/cxx.md and docs/rdma.md every block that is marked as a program's has one.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:^<!-- from (\S+) -->\n)?^```(\w*)\n(.*?)^```$", re.M | re.S)
ALL_QUOTED = ("docs/python.md", "docs/cxx.md", "docs/rdma.md")


def main():
    faults, quotes = [], 0
    for page in sorted((TOP / "docs").rglob("*.md")):
        name = str(page.relative_to(TOP))
        for file, language, text in BLOCK.findall(page.read_text()):
            first = text.splitlines()[0].strip()
            if not file:
                if name in ALL_QUOTED and language in ("python", "c", "cpp", "rust"):
                    faults.append(f"{name}: '{first}...' is from no file")
                continue
            quotes += 1
            if not (TOP / file).exists() or text not in (TOP / file).read_text():
                faults.append(f"{name}: '{first}...' is not in {file}")
    if not quotes:
        faults.append("nothing was found to check: the pattern does not fit the pages any more")
    print(f"{quotes} quotes")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
