#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of Google Test's programs, each suite of tests in a process of its own.

    gtests.py [-j N] PREFIX=PROGRAM...

ctest starts a process for each test: a tenth of a second to read a program of 60 MB and to look for
leaks at its end, for tests that mostly take a millisecond. Here a process plays a suite, some ten
tests. When it dies, the test that it was at has failed, and another process goes on behind that test.
When it complains although all its tests have passed (of lost memory), its suite has failed. ctest
knows the same tests by the same names, and plays each of them alone.

A line for each, `ok    PREFIX.Suite.Test  0.01 s`; of failures what they said. The last one is
`N passed, N failed, N skipped`; the exit status is 0 only if nothing failed and something passed.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import re
import subprocess
import sys
import threading

LIMIT = 600  # s for one process: it hangs
BEGUN = re.compile(r"^\[ RUN      \] (\S+)$")
ENDED = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),? .*?\((\d+) ms\)$")
LINES_OF_A_FAILURE = 60


@dataclasses.dataclass
class Result:
    name: str
    how: str  # as ENDED has it
    seconds: float
    said: list


class Report:
    """Prints results as they come, from several threads, and counts them."""

    def __init__(self):
        self.lock, self.counts = threading.Lock(), {"OK": 0, "FAILED": 0, "SKIPPED": 0}

    def tell(self, prefix, result):
        word = {"OK": "ok", "FAILED": "FAIL", "SKIPPED": "skip"}[result.how]
        lines = [f"{word:<5} {prefix}.{result.name:<60} {result.seconds:6.2f} s"]
        if result.how == "FAILED":
            lines += [f"      {line}" for line in result.said[-LINES_OF_A_FAILURE:]]
        with self.lock:
            self.counts[result.how] += 1
            print("\n".join(lines), flush=True)

    def summary(self):
        return "{OK} passed, {FAILED} failed, {SKIPPED} skipped".format(**self.counts)


def suites(program):
    """[[name of each test] of each suite], as the program lists them."""
    found = []
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True,
                            check=True, timeout=LIMIT).stdout
    for line in listed.splitlines():
        text = line.partition("#")[0].rstrip()
        if text.startswith("  "):
            found[-1].append(found[-1][0] + text.strip())
        elif text.endswith("."):
            found.append([text])
    return [tests[1:] for tests in found if tests[1:]]


def read(text):
    """(the results of the tests that ended, the one that did not and what it said, or None, the
    words behind the last test)"""
    results, at, said = [], None, []
    for line in text.splitlines():
        begun, ended = BEGUN.match(line), ENDED.match(line)
        if begun:
            at, said = begun[1], []
        elif ended and ended[2] == at:
            results.append(Result(at, ended[1], int(ended[3]) / 1000, said))
            at, said = None, []
        else:
            said.append(line)
    return results, at, said


def start(program, tests):
    """(exit status, what it said); a process that hangs is killed."""
    with subprocess.Popen([program, "--gtest_color=no", f"--gtest_filter={':'.join(tests)}"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as job:
        try:
            text = job.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            job.kill()
            text = job.communicate()[0] + f"\nnot through after {LIMIT} s"
        return job.returncode, text


def play(program, tests):
    """The results of one suite."""
    left = list(tests)
    while left:
        status, text = start(program, left)
        results, at, said = read(text)
        yield from results
        played = {r.name for r in results} | {at}
        behind = [name for name in left if name not in played]
        why = f"its process ends with {status}"
        if at:
            yield Result(at, "FAILED", 0, [*said, why])
        elif behind or (status and not any(r.how == "FAILED" for r in results)):
            yield Result(f"{tests[0].rpartition('.')[0]}.*", "FAILED", 0, [*said, why])
            if len(behind) == len(left):
                return
        left = behind


def main(argv):
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    ap.add_argument("programs", nargs="+", metavar="PREFIX=PROGRAM")
    options = ap.parse_args(argv)
    report = Report()

    def run(prefix, program, tests):
        for result in play(program, tests):
            report.tell(prefix, result)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = []
        for prefix, _, program in (one.partition("=") for one in options.programs):
            # Long suites first: the last one to end decides.
            for tests in sorted(suites(program), key=len, reverse=True):
                jobs.append(pool.submit(run, prefix, program, tests))
        for job in jobs:
            job.result()
    print(report.summary())
    return 1 if report.counts["FAILED"] or not report.counts["OK"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
