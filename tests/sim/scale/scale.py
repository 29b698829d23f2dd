#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The cost of a message, of an idle connection and of what is done once, beside many peers, as
log-log slopes.

    scale.py BUILD [--sizes 100,1000,10000,100000] [--hosts 1000,10000,100000,1000000]
                   [--write] [--check]

Runs the program `scale` of the build directory BUILD once for each size.  Calls of the seam come
from its output; what the core's own lines did comes from gcov, so nothing in the core counts:
hash probes and list steps are the executions of the lines named in MARKS.  Then the program `deeds`
once for each number of hosts, which counts the core's basic blocks by itself.

--check fails when a message's cost is not flat, or a deed costs more beside more; --write puts the
tables into docs/performance.md.
"""
import argparse
import json
import math
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOC = ROOT / "docs/performance.md"
MESSAGES = 300000  # about, in each run: rounds are fewer when hosts are more
OBJECTS = "tests/sim/scale/CMakeFiles/core_scale.dir"
FLAT = 0.03  # what a message costs may differ by this much between the sizes
IDLE_GOAL = 256
ENDS = 0.2  # grace periods per connection when many end together
# The cost of a deed for each thing that it changes may be so many times as high beside the most: a
# table has as many buckets as objects, or twice as many, and 10^6 waiters share 512 lists.
DEED = 2.2
# Basic blocks under a spin lock or in an RCU section: some 100 us.
LONGEST = 30000
# A path's queue is sent in one RCU section, which keeps nobody waiting, by short holds of its lock.
ONE_QUEUE = " queue"
# System calls: they ask whether others are to run, and no stretch without that is longer than the others.
CALLS = "RDS_INFO", "close", "cancel"

# file: what its lines do.  Each must be found, or the measurement is void.
MARKS = {
    "hash probes": ("net/rds/hash.h", [r"T \*t = container_of\(n, M\);", r"fn\(\*container_of\(n, M\)\)",
                                       r"while \(\(n = at->load\(\)\)\)"]),
    "list steps": ("net/rds/list.h", [r"return container_of\(n, M\);"]),
}
SEAM = {"locks": "lock operations", "rcu": "RCU sections", "allocs": "allocations",
        "alloc_bytes": "bytes allocated", "timers": "timers armed", "works": "work items queued",
        "wakes": "wakeups", "stats": "counters bumped"}


def marked_lines():
    """{kind: {(file, line)}}"""
    out = {}
    for kind, (name, patterns) in MARKS.items():
        lines = (ROOT / name).read_text().splitlines()
        out[kind] = set()
        for p in patterns:
            hits = [i + 1 for i, text in enumerate(lines) if re.search(p, text)]
            if not hits:
                sys.exit(f"{name}: no line matches {p!r}; adapt MARKS in {__file__}")
            out[kind] |= {(name, i) for i in hits}
    return out


def executed(build):
    """{(file, line): times} for the core, from what the last run left."""
    objects = sorted((build / OBJECTS).rglob("*.gcda"))
    if not objects:
        sys.exit(f"no coverage data below {build}")
    p = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, objects)], cwd=build,
                       capture_output=True, text=True, check=True)
    times = {}
    for doc in p.stdout.splitlines():
        for f in json.loads(doc)["files"]:
            path = (build / "tests/sim/scale" / f["file"]).resolve()
            if not path.is_relative_to(ROOT):
                continue
            name = str(path.relative_to(ROOT))
            for line in f["lines"]:
                key = name, line["line_number"]
                times[key] = times.get(key, 0) + line["count"]
    return times


def measure(build, size, marks):
    """Figures per message and per connection."""
    for old in (build / OBJECTS).rglob("*.gcda"):
        old.unlink()
    rounds = max(1, MESSAGES // 3 // size)
    p = subprocess.run([build / "tests/sim/scale/scale", str(size), str(rounds)],
                       capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"scale {size} {rounds} failed:\n{p.stderr}")
    r = json.loads(p.stdout)
    times = executed(build)
    n = r["messages"]
    if not all(sum(times.get(k, 0) for k in lines) for lines in marks.values()):
        sys.exit("gcov has counted nothing: where are the sources?")
    out = {"peers": size}
    for kind, lines in marks.items():
        out[kind] = sum(times.get(k, 0) for k in lines) / n
    out["lines of the core"] = sum(times.values()) / n
    for key, name in SEAM.items():
        out[name] = r[key] / n
    out["linux"] = {k: r[f"linux_{k}"] for k in ("conn", "path", "map")}
    out["idle bytes in the simulator"] = r["idle_bytes"] / r["connections"]
    out["grace periods to end it"] = r["end_syncs"] / size
    return out


def slope(points):
    """Of log(y) over log(x) by least squares; 0 for what does not occur at all."""
    if any(y <= 0 for _, y in points) or len(points) < 2:
        return 0.0
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    return (sum((x - mx) * (y - my) for x, y in zip(xs, ys)) /
            sum((x - mx) ** 2 for x in xs))


def table(runs):
    kinds = [k for k in runs[0] if k not in ("peers", "linux")]
    out = ["| per message | " + " | ".join(f"{r['peers']:,} peers" for r in runs) + " | slope |",
           "|---|" + "--:|" * (len(runs) + 1)]
    for k in kinds:
        if k.startswith("idle"):
            out += ["| **per connection** |" + " |" * (len(runs) + 1)]
        values = " | ".join(f"{r[k]:.2f}" if r[k] < 100 else f"{r[k]:.0f}" for r in runs)
        out.append(f"| {k} | {values} | {slope([(r['peers'], r[k]) for r in runs]):+.3f} |")
    return out


def slab(size):
    """The bytes that a cache of its own takes for it: whole lines of the processor's cache."""
    return -(-size // 64) * 64


def idle(runs):
    linux = runs[-1]["linux"]
    core = linux["conn"] + linux["path"]
    return (f"An idle connection in the kernel: connection {linux['conn']} + path {linux['path']} = "
            f"{core} bytes ({slab(linux['conn']) + slab(linux['path'])} of two slab caches), goal "
            f"{IDLE_GOAL}. Beside it, once for each remote address whatever the number of "
            f"connections: congestion map {linux['map']} bytes (8 KiB and 32 bytes more once a bit "
            "of it was set).")


def uneven(runs):
    """Costs of a message that are not flat."""
    bad = []
    for k in ["lines of the core", *SEAM.values()]:
        ys = [r[k] for r in runs]
        if max(ys) > min(ys) * (1 + FLAT) and max(ys) - min(ys) > 0.01:
            bad.append(f"{k}: {min(ys):.2f} .. {max(ys):.2f}")
    # Each takes some 20 ms, and the end of a namespace waits for all.
    ends = max(r["grace periods to end it"] for r in runs)
    if ends > ENDS:
        bad.append(f"a connection takes {ends:.2f} grace periods to end")
    # Chains get longer and shorter with the fill of the buckets: no trend is what counts.
    for k in MARKS:
        s = slope([(r["peers"], r[k]) for r in runs])
        if abs(s) > FLAT:
            bad.append(f"{k}: slope {s:+.3f}")
    return bad


def do_deeds(build, hosts):
    """{deed: its figures} beside so many hosts."""
    p = subprocess.run([build / "tests/sim/scale/deeds", str(hosts)], capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"deeds {hosts} failed:\n{p.stdout}{p.stderr}")
    return json.loads(p.stdout)


def each_costs(runs, name):
    """[(hosts, basic blocks for each thing that is changed)]"""
    return [(hosts, max(d[name]["steps"], 1) / d[name]["per"]) for hosts, d in runs]


def deeds_table(runs):
    """Basic blocks for each thing that is changed, and the longest stretches beside the most."""
    out = ["| basic blocks for each thing changed | " +
           " | ".join(f"{hosts:,} hosts" for hosts, _ in runs) +
           " | slope | longest under a lock | longest under RCU | longest without asking (calls) | "
           "grace periods |",
           "|---|" + "--:|" * (len(runs) + 5)]
    most = runs[-1][1]
    for name in most:
        costs = each_costs(runs, name)
        values = " | ".join(f"{cost:,.0f}" for _, cost in costs)
        last = most[name]
        unasked = f"{last['unasked']:,}" if name.startswith(CALLS) else "–"
        out.append(f"| {name} | {values} | {slope(costs):+.3f} | {last['lock']:,} | "
                   f"{last['rcu']:,} | {unasked} | {last['syncs']} |")
    return out


def deeds_uneven(runs):
    bad = []
    for name, last in runs[-1][1].items():
        costs = [cost for _, cost in each_costs(runs, name)]
        if max(costs) > DEED * costs[0]:
            bad.append(f"{name}: {costs[0]:.0f} .. {max(costs):.0f}")
        call = name.startswith(CALLS)
        long = ["lock", *(["unasked"] if call else []),
                *(["rcu"] if call or not name.endswith(ONE_QUEUE) else [])]
        bad += [f"{name}: {last[where]} blocks in one stretch ({where})" for where in long
                if last[where] > LONGEST]
    return bad


def write(lines, what):
    text = DOC.read_text()
    begin, end = f"<!-- {what}:begin (written by `make scale`) -->", f"<!-- {what}:end -->"
    if begin not in text:
        sys.exit(f"{DOC} has no place for the table")
    DOC.write_text(text[:text.index(begin)] + "\n".join([begin, "", *lines, ""]) + "\n" +
                   text[text.index(end):])


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", type=Path)
    p.add_argument("--sizes", default="100,1000,10000,100000")
    p.add_argument("--hosts", default="1000,10000,100000,1000000")
    p.add_argument("--write", action="store_true")
    p.add_argument("--check", action="store_true")
    args = p.parse_args()
    build, marks = args.build.resolve(), marked_lines()
    runs = [measure(build, int(s), marks) for s in args.sizes.split(",")]
    lines = [*table(runs), "", idle(runs)]
    print("\n".join(lines))
    deeds = [(int(n), do_deeds(build, int(n))) for n in args.hosts.split(",")]
    more = deeds_table(deeds)
    print("\n".join(["", *more]))
    if args.write:
        write(lines, "scale")
        write(more, "deeds")
    bad = uneven(runs) + deeds_uneven(deeds)
    if bad:
        print("not flat: " + "; ".join(bad))
    return 1 if args.check and bad else 0


if __name__ == "__main__":
    sys.exit(main())
