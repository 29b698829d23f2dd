#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is docs/connection-states.md what the table of states says (net/rds/path/path_table.h)?

    doc.py EXPLORE            compares; the program's --table is the table in words
    doc.py EXPLORE --write    writes the picture and the table of the document
"""
import argparse
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

DOC = Path(__file__).resolve().parents[2] / "docs/connection-states.md"
STATES = {"kDown": "DOWN", "kConnecting": "CONNECTING", "kUp": "UP",
          "kDisconnecting": "DISCONNECTING", "kDead": "DEAD"}
BEGINS = list(STATES)[:-1]  # nothing begins in DEAD


@dataclasses.dataclass
class Cell:
    to: list
    does: str

    def text(self):
        if not self.to:
            return self.does or "–"
        return f"{self.does}: {' or '.join(STATES[s] for s in self.to)}"


@dataclasses.dataclass
class Row:
    event: str
    cause: str
    cells: dict = dataclasses.field(default_factory=dict)


def table(program):
    rows = []
    out = subprocess.run([program, "--table"], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        words = line.split("\t")
        if words[0]:
            rows.append(Row(*words))
        else:
            rows[-1].cells[words[1]] = Cell(words[2].split(), words[3])
    return rows


def picture(rows):
    """Every edge with the events that take it; on the way to its end a path is down first."""
    causes = {}
    for row in rows:
        for state in BEGINS:
            for to in row.cells[state].to:
                if to != "kDead" or state == "kDown":
                    causes.setdefault((state, to), []).append(row.event)
    edges = [f"    {STATES[a]} --> {STATES[b]}: {', '.join(events)}"
             for (a, b), events in causes.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> DOWN", *edges,
                      "    DEAD --> [*]", "```"])


def words(rows):
    head = " | ".join(["event", "when", *(f"in {STATES[s]}" for s in BEGINS)])
    lines = [f"| {head} |", "|---|---|---|---|---|---|"]
    for row in rows:
        cells = " | ".join(row.cells[s].text() for s in BEGINS)
        lines.append(f"| `{row.event}` | {row.cause} | {cells} |")
    return "\n".join(lines)


def put(text, name, part):
    begin, end = f"<!-- {name}:begin (written by tests/model/doc.py) -->", f"<!-- {name}:end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    if not pattern.search(text):
        sys.exit(f"{DOC} has no place for the {name}")
    return pattern.sub(lambda _: f"{begin}\n{part}\n{end}", text)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("explore")
    args.add_argument("--write", action="store_true")
    args = args.parse_args()
    rows = table(args.explore)
    old = DOC.read_text()
    new = put(put(old, "picture", picture(rows)), "table", words(rows))
    if args.write:
        DOC.write_text(new)
    elif new != old:
        print(f"{DOC} is not what the table says: run {sys.argv[0]} {args.explore} --write")
        return 1
    print(f"{len(rows)} events in {len(BEGINS)} states")
    return 0


if __name__ == "__main__":
    sys.exit(main())
