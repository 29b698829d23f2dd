#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is each test of rds_ib_peer in a group that tests/kernel/cases/ib_peer.py runs?

    groups.py PROGRAM
"""
import pathlib
import re
import subprocess
import sys

KERNEL = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(KERNEL), str(KERNEL / "cases")]
from ib_peer import GROUPS  # noqa: E402


def those(program, tests):
    said = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={tests}"],
                          capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (\S+)", said, re.M)


def main(program):
    empty = [name for name, tests in GROUPS.items() if not those(program, tests)]
    left = those(program, "-" + ":".join(GROUPS.values()))
    for text, names in (("groups without tests", empty), ("tests in no group", left)):
        if names:
            print(f"{text}: {' '.join(names)}")
    return bool(empty or left)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
