#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The functions that docs/data-path.md walks through call each other, in its order.

Its table "Who calls whom" has a row for each function: the file that defines it, and the functions
that it calls. Each of them must be called there, and the first call of one must not come before
that of the one before it. A row's function must be called in the row before, or in an earlier one;
rows of "the way in" begin with a callback, which nothing of ours calls. --selftest shows on three
wrong rows that this is noticed.
"""
import argparse
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
DOC = "docs/data-path.md"
ROW = re.compile(r"^\| `(\w+)\(\)` \| ([\w./-]+) \| (.*) \|$", re.M)
NAME = re.compile(r"`(\w+)\(\)`")


def code(path):
    """The file's lines without comments."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), path.read_text(),
                  flags=re.S)
    return text.split("\n")


def bodies(path, function):
    """Those of all functions of this name that the file defines: as clang-format has them, a line
    "{" behind the head, and a line "}" as deep."""
    lines, found = code(path), []
    for at, line in enumerate(lines):
        if line.strip() != "{":
            continue
        first = at
        while first and lines[first - 1].strip() and not re.search(r"[;}{:]\s*$", lines[first - 1]):
            first -= 1
        head = re.sub(r"__attribute__\(\(.*?\)\)", "", " ".join(lines[first:at]))
        named = re.search(r"(\w+)\s*\(", head)
        if named and named[1] == function:
            end = lines.index(line[:-1] + "}", at)
            found.append("\n".join(lines[at:end]))
    return found


def complaint(body, calls):
    """The first of @calls that is not made, or too early; or nothing."""
    last, before = -1, "the beginning"
    for name in calls:
        found = re.search(rf"(?<!\w){name}\(", body)
        if not found:
            return f"does not call {name}()"
        if found.start() < last:
            return f"calls {name}() before {before}()"
        last, before = found.start(), name
    return None


def look(rows):
    called, wrong = set(), []
    for function, file, calls in rows:
        wanted = NAME.findall(calls)
        found = bodies(TOP / file, function) if (TOP / file).exists() else []
        told = [complaint(body, wanted) for body in found]
        if not found:
            wrong.append(f"{file} does not define {function}()")
        elif all(told):
            wrong.append(f"{file}: {function}() {told[0]}")
        if called and function not in called and not calls.endswith("(a callback)"):
            wrong.append(f"{function}() is called in no row before its own")
        called.update(wanted)
    return wrong


def selftest():
    body = "{\n\tone(a);\n\tif (two(b))\n\t\tonetwo(c);\n"
    assert complaint(body, ["one", "two"]) is None
    assert complaint(body, ["two", "one"]) == "calls one() before two()"
    assert complaint(body, ["three"]) == "does not call three()"
    assert complaint(body, ["o"]) == "does not call o()"
    xmit = "net/rds/path/path_xmit.cc"
    assert not look([("transmit", xmit, "`settle()`, `prepare()`")])
    assert look([("transmit", xmit, "`prepare()`, `settle()`")])
    assert look([("transmitted", xmit, "`settle()`")])
    assert look([("transmit", xmit, "`settle()`"), ("mark_batch", xmit, "`begin()`")])


def main():
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--selftest", action="store_true")
    if ap.parse_args().selftest:
        selftest()
        return 0
    rows = ROW.findall((TOP / DOC).read_text())
    wrong = look(rows) if rows else ["there is no table"]
    for text in wrong:
        print(f"{DOC}: {text}")
    print(f"{len(rows)} functions")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
