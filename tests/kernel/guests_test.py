#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of guests.py without a guest: which file is lent whose guests."""
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guests  # noqa: E402

ONE, TWO = guests.Kind(), guests.Kind(count=2)


class Made:
    """In place of guests.Guests: these do not boot."""

    all = []

    def __init__(self, _kernels, kind, logdir):
        self.kind, self.logs, self.played, self.open, self.left = kind, [logdir], [], True, []
        self.vms = [types.SimpleNamespace(log_to=self.logs.append) for _ in range(kind.count)]
        self.all.append(self)

    def changes(self):
        return self.left

    def close(self):
        self.open = False


class PoolTest(unittest.TestCase):
    def setUp(self):
        Made.all = []
        self.said, self.real = [], guests.Guests
        guests.Guests = Made

    def tearDown(self):
        guests.Guests = self.real

    def pool(self, *kinds):
        return guests.Pool(["6.1"], kinds, self.said.append)

    def play(self, pool, kind, name, left=(), new=False):
        with pool.lend(kind, pathlib.Path(name), new) as lent:
            lent.left = list(left)
        return lent

    def test_the_next_file_of_the_kind_has_them(self):
        pool = self.pool(ONE, TWO, ONE)
        first = self.play(pool, ONE, "a")
        self.assertIsNot(self.play(pool, TWO, "b"), first)
        self.assertTrue(first.open)
        self.assertIs(self.play(pool, ONE, "c"), first)
        self.assertEqual(first.logs, [pathlib.Path("a"), pathlib.Path("c")])
        self.assertEqual(self.said, ["again c: guests of a"])

    def test_who_wants_new_ones_has_them(self):
        pool = self.pool(ONE, ONE)
        first = self.play(pool, ONE, "a")
        measured = self.play(pool, ONE, "m", new=True)
        self.assertIsNot(measured, first)
        self.assertFalse(measured.open, "one is enough for those to come")
        self.assertIs(self.play(pool, ONE, "b"), first)

    def test_none_wait_that_nobody_will_want(self):
        pool = self.pool(ONE, TWO, ONE)
        self.play(pool, ONE, "a")
        self.assertFalse(self.play(pool, TWO, "b").open)
        self.assertFalse(self.play(pool, ONE, "c").open)

    def test_nor_more_than_will_be_wanted(self):
        pool = self.pool(ONE, ONE, ONE)
        with pool.lend(ONE, pathlib.Path("a")) as one, pool.lend(ONE, pathlib.Path("b")) as other:
            pass
        self.assertEqual([one.open, other.open], [False, True])

    def test_changed_ones_are_told_and_end(self):
        pool = self.pool(ONE, ONE)
        first = self.play(pool, ONE, "a", ["net.core.rmem_max"])
        self.assertFalse(first.open)
        self.assertEqual(self.said, ["      a: its guests are not used again: net.core.rmem_max"])
        self.assertIsNot(self.play(pool, ONE, "b"), first)

    def test_an_error_ends_them(self):
        pool = self.pool(ONE, ONE)
        with self.assertRaises(KeyboardInterrupt), pool.lend(ONE, pathlib.Path("a")) as lent:
            raise KeyboardInterrupt
        self.assertFalse(lent.open)

    def test_those_that_wait_end_with_the_run(self):
        pool = self.pool(ONE, ONE)
        first = self.play(pool, ONE, "a")
        pool.close()
        self.assertFalse(first.open)
        self.assertFalse(self.play(pool, ONE, "b").open)

    def test_without_files_to_come_nobody_waits(self):
        self.assertFalse(self.play(self.pool(), ONE, "a").open)


class KindTest(unittest.TestCase):
    def test_a_file_says_it(self):
        module = types.SimpleNamespace(SMP=2, IB="rds_ib_retry_count=6")
        tests = [types.SimpleNamespace(vms=n) for n in (1, 2)]
        kind = guests.Kind.of(module, tests)
        self.assertEqual(kind, guests.Kind(2, smp=2, ib="rds_ib_retry_count=6"))
        self.assertEqual(kind.machine(), {"smp": 2, "mem": 512, "ib": "rds_ib_retry_count=6",
                                          "adapter": "rxe", "boot": ""})


class SettingTest(unittest.TestCase):
    def test_restless_ones_are_left_out(self):
        for line in ("kernel.random.uuid = 1", "fs.file-nr = 1 2 3", "kernel.pty.nr = 0",
                     "mount hr /usr/lib/modules 9p ro 0 0 = 1", "directory /run/mount = 1"):
            self.assertIsNone(guests.State.setting(line), line)
        self.assertEqual(guests.State.setting("net.ipv4.tcp_rmem = 1 2"),
                         ("net.ipv4.tcp_rmem", "1 2"))

    def test_a_warning_stays_and_a_module_does_not(self):
        self.assertEqual(guests.State.setting("kernel.tainted = 12288"), ("kernel.tainted", "0"))
        self.assertEqual(guests.State.setting("kernel.tainted = 12800"), ("kernel.tainted", "512"))


if __name__ == "__main__":
    unittest.main()
