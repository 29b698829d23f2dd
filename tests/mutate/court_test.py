#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The court of the glue's mutants without a guest: it stands in for the VM suite's runner."""
import inspect
import sys
import tempfile
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "kernel"), str(HERE)]
import glue_court  # noqa: E402
import run  # noqa: E402  (the suite's)
import vm  # noqa: E402


class DeadMachine:
    """A guest that a mutant has killed after its last case."""

    def run(self, _command):
        raise vm.GuestDead("it stopped")


class Court(unittest.TestCase):
    def test_its_ear_hears_all_that_a_report_does(self):
        for name in ("line", "skip", "result"):
            said = inspect.signature(getattr(run.Report, name)).parameters
            inspect.signature(getattr(glue_court.Ear, name)).bind(*said)

    def test_a_guest_that_dies_between_two_cases_has_noticed(self):
        dead = types.SimpleNamespace(fresh=True, vms=[DeadMachine()])
        bench = types.SimpleNamespace(running={"load": dead})
        self.assertTrue(glue_court.Bench.lost(bench, {"load"}))
        self.assertFalse(dead.fresh, "it is booted anew for the next mutant")

    def test_a_verdict_is_known_as_long_as_its_cases_are_the_same(self):
        with tempfile.TemporaryDirectory() as room:
            def asked_of(written, said):
                """The mutants that are asked of a case by another court; each is told @said."""
                asked = []
                court = glue_court.Court(Path(room), Path(room))
                court.plays = {"load.all": (written, 1, [1, 2], [])}
                court.took, court.reach = {"load.all": 1}, {"load.all": {1, 2}}
                court.ask = lambda _bench, mutant: (asked.append(mutant), (said[mutant], 1))[1]
                for mutant in said:
                    self.assertEqual(court.verdict(None, mutant), (said[mutant], 1))
                return asked
            noticed, survived = {1: "load.all"}, {2: ""}
            self.assertEqual(asked_of("old", {**noticed, **survived}), [1, 2])
            self.assertEqual(asked_of("old", {**noticed, **survived}), [])
            self.assertEqual(asked_of("new", {**noticed, **survived}), [2])


if __name__ == "__main__":
    unittest.main()
