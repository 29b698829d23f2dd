#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs path.pml (spin) against the table of states in net/rds/path.h.

    check.py [--long]

Three things: no run of the model breaks it (safety, and that it heals), every edge of the table is
taken by some run, and a model that was broken on purpose is caught.  --long tries larger ones.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "net/rds/path.h"

# Messages from S, from L; connections broken, openings lost, orderly ends.
HEALS = [(1, 0, 1, 0, 0), (1, 0, 0, 1, 0), (1, 0, 0, 0, 1),
         (0, 1, 0, 0, 0), (0, 1, 0, 1, 0), (1, 1, 0, 0, 0)]
SAFE = [(1, 1, 0, 1, 0)]
HEALS_LONG = [(0, 1, 1, 0, 0), (1, 1, 0, 0, 1), (1, 1, 1, 0, 0), (2, 0, 2, 0, 0)]
SAFE_LONG = [(1, 0, 1, 1, 1), (1, 1, 1, 1, 0)]
EVERYTHING = (1, 1, 1, 1, 1)
# What is wrong with the broken ones, and the run that shows it.
BUGS = {1: ("the timer of an earlier state counts", (0, 1, 0, 1, 0)),
        2: ("a reset forgets what was sent before", (1, 0, 1, 0, 0)),
        3: ("events of the old connection count for the new one", (0, 1, 0, 1, 0)),
        4: ("a knock is not answered", (0, 1, 0, 1, 0)),
        5: ("the event of an adopted connection comes late", (0, 1, 0, 0, 0))}


def read_table():
    """States in order, and the edges as pairs of names."""
    text = TABLE.read_text()
    states = re.search(r"enum class PathState[^{]*{([^}]*)}", text).group(1)
    states = [s.split("=")[0].strip() for s in states.split(",")]
    table = re.search(r"kPathEdges\[\] = {(.*?)\n};", text, re.S).group(1)
    edges = re.findall(r"PathState::(\w+), PathState::(\w+)", table)
    if not edges or any(s not in states for e in edges for s in e):
        sys.exit(f"{TABLE}: no table of states that I can read")
    return states, edges


def write_header(states, edges, path):
    lines = [f"#define {s} {i}" for i, s in enumerate(states)]
    one = [f"((f) == {f} && (t) == {t})" for f, t in edges]
    lines.append(f"#define LEGAL(f, t) ({' || '.join(one)})")
    numbered = [f"((n) == {i} && (f) == {f} && (t) == {t})" for i, (f, t) in enumerate(edges)]
    lines.append(f"#define EDGE(n, f, t) ({' || '.join(numbered)})")
    path.write_text("\n".join(lines) + "\n")


def run(where, size, heals, extra=()):
    """(whether it holds, states).  Everything is checked unless something fails first."""
    names = ("FROM_S", "FROM_L", "BREAKS", "LOST", "ADMIN")
    defines = [f"-D{n}={v}" for n, v in zip(names, size)] + list(extra)
    for f in where.glob("pan*"):
        f.unlink()
    subprocess.run(["spin", *defines, "-a", "path.pml"], cwd=where, check=True,
                   stdout=subprocess.DEVNULL)
    how = ["-DNFAIR=6"] if heals else ["-DSAFETY"]
    subprocess.run(["gcc", "-O1", "-w", "-DMEMLIM=6000", *how, "-o", "pan", "pan.c"], cwd=where,
                   check=True)
    how = ["-a", "-f"] if heals else ["-noclaim", "-E"]
    out = subprocess.run(["./pan", "-m400000", "-n", *how], cwd=where, capture_output=True,
                         text=True).stdout
    errors = re.search(r"errors: (\d+)", out)
    states = re.search(r"(\d\S*) states, stored", out)
    if not errors or not states or "too small" in out or "reached -DMEMLIM" in out:
        sys.exit(f"pan did not finish {size}:\n{out}")
    return int(errors.group(1)) == 0, states.group(1)


def check(where, states, edges, long):
    bad = 0

    def say(good, text):
        nonlocal bad
        bad += not good
        print(("ok    " if good else "FAIL  ") + text, flush=True)

    for size in HEALS + (HEALS_LONG if long else []):
        good, n = run(where, size, True)
        say(good, f"safe and heals: {size}, {n} states")
    for size in SAFE + (SAFE_LONG if long else []):
        good, n = run(where, size, False)
        say(good, f"safe: {size}, {n} states")
    for i, (f, t) in enumerate(edges):
        if t != "kDead": # the end of a host is not in the model
            good, _ = run(where, EVERYTHING, False, [f"-DCHECK_EDGE={i}"])
            say(not good, f"taken: {f} -> {t}")
    for i, (what, size) in BUGS.items():
        good, _ = run(where, size, True, [f"-DBUG={i}"])
        say(not good, f"caught: {what}")
    return bad


def main():
    args = argparse.ArgumentParser(description="model of two paths, checked against net/rds/path.h")
    args.add_argument("--long", action="store_true", help="larger models too (minutes, 6 GB)")
    long = args.parse_args().long
    states, edges = read_table()
    with tempfile.TemporaryDirectory() as d:
        where = Path(d)
        shutil.copy(HERE / "path.pml", where)
        write_header(states, edges, where / "edges.h")
        sys.exit(1 if check(where, states, edges, long) else 0)


if __name__ == "__main__":
    main()
