#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of scripts/gtests.py, with a program that does what one of Google Test's may do."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import gtests  # noqa: E402

PROGRAM = r"""#!/bin/sh
case $1 in --gtest_list_tests) printf '%b' "$LIST"; exit;; esac
for t in $(echo "${2#*=}" | tr : ' '); do
	echo "[ RUN      ] $t"
	case $t in
	*fails) echo "  it is 3"; echo "[  FAILED  ] $t (2 ms)"; failed=1;;
	*given) echo "[  FAILED  ] $t, where GetParam() = 7 (2 ms)"; failed=1;;
	*skips) echo "[  SKIPPED ] $t (0 ms)";;
	*dies) echo "  last words"; kill -9 $$;;
	*hangs) exec sleep 1000;;
	*quits) exit 3;;
	*) echo "[       OK ] $t (10 ms)";;
	esac
done
[ -z "$LEAKS" ] || { echo "LeakSanitizer: lost"; exit 23; }
exit ${failed:-0}
"""


class GtestsTest(unittest.TestCase):
    def play(self, listed, leaks=""):
        """(exit status, lines)"""
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as room, contextlib.redirect_stdout(said):
            program = pathlib.Path(room, "program")
            program.write_text(PROGRAM)
            program.chmod(0o755)
            os.environ.update(LIST=listed, LEAKS=leaks)
            status = gtests.main(["-j", "1", f"unit={program}"])
        return status, [" ".join(line.split()) for line in said.getvalue().splitlines()]

    def test_each_is_told(self):
        status, lines = self.play(r"A.\n  one\n  skips\nB/C.\n  two/0  # GetParam() = 7\n")
        self.assertEqual((status, sorted(lines)), (0, [
            "2 passed, 0 failed, 1 skipped", "ok unit.A.one 0.01 s", "ok unit.B/C.two/0 0.01 s",
            "skip unit.A.skips 0.00 s"]))

    def test_a_failure_says_why(self):
        status, lines = self.play(r"A.\n  fails\n  one\n  given\n")
        self.assertEqual((status, lines), (1, [
            "FAIL unit.A.fails 0.00 s", "it is 3", "ok unit.A.one 0.01 s",
            "FAIL unit.A.given 0.00 s", "1 passed, 2 failed, 0 skipped"]))

    def test_it_goes_on_behind_one_that_dies(self):
        for name, status in (("dies", -9), ("quits", 3)):
            with self.subTest(name):
                got, lines = self.play(rf"A.\n  one\n  {name}\n  two\n")
                self.assertEqual((got, lines[0], lines[-3:]), (1, "ok unit.A.one 0.01 s", [
                    f"its process ends with {status}", "ok unit.A.two 0.01 s",
                    "2 passed, 1 failed, 0 skipped"]))

    def test_one_that_hangs_is_ended(self):
        gtests.LIMIT, usual = 0.5, gtests.LIMIT
        try:
            status, lines = self.play(r"A.\n  hangs\n  two\n")
        finally:
            gtests.LIMIT = usual
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "1 passed, 1 failed, 0 skipped")

    def test_what_is_lost_fails_the_suite(self):
        status, lines = self.play(r"A.\n  one\n  two\n", leaks="yes")
        self.assertEqual((status, lines[2:]), (1, [
            "FAIL unit.A.* 0.00 s", "LeakSanitizer: lost", "its process ends with 23",
            "2 passed, 1 failed, 0 skipped"]))

    def test_nothing_is_a_failure(self):
        self.assertEqual(self.play(""), (1, ["0 passed, 0 failed, 0 skipped"]))


if __name__ == "__main__":
    unittest.main()
