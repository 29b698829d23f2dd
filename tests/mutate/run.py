#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tries the mutants that gen.py writes into a copy of the core: who notices?

    run.py [--base REV]           those of the lines that changed since REV (make mutants)
    run.py --sample N [--seed S]  N of the whole core
    run.py --all                  the whole core
    run.py --only ID,...          these; ids are those of the last kind of run
    --write                       the table in docs/testing.md, too

A mutant is asked of the unit tests that reach it, then of the corner tests that reach it, then of
the simulator. The exit status is 1 when nobody noticed a mutant of changed lines, and
equivalent.txt gives no reason for it.
"""
import argparse
import concurrent.futures
import json
import random
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import gen  # noqa: E402
import handmade  # noqa: E402
import judge  # noqa: E402
import table  # noqa: E402
from clang_ast import Broken  # noqa: E402
from gen import ROOT  # noqa: E402

sys.path.insert(0, str(ROOT / "tests/sim/mutate"))
from mutants import MUTANTS  # noqa: E402

WORK = ROOT / "build/mutate"
EQUIVALENT = gen.HERE / "equivalent.txt"
BUILD_ROUNDS = 6


def git(*args, check=True):
    p = subprocess.run(["git", *args], cwd=ROOT, text=True, capture_output=True, check=check)
    return p.stdout.strip() if not p.returncode else None


def default_base():
    """Where this branch left the main one; on that, the commit before."""
    base = git("merge-base", "HEAD", "origin/main", check=False)
    return base if base and base != git("rev-parse", "HEAD") else "HEAD~1"


def fresh(src, broken):
    """The copy has all as it is but what is to be @broken: that is settle()'s."""
    wanted = set(git("ls-files", "-co", "--exclude-standard").splitlines())
    for name in wanted - broken:
        if (ROOT / name).is_file():
            gen.put(src / name, (ROOT / name).read_bytes())
            (src / name).chmod((ROOT / name).stat().st_mode)
    for old in [p for p in src.rglob("*") if p.is_file()]:
        if str(old.relative_to(src)) not in wanted:
            old.unlink()


def build(room, mutants):
    """Makes the copy in @room; the mutants that are in it."""
    src, out = room / "src", room / "build"
    fresh(src, set(gen.whole_core()))
    mutants, dropped = gen.settle(mutants, src)
    if not (out / "Makefile").exists():
        call("cmake", "-S", src, "-B", out, "-DRDS_TESTS=ON", "-DRDS_MUTANTS=ON")
    for _ in range(BUILD_ROUNDS):
        failed = call("make", "-k", "-C", out, "-j2", *judge.TARGETS, check=False)
        if failed is None:
            return mutants, dropped
        bad = gen.blamed(failed, mutants, src)
        if not bad:
            break
        dropped.update({i: mutants.pop(i) for i in bad})
        for file in {dropped[i].file for i in bad}:
            gen.write_file(file, mutants, src)
    raise Broken(f"the copy does not build:\n{failed[-3000:]}")


def call(*cmd, check=True):
    """None, or what was said by a command that failed."""
    p = subprocess.run(["nice", "-n", "5", *map(str, cmd)], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    if p.returncode and check:
        raise Broken(p.stdout[-3000:])
    return p.stdout if p.returncode else None


def equivalents():
    """{(file, function, text): reason}"""
    lines = [x.split("\t") for x in EQUIVALENT.read_text().splitlines() if x and x[0] != "#"]
    bad = ["\t".join(x) for x in lines if len(x) != 4]
    if bad:
        sys.exit(f"{EQUIVALENT}: file, function, mutation and reason, with tabs between:\n{bad[0]}")
    return {tuple(x[:3]): x[3] for x in lines}


def whole():
    """{id: site} of the whole core, with those that somebody wrote down."""
    found = gen.find_all(gen.whole_core(), ROOT, WORK / "sites")
    return gen.numbered(found + list(handmade.all_sites(MUTANTS, WORK / "bodies").values()))


def choose(args):
    """(where to build, all mutants that are built in)."""
    if args.all or args.sample:
        return WORK, whole()
    lines = gen.changed_lines(args.base or default_base())
    found = gen.numbered(gen.find_all(sorted(lines), ROOT, WORK / "sites"))
    return WORK / "changed", {i: s for i, s in found.items() if s.line in lines[s.file]}


def row(i, site, verdict, seconds, listed):
    return {"id": i, "file": site.file, "line": site.line, "function": site.function,
            "kind": site.kind, "text": site.text, "by": verdict.by, "who": verdict.who,
            "units": verdict.units, "reached": verdict.reached, "seconds": round(seconds, 2),
            "reason": listed.get(site.key)}


def try_all(court, mutants, ids, listed):
    def one(i):
        start = time.monotonic()
        verdict = court.ask(i, "full_fence()" in mutants[i].old)
        return row(i, mutants[i], verdict, time.monotonic() - start, listed)

    rows = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, i) for i in ids]):
            r = done.result()
            rows.append(r)
            if not r["by"]:
                print(table.line(r), flush=True)
    return sorted(rows, key=lambda r: r["id"])


def parse():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--base")
    p.add_argument("--all", action="store_true")
    p.add_argument("--sample", type=int)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only")
    p.add_argument("--write", action="store_true")
    return p.parse_args()


def pick(args, mutants):
    if args.only:
        return [i for i in map(int, args.only.split(",")) if i in mutants]
    ids = sorted(i for i, s in mutants.items() if s.kind != handmade.KIND)
    if args.sample:
        ids = random.Random(args.seed).sample(ids, min(args.sample, len(ids)))
    return ids


def main():
    args = parse()
    listed = equivalents()
    room, mutants = choose(args)
    if not mutants:
        print("mutants: no line of the core changed that can be broken")
        return 0
    start = time.monotonic()
    mutants, dropped = build(room, mutants)
    built = time.monotonic()
    print(f"{len(mutants)} mutants in one build ({len(dropped)} do not compile), "
          f"{built - start:.0f} s", flush=True)
    court = judge.Court(room / "build")
    print(f"{court.cases} test cases and stories say which they reach, "
          f"{time.monotonic() - built:.0f} s", flush=True)
    ids = pick(args, mutants)
    begin = time.monotonic()
    rows = try_all(court, mutants, ids, listed)
    print(f"{len(rows)} tried in {time.monotonic() - begin:.0f} s\n" + table.summary(rows))
    current = {s.key for s in gen.find_all(gen.whole_core(), ROOT, WORK / "sites")}
    commit = git("rev-parse", "--short", "HEAD")
    known = table.remember(WORK / "verdicts.json", rows, current, commit)
    if args.write:
        table.write(ROOT / "docs/testing.md", known)
    holes = [r for r in rows if table.is_hole(r)]
    return 1 if holes and not (args.all or args.sample) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Broken as e:
        sys.exit(str(e))
