#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""modprobe's answers, as a table: what is loaded for each name while the administrator's file in
/etc/modprobe.d has a line (blacklist, install, alias to nothing) about each, with our file as it is
installed, and with AUTOLOAD=1.

    modprobe.py DIR [CONF]      DIR: build/modules-<kernel>, or a build directory with such in it

depmod and modprobe -n work on a tree of their own: nothing on this machine is read or changed.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("rds", "rds_loop", "rds_tcp", "rds_rdma")
VERSION = "6.1.0"
NAMES = ("rds", "rds_tcp", "rds_rdma", "rds_loop", "net-pf-21")

# The modules inserted for each of NAMES, in order; "!" is a command of the administrator's that
# runs in the place of a module.
PLAIN = ("rds", "rds rds_tcp", "rds rds_rdma", "rds rds_loop", "")
# With AUTOLOAD=1 the family's name is one more for rds.
FAMILY, ASKED = NAMES.index("net-pf-21"), (*PLAIN[:-1], "rds")


def by_name(usual, name, instead):
    """One of the answers is another."""
    return tuple(instead if n == name else answer for n, answer in zip(NAMES, usual))


def table(usual):
    """The answers wanted for each line of an administrator's about each of the names. A line about a
    module holds wherever that is loaded; but whoever names a module has it past a blacklist, which is
    about aliases, and a transport past an alias of rds, of which it needs the module and not the
    name."""
    wanted = {"": usual}
    for name in NAMES:
        family = usual[FAMILY]  # by an alias to rds, or not at all
        wanted[f"blacklist {name}"] = by_name(usual, "net-pf-21", "") if name == "rds" else usual
        wanted[f"install {name} /bin/false"] = tuple(
            " ".join("!" if module == name else module for module in answer.split())
            for answer in usual)
        wanted[f"alias {name} off"] = by_name(usual, name, "")
        if name == "net-pf-21":
            # Two lines about the name contradict each other where there is an alias, and kmod takes
            # the alias that leads somewhere.
            wanted[f"install {name} /bin/false"] = by_name(usual, name, family or "!")
            wanted[f"alias {name} off"] = usual
    return wanted


DEFAULT, AUTOLOAD = table(PLAIN), table(ASKED)


def run(*cmd):
    return subprocess.run([str(c) for c in cmd], capture_output=True, text=True, check=False)


def make_tree(modules, top):
    tree = top / "lib/modules" / VERSION
    (tree / "updates").mkdir(parents=True)
    for name in MODULES:
        shutil.copy(modules / f"{name}.ko", tree / "updates")
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        (tree / name).touch()
    made = run("depmod", "-b", top, VERSION)
    assert not made.returncode, made.stderr


def answer(top, conf, name):
    """The modules that modprobe would insert, and "!" for each command that it would run."""
    said = run("modprobe", "-n", "-v", "-d", top, "-S", VERSION, "-C", conf, name).stdout
    steps = re.findall(r"^(insmod|install) (?:.*/)?(\w+)", said, re.M)
    return " ".join(what if how == "insmod" else "!" for how, what in steps)


def check(top, file, table):
    """One line for each answer that is another than wanted."""
    conf = top / "conf"
    conf.mkdir(exist_ok=True)
    (conf / "pf_rds.conf").write_text(file)
    wrong = []
    for line, wanted in table.items():
        (conf / "admin.conf").write_text(line + "\n")
        for name, want in zip(NAMES, wanted):
            got = answer(top, conf, name)
            if got != want:
                wrong.append(f"'{line}', {name}: loads '{got}', wanted '{want}'")
    return wrong


def main(where, conf=ROOT / "packaging/pf_rds.conf"):
    where = pathlib.Path(where)
    built = [d for d in (where, *sorted(where.glob("modules-*"))) if (d / "rds_rdma.ko").exists()]
    if not built:
        sys.exit(f"no modules in {where}: run make modules")
    file = pathlib.Path(conf).read_text()
    wrong = []
    with tempfile.TemporaryDirectory() as top:
        top = pathlib.Path(top)
        make_tree(built[0], top)
        wrong += check(top, file, DEFAULT)
        # As install.sh does it.
        asked = re.sub(r"^#alias", "alias", file, flags=re.M)
        wrong += [f"AUTOLOAD=1: {w}" for w in check(top, asked, AUTOLOAD)]
    versions = {name: run("modinfo", "-F", "version", built[0] / f"{name}.ko").stdout.strip()
                for name in MODULES}
    if len(set(versions.values())) != 1 or not versions["rds"]:
        wrong.append(f"not one version: {versions}")
    print("\n".join(wrong) or f"{2 * len(DEFAULT) * len(NAMES)} answers of modprobe, as wanted")
    return bool(wrong)


sys.exit(main(*sys.argv[1:]))
