#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of turns.py: nothing is dropped, and nothing waits that must not."""
import os
import pathlib
import sys
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import run  # noqa: E402
import turns  # noqa: E402


def cases(turn, *words):
    """{case: why it is left out, or None}"""
    options = run.parse(["--kernel", "uml", *words])
    options.turn = turn
    chosen, skipped = run.select(options)
    return {**{one.name: None for _, tests in chosen for one in tests},
            **{one.name: why for one, why in skipped}}


class TurnsTest(unittest.TestCase):
    def test_each_case_has_a_turn(self):
        played = [{name for name, why in cases(turn).items() if not why}
                  for turn in range(turns.TURNS)]
        self.assertEqual(set.union(*played), {name for name, why in cases(None).items() if not why})
        for one in played:
            self.assertGreater(len(one), 20)
            self.assertLess(len(one), len(set.union(*played)) * 2 / 3)

    def test_named_ones_have_turns_too(self):
        """test-uml names all of its cases."""
        self.assertEqual(cases(0), cases(0, *cases(None)) | {
            name: why for name, why in cases(0).items() if why and "turn" not in why})
        self.assertIn("commit", cases((turns.of_case("order.paths_die") + 1) % turns.TURNS,
                                      "order.paths_die")["order.paths_die"])

    def test_threats_are_always_looked_at(self):
        shown = turns.threats.named() & set(cases(None))
        self.assertGreater(len(shown), 30)
        for turn in range(turns.TURNS):
            said = cases(turn)
            self.assertEqual([name for name in shown if "turn" in (said[name] or "")], [])

    def test_what_is_always_played_is_there(self):
        names = {one.name for path in (HERE / "cases").glob("*.py")
                 for one in run.suite.load_file(path)[1]}
        for always in turns.ALWAYS:
            self.assertTrue([n for n in names if turns.fnmatch.fnmatch(n, always)], always)

    def test_what_the_environment_says(self):
        self.assertIn(turns.wanted("commit"), range(turns.TURNS))
        self.assertEqual(turns.wanted("2"), 2)
        with unittest.mock.patch.dict(os.environ, TURN="1", ALL=""):
            self.assertEqual(turns.of_environment(), 1)
            os.environ["ALL"] = "1"
            self.assertIsNone(turns.of_environment())
        for wrong in str(turns.TURNS), "-1", "all":
            with self.assertRaises(ValueError):
                turns.wanted(wrong)


unittest.main()
