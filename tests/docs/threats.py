#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The threat model (docs/threat-model.md): each row names a limit, a counter and tests that exist.

    threats.py              checks the names
    threats.py LOG...       prints each row with what came of its tests in these logs of make test:
                            green if all of them were played and passed. The last line is
                            `N passed, N failed, N skipped`, of rows

A row is `| deed | cost | limit | counter | test |`. In `code`, a limit is a name that the sources
have, a counter one of net/rds/stats.h, of rds_tcp (tcp_...) or of rds_rdma (ib_...), a test a unit
test (unit.Suite.Name), seeds or a scenario of the simulator (sim.name, sim.Suite.Name), one of the
contract (contract.Suite.Name), or a case of the VM suite (file.name).
"""
import functools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import names  # noqa: E402

TOP = names.TOP
PAGE = TOP / "docs/threat-model.md"
CODE = re.compile(r"`([^`]+)`")
# A scenario is played with several seeds, and the contract over several transports.
PLAYED = re.compile(r"^(sim|contract)\.\w+/(\w+\.\w+)/\w+$")
VM = re.compile(r"^(ok|FAIL|skip) +(\w+\.\w+)", re.M)
GTEST = re.compile(r"^(ok|FAIL) +((?:unit|sim|contract)\.\S+) ", re.M)
UNIT = re.compile(r"^ *\d+/\d+ Test +#\d+: ((?:unit|sim|contract)\.\S+)(?:  # .*?)? \.+\**(.*)$",
                  re.M)


def rows():
    """[deed, cost, limit, counter, test] of each, cells as they stand."""
    for line in PAGE.read_text().splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] != "deed" and \
                not set(line) <= set("|- "):
            yield cells


COUNTER = re.compile(r"^\tX\((\w+)\)", re.M)


@functools.cache
def named():
    """Every test that a row names."""
    return {name for *_, test in rows() for name in CODE.findall(test)}


def counters():
    core, tcp, ib = (COUNTER.findall((TOP / file).read_text()) for file in
                     ("net/rds/stats.h", "transports/tcp/tcp_linux.h",
                      "transports/ib/ib_stats.h"))
    return {*core, *(f"tcp_{name}" for name in tcp), *(f"ib_{name}" for name in ib)}


def text_of_tree():
    files = [p for room in ("net", "transports", "include") for p in (TOP / room).rglob("*")
             if p.suffix in (".h", ".c", ".cc")]
    return "\n".join(p.read_text(errors="replace") for p in files)


def faults():
    tree, tests, known, found = text_of_tree(), names.tests(), counters(), []
    for deed, _, limit, counter, test in rows():
        found += [f"{deed}: the sources have no {name}" for name in CODE.findall(limit)
                  if not re.search(rf"\b{re.escape(name)}\b", tree)]
        found += [f"{deed}: there is no counter {name}" for name in CODE.findall(counter)
                  if name not in known]
        shown = CODE.findall(test)
        if not shown:
            found.append(f"{deed}: no test")
        for name in shown:
            if name.removeprefix("unit.") not in tests:
                found.append(f"{deed}: no test is called {name}")
    return found


def played(logs):
    """{test: whether it passed every time}"""
    came = {}
    for log in logs:
        text = pathlib.Path(log).read_text(errors="replace")
        for how, name in VM.findall(text):
            if how != "skip":
                came[name] = came.get(name, True) and how == "ok"
        for how, name in GTEST.findall(text):
            name = PLAYED.sub(r"\1.\2", name)
            came[name] = came.get(name, True) and how == "ok"
        for name, how in UNIT.findall(text):
            name = PLAYED.sub(r"\1.\2", name).removesuffix("_of_commit")
            came[name] = came.get(name, True) and "Passed" in how
    return came


def show(logs):
    came, bad = played(logs), 0
    for deed, cost, _, _, test in rows():
        results = [came.get(name) for name in CODE.findall(test)]
        word = "RED" if False in results else "not played" if None in results else "green"
        bad += word != "green"
        print(f"threat  {word:<10}  {deed}: {cost}")
    return bad


def main(logs):
    found, count = faults(), len(list(rows()))
    bad = show(logs) if logs else 0
    print("\n".join(found))
    if logs:
        print(f"{count - bad} passed, {bad + len(found)} failed, 0 skipped")
    else:
        print(f"{count} rows")
    return 1 if found or bad or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
