#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of places.py: which of several files is let in."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import places  # noqa: E402


class Ticks(places.Idle):
    """Of an idle and a busy processor, by a clock of its own."""

    def __init__(self, idle):
        self.idle, self.now = idle, 0
        super().__init__()

    def clock(self):
        return self.now

    def read(self):
        return self.idle * self.now, 100 * self.now


class IdleTest(unittest.TestCase):
    def test_more_than_a_fifth_is_enough(self):
        for part, enough in (21, True), (20, False), (0, False):
            idle = Ticks(part)
            idle.now = places.WATCHED
            self.assertIs(idle.enough(), enough, part)

    def test_a_moment_is_not_looked_at(self):
        idle = Ticks(100)
        idle.now = places.WATCHED - 1
        self.assertFalse(idle.enough())
        idle.now += 1
        self.assertTrue(idle.enough())
        self.assertFalse(idle.enough())  # a new moment begins

    def test_this_hosts(self):
        idle, whole = places.Idle.read()
        self.assertGreater(whole, idle)


class PlacesTest(unittest.TestCase):
    def places(self, usual, most, enough):
        made = places.Places(usual, most)
        made.idle.enough = lambda: enough
        return made

    def test_the_first_that_fits(self):
        some = self.places(4, 12, False)
        self.assertEqual(some.first_that_fits([2, 4]), 0)
        self.assertEqual(some.first_that_fits([4, 2]), 1)
        self.assertIsNone(some.first([1]))
        some.give(2)
        self.assertEqual(some.first([4, 3, 2]), 2)

    def test_one_is_always_let_in(self):
        self.assertEqual(self.places(2, 2, False).first([3]), 0)

    def test_more_on_idle_processors(self):
        some = self.places(4, 8, True)
        for _ in range(2):
            self.assertEqual(some.first_that_fits([4]), 0)
        self.assertIsNone(some.first([1]))


if __name__ == "__main__":
    unittest.main()
