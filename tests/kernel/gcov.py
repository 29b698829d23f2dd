#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which lines of the modules' kernel side were run on User-Mode Linux (`make coverage-glue`).

Modules built with GCOV_PROFILE count; what they counted is read from debugfs at the end of each
file of the suite (save), and added up here.
"""
import base64
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SAVED, SOURCES = TOP / "build/gcov", TOP / "build/src-uml"
DUMP = r"""cd /sys/kernel/debug/gcov && find . -name '*.gcda' | while read -r f; do
mkdir -p "/run/gcov/${f%/*}" && cat "$f" >"/run/gcov/$f"; done
tar -C /run/gcov -cz . | base64 -w0"""


def save(machine, name):
    """Into build/gcov/NAME, as the tree below build/src-uml."""
    data = base64.b64decode(machine.check(DUMP, 120))
    into = SAVED / name
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar.getmembers():
            at = member.name.split(str(SOURCES)[1:] + "/")
            if member.isfile() and len(at) == 2:
                (into / at[1]).parent.mkdir(parents=True, exist_ok=True)
                (into / at[1]).write_bytes(tar.extractfile(member).read())


def merged(into):
    """One tree out of all that was saved, with the compiler's notes beside."""
    runs = sorted(p for p in SAVED.iterdir() if p.is_dir())
    subprocess.run(["cp", "-r", runs[0], into / "0"], check=True)
    for number, run in enumerate(runs[1:]):
        subprocess.run(["gcov-tool", "merge", into / str(number), run, "-o",
                        into / str(number + 1)], check=True)
    tree = into / str(len(runs) - 1)
    for data in tree.rglob("*.gcda"):
        notes = SOURCES / data.relative_to(tree).with_suffix(".gcno")
        data.with_suffix(".gcno").write_bytes(notes.read_bytes())
    return tree


def lines_of(data):
    """(run, all) of the one source that this object was made from."""
    said = subprocess.run(["gcov", "-n", data], capture_output=True, text=True, check=True).stdout
    for path, share, count in re.findall(r"File '(.*)'\nLines executed:([\d.]+)% of (\d+)", said):
        if pathlib.Path(path).stem == data.stem:
            return round(float(share) * int(count) / 100), int(count)
    return 0, 0


def main():
    total = [0, 0]
    with tempfile.TemporaryDirectory() as tmp:
        tree = merged(pathlib.Path(tmp))
        for data in sorted(tree.rglob("*.gcda")):
            name = data.relative_to(tree).with_suffix(".c")
            if not (TOP / name).exists() or name.parts[0] == "tests":
                continue  # the core's lines are for `make coverage`
            ran, count = lines_of(data)
            total = [total[0] + ran, total[1] + count]
            print(f"{name!s:<44} {ran:5} of {count:5}  {100 * ran / max(count, 1):5.1f} %")
    print(f"{'all':<44} {total[0]:5} of {total[1]:5}  {100 * total[0] / max(total[1], 1):5.1f} %")


if __name__ == "__main__":
    sys.exit(main())
