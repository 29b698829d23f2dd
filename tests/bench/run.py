#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The cost of one message, in instructions: our modules beside mainline's, on the same stock
kernel.

    tests/bench/run.py                        all cases, seeds 1 2 3; table into docs/performance.md
    tests/bench/run.py --quick                a few cases, one seed, table to the screen
    tests/bench/run.py --cases rds-veth:stream:64 rds-lo:lat --seeds 1
    tests/bench/run.py --prof --cases rds-lo:stream:64       where the instructions go, per symbol
    tests/bench/run.py --key tcp-md5 --cases rds-veth        what signing costs (docs/peers.md)
    tests/bench/run.py --set net.rds.ib.frame_bytes=16384 --cases rds-ib-through     a setting's cost
    tests/bench/run.py --strangers            a stream beside 100,000 strangers a minute
    tests/bench/run.py --neighbour            round trips beside users who do their worst
    tests/bench/run.py --ours mainline        mainline against itself: shows the noise, and fails
                                            by the ceiling of rds-veth stream 64, as it must

A case is FAMILY[:TEST[:SIZE]]; --list prints them all. KERNEL=6.12 in the environment measures
on the other kernel. docs/performance.md explains the method and what the numbers do not see.

Exit status: 0 good, 1 a row of ours is worse than mainline's, lost messages, or made the kernel
complain, 2 the measurement could not be made.
"""
import argparse
import concurrent.futures
import os
import pathlib
import statistics
import sys
import time

import counted
import prof
import report
import through

DOC = counted.TOP / "docs/performance.md"
QUICK = ["rds-lo:lat:64", "rds-lo:stream:64", "rds-lo:stream:65536", "rds-veth:lat:64",
         "rds-veth:stream:64", "rds-veth:stream:65536"]


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help="one seed and few rows, no document")
    p.add_argument("--cases", nargs="+", metavar="CASE", help="only these, no document")
    p.add_argument("--seeds", nargs="+", type=int, metavar="N", help="default: 1 2 3")
    p.add_argument("--prof", action="store_true", help="per-symbol profile, one seed, ours only")
    p.add_argument("--top", type=int, default=60, help="symbols per case with --prof")
    p.add_argument("--list", action="store_true", help="print all cases")
    p.add_argument("--ours", metavar="DIR", help='our modules, default build/modules-<kernel>; '
                   '"mainline" compares mainline with itself')
    p.add_argument("--only", choices=["ours", "mainline"], help="measure one side only")
    p.add_argument("--key", choices=["tcp-md5", "tcp-ao"], default="",
                   help="connections over veth are signed; ours only, no document")
    p.add_argument("--set", metavar="NAME=VALUE", default="",
                   help="a sysctl for the guest, but not for two of them; ours only, no document")
    p.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1),
                   help="machines at a time (default 2)")
    p.add_argument("--strangers", action="store_true", help="only the stream beside strangers")
    p.add_argument("--neighbour", nargs="*", metavar="DEED",
                   help="only the round trips beside users who do their worst, or these deeds")
    p.add_argument("--no-write", action="store_true", help="leave docs/performance.md alone")
    args = p.parse_args()
    if args.quick:
        args.cases = args.cases or QUICK
    if args.prof or args.key or args.set:
        args.only = args.only or "ours"
    if args.strangers or args.neighbour is not None:
        args.only = args.only or "ours"
    args.seeds = args.seeds or ([1] if args.quick or args.prof else [1, 2, 3])
    return args


def check_cases(cases):
    known = counted.known_cases()
    for c in cases or []:
        if not any((k + ":").startswith(c.rstrip(":") + ":") for k in known):
            raise counted.BenchError(f"no such case: {c} (--list prints them)")


def kinds(args):
    """The guests to boot: the family over soft-RoCE, or None for all others, and its cases."""
    ib = (counted.NEAR, counted.THROUGH, counted.PAIRED)
    for family in (None, *ib):
        cases = [c for c in args.cases or () if (c.split(":")[0] == family if family
                                                 else c.split(":")[0] not in ib)]
        # Of other modules than this tree's there are none for it.
        if family == counted.THROUGH and args.ours not in (None, "mainline"):
            continue
        if cases or not args.cases:
            yield family, cases


def modules_of(side, family, args, kern):
    if side == "mainline" or args.ours:
        return args.ours if side == "ours" else "mainline"
    return through.modules(kern) if family == counted.THROUGH else \
        counted.TOP / f"build/modules-{kern.version}"


def boot_of(args, family, *of):
    if family == counted.PAIRED:
        if args.set:
            raise counted.BenchError("--set is for one guest, and rds-ib has two")
        return counted.Pair(*of)
    return counted.Boot(*of, role=counted.ROLES.get(family, ""), key="" if family else args.key,
                        setting=args.set)


def measure(args, kern):
    """All boots, {side: [Boot]}, a line of progress for each."""
    done = {side: [] for side in ("mainline", "ours") if args.only in (None, side)}
    start = time.monotonic()
    for family, cases in kinds(args):
        modules = {side: modules_of(side, family, args, kern) for side in done}
        # one seed after the other: what is half done is still a fair comparison
        boots = [boot_of(args, family, side, modules[side], seed, cases, args.prof)
                 for seed in args.seeds for side in done]
        # Two guests that talk to each other have the machine for themselves.
        jobs = 1 if family == counted.PAIRED else args.jobs
        with concurrent.futures.ThreadPoolExecutor(max(1, jobs)) as pool:
            running = {pool.submit(b.run, kern): b for b in boots}
            for job in concurrent.futures.as_completed(running):
                boot = job.result()
                done[boot.label].append(boot)
                failed = sum(1 for r in boot.results if r["fail"])
                print(f"[{time.monotonic() - start:4.0f} s] {boot.label} seed {boot.seed}: "
                      f"{len(boot.results)} cases" + (f", {failed} FAILED" if failed else ""),
                      flush=True)
    return done


def complaints(boots):
    return [f"{b.log.name}: {line}" for b in boots for line in b.complaints]


def compare(args, kern, done):
    """Prints (and writes) the table; the reasons to fail."""
    ours, theirs = report.cells(done["ours"]), report.cells(done["mainline"])
    rows, bad = report.table(ours, theirs)
    reasons = [f"{row}: {'; '.join(why)}" for row, why in bad.items()]
    lines = ["", f"Kernel {kern.version}, seeds {' '.join(map(str, args.seeds))}.", ""]
    got, tries = report.first_contact(done["ours"])
    if tries:
        base = "%d of %d" % report.first_contact(done["mainline"])
        lines += [f"First message between two nodes delivered: ours {got} of {tries}, "
                  f"mainline {base}.", ""]
        if got < tries:
            reasons.append(f"first contact: {tries - got} of {tries} messages never came")
    lines += [*rows, ""]
    print("\n".join(lines))
    reasons += complaints(done["ours"])
    if not (args.cases or args.no_write or args.ours == "mainline"):
        report.write(DOC, lines)
        print(f"written into {DOC.relative_to(counted.TOP)}")
    return reasons


def one_side(args, done):
    """With --only or --prof: the figures as they are; the reasons to fail."""
    (side, boots), = done.items()
    cells = report.cells(boots)
    if args.prof:
        for b in [half for b in boots for half in getattr(b, "halves", [b])]:
            text = prof.text(b, args.top)
            pathlib.Path(f"{b.log}.txt").write_text(text + "\n")
            print(text)
            print(f"\n(also in {b.log}.txt)")
    else:
        for key, c in cells.items():
            print(f"{side} {key[0]} {key[1]} {key[2]}: "
                  f"{report.number(c.cpu)} instructions, {report.number(c.elapsed)} elapsed, "
                  f"spread {c.spread:.1%}")
    return [f"{k[0]} {k[1]} {k[2]}: {f}" for k, c in cells.items() for f in c.failed] + \
        complaints(boots)


# A message beside strangers may cost so much more than without them.
BESIDE = 1.05


def beside(done):
    """The cost of a stranger, and of a stream's message beside them without it."""
    bad = []
    for boot in next(iter(done.values())):
        got = {r["test"]: r for r in boot.results}
        if failed := [f"{r['test']}: {r['fail']}" for r in boot.results if r["fail"]]:
            bad += failed
            continue
        cost = {test: float(got[test]["cpu"]) for test in ("stream", "visit", "refused")}
        bad += [f"seed {boot.seed}: {test}: the port was open to {got[test]['open']} strangers of"
                f" {got[test]['visits']}" for test in ("visit", "refused", "beside")
                if got[test]["open"] != got[test]["visits"]]
        run = got["beside"]
        visits = int(run["visits"])
        ours = float(run["cpu"]) - visits * cost["refused"] / int(run["n"])
        print(f"{boot.label} seed {boot.seed}: a stranger {cost['visit']:.0f} instructions, one whose "
              f"prefix has no token {cost['refused']:.0f}, with its own end; a message "
              f"{cost['stream']:.0f}, beside {visits / int(run['ns']) * 60e9:.0f} strangers a minute "
              f"{ours:.0f} without them ({visits} of them)")
        if ours > cost["stream"] * BESIDE:
            bad.append(f"seed {boot.seed}: a message costs {ours / cost['stream']:.2f} of what it did")
    return bad + complaints(next(iter(done.values())))


