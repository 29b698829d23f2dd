# SPDX-License-Identifier: GPL-2.0
"""From results to rows, verdicts, and the table in docs/performance.md."""
import dataclasses
import statistics

BEGIN = "<!-- bench:begin (written by `make bench`) -->"
END = "<!-- bench:end -->"
REFERENCE = {"rds-lo": "unix-lo", "rds-self": "unix-lo", "rds-veth": "tcp-veth",
             "rds-ib-self": None, "rds-ib-through": None, "rds-ib": None}
# How far a case may be above mainline's before it counts. Mainline over TCP has two modes,
# depending on which of its eight paths the ports hash to: nothing below 10 % is real there.
NOISE = {"rds-lo": 0.03, "rds-self": 0.03, "rds-veth": 0.10, "rds-ib-self": 0.03,
         "rds-ib-through": 0, "rds-ib": 0.10}
CEILING = {("rds-veth", "stream", 64): 0.5}
TESTS = ["lat", "stream", "batch", "take", "many", "fan16", "fan256", "write", "read", "map"]


@dataclasses.dataclass
class Cell:
    """One case with one module set: medians over the seeds that finished."""
    cpu: float | None = None      # instructions per message
    elapsed: float | None = None  # the same plus idle time; None with two guests, which sleep
    spread: float = 0.0           # (highest - lowest) / median of cpu
    failed: list = dataclasses.field(default_factory=list)


def cells(boots):
    """(family, test, size) -> Cell, over the boots of one module set."""
    got = {}
    for boot in boots:
        for r in boot.results:
            key = (r["fam"], r["test"], int(r["size"]))
            got.setdefault(key, []).append((boot.seed, r))
    out = {}
    for key, runs in got.items():
        cell = out[key] = Cell()
        good = []
        for seed, r in runs:
            if r["fail"]:
                cell.failed.append(f"seed {seed}: {r['fail']}")
            elif int(r["disorder"]):
                cell.failed.append(f"seed {seed}: {r['disorder']} out of order or lost")
            else:
                good.append(r)
        if good:
            cell.cpu = statistics.median(float(r["cpu"]) for r in good)
            counts = [float(r["cpu"]) for r in good]
            cell.spread = (max(counts) - min(counts)) / cell.cpu
            if "per" in good[0]:
                cell.elapsed = statistics.median(float(r["per"]) for r in good)
    return out


def first_contact(boots):
    tries = [r for b in boots for r in b.results if r["test"] == "first"]
    return sum(1 for r in tries if not r["fail"]), len(tries)


def verdict(key, ours, theirs):
    """Reasons why this row is not good enough; an empty list when it is."""
    if ours.failed:
        return ours.failed
    if ours.cpu is None:
        return ["not measured"]
    if theirs.cpu is None:
        return []
    bad = []
    limit = CEILING.get(key, 1 + NOISE[key[0]])
    if ours.cpu > limit * theirs.cpu:
        bad.append(f"{ours.cpu / theirs.cpu:.3f} of mainline's instructions, limit {limit:.2f}")
    if ours.elapsed and ours.elapsed > (1 + NOISE[key[0]]) * theirs.elapsed:
        bad.append(f"{ours.elapsed / theirs.elapsed:.3f} of mainline's time, it waits")
    return bad


def order(key):
    return list(REFERENCE).index(key[0]), TESTS.index(key[1]), key[2]


def number(v):
    return "-" if v is None else f"{v:.0f}"


def ratio(a, b):
    return "-" if a is None or not b else f"{a / b:.3f}"


def size_name(size):
    return {1024: "1K", 8192: "8K", 65536: "64K", 1048576: "1M"}.get(size, str(size))


def table(ours, theirs):
    """Markdown rows, and {row name: reasons} of those that are not good enough."""
    rows = ["| family | case | ours | mainline | ours/mainline | reference | ours/reference | |",
            "|---|---|--:|--:|--:|--:|--:|---|"]
    bad = {}
    keys = [k for k in {**theirs, **ours} if k[0] in REFERENCE and k[1] in TESTS]
    for key in sorted(keys, key=order):
        a, b = ours.get(key, Cell()), theirs.get(key, Cell())
        ref_key = (REFERENCE[key[0]], *key[1:])  # two guests have none
        refs = [c[ref_key].cpu for c in (ours, theirs) if ref_key in c and c[ref_key].cpu]
        ref = statistics.median(refs) if refs else None
        reasons = verdict(key, a, b)
        case = f"{key[1]} {size_name(key[2])}"
        if reasons:
            bad[f"{key[0]} {case}"] = reasons
        note = "**worse**" if reasons else ""
        if b.failed:
            note += f" mainline failed {len(b.failed)} of its runs"
        rows.append(f"| {key[0]} | {case} | {number(a.cpu)} | {number(b.cpu)} | "
                    f"{ratio(a.cpu, b.cpu)} | {number(ref)} | {ratio(a.cpu, ref)} | {note} |")
    return rows, bad


def write(path, lines):
    """Puts the lines between the markers of the document; what is around them is written by hand."""
    text = path.read_text()
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path}: the markers {BEGIN} and {END} are not there")
    path.write_text("\n".join([head + BEGIN, *lines, END + tail]))
