#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is the table of events in docs/connection-states.md the one that the simulator checks?

    doc.py EXPLORE    the program whose --table it is compared with

A state in capitals in a cell of the document is one to which the event of the row leads from the
state of the column; every other turn ends where it began.
"""
import re
import subprocess
import sys
from pathlib import Path

DOC = Path(__file__).resolve().parents[2] / "docs/connection-states.md"
STATES = {"DOWN": "kDown", "CONNECTING": "kConnecting", "UP": "kUp",
          "DISCONNECTING": "kDisconnecting", "DEAD": "kDead"}


def documented():
    table, columns = {}, []
    for line in DOC.read_text().splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if line.startswith("| event |"):
            columns = [STATES[c.removeprefix("in ")] for c in cells[2:]]
        event = re.match(r"`(kEv\w+)`$", cells[0])
        if event and columns:
            for state, cell in zip(columns, cells[2:], strict=True):
                to = {STATES[w] for w in re.findall(r"\b[A-Z]{2,}\b", cell)}
                table[event[1], state] = to
    return table


def checked(program):
    out = subprocess.run([program, "--table"], check=True, capture_output=True, text=True).stdout
    return {(w[0], w[1]): set(w[2:]) for w in map(str.split, out.splitlines())}


def main():
    doc, code = documented(), checked(sys.argv[1])
    bad = [k for k in sorted(doc.keys() | code.keys()) if doc.get(k) != code.get(k)]
    for event, state in bad:
        print(f"{event} in {state}: the document has {doc.get((event, state))}, "
              f"the simulator {code.get((event, state))}")
    print(f"{len(code)} cells, {len(bad)} of them differ")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