# The round trips of a witness may take so much longer at p99 beside a user of RDS than beside one who
# only computes; or than beside one who does the same without RDS, if that is more.
NEIGHBOUR = 1.10
WITHOUT_RDS = {"bind": "port", "open": "udp", "netns": "bare", "dead": "syn", "flap": "tcp",
               "lend": "tcp", "stream": "tcp"}
# TCP's stream is far later than these, so they are held to what they have reached.
REACHED = {"flap": 2.3, "lend": 2.3, "stream": 2.3}


def with_their_like(deeds):
    """And what they are compared to."""
    return [*deeds, *(WITHOUT_RDS[d] for d in deeds if d in WITHOUT_RDS)]


def neighbours_of(boot, bad):
    """{deed: how late the witness's answers were}, with a table; whatever failed goes to @bad."""
    paced = [r for r in boot.results if r["test"] != "first"]
    bad += [f"{r['test']}: {r['fail'] or 'lost or out of order'}" for r in paced
            if r["fail"] or r["disorder"] != "0"]
    paced = {r["test"]: r for r in paced if not r["fail"]}
    if "spin" not in paced:
        bad.append(f"seed {boot.seed}: nobody only computed beside the witness")
        return {}
    late = {name: int(r["p99"]) / int(paced["spin"]["p99"]) for name, r in paced.items()}
    print("| beside | rounds | p50 | p99 | most | p99 beside who computes |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, r in paced.items():
        print(f"| {name} | {int(r['rounds']):,} | {int(r['p50']):,} | {int(r['p99']):,} | "
              f"{int(r['most']):,} | {late[name]:.2f} |")
    return late


def neighbours(done):
    """How late a witness's answers are beside each kind of user: the median of the boots."""
    bad = []
    boots = [neighbours_of(boot, bad) for boot in next(iter(done.values()))]
    names = [n for n in boots[0] if all(n in late for late in boots)]
    late = {name: statistics.median(late[name] for late in boots) for name in names}
    for name in late:
        like = late.get(WITHOUT_RDS.get(name), 0)
        print(f"{name}: {late[name]:.2f}" + (f", without RDS {like:.2f}" if like else ""))
        usual = max(1, min(like, REACHED.get(name, like)))
        if name not in WITHOUT_RDS.values() and late[name] > NEIGHBOUR * usual:
            bad.append(f"{name} {late[name]:.2f}")
    return bad + complaints(next(iter(done.values())))


def main():
    args = arguments()
    try:
        counted.prepare()
        if args.list:
            print("\n".join(counted.known_cases()))
            return 0
        check_cases(args.cases)
        if args.strangers or args.neighbour is not None:
            args.cases = ["strangers"] if args.strangers else \
                ["neighbour", *with_their_like(args.neighbour)]
        kern = counted.guest.kernel()
        done = measure(args, kern)
    except (counted.BenchError, counted.guest.SetupError) as e:
        print(f"bench: {e}", file=sys.stderr)
        return 2
    if args.strangers:
        reasons = beside(done)
    elif args.neighbour is not None:
        reasons = neighbours(done)
    else:
        reasons = one_side(args, done) if len(done) == 1 else compare(args, kern, done)
    sys.stdout.flush()
    for r in reasons:
        print(f"bench: {r}", file=sys.stderr)
    print(f"bench: {'not good enough' if reasons else 'good'}", flush=True)
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
