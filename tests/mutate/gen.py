#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Writes all mutants of the core into one copy of it ("schemata"): one build has them all.

    gen.py --list FILE...            the mutants of these files, one a line
    gen.py --list --base REV         those of the lines that changed since REV

An expression e becomes (rds_mut(7) ? (e') : (e)), a statement (rds_mut(8) ? (void)0 : (void)(s)),
a jump "if (rds_mut(9)) {} else return": whatever stands around it stays what it is, and no line
moves. Mutants that do not compile are found by what the compiler says and left out again.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import clang_ast  # noqa: E402
import sites  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PATTERNS = ["net/rds/**/*.cc", "net/rds/**/*.h", "transports/loop/*.cc", "transports/tcp/*.cc",
            "transports/tcp/tcp_frame.h", "transports/tcp/tcp_duel.h", "transports/ib/*.cc",
            "transports/ib/ib_link*.h", "transports/ib/ib_offer.h", "transports/ib/ib_mr_policy.h"]
HEAD = '#include "{}"\n#line 1\n'
TOOLS = ["sites", "clang_ast", "glue", "handmade"]  # what finds places, and how they look
MOST_ROUNDS = 12  # of compiling and dropping what does not compile
ERROR = re.compile(r"^([^\s:]+):(\d+):(\d+): (?:fatal )?error:", re.M)


def whole_core(root=ROOT):
    """The files that the tests of user space have in them."""
    return sorted({str(p.relative_to(root)) for g in PATTERNS for p in root.glob(g)})


def changed_lines(base, root=ROOT):
    """{file: line numbers} of what is new or different since @base."""
    out = subprocess.run(["git", "diff", "-U0", base, "--", *whole_core(root)], cwd=root,
                         check=True, capture_output=True, text=True).stdout
    lines, file = {}, None
    for line in out.splitlines():
        if line.startswith("+++ "):
            file = line[6:] if line.startswith("+++ b/") else None
        m = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if m and file:
            first, count = int(m[1]), int(m[2] or 1)
            lines.setdefault(file, set()).update(range(first, first + count))
    return lines


def cached(job):
    """The sites of (file, root, directory of the cache, what finds them)."""
    file, root, cache, find = job
    sys.setrecursionlimit(20000)
    tools = [root / file, *(HERE / f"{tool}.py" for tool in TOOLS)]
    known = cache / hashlib.sha1(b"".join(p.read_bytes() for p in tools)).hexdigest()
    if known.exists():
        return [sites.Site(*s) for s in json.loads(known.read_text())]
    found = find(file, root)
    cache.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(found))
    return found


def find_all(files, root, cache, find=sites.find):
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        per_file = pool.map(cached, [(f, root, cache, find) for f in files])
        return [s for found in per_file for s in found]


def numbered(found):
    """{id: site}; the same ids for the same sources."""
    return dict(enumerate(found, 1))


def wrap(group, inner):
    """@inner, the text of a place with what lies in it broken already, with the mutants of @group
    ((id, site) of this very place)."""
    tests = [f"rds_mut({i}) ? ({s.new}) : " for i, s in group if s.form == "expr"]
    if any(s.new.startswith("!(") for _, s in group):
        inner = f"(bool)({inner})"  # it may be a pointer
    if tests:
        inner = f"({''.join(tests)}({inner}))"
    for i, s in group:
        if s.form == "drop":
            inner = f"(rds_mut({i}) ? (void)0 : (void)({inner}))"
        elif s.form == "jump":
            inner = f"if (rds_mut({i})) {{}} else {inner}"
        elif s.form == "enter":
            inner = f" if (rds_mut({i})) {s.new}{inner}"
    return inner


def rewrite(src, mutants):
    """@src (bytes) with @mutants, {id: site of this file}, in it."""
    places = {}
    for i, s in mutants.items():
        places.setdefault((s.begin, s.end), []).append((i, s))
    order = sorted(places, key=lambda p: (p[0], -p[1]))

    def emit(begin, end, at):
        """The text from @begin to @end; @at: the first place in @order not before @begin."""
        out, now = [], begin
        while at < len(order) and order[at][0] < end:
            b, e = order[at]
            if b < now or e > end:  # half inside: a macro's
                at += 1
                continue
            text, after = emit(b, e, at + 1)
            out += [src[now:b].decode(), wrap(places[b, e], text)]
            now, at = e, after
        return "".join(out) + src[now:end].decode(), at

    return emit(0, len(src), 0)[0].encode()


def put(path, data):
    """Writes it when it is something else: time stamps say what to build."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def write_file(file, mutants, src, root=ROOT):
    """@file of the copy at @src, with those of @mutants that are its own."""
    own = {i: s for i, s in mutants.items() if s.file == file}
    data = (root / file).read_bytes()
    head = HEAD.format(src / "tests/mutate/mutant.h").encode() if own else b""
    put(src / file, head + rewrite(data, own) if own else data)


def blamed(output, mutants, src):
    """The mutants that the compiler's complaints are about: the last one that begins before the
    column, else all that are on the line."""
    bad = set()
    for name, line, column in set(ERROR.findall(output)):
        path = Path(name)
        file = str(path.relative_to(src)) if path.is_absolute() and src in path.parents else name
        if not (src / file).is_file() or not any(s.file == file for s in mutants.values()):
            continue
        text = (src / file).read_bytes().split(b"\n")[int(line) + 1]  # behind the two of HEAD
        before = re.findall(rb"rds_mut\((\d+)\)", text[:int(column) + 9])
        close = {int(before[-1])} if before else \
            {i for i, s in mutants.items() if s.file == file and s.line == int(line)}
        bad |= close & set(mutants)
    return bad


def compile_one(job):
    file, src = job
    cmd = ["nice", os.environ.get("CXX", "c++"), *clang_ast.flags(src), "-fsyntax-only",
           "-fmax-errors=0", "-fdiagnostics-column-unit=byte", str(src / file)]
    p = subprocess.run(cmd, cwd=src, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return file, p.returncode, p.stderr


def settle(mutants, src, root=ROOT, files=None):
    """Writes the copy, and takes back what does not compile.  (what is left, what is not)."""
    left, dropped = dict(mutants), {}
    files = files or whole_core(root)
    touched = {s.file for s in mutants.values()}
    for f in files:
        write_file(f, left, src, root)
    # A header's complaints come with whoever includes it, too.
    ask = set(files) if any(f.endswith(".h") for f in touched) else touched
    for _ in range(MOST_ROUNDS):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failed = [r for r in pool.map(compile_one, [(f, src) for f in sorted(ask)]) if r[1]]
        if not failed:
            return left, dropped
        bad = set().union(*(blamed(err, left, src) for _, _, err in failed))
        if not bad:
            break
        dropped.update({i: left.pop(i) for i in bad})
        for f in {dropped[i].file for i in bad}:
            write_file(f, left, src, root)
        ask = {f for f, _, _ in failed}
    raise clang_ast.Broken("the copy does not compile:\n" + failed[0][2][:2000])


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--list", action="store_true", required=True)
    p.add_argument("--base")
    p.add_argument("files", nargs="*")
    args = p.parse_args()
    lines = changed_lines(args.base) if args.base else None
    files = sorted(lines) if lines is not None else args.files or whole_core()
    for i, s in numbered(find_all(files, ROOT, ROOT / "build/mutate/sites")).items():
        if lines is None or s.line in lines[s.file]:
            print(f"{i}\t{s.file}:{s.line}\t{s.function}\t{s.text}")


if __name__ == "__main__":
    main()
