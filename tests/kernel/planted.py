#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Plants data races in our modules, one at a time, and shows that the kcsan kernel's tests tell them.

    planted.py [NAME ...]      all of them, or some; `make KERNEL=kcsan modules tests` comes first
    planted.py --check         only: does each still apply?

Each is built in a copy of the sources; then races.* run on it until KCSAN has reported something.
A race that nobody reports is a hole in those tests, and the exit status says so.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import time

import guest

sys.path.insert(0, str(guest.TOP / "tests/sim/mutate"))
from mutants import Mutant  # noqa: E402
from mutate import Stale, mutate  # noqa: E402

SOURCES, MODULES = "build/src-planted", "build/modules-planted"
LONGEST = 300  # s for a test, on a machine shared by many
TESTS = ["races.over_loopback", "races.over_tcp", "races.broken_connections"]

RACES = [
    Mutant("plain-load", "every atomic load is a plain one", "net/rds/ref.h",
           "return __atomic_load_n(&v_, __ATOMIC_RELAXED);", "return v_;"),
    Mutant("plain-mem", "a delivery looks at the queue's memory by a plain load",
           "net/rds/socket/socket_recv.cc", "RDS_UNLIKELY(unread_mem() / rds::kHardMemFactor > limit)",
           "RDS_UNLIKELY(*reinterpret_cast<uint64_t *>(&rcv_mem) / rds::kHardMemFactor > limit)"),
    Mutant("take-lock", "a reader takes what has arrived without the lock",
           "net/rds/socket/socket_recv.cc",
           "if (reading.empty() && arrived_any.load()) { Guard g(recv_lock);",
           "if (reading.empty() && arrived_any.load()) {"),
    Mutant("queue-lock", "messages are queued without the path's lock", "net/rds/path/path_queue.cc",
           "rds::Guard g(lock); if (RDS_UNLIKELY(dead_ || conn.life.is_ending())) {",
           "if (RDS_UNLIKELY(dead_ || conn.life.is_ending())) {"),
]


def make():
    # -w: what is planted may leave something unused.
    done = subprocess.run(["nice", "-n", "5", "make", "KERNEL=kcsan", f"src_dir={SOURCES}",
                           f"moddir={MODULES}", "KCFLAGS=-w", "modules"],
                          cwd=guest.TOP, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def reports(since):
    """KCSAN's reports in the guests' logs."""
    found = []
    for log in (guest.TOP / "build/logs/vm-kcsan/races").glob("*.dmesg.log"):
        if log.stat().st_mtime >= since:
            found += re.findall(r"BUG: KCSAN: (.*)", log.read_text(errors="replace"))
    return found


def play(test):
    """Runs one test until something is reported or it ends; a race may have broken it."""
    since = time.time()
    run = subprocess.Popen([guest.HERE / "run.py", "--kernel", "kcsan", "--modules-dir",
                            guest.TOP / MODULES, test], stdout=subprocess.DEVNULL)
    while run.poll() is None and not reports(since) and time.time() < since + LONGEST:
        time.sleep(1)
    run.terminate()
    run.wait()
    return reports(since)


def judge(race):
    """Which test saw it and what was reported; built and played."""
    file = guest.TOP / SOURCES / race.file
    whole = file.read_text()
    try:
        file.write_text(mutate(race, whole))
        make()
        for test in TESTS:
            told = play(test)
            if told:
                return test, told
    finally:
        file.write_text(whole)
    return None, []


def main(argv):
    stale = []
    for race in RACES:
        try:
            mutate(race, (guest.TOP / race.file).read_text())
        except Stale as error:
            stale.append(str(error))
    print("\n".join(stale) or f"{len(RACES)} races can be planted")
    if stale or argv == ["--check"]:
        return bool(stale)
    wanted = [race for race in RACES if not argv or race.name in argv]
    shutil.rmtree(guest.TOP / SOURCES, ignore_errors=True)
    make()
    missed = 0
    for race in wanted:
        began = time.monotonic()
        test, told = judge(race)
        missed += not told
        what = f"{told[0]}, by {test}" if told else "NOBODY SAW IT"
        print(f"{race.name:<14} {race.what}: {what}, {time.monotonic() - began:.0f} s", flush=True)
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
