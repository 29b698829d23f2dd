#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Breaks the core on purpose, one way at a time, and shows that the simulator notices.

    mutate.py                 every mutant of mutants.py; table on stdout
    mutate.py --only A,B      some of them
    mutate.py --write         also writes the table (with what was tried before) into docs/testing.md
    mutate.py --check         only: does every mutant still apply?

All are in one build of the core (tests/mutate), without sanitizers: RDS_MUTANT says which is on, and
simulator seeds are asked, then the corner tests, the unit tests, and those between two atomics.
Mutants that are unnoticed so far, or lie outside of functions, get a copy of the tree and a build of
their own, with sanitizers (two copies, which are kept): seeds, hostile peers, corner, scenario and
contract tests, tests/model; more seeds; and the unit tests last, for what needs a coincidence that
stories hardly have. A mutant that survives is a hole; the exit status says so.
"""
import argparse
import concurrent.futures
import json
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mutants import MUTANTS  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/mutate"))
import handmade  # noqa: E402
import judge  # noqa: E402
import run as one_build  # noqa: E402

DOC = ROOT / "docs/testing.md"
WORK = ROOT / "build/mutation"
RESULTS = WORK / "results.json"  # {name: verdict} of all runs so far
GTESTS = ["tests/sim/corners/corners_test", "tests/sim/scenario_test",
          "tests/contract/contract_test"]
# Every order within a bound, of the core alone (tests/model).
MODEL = "tests/model/explore_fast"
MODEL_RUNS = [(), ("--interrupts", "1", "--play", "idle")]
UNIT = ["tests/unit/unit_core", "tests/unit/unit_ib"]
# Seeds per run until one fails: a few with sanitizers; after the tests above, many without.
FIRST = [("sim_run", 5), ("sim_run", 20), ("sim_run", 75)]
HOSTILE = [("adversary_run_fast", 40)]
LAST = [("sim_fast", 400), ("sim_fast", 1000)]
# Processor seconds for one run: what the unbroken core took, times PATIENCE, and a few.
PATIENCE = 5
FEW = 4

# Complaints of a failing run, the most telling first.
SAYS = [
    r"FAILED: (.*)",
    r"^sim: (?!seed |holds )(.*)",
    r"AddressSanitizer: ([\w-]+)",
    r"(LeakSanitizer): detected",
    r"runtime error: (.*)",
    r": Failure\n(.*\n.*)",
]


class Stale(Exception):
    """A mutant's text is not in the product, or more than once."""


def mutate(mutant, text):
    found = list(handmade.pattern(mutant.old).finditer(text))
    if len(found) != 1:
        raise Stale(f"mutant '{mutant.name}' does not apply: its text is {len(found)} times in "
                    f"{mutant.file}; adapt tests/sim/mutate/mutants.py")
    return text[:found[0].start()] + mutant.new + text[found[0].end():]


def check():
    stale = []
    for m in MUTANTS:
        try:
            mutate(m, (ROOT / m.file).read_text())
        except (Stale, OSError) as e:
            stale.append(str(e))
    twice = {m.name for m in MUTANTS if [o.name for o in MUTANTS].count(m.name) > 1}
    stale += [f"two mutants are called '{n}'" for n in twice]
    print("\n".join(stale) or f"{len(MUTANTS)} mutants apply")
    return not stale


