# SPDX-License-Identifier: GPL-2.0
"""A number that follows from the commit: tests that play some of what could be played draw by it, so
that each commit plays others and may play them again."""
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[1]


def drawn(otherwise):
    """Of 28 bits; @otherwise without git, as in a tree that was unpacked."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True)
    except FileNotFoundError:
        return otherwise
    return otherwise if done.returncode else int(done.stdout[:7], 16)
