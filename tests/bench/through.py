# SPDX-License-Identifier: GPL-2.0
"""Builds modules of ours that take no shorter way than an adapter, for one machine to talk to itself.

Our connections to an address of the host's own take the loop transport; mainline's over InfiniBand
do not. To count what two hosts would do, exactly and in one machine, one place of the core is
changed in a copy of the sources.
"""
import os
import subprocess
import sys

import counted

sys.path.insert(0, str(counted.TOP / "tests/sim/mutate"))
from mutants import Mutant  # noqa: E402
from mutate import Stale, mutate  # noqa: E402

SOURCES = "build/src-through"

CHANGES = [
    Mutant("no-loop", "an address of the host's own is reached as a peer's is",
           "net/rds/transports.cc", "if (t.caps & RDS_CAP_PREFER_LOOP)", "if (false)"),
]


def change():
    done = subprocess.run([counted.TOP / "scripts/copy-sources.sh", SOURCES], cwd=counted.TOP,
                          capture_output=True, text=True)
    if done.returncode:
        raise counted.BenchError(done.stderr)
    for m in CHANGES:
        copy = counted.TOP / SOURCES / m.file
        try:
            new = mutate(m, (counted.TOP / m.file).read_text())
        except Stale as e:
            raise counted.BenchError(f"{e} (tests/bench/through.py)") from None
        if copy.read_text() != new:
            copy.write_text(new)


def modules(kern):
    """The directory they are in."""
    into = f"build/modules-{kern.version}-through"
    change()
    done = subprocess.run(["make", f"src_dir={SOURCES}", f"moddir={into}", "KCFLAGS=-w", "modules"],
                          cwd=counted.TOP, capture_output=True, text=True,
                          env={"KERNEL": "6.1", **os.environ})
    if done.returncode:
        raise counted.BenchError(f"cannot build modules for {counted.THROUGH}:\n"
                                 f"{done.stdout}{done.stderr}")
    return counted.TOP / into
