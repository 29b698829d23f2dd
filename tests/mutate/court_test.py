#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The court of the glue's mutants without a guest: it stands in for the VM suite's runner."""
import inspect
import sys
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


if __name__ == "__main__":
    unittest.main()
