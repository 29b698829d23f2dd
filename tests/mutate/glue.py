#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tries mutants of the glue, the C of net/linux and of the transports, in User-Mode Linux.

    glue.py --list [FILE...]      all mutants of these files, or of the whole glue
    glue.py --sample N [--seed S] N of them: one build of the modules, two guests for each mutant
    glue.py --only ID,...         these (ids of --list)
    --write                       what came of it into docs/testing.md, too

Mutants are found and written as those of the core (gen.py), by the commands that Kbuild has used.
One is chosen by a number in the file of rds.ko, and asked of the cases of the VM suite that reach
it (glue_court.py). Two are asked at a time.
"""
import argparse
import concurrent.futures
import contextlib
import json
import random
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import clang_ast  # noqa: E402
import gen  # noqa: E402
import run  # noqa: E402
import sites  # noqa: E402
import table  # noqa: E402
from gen import ROOT  # noqa: E402
import glue_court  # noqa: E402: the VM suite has a run.py, too, and comes first from here on

WORK = ROOT / "build/mutate/glue"
BUILT = ROOT / "build/src-uml"  # where `make KERNEL=uml modules` leaves its commands
PATTERNS = ["net/linux/*.c", "transports/*/*_linux.c"]
DEFINITION = """
struct rds_glue_mutant rds_glue_mutant = {"%s"};
EXPORT_SYMBOL_GPL(rds_glue_mutant);

static int rds_glue_seen(char *to, const struct kernel_param *param)
{
	int at, n = 0;

	for (at = 0; at < sizeof(rds_glue_mutant.seen); at += 8) {
		unsigned int bit, byte = 0;

		for (bit = 0; bit < 8; bit++)
			byte |= rds_glue_mutant.seen[at + bit] << bit;
		n += sprintf(to + n, "%%02x", byte);
	}
	return n;
}
static const struct kernel_param_ops rds_glue_seen_ops = { .get = rds_glue_seen };
module_param_cb(mutants_seen, &rds_glue_seen_ops, NULL, 0444);
"""
CLANG = ["clang-14", "-nostdinc", "-std=gnu11", "-m64", "-fshort-wchar", "-fno-builtin", "-w"]
FUNCTION = re.compile(r"^(?:static )[^;=(]*?(\w+)\([^;]*?\)\n\{", re.M)
MOST_ROUNDS = 20
WORKERS = 2
PROGRAMS = ["build/tools/rdsctl", "build/tests/progs/rds_flows"]  # what `make tests` leaves


def command(file):
    """(directory, words): how Kbuild compiles @file."""
    of = BUILT / file
    said = (of.parent / f".{of.stem}.o.cmd").read_text().splitlines()[0]
    words = shlex.split(said.split(":=", 1)[1])
    return kernel_build(), words[:words.index("-c")] if "-c" in words else words


def kernel_build():
    env = subprocess.run([ROOT / "scripts/kernel-env.sh", "--headers", "uml"], text=True,
                         check=True, capture_output=True)
    return Path(env.stdout.strip())


def whole_glue():
    files = sorted(str(p.relative_to(ROOT)) for g in PATTERNS for p in ROOT.glob(g))
    return [f for f in files if (BUILT / f).parent.joinpath(f".{Path(f).stem}.o.cmd").exists()]


def includes(words):
    """The options of a compiler's command that say where things are."""
    kept, two = [], ("-include", "-isystem", "-I", "-D", "-U")
    for at, word in enumerate(words):
        if word in two:
            kept += words[at:at + 2]
        elif word[:2] in ("-I", "-D", "-U"):
            kept.append(word)
    return kept


def find(file, root):
    where, words = command(file)
    names = FUNCTION.findall((root / file).read_text())
    nodes = {}
    for word in ["rds", *(n for n in names if "rds" not in n)]:
        for node in clang_ast.named([*CLANG, *includes(words)], str(BUILT / file), where, word):
            rename(node, str(BUILT / file), file)
            nodes[node["range"]["begin"].get("offset"), node.get("name")] = node
    # There is no {} in C that returns nothing.
    return [s._replace(new="return 0;") if s.new == "return {};" else s
            for s in sites.find(file, root, nodes.values())]


def rename(thing, old, new):
    """The copy that Kbuild compiles has the same text."""
    for one in thing if isinstance(thing, list) else thing.values():
        if isinstance(one, (dict, list)):
            rename(one, old, new)
    if isinstance(thing, dict) and thing.get("_f") == old:
        thing["_f"] = new


