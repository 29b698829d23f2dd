#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Plays what seeds.txt lists:  seeds.py SIM_RUN

Or seeds that follow from the commit, so that each is tried with others and may be tried again:

    seeds.py SIM_RUN --commit N [--all M] [arguments]

With ALL in the environment, as `make test-all` has it, M in place of N.
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))
import commit  # noqa: E402

# Seeds below are those of other tests and of what docs tell.
FIRST = 100_000_000


def listed():
    for line in (HERE / "seeds.txt").read_text().splitlines():
        words, _, reason = line.partition("#")
        if words.split():
            yield words.split()[0], words.split()[1:], reason.strip()


def play_listed(program):
    wrong = 0
    for what, args, reason in listed():
        strict = ["--strict", "--no-shrink"] if what == "known" else []
        done = subprocess.run([program, *args, *strict], capture_output=True, text=True)
        # A crash is no known flaw.
        expected = 0 if what == "well" else 1
        if done.returncode == expected:
            continue
        wrong += 1
        print(f"{what} {' '.join(args)} ended with {done.returncode}: {reason}")
        print(done.stdout[-1000:], done.stderr[-1000:])
    return wrong


def main():
    program, rest = sys.argv[1], sys.argv[2:]
    if not rest:
        return play_listed(program)
    count, rest = rest[1], rest[2:]
    if rest[:1] == ["--all"]:
        count, rest = (rest[1] if os.environ.get("ALL") else count), rest[2:]
    args = [program, "--seed", str(FIRST + commit.drawn(0)), "--seeds", count, *rest]
    print(" ".join(args), flush=True)
    return subprocess.run(args).returncode


sys.exit(main())
