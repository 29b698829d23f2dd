#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/summary.py: what it counts, and what it tells again of a failure."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import summary  # noqa: E402

GUESTS = """ok    a.passes                      1.0 s
      of no interest
FAIL  a.breaks                      3.2 s, cpu   1.0 s
      lost 3 messages
      Traceback of it
ok    a.passes_again                1.0 s
2 passed, 1 failed, 0 skipped
"""
CTEST = """98% tests passed, 1 tests failed out of 57

The following tests did not run:
\t  3 - unit.Left.out (Skipped)

The following tests FAILED:
\t  7 - unit.One.breaks (SEGFAULT)
"""

UNITTEST = """..F.s
======================================================================
FAIL: test_one (__main__.Frames)
----------------------------------------------------------------------
Traceback (most recent call last):
AssertionError: 1 != 2

----------------------------------------------------------------------
Ran 5 tests in 0.123s

FAILED (failures=1, skipped=1)
"""


class SummaryTest(unittest.TestCase):
    def test_each_runner_is_counted(self):
        self.assertEqual(summary.count(GUESTS), (2, 1, 0))
        self.assertEqual(summary.count(CTEST), (55, 1, 1))
        self.assertEqual(summary.count("ok 1 a\nnot ok 2 b\nok 3 c # skip\n"), (1, 1, 1))
        self.assertEqual(summary.count(UNITTEST), (3, 1, 1))
        self.assertEqual(summary.count("...\n---\nRan 3 tests in 1.2s\n\nOK\n"), (3, 0, 0))
        self.assertEqual(summary.count("...\n---\nRan 3 tests in 1.2s\n\nOK (skipped=3)\n"), (0, 0, 3))
        self.assertIsNone(summary.count(UNITTEST.rpartition("FAILED")[0]))
        self.assertIsNone(summary.count("Segmentation fault\n"))

    def test_a_runner_that_died_has_no_result(self):
        self.assertIsNone(summary.count(GUESTS.rpartition("2 passed")[0]))

    def test_a_failure_is_told_again(self):
        self.assertEqual(list(summary.failures(GUESTS)), [
            "FAIL  a.breaks                      3.2 s, cpu   1.0 s\n"
            "      lost 3 messages\n      Traceback of it"])
        self.assertEqual(list(summary.failures(CTEST)), ["7 - unit.One.breaks (SEGFAULT)"])
        self.assertEqual(list(summary.failures("ok 1 a\nnot ok 2 b\n")), ["not ok 2 b"])
        self.assertEqual(list(summary.failures(UNITTEST)), ["FAIL: test_one (__main__.Frames)"])

    def test_of_a_long_one_both_ends(self):
        lines = "".join(f"      {n}\n" for n in range(100))
        told = list(summary.failures(f"FAIL  a.long\n{lines}1 passed, 1 failed, 0 skipped\n"))
        self.assertEqual(len(told), 1)
        self.assertEqual(len(told[0].splitlines()), summary.LINES_OF_A_FAILURE + 1)
        self.assertTrue(told[0].endswith("      99"))


if __name__ == "__main__":
    unittest.main()
