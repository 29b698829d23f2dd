#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Files and functions that the documentation names exist.

In README.md and docs/*.md: a word with a slash that begins with a directory of the tree is a path
and must be there; a name followed by () in `code` must be defined or declared somewhere in net,
transports, tools or tests. Links to docs/... are paths too. In docs/abi.md, and on a line of docs/wire.md
that begins with "Seen by", a `room.name` in code is a test in a virtual machine or a unit test; a "name"
after rds_sockets is one of its cases.
docs/testing.md has every file of tests/kernel/cases in `code`.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ("net", "transports", "include", "tools", "tests", "docs", "scripts", "packaging", "kbuild",
         "python", "examples", ".ci")
PATH = re.compile(r"(?<![\w/.-])((?:%s)/[\w./-]*\w)" % "|".join(map(re.escape, ROOMS)))
FUNCTION = re.compile(r"`(?:\w+::)?(\w+)\(\)`")
TEST = re.compile(r"`((?:\w+\.)?\w+\.\w+)`")
CASES = re.compile(r'rds_sockets ("[^"]+"(?:, "[^"]+")*)')
SHORT = re.compile(r"\b(decisions/\d{3})\b")


def words(rooms):
    found = set()
    for room in rooms:
        for path in (TOP / room).rglob("*"):
            if path.suffix in (".c", ".cc", ".h", ".hpp", ".py", ".sh"):
                found |= set(re.findall(r"\b(\w+)\s*\(", path.read_text(errors="replace")))
    return found


def tests():
    """file.test of the virtual machines, Suite.Name of the unit tests, sim.name of seeds;
    sim.Suite.Name of scenarios, contract.Suite.Name."""
    found = set()
    for path in (TOP / "tests/kernel/cases").glob("*.py"):
        found |= {f"{path.stem}.{name}" for name in
                  re.findall(r"^@test\(.*\)\ndef (\w+)", path.read_text(), re.M)}
    found |= {f"sim.{name}" for name in
              re.findall(r"^sim_seeds\((\w+)", (TOP / "tests/sim/CMakeLists.txt").read_text(), re.M)}
    for path in (TOP / "tests/unit").glob("*.cc"):
        found |= {f"{suite}.{name}" for suite, name in
                  re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", path.read_text(), re.M)}
    for layer, room in (("sim", "sim/scenario"), ("contract", "contract")):
        for path in (TOP / "tests" / room).glob("*.cc"):
            found |= {f"{layer}.{suite}.{name}" for suite, name in
                      re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", path.read_text(), re.M)}
    return found


def shown_by():
    """Tests that docs/abi.md and docs/wire.md name, and that are not there."""
    text = (TOP / "docs/abi.md").read_text()
    wire = re.findall(r"^\d\. Seen by.*", (TOP / "docs/wire.md").read_text(), re.M)
    cases = "".join(p.read_text() for p in (TOP / "tests/progs/rds_sockets").glob("*.cc"))
    names = [name for part in CASES.findall(text) for name in re.findall('"[^"]+"', part)]
    shown = TEST.findall(text) + TEST.findall("".join(wire))
    faults = [f"docs: no test is called {name}" for name in sorted(set(shown) - tests())]
    faults += [f"docs/abi.md: rds_sockets has no case {name}" for name in names
               if f"({name}" not in cases]
    table = (TOP / "docs/testing.md").read_text()
    faults += [f"docs/testing.md: no word of {path.relative_to(TOP)}"
               for path in (TOP / "tests/kernel/cases").glob("*.py") if f"`{path.stem}`" not in table]
    return faults, len(shown) + len(names)


def main():
    known = words(("net", "transports", "include", "tools", "tests", "python"))
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
    missing, shown = shown_by()
    faults += missing
    if not paths or not functions or not shown:
        faults.append("nothing was found to check: the patterns do not fit the pages any more")
    print(f"{len(pages)} pages, {paths} paths, {functions} functions, {shown} tests")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
