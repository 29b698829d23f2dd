#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rds_flows accounts for every message: over UDP in place of RDS, on loopback, with one fault at a
time (tests/progs/on_udp), it tells that fault and no other.

    flows_test.py RDS_FLOWS ON_UDP
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import unittest

import judges

FLOWS, EACH, LIMIT = 4, 50, 60  # messages are few: what is not read in time UDP would lose
WAYS = (("", ""), ("--forever", "--forever"), ("--forever --blocking", "--forever"))
# The fault's effect on the account.
FAULTS = {
    "": {},
    "lose:100": {"lost": 1},
    "twice:100": {"duplicates": 1},
    "twice_late:100": {"duplicates": 1},
    "late:200": {"late": 1},  # the last one, or it would be out of order, too
    "damage:100": {"corrupted": 1, "lost": 1},
    "full:100": {"no_room": 1},
    "pause:100": {},
    "deaf:2": {"unnoticed": EACH},
}
NUMBERS = ("lost", "duplicates", "reordered", "corrupted", "strangers", "late", "unnoticed",
           "timed_out", "no_room", "unacknowledged")
program = preload = ""


def stream(number, fault, ways):
    """The account of a stream; `number` makes its ports differ from others'."""
    common = (f"--bind 127.0.0.1 --report-only --timeout {LIMIT} --flows {FLOWS} --max-payload 1000"
              f" --control {20000 + number} --base-port {21000 + FLOWS * number}")
    env = {**os.environ, "LD_PRELOAD": preload, "ON_UDP_FAULT": fault}
    receiver = subprocess.Popen([program, "receive", *common.split(), *ways[1].split()],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env)
    try:
        receiver.stderr.readline()
        said = subprocess.run([program, "send", "--to", "127.0.0.1", *common.split(), "--messages",
                               str(EACH), "--rate", "1000", *ways[0].split()], env=env,
                              stdout=subprocess.PIPE, timeout=LIMIT, check=True).stdout
        receiver.wait(LIMIT)
    finally:
        receiver.kill()
        receiver.stderr.close()
        receiver.wait()
    return {**json.loads(said.splitlines()[-1]), "ends": ["ours", "ours"]}


class Accounts(unittest.TestCase):
    def test_each_fault_is_told(self):
        jobs = [(fault, ways) for fault in FAULTS for ways in WAYS]
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            found = list(pool.map(lambda job: stream(jobs.index(job), *job), jobs))
        for (fault, ways), account in zip(jobs, found):
            with self.subTest(fault=fault, ways=ways):
                self.judge(fault, account)

    def judge(self, fault, account):
        wanted = {**dict.fromkeys(NUMBERS, 0), **FAULTS[fault]}
        self.assertEqual({name: account[name] for name in NUMBERS}, wanted)
        self.assertEqual(account["sent"], FLOWS * EACH)
        self.assertEqual(account["lost_bytes"] > 0, wanted["lost"] > 0)
        if fault.startswith("pause"):
            self.assertGreaterEqual(account["longest_gap"], 1.9, account)
        if set(FAULTS[fault]) - {"no_room"}:
            self.assertRaises(AssertionError, judges.exact, account)
        else:
            judges.exact(account)


if __name__ == "__main__":
    program, preload = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
