#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each point of README.md under "How it differs from mainline" is shown.

Every point there ends with a comment, `<!-- shown: ROW; ROW -->`, that a reader of the page does not
see. A ROW is the first cell of a row in docs/abi.md, under "Differences from mainline, on purpose" or
"Facts that differ", whole or with a `*`; or a page in docs/ that the point itself names. The rows of
facts are in their turn checked by the parity suite, which plays both kinds of modules.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
SECTIONS = ("## Differences from mainline, on purpose", "## Facts that differ")
CLAIMS = "## How it differs from mainline"
SHOWN = re.compile(r"<!-- shown: (.+?) -->")


def section(page, title):
    _, found, rest = (TOP / page).read_text().partition(title + "\n")
    return re.split(r"^## ", rest, flags=re.M)[0] if found else ""


def first_cells():
    """Of every row, without the head of a table."""
    for title in SECTIONS:
        lines = [line for line in section("docs/abi.md", title).splitlines()
                 if line.startswith("|")]
        yield from (re.split(r"(?<!\\)\|", line)[1].strip().strip("`") for line in lines[2:])


def is_shown(row, cells, claim):
    if row.startswith("docs/"):
        return (TOP / row).exists() and claim.count(row) > 1  # the point names it, too
    wild = re.escape(row).replace(r"\*", ".*")
    return any(re.fullmatch(wild, cell) for cell in cells)


def main():
    cells, faults, rows = list(first_cells()), [], 0
    claims = re.split(r"^- ", section("README.md", CLAIMS), flags=re.M)[1:]
    for claim in claims:
        words, shown = " ".join(claim.split())[:60], SHOWN.search(claim)
        if not shown:
            faults.append(f"README.md: nothing is said to show '{words}...'")
            continue
        for row in shown[1].split("; "):
            rows += 1
            if not is_shown(row, cells, claim):
                faults.append(f"README.md: docs/abi.md has no row '{row}' for '{words}...'")
    if not cells or not claims:
        faults.append("nothing was found to check: the patterns do not fit the pages any more")
    print(f"{len(claims)} claims, {rows} rows of {len(cells)}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
