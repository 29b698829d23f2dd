#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of tests/kernel/cases in virtual machines.

    run.py                          all of them, on the kernel that KERNEL names (default 6.1)
    run.py --all                    and those that are too long for every day
    run.py 'load.*' sockets         some of them: file.test, globs, a file's name for all of it
    run.py --modules mainline       mainline's modules in place of ours (checks the tests)
    run.py --hosts FILE 'ib_rdma.*' two real hosts with an adapter in place of guests (hosts.py)
    run.py --kernel 6.1,7.2         guest a on one kernel, b on another; only tests of two guests
    run.py --without 'tcp load.*'   all but these
    TURN=commit run.py              a quarter of those that can wait, see turns.py (TURN=0 to 3)
    run.py --list

Files run side by side, two guests for each CPU and more while CPUs are idle (places.py). The last
line is `N passed, N failed, N skipped`; the exit status is 0 only if nothing failed and something
ran. A case wanted and left out (not for this kernel, too long for every day, not its turn) is
skipped, with its name in the log. A guest that dies while it boots is booted again and told; more
than MAX_BOOT_RETRIES in a run are a failure.
"""
import argparse
import fnmatch
import os
import pathlib
import resource
import signal
import sys
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest  # noqa: E402
import guests  # noqa: E402
import hosts  # noqa: E402
import suite  # noqa: E402
import turns  # noqa: E402
import vm  # noqa: E402
from places import Places  # noqa: E402

# The emulator's fault, which nothing of ours can cause; but a kernel that dies often is a finding.
MAX_BOOT_RETRIES = 3  # of some 60 boots; one in a hundred is the emulator's


MOST = 3  # times --jobs guests run while processors are idle


class Report:
    """Prints results as they come, from several threads, and counts them."""

    def __init__(self):
        self.lock = threading.Lock()
        self.passed = self.failed = self.skipped = 0

    def line(self, text, seconds=None):
        with self.lock:
            print(text if seconds is None else f"{text:<58} {seconds:6.1f} s", flush=True)

    def skip(self, one, why):
        with self.lock:
            self.skipped += 1
        self.line(f"skip  {one.name}: {why}")

    def boots(self, retried):
        """Consoles of guests that were booted more than once."""
        if retried:
            self.line(f"{len(retried)} boots tried again: {', '.join(map(str, retried))}")
        if len(retried) > MAX_BOOT_RETRIES:
            self.line(f"FAIL  boots: {len(retried)} guests did not boot at once,"
                      f" {MAX_BOOT_RETRIES} may")
            self.failed += 1

    def result(self, one, seconds, errors, notes, log, used=0):
        """@used: seconds of the host's processors."""
        text = [f"{'FAIL ' if errors else 'ok   '} {one.name:<52} {seconds:6.1f} s, "
                f"cpu {used:5.1f} s"]
        text += [f"      {note}" for note in notes]
        for error in errors:
            text += [f"      {line}" for line in error.splitlines()[:50]]
        if errors:
            text.append(f"      log: {log}")
        with self.lock:
            self.failed += bool(errors)
            self.passed += not errors
            print("\n".join(text), flush=True)

    def summary(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def parse(argv):
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*", help="file, file.test, or globs of these")
    ap.add_argument("--kernel", default=os.environ.get("KERNEL") or "6.1",
                    help="6.1, 6.12, 7.2, two of them, or a debug kernel: uml, x86, kcsan")
    ap.add_argument("--hosts", metavar="FILE", help="see hosts.py; one file of tests at a time")
    ap.add_argument("--modules", choices=["ours", "mainline"], help="in place of ours")
    ap.add_argument("--modules-dir", help="where our .ko are (default build/modules-<version>)")
    ap.add_argument("--jobs", "-j", type=int,
                    help="guests at a time, more while processors are idle (default: two for each"
                    " CPU; three of User-Mode Linux, which have one processor and wait more)")
    ap.add_argument("--all", action="store_true", default=bool(os.environ.get("ALL")),
                    help="those of files with EXTRA, too, which otherwise must be named")
    ap.add_argument("--without", default="", metavar="NAMES",
                    help="not these, which are run elsewhere: names as above, in one word")
    ap.add_argument("--repeat", type=int, default=1)
    ap.add_argument("--list", action="store_true", help="print the names and what they show")
    options = ap.parse_args(argv)
    options.kernels = options.kernel.split(",")
    each = 3 if "uml" in options.kernels else 2
    options.jobs = options.jobs or each * max(2, os.cpu_count() or 2)
    options.turn = turns.of_environment()
    options.most, options.logs = MOST, vm.LOGS / f"vm-{options.kernel}"
    if options.hosts:
        options.kernels, options.jobs, options.most = hosts.names(options.hosts), 2, 1
        options.logs = vm.LOGS / "hosts"
    if len(options.kernels) > 2:
        ap.error("a test has at most two guests")
    return options


def select(options):
    """[(module, tests)] of what the command line names, and [(test, why)] of what it names and
    cannot be, or only with more words."""
    chosen, skipped, unused = [], [], set(options.names)
    for path in sorted((suite.HERE / "cases").glob("*.py")):
        module, tests = suite.load_file(path)
        keep = []
        for one in tests:
            hits = {n for n in options.names if is_named(one, n)}
            unused -= hits
            if options.names and not hits:
                continue
            why = why_not(options, module, one, bool(hits))
            if why:
                skipped.append((one, why))
            else:
                keep.append(one)
        if keep:
            chosen.append((module, keep * options.repeat))
    if unused:
        sys.exit(f"run.py: no test is called {', '.join(sorted(unused))}")
    # Long files first: the last one to end decides.
    return sorted(chosen, key=lambda c: -sum(t.timeout * t.vms for t in c[1])), skipped


def is_named(one, name):
    return name == one.file or fnmatch.fnmatch(one.name, name)


def why_not(options, module, one, named):
    """Why a test cannot be run, or is not unless it is named; None if nothing speaks against it."""
    wanted = [hosts.STOCK] if options.hosts else options.kernels
    kernels = one.kernels or getattr(module, "KERNELS", wanted)
    if not set(wanted) <= set(kernels):
        return f"only on {', '.join(kernels)}"
    if one.vms < len(options.kernels):
        return "has one guest, for two kernels"
    if (one.extra or getattr(module, "EXTRA", False)) and not (options.all or named):
        return "takes long, only with --all or by name"
    if not named and any(is_named(one, name) for name in options.without.split()):
        return "is run elsewhere"
    if options.turn is not None and turns.of_case(one.name) not in (None, options.turn):
        return "its turn comes with another commit"
    if one.needs and not (guest.TOP / "build" / one.needs).exists():
        return f"build/{one.needs} is not made here"
    return None


def places_of(options, module, tests):
    """How many guests' places a file takes: one for each processor of each guest."""
    kind = guests.Kind.of(module, tests)
    smp = max(kind.smp, *(guest.kernel(k).least_smp for k in options.kernels))
    return min(options.jobs, kind.count * smp)


def run_file(options, module, tests, report, pool):
    try:
        if not options.stop:
            suite.FileRun(options, module, tests, report, pool).run()
    except Exception as error:  # whatever it was, it is not to be missed in the count
        if not isinstance(error, guest.SetupError):
            traceback.print_exc()
        report.line(f"FAIL  {tests[0].file}: {error}")
        report.failed += 1


def run_files(options, chosen, report):
    places, left, threads = Places(options.jobs, options.most * options.jobs), list(chosen), []
    # Counters of coverage are read and begin anew with a boot.
    pool = guests.Pool(options.kernels, [] if os.environ.get("GCOV") else
                       [guests.Kind.of(*one) for one in chosen
                        if not getattr(one[0], "NEW_GUESTS", False)], report.line)

    def work(count, module, tests):
        try:
            run_file(options, module, tests, report, pool)
        finally:
            places.give(count)

    try:
        while left:
            counts = [places_of(options, *one) for one in left]
            at = places.first_that_fits(counts)
            threads.append(threading.Thread(target=work, args=(counts[at], *left.pop(at))))
            threads[-1].start()
        for thread in threads:
            thread.join()
    except (KeyboardInterrupt, SystemExit):
        options.stop = True
        for machine in options.live:
            machine.close()
        for thread in threads:
            thread.join()
        raise
    finally:
        pool.close()


def main(argv=None):
    options = parse(argv)
    options.stop, options.live = False, []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen, skipped = select(options)
    if options.list:
        for _, tests in chosen:
            for one in tests:
                print(f"{one.name:<40} {(one.function.__doc__ or '').strip()}")
        return 0
    report, began = Report(), time.monotonic()
    for one, why in skipped:
        report.skip(one, why)
    try:
        kernels = [guest.kernel(name) for name in options.kernels]
        dirs = {options.modules_dir or kern.modules_dir for kern in kernels}
        if options.modules != "mainline" and any("ours" in t.modules for _, c in chosen for t in c):
            for directory in dirs:
                guest.our_modules(directory)
        report.line(f"kernel {', '.join(kern.version for kern in kernels)}, "
                    f"{sum(len(t) for _, t in chosen)} tests, modules: "
                    f"{options.modules or ', '.join(map(str, dirs))}")
        run_files(options, chosen, report)
    except guest.SetupError as error:
        report.line(f"FAIL  {error}")
        report.failed += 1
    except KeyboardInterrupt:
        report.line("interrupted")
        report.failed += 1
    report.boots(vm.boot_retries)
    used = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    report.line(f"{time.monotonic() - began:.0f} s in all, cpu {used:.0f} s, logs: {options.logs}")
    print(report.summary())
    return 1 if report.failed or not report.passed else 0


if __name__ == "__main__":
    sys.exit(main())
