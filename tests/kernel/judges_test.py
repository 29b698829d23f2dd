#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Each judge of judges.py passes what it must, and fails what it must; and run.py counts what it
leaves out. No guest is needed.

Accounts are made up. The number that a judge forgives is tried at its bound, and one beyond.
"""
import contextlib
import io
import os
import pathlib
import unittest

import judges
import lab
import run
import suite
import walk
from judges import BEGUN, UNREAD, UNTOLD

COUNTS = ("lost", "lost_bytes", "duplicates", "reordered", "corrupted", "strangers", "late",
          "unnoticed", "timed_out", "unacknowledged", "before_first")
OURS, TO, FROM = ["ours", "ours"], ["ours", "mainline"], ["mainline", "ours"]
# Faults that no judge forgives between any two, of ours or not.
ALWAYS = ("duplicates", "reordered", "corrupted", "strangers", "timed_out")


def found(ends, sent=1000, **other):
    """An account in which nothing went wrong, but for what is said."""
    account = {**dict.fromkeys(COUNTS, 0), "sent": sent, "longest_gap": 0.5, "ends": ends, **other}
    account.setdefault("delivered", sent - account["lost"] - account["before_first"])
    return account


class Judges(unittest.TestCase):
    def refused(self, judge, account, *more):
        with self.assertRaises(AssertionError, msg=f"{judge.__name__} passes {account}"):
            judge(account, *more)

    def test_good_accounts_pass(self):
        for ends in (OURS, TO, FROM, ["mainline", "mainline"]):
            self.assertIn("1000 sent: 0 lost", judges.exact(found(ends)))
            judges.all_but_told(found(ends))
            judges.from_first(found(ends, before_first=400))
        judges.to_mainline(found(TO), 0)
        judges.from_mainline(found(FROM), 0)

    def test_one_fault_is_enough_between_ours(self):
        for what in (*ALWAYS, "lost", "late", "unnoticed", "unacknowledged"):
            for judge in (judges.exact, judges.from_first):
                self.refused(judge, found(OURS, **{what: 1}))
        for what in (*ALWAYS, "lost", "late", "unnoticed"):
            self.refused(judges.all_but_told, found(OURS, **{what: 1}))

    def test_what_mainline_does_not_promise(self):
        """Its TCP acknowledges what its RDS has not read, and its wake-ups are its own."""
        judges.exact(found(TO, late=1, unnoticed=1))
        judges.exact(found(FROM, late=1))
        self.refused(judges.exact, found(FROM, unnoticed=1))
        for ends in (TO, FROM):
            for what in (*ALWAYS, "lost", "unacknowledged"):
                self.refused(judges.exact, found(ends, **{what: 1}))

    def test_nothing_sent_shows_nothing(self):
        self.refused(judges.exact, found(OURS, sent=0))
        self.refused(judges.from_first, found(OURS, before_first=1000))
        for judge, ends in ((judges.to_mainline, TO), (judges.from_mainline, FROM)):
            self.refused(judge, found(ends, lost=1000, lost_bytes=1), 1)

    def test_what_does_not_add_up(self):
        self.refused(judges.exact, found(OURS, delivered=999))
        self.refused(judges.exact, found(OURS, lost=1, delivered=1000))
        self.refused(judges.from_first, found(OURS, before_first=3, delivered=996))
        self.refused(judges.to_mainline, found(TO, lost=1, lost_bytes=9, delivered=1000), 1)

    def test_a_gap(self):
        judges.exact(found(OURS, longest_gap=3.0), 3.0)
        judges.exact(found(OURS, longest_gap=60.0))
        self.refused(judges.exact, found(OURS, longest_gap=3.1), 3.0)
        self.refused(judges.to_mainline, found(TO, longest_gap=3.1), 0, 3.0)
        self.refused(judges.from_mainline, found(FROM, longest_gap=3.1), 0, 3.0)

    def test_with_mainline_as_much_as_a_buffer_holds(self):
        for judge, ends in ((judges.to_mainline, TO), (judges.from_mainline, FROM)):
            most = 2 * (UNREAD + BEGUN)
            judge(found(ends, lost=40, lost_bytes=most), 2)
            self.refused(judge, found(ends, lost=40, lost_bytes=most + 1), 2)
            self.refused(judge, found(ends, lost=1, lost_bytes=40), 0)
            for what in (*ALWAYS, "unacknowledged"):
                self.refused(judge, found(ends, **{what: 1}), 2)
        self.refused(judges.from_mainline, found(FROM, unnoticed=1), 2)

    def test_each_direction_has_its_own(self):
        self.refused(judges.to_mainline, found(FROM), 1)
        self.refused(judges.from_mainline, found(TO), 1)
        self.refused(judges.to_mainline, found(OURS), 1)

    def test_what_was_not_told_yet(self):
        judges.all_but_told(found(TO, unacknowledged=UNTOLD))
        self.refused(judges.all_but_told, found(TO, unacknowledged=UNTOLD + 1))
        self.refused(judges.all_but_told, found(TO, sent=20, unacknowledged=20))

    def test_storms(self):
        good = {"clean": True, "operations": 100, "success": 84, "remote_error": 2, "dropped": 14,
                "other_error": 0, "canceled": 0}
        judges.storm(good, 5, 2)
        self.refused(judges.storm, good, 5, 1)
        self.refused(judges.storm, good, 85, 2)
        for other in ({"clean": False}, {"canceled": 1}, {"operations": 101},
                      {"operations": 10000, "success": 1, "dropped": 9997}):
            self.refused(judges.storm, {**good, **other}, 1, 2)


class Skips(unittest.TestCase):
    def setUp(self):
        for name in ("KERNEL", "ALL"):  # `make test-all` says them, and run.py listens
            os.environ.pop(name, None)

    def select(self, *argv):
        chosen, skipped = run.select(run.parse(list(argv)))
        return {t.name for _, tests in chosen for t in tests}, {t.name: why for t, why in skipped}

    def all(self):
        return {t.name for path in pathlib.Path(suite.HERE, "cases").glob("*.py")
                for t in suite.load_file(path)[1]}

    def test_each_case_is_run_or_skipped(self):
        for argv in ((), ("--all",), ("--kernel", "uml"), ("--kernel", "6.1,7.2")):
            chosen, skipped = self.select(*argv)
            self.assertEqual(chosen | set(skipped), self.all())
            self.assertFalse(chosen & set(skipped))

    def test_reasons(self):
        skipped = self.select()[1]
        self.assertEqual(skipped["kunit.suites"], "only on uml, x86")
        self.assertIn("--all", skipped["ib_peer.frames"])
        self.assertIn("one guest", self.select("--kernel", "6.1,7.2")[1]["netns.bad_cable"])

    def test_names(self):
        """A case that nobody asked for is not skipped; a long one is run when it is named."""
        self.assertEqual(self.select("ib_peer.frames"), ({"ib_peer.frames"}, {}))
        self.assertEqual(self.select("--kernel", "7.2", "kunit"),
                         (set(), {"kunit.suites": "only on uml, x86"}))

    def test_they_are_counted(self):
        report, said = run.Report(), io.StringIO()
        with contextlib.redirect_stdout(said):
            for one, why in run.select(run.parse([]))[1]:
                report.skip(one, why)
            logs = [f"{n}.console.log" for n in range(run.MAX_BOOT_RETRIES + 1)]
            report.boots(logs[1:])
            self.assertEqual(report.failed, 0)
            report.boots(logs)
        self.assertEqual(report.failed, 1)
        self.assertIn("skip  kunit.suites: only on uml, x86", said.getvalue())
        self.assertRegex(report.summary(), r"^0 passed, 1 failed, [1-9]\d* skipped$")


class Walk(unittest.TestCase):
    """Of docs/lab.md."""

    def test_lines_that_are_shown(self):
        self.assertTrue(walk.is_shown([], ""))
        self.assertTrue(walk.is_shown(["a … c", "d"], "d\n a\na b c  \n"))

    def test_lines_that_are_not(self):
        for lines in (["a … c"], ["a b"], ["d", "e"], ["A B C D"], ["a.b c d"]):
            self.assertFalse(walk.is_shown(lines, "a b c d\nd\n"), lines)

    def test_the_page(self):
        steps = walk.steps(lab.PAGE, "lab")
        self.assertGreater(len(steps), 15)
        self.assertGreater(sum(len(lines) for _, lines in steps), 10)
        self.assertEqual(steps[0][0], "host1 rds-ping -c 3 10.9.0.2")


if __name__ == "__main__":
    unittest.main()