class Tree:
    """A copy of the sources with a build of its own."""

    enough = {}  # processor seconds for each kind of run

    def __init__(self, number):
        self.src = WORK / f"w{number}" / "src"
        self.build = WORK / f"w{number}" / "build"
        self.fresh()
        self.build.mkdir(parents=True, exist_ok=True)
        # Mutants may leave something unused.
        self.tool("cmake", "-S", self.src, "-B", self.build, "-DCMAKE_CXX_FLAGS=-w")
        out = self.tool("make", "-C", self.build, "help")
        have = set(re.findall(r"^\.\.\. (\S+)", out, re.M))
        self.made = set()  # of the sources as they are
        self.gtests = [t for t in GTESTS if Path(t).name in have]
        self.units = [t for t in UNIT if Path(t).name in have]

    def fresh(self):
        """Brings the copy up to date; what did not change keeps its time stamp."""
        files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT,
                               capture_output=True, text=True, check=True)
        wanted = {f for f in files.stdout.splitlines() if (ROOT / f).is_file()}
        for name in wanted:
            to = self.src / name
            data = (ROOT / name).read_bytes()
            if not to.exists() or to.read_bytes() != data:
                to.parent.mkdir(parents=True, exist_ok=True)
                to.write_bytes(data)
                shutil.copymode(ROOT / name, to)
        for old in [p for p in self.src.rglob("*") if p.is_file()]:
            if str(old.relative_to(self.src)) not in wanted:
                old.unlink()

    def tool(self, *cmd):
        p = subprocess.run(["nice", "-n", "5", *map(str, cmd)], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            raise RuntimeError(f"{' '.join(map(str, cmd))}:\n{p.stdout[-3000:]}")
        return p.stdout

    def make(self, path):
        """The program asked first mostly knows, so the rest are not built before they are asked."""
        if path not in self.made:
            self.tool("make", "-C", self.build, Path(path).name)
            self.made.add(path)

    def run(self, what, *args):
        """Exit status and output.  The first run of @what, of the unbroken core, says how much
        processor time is enough."""
        self.make(what[0])
        limit = self.enough.get(what, 3600)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        p = subprocess.run(["nice", "-n", "5", self.build / what[0], *map(str, args)],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           errors="replace", preexec_fn=lambda: resource.setrlimit(
                               resource.RLIMIT_CPU, (limit, limit + 5)))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.enough.setdefault(what, FEW + int(PATIENCE * used))
        return p.returncode, p.stdout

    def seeds(self, program, block, first, count):
        """@count seeds, with the patience of @block."""
        return self.run((f"tests/sim/{program}", block), "--seed", first, "--seeds", count,
                        "--no-shrink")

    def judge(self):
        """(who caught it, seeds run, what was said), or None when nobody did."""
        self.made.clear()
        seeds, more = (sum(n for _, n in blocks) for blocks in (FIRST, LAST))
        return (self.ask_seeds(FIRST, 1) or self.ask_seeds(HOSTILE, 1) or
                self.ask_tests(self.gtests, seeds) or
                self.ask_model(seeds) or self.ask_seeds(LAST, seeds + 1) or
                self.ask_tests(self.units, seeds + more, "unit "))

    def ask_seeds(self, blocks, first):
        for program, count in blocks:
            status, out = self.seeds(program, count, first, count)
            if status:
                return self.which_seed(program, first, count, status, out)
            first += count
        return None

    def ask_model(self, seeds):
        for args in MODEL_RUNS:
            status, out = self.run((MODEL, *args), *args)
            if status:
                play = re.search(r"--play (\S+)", out)
                return "model" + (f" {play[1]}" if play else ""), seeds, said(status, out)
        return None

    def ask_tests(self, paths, seeds, kind=""):
        for path in paths:
            status, out = self.run((path,), "--gtest_fail_fast")
            if status:
                # The test that failed; else the one that ran when the process died.
                tests = (re.findall(r"\[  FAILED  \] ([\w/.]+)", out)[:1] or
                         re.findall(r"\[ RUN      \] (\S+)", out)[-1:] or [path])
                return kind + tests[0], seeds, said(status, out)
        return None

    def which_seed(self, program, first, count, status, out):
        """It says itself which, or is asked one by one, or it took several."""
        named = re.search(r"\bseed (\d+)", out)
        for seed in [int(named[1])] if named else range(first, first + count):
            alone, text = self.seeds(program, count, seed, 1)
            if alone:
                return "seed", seed, said(alone, text)
        return "seeds together", first + count - 1, said(status, out)


def said(status, out):
    for p in SAYS:
        m = re.search(p, out, re.M)
        if m:
            return " ".join(m.group(1).split())
    if status == -signal.SIGXCPU:
        return "does not end"
    return f"exit status {status}"


def one(mutant, trees):
    tree = trees.get()
    file = tree.src / mutant.file
    whole = file.read_text()
    start = time.monotonic()
    try:
        file.write_text(mutate(mutant, whole))
        verdict = tree.judge()
    finally:
        file.write_text(whole)
        trees.put(tree)
    return mutant, verdict, time.monotonic() - start


def row(mutant, verdict):
    who, seeds, what = verdict or ("**nobody**", sum(n for _, n in FIRST + LAST), "")
    what = what.replace("|", "/").replace("`", "'")
    what = f"`{what if len(what) < 90 else what[:87] + '...'}`" if what else ""
    return f"| `{mutant.name}` | {mutant.what} | {who} | {seeds} | {what} |"


HEAD = ["| mutant | what is broken | caught by | seeds | what was said |", "|---|---|---|--:|---|"]


def remember(name, verdict):
    """Keeps it for --write, also of another run: {name: verdict} of all that were tried."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if name:
        known[name] = verdict
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        RESULTS.write_text(json.dumps(known, indent=1))
    return known


def write():
    """Rows of mutants that were tried replace theirs in the table; the others stay as they are."""
    known, text = remember(None, None), DOC.read_text()
    begin, end = "<!-- mutation:begin (written by `make mutation`) -->", "<!-- mutation:end -->"
    if begin not in text:
        sys.exit(f"{DOC} has no place for the table")
    before, after = text.index(begin), text.index(end)
    rows = {name: line for line, name in
            re.findall(r"^(\| `([\w-]+)` \|.*)$", text[before:after], re.M)}
    rows |= {m.name: row(m, known[m.name]) for m in MUTANTS if m.name in known}
    rows = [rows[m.name] for m in MUTANTS if m.name in rows]
    caught = sum(1 for line in rows if "| **nobody** |" not in line)
    body = [begin, "", f"{caught} of {len(rows)} caught, of {len(MUTANTS)} that there are.", "",
            *HEAD, *rows, "", end]
    DOC.write_text(text[:before] + "\n".join(body) + text[after + len(end):])


def ask_one_build(mutants):
    """Yields (mutant, verdict or None, seconds) of those that are in the build that has them all."""
    sites, _ = one_build.build(one_build.WORK, one_build.whole())
    ids = {site.old: i for i, site in sites.items() if site.kind == handmade.KIND}
    court = judge.Court(one_build.WORK / "build")

    def ask(mutant):
        start = time.monotonic()
        found = court.first_to_notice(ids[mutant.name])
        verdict = found and (*found[:2], said(*found[2:]))
        return mutant, verdict, time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(ask, m) for m in mutants if m.name in ids]
        yield from (job.result() for job in concurrent.futures.as_completed(jobs))


def ask_own_builds(mutants, workers):
    """The same of each mutant in a build of its own."""
    trees = queue.Queue()
    for i in range(min(workers, len(mutants))):
        trees.put(Tree(i))
    verdict = mutants and trees.queue[0].judge()
    if verdict:
        sys.exit(f"the core fails as it is, nothing can be said about mutants: {verdict}")
    with concurrent.futures.ThreadPoolExecutor(max(1, len(trees.queue))) as pool:
        for job in concurrent.futures.as_completed([pool.submit(one, m, trees) for m in mutants]):
            try:
                yield job.result()
            except RuntimeError as e:
                print(f"a mutant does not build: {e}", file=sys.stderr, flush=True)


def try_all(mutants, workers):
    """How many of @mutants somebody notices."""
    left = {m.name: m for m in mutants}
    for mutant, verdict, seconds in ask_one_build(mutants):
        if verdict:
            del left[mutant.name]
            remember(mutant.name, verdict)
            print(row(mutant, verdict), f"{seconds:.0f} s", flush=True)
    unnoticed = len(left)
    for mutant, verdict, seconds in ask_own_builds(list(left.values()), workers):
        unnoticed -= bool(verdict)
        remember(mutant.name, verdict)
        print(row(mutant, verdict), f"{seconds:.0f} s", flush=True)
    return len(mutants) - unnoticed


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", help="names, separated by commas")
    p.add_argument("--check", action="store_true")
    p.add_argument("--write", action="store_true")
    p.add_argument("--workers", type=int, default=2)
    args = p.parse_args()
    if not check():
        return 1
    if args.check:
        return 0
    wanted = args.only.split(",") if args.only else [m.name for m in MUTANTS]
    unknown = set(wanted) - {m.name for m in MUTANTS}
    if unknown:
        sys.exit(f"no such mutant: {', '.join(sorted(unknown))}")
    mutants = [m for m in MUTANTS if m.name in wanted]
    if not args.only:
        RESULTS.unlink(missing_ok=True)
    start = time.monotonic()
    print("\n".join(HEAD), flush=True)
    caught = try_all(mutants, args.workers)
    print(f"{caught} of {len(mutants)} caught in {(time.monotonic() - start) / 60:.0f} minutes")
    if args.write:
        write()
    return 0 if caught == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
