#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs tests over and over beside changing loads, and says which failed how often.

    flaky.py --times 20 'faults.*' interop      cases of the VM suite (tests/kernel/run.py)
    flaky.py --times 20 --ctest '^unit.Path'    tests that ctest knows, by a regular expression
    flaky.py --times 20 --loads 0,4             beside none and four busy loops only

Every few seconds there are more or fewer busy loops, nice or not: a test that needs the machine for
itself, or a certain order of things, shows it. They are this program's own children and end with
it. The output of a failing run is kept as build/logs/flaky-RUN.log, with the guests' logs beside
it. The last line is `N passed, N failed, N skipped`: tests that passed each time, and that did not.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading

TOP = pathlib.Path(__file__).resolve().parent.parent
LOGS = TOP / "build/logs"
# It looks whether we are there still: however we end, none is left.
LOOP = ("import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n"
        "    for _ in range(1000000):\n        pass\n")
PAUSES = (1, 8)  # s between two changes of the load
VM_RESULT = re.compile(r"^(ok   |FAIL |skip ) (\S+?):?\s", re.M)
CTEST_RESULT = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+) \.*\**(\s*Passed|Not Run|Failed|\S.*?)\s",
                          re.M)


class Load:
    """Busy loops, whose number changes while this is entered."""

    def __init__(self, numbers, rng):
        self.numbers, self.rng, self.loops = numbers, rng, []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.change)

    def set(self, number):
        while len(self.loops) > number:
            loop = self.loops.pop(self.rng.randrange(len(self.loops)))
            loop.kill()
            loop.wait()
        while len(self.loops) < number:
            nice = self.rng.choice((0, 5, 19))
            self.loops.append(subprocess.Popen(["nice", "-n", str(nice), sys.executable, "-I", "-c",
                                                LOOP], stdin=subprocess.DEVNULL))

    def change(self):
        while not self.over.is_set():
            self.set(self.rng.choice(self.numbers))
            self.over.wait(self.rng.uniform(*PAUSES))
        self.set(0)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def command(options):
    if options.ctest:
        return ["ctest", "--test-dir", "build", "--output-on-failure", "-R", options.ctest]
    return [TOP / "tests/kernel/run.py", *options.names]


def results(text, of_ctest):
    """{test: did it pass}; what was skipped is not in it."""
    if of_ctest:
        return {name: how.strip() == "Passed" for name, how in CTEST_RESULT.findall(text)}
    return {name: how.startswith("ok") for how, name in VM_RESULT.findall(text)
            if not how.startswith("skip")}


def keep(number, text, failed):
    """Keeps the output of a failing run, before the next one writes over it."""
    (LOGS / f"flaky-{number}.log").write_text(text)
    for room in {name.split(".")[0] for name in failed}:
        for found in LOGS.glob(f"vm-*/{room}"):
            shutil.copytree(found, LOGS / f"flaky-{number}" / room, dirs_exist_ok=True)


def play(options, number, tally):
    with Load(options.loads, random.Random(f"{options.seed} {number}")):
        done = subprocess.run(command(options), cwd=TOP, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    found = results(done.stdout, options.ctest)
    failed = [name for name, passed in found.items() if not passed]
    if done.returncode and not failed:
        failed = ["(the run itself)"]
    for name in {*found, *failed}:
        tally[name][name in failed] += 1
    if failed:
        keep(number, done.stdout, failed)
    print(f"run {number}: {len(found)} tests, failed: {', '.join(failed) or 'none'}", flush=True)


def parse(argv):
    cpus = os.cpu_count() or 2
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*", help="cases of the VM suite (default: all)")
    ap.add_argument("--times", type=int, default=20, help="runs (%(default)s)")
    ap.add_argument("--ctest", help="tests of ctest instead, by a regular expression")
    ap.add_argument("--loads", default=f"0,1,{cpus},{2 * cpus}",
                    help="how many busy loops there may be (%(default)s)")
    ap.add_argument("--seed", default=str(random.randrange(1 << 31)), help="of the loads")
    options = ap.parse_args(argv)
    options.loads = [int(number) for number in options.loads.split(",")]
    return options


def main(argv=None):
    options = parse(argv)
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"loads of {options.loads} busy loops, --seed {options.seed}", flush=True)
    tally = collections.defaultdict(lambda: [0, 0])  # test -> times passed, times failed
    try:
        for number in range(1, options.times + 1):
            play(options, number, tally)
    except KeyboardInterrupt:
        print("interrupted")
    bad = {name: times for name, times in tally.items() if times[1]}
    for name, (passed, failed) in sorted(bad.items(), key=lambda one: -one[1][1]):
        print(f"FAIL  {name:<52} {failed} of {passed + failed} times")
    print(f"{len(tally) - len(bad)} passed, {len(bad)} failed, 0 skipped")
    return 1 if bad or not tally else 0


if __name__ == "__main__":
    sys.exit(main())
