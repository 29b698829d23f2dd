# SPDX-License-Identifier: GPL-2.0
"""`make test` plays a quarter of the cases that can wait, which one follows from the commit, and all
that cannot (docs/decisions/056-turns.md): those that a row of docs/threat-model.md names, and those
below. `make test-all` and `run.py` by hand know no turns."""
import fnmatch
import os
import pathlib
import sys
import zlib

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "scripts"), str(TOP / "tests/docs")]
import commit  # noqa: E402
import threats  # noqa: E402

TURNS = 4
# The tests of the harness itself, each transport with ours on both hosts, what README shows, KUnit.
ALWAYS = ("harness.*", "detectors.*", "kunit.*", "load.load_and_unload", "interop.ours_with_ours",
          "interop.first_contact", "ib.ours_with_ours", "iwarp.ours_with_ours", "sockets.behave",
          "lab.the_walk", "multipath.eight_paths", "faults.sockets_are_killed")


def of_case(name):
    """The turn in which a case is played, 0 to TURNS - 1; None: in each."""
    if name in threats.named() or any(fnmatch.fnmatch(name, always) for always in ALWAYS):
        return None
    return zlib.crc32(name.encode()) % TURNS


def wanted(word):
    """The turn that the environment's TURN says: `commit`, or its number. ValueError: none of them."""
    if word == "commit":
        return commit.drawn(0) % TURNS
    if not 0 <= int(word) < TURNS:
        raise ValueError(f"TURN is commit, or 0 to {TURNS - 1}")
    return int(word)


def of_environment():
    """None: all cases are to be played."""
    word = None if os.environ.get("ALL") else os.environ.get("TURN")
    return wanted(word) if word else None
