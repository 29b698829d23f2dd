#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs the checks of `make check` once its programs are built: the part of `make test` that finds
most in a few minutes.

    check.py                 all of it, as many checks at a time as there are processors
    check.py unit 'sim *'    some of it, by name or glob
    check.py --list

Stories of the simulator begin at seeds drawn from the commit: every commit plays others, and the
same ones again. SEED=N draws them from a number. The last line is `N passed, N failed, N skipped`,
as scripts/summary.py reads it; each check has a log, build/logs/check-NAME.log.
"""
import concurrent.futures
import contextlib
import dataclasses
import fnmatch
import os
import pathlib
import signal
import subprocess
import sys
import time

import commit
import summary

TOP = pathlib.Path(__file__).resolve().parent.parent
LOGS = TOP / "build/logs"
LIMIT = 900  # s for one check: it hangs
# Tests of ctest's that need no more than a moment: laws of the design, documents, judges of the VM
# suite, seeds that failed once, the fuzzers' corpora.
QUICK = r"^(seam\.|tidy$|docs\.|abi_|kernel\.(planted|judges)$" \
    r"|sim\.(mutants$|same_history$|seed_)|fuzz\..*\.corpus$)"
SMOKE = "kunit interop.ours_with_ours sockets.errnos faults.sockets_are_killed frames.malformed"
SMOKE_TARGETS = "rds-info rds-ping rds-stress rdsctl rds_flows rds_errno rds_peer"

live = set()  # processes of the checks that run at the moment


@dataclasses.dataclass
class Check:
    name: str
    command: str
    needs: str = ""  # a command; the check is skipped where it fails
    env: dict = dataclasses.field(default_factory=dict)

    @property
    def log(self):
        return LOGS / f"check-{self.name.replace(' ', '-')}.log"


def first_seed():
    """Of this commit, or the one that the environment wants."""
    if os.environ.get("SEED"):
        return int(os.environ["SEED"])
    return commit.drawn(1)


def checks(seed):
    """Those that take long come first."""
    tests, threads = "build/tests", {"TSAN_OPTIONS": "halt_on_error=1 second_deadlock_stack=1"}
    uml = ("make --no-print-directory KERNEL=uml modules &&"
           f" flock build/.lock make --no-print-directory -C build {SMOKE_TARGETS} &&"
           f" tests/kernel/run.py --kernel uml {SMOKE}")
    return [
        Check("uml smoke", uml, needs="scripts/debug-kernel.sh --check uml"),
        Check("sim asan", f"{tests}/sim/sim_run --seed {seed} --seeds 200"),
        Check("sim fast", f"{tests}/sim/sim_fast --seed {seed} --seeds 1500"),
        Check("adversary", f"{tests}/sim/adversary_run_fast --seed {seed} --seeds 40"),
        Check("between", f"{tests}/sim/between/between_test"),
        Check("orders", f"{tests}/model/explore_fast --deviations 1"),
        Check("quick", f"cd build && ctest --output-on-failure -R '{QUICK}'"),
        Check("flows", r"cd build && ctest --output-on-failure -R '^kernel\.flows$'"),
        Check("scenario", f"{tests}/sim/scenario_test"),
        Check("corners", f"{tests}/sim/corners/corners_test"),
        Check("unit", f"{tests}/unit/unit_core"),
        Check("unit tcp", f"{tests}/unit/unit_tcp"),
        Check("unit ib", f"{tests}/unit/unit_ib"),
        Check("contract", f"{tests}/contract/contract_test"),
        Check("threads traffic", f"{tests}/pthread/pthread_tsan traffic 1", env=threads),
        Check("threads wire", f"{tests}/pthread/pthread_tsan wire 1", env=threads),
    ]


def outcome(check, log):
    """The exit status of its command, which has a process group of its own to be ended with."""
    job = subprocess.Popen(["nice", "bash", "-c", check.command], cwd=TOP, stdin=subprocess.DEVNULL,
                           stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **check.env},
                           start_new_session=True)
    live.add(job)
    try:
        return job.wait(LIMIT)
    except subprocess.TimeoutExpired:
        print(f"{check.name}: not through after {LIMIT} s", flush=True)
        end(job)
        job.wait()
        return 1
    finally:
        live.discard(job)


def end(job):
    """With all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)


def run(check):
    """(passed, failed, skipped) of one check, which says so when it is through."""
    if check.needs and subprocess.run(check.needs, shell=True, cwd=TOP,
                                      capture_output=True).returncode:
        print(f"skip  {check.name}: '{check.needs}' fails", flush=True)
        return 0, 0, 1
    began = time.monotonic()
    with open(check.log, "w") as log:
        status = outcome(check, log)
    text = check.log.read_text(errors="replace")
    passed, failed, skipped = summary.count(text) or (int(status == 0), 0, 0)
    if status and not failed:
        failed = 1
    said = [f"{'FAIL ' if failed else 'ok   '} {check.name:<20} {time.monotonic() - began:6.1f} s"
            f"  {passed} passed"]
    if failed:
        said += [f"      {line}" for line in [*text.splitlines()[-15:], f"log: {check.log}"]]
    print("\n".join(said), flush=True)
    return passed, failed, skipped


def main(argv):
    seed = first_seed()
    chosen = [c for c in checks(seed)
              if not argv or any(fnmatch.fnmatch(c.name, name) for name in argv)]
    if argv == ["--list"] or argv in (["-h"], ["--help"]):
        print(__doc__ + "\n" + "\n".join(f"{c.name:<20} {c.command}" for c in checks(seed)))
        return 0
    if not chosen:
        sys.exit(f"check.py: no check is called {' or '.join(argv)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    print(f"seeds from {seed} (SEED={seed} plays them again)", flush=True)
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        try:
            totals = [sum(one) for one in zip(*pool.map(run, chosen))]
        except BaseException:  # interrupted: none that was started goes on, none begins
            pool.shutdown(wait=False, cancel_futures=True)
            for job in list(live):
                end(job)
            raise
    print(f"{time.monotonic() - began:.0f} s in all")
    print("{} passed, {} failed, {} skipped".format(*totals))
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