def head(src):
    return f'#include "{src / "tests/mutate/glue_host.h"}"\n#line 1\n'


def write_file(file, mutants, src):
    own = {i: s for i, s in mutants.items() if s.file == file}
    text = gen.rewrite((ROOT / file).read_bytes(), own)
    if file == "net/linux/module.c":
        text += (DEFINITION % glue_court.MAGIC).encode()
    put = own or file == "net/linux/module.c"
    gen.put(src / file, (head(src).encode() if put else b"") + text)


def complaints(file, src):
    where, words = command(file)
    p = subprocess.run(["nice", *words, "-w", "-fsyntax-only", "-fmax-errors=0",
                        "-fdiagnostics-column-unit=byte", str(src / file)],
                       cwd=where, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    # The expansion of a macro lies in a header of the kernel, and so does its error.
    return p.stderr.replace("note: in expansion of", "error:") if p.returncode else ""


def settle(mutants, src):
    """Writes the copy, and takes back what does not compile: what is left."""
    left = dict(mutants)
    for file in whole_glue():
        write_file(file, left, src)
    for file in sorted({s.file for s in mutants.values()}):
        for _ in range(MOST_ROUNDS):
            said = complaints(file, src)
            bad = gen.blamed(said, left, src) if said else set()
            if said and not bad:
                raise clang_ast.Broken(said[:2000])
            for i in bad:
                del left[i]
            if not bad:
                break
            write_file(file, left, src)
    return left


def build(mutants):
    src = WORK / "src"
    run.fresh(src, set(whole_glue()))
    mutants = settle(mutants, src)
    made = subprocess.run(["nice", "make", "KERNEL=uml", "modules"], cwd=src, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if made.returncode:
        raise clang_ast.Broken(made.stdout[-3000:])
    return mutants, next((src / "build").glob("modules-*"))


def parse():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", action="store_true")
    p.add_argument("--sample", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only")
    p.add_argument("--write", action="store_true")
    p.add_argument("files", nargs="*")
    return p.parse_args()


def try_all(court, found, ids):
    """Each worker has guests of its own, and takes the next mutant when it is done with one."""
    listed, benches = run.equivalents(), [court.bench(n) for n in range(WORKERS)]

    def one(i):
        bench, began = benches.pop(), time.monotonic()
        try:
            who, asked = court.verdict(bench, i)
        finally:
            benches.append(bench)
        s = found[i]
        row = {"id": i, "file": s.file, "line": s.line, "function": s.function, "kind": s.kind,
               "text": s.text, "who": who, "asked": asked, "reason": listed.get(s.key),
               "seconds": round(time.monotonic() - began)}
        print(f"{i}\t{s.file}:{s.line} {s.function}: {s.text}: {who or row['reason'] or 'NOBODY'}"
              f" ({asked} cases, {row['seconds']} s)", flush=True)
        return row

    with contextlib.ExitStack() as opened:
        pool = opened.enter_context(concurrent.futures.ThreadPoolExecutor(WORKERS))
        for bench in benches:
            opened.callback(bench.close)
        court.learn(pool, list(benches))
        return list(pool.map(one, ids))


def main():
    args = parse()
    found = gen.numbered(gen.find_all(args.files or whole_glue(), ROOT, WORK / "sites", find))
    if args.list:
        for i, s in found.items():
            print(f"{i}\t{s.file}:{s.line}\t{s.function}\t{s.text}")
        return 0
    for program in PROGRAMS:
        if not (ROOT / program).exists():  # nearly no case could be asked
            raise clang_ast.Broken(f"{program} is not built, run: make tests")
    found, modules = build(found)
    ids = [i for i in map(int, args.only.split(",")) if i in found] if args.only else \
        random.Random(args.seed).sample(sorted(found), min(args.sample, len(found)))
    print(f"{len(found)} mutants in one build", flush=True)
    rows = try_all(glue_court.Court(modules, WORK), found, ids)
    said = table.glue_summary(rows)
    print(said)
    (WORK / "verdicts.json").write_text(json.dumps(rows, indent=1))
    if args.write:
        commit = run.git("rev-parse", "--short", "HEAD")
        table.write_glue(ROOT / "docs/testing.md", f"Commit {commit}, seed {args.seed}: {said}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except clang_ast.Broken as e:
        sys.exit(str(e))
