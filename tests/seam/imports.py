#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The core imports what the seam declares, and nothing else.

    imports.py --sim OBJECT...      objects of net/rds and of the transports' pure parts

Looks at the user-space objects given, and at the kernel's (net/rds/*.o, transports/*/*.o made from
.cc) where they have been built. An undefined symbol must be declared in net/platform/platform.h (or,
rds_ib_hw_*, in transports/ib/ib_link.h: what a link asks of its adapter), be defined by another
object of the core, or be one of the few helpers that compilers call. Every function of the seam must
be used: what nobody needs is not part of it. No object may have static constructors or destructors:
the module loader would not run them.
"""
import argparse
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# Functions that gcc calls without being asked: block operations, hardening, ftrace, sanitizers.
HELPERS = re.compile(
    r"^(mem(cpy|set|move|cmp)|strlen|__stack_chk_fail|__fentry__|__x86_\w+_thunk\w*|__x86_return_thunk"
    r"|__(asan|ubsan|tsan|sanitizer)_\w+|__cyg_profile\w+|_GLOBAL_OFFSET_TABLE_)$")
STATIC = re.compile(r"\.(init_array|fini_array|ctors|dtors)\b")


def declared(header, pattern):
    text = re.sub(r"/\*.*?\*/", "", (TOP / header).read_text(), flags=re.S)
    return set(re.findall(rf"\b({pattern})\(", text))


def seam():
    return (declared("net/platform/platform.h", r"rds_\w+") - {"rds_fn"} |
            declared("transports/ib/ib_link.h", r"rds_ib_hw_\w+"))


def symbols(path):
    """(defined, undefined) names of an object."""
    defined, undefined = set(), set()
    out = subprocess.run(["nm", "-P", path], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        name, kind = line.split()[:2]
        (undefined if kind in "Uwv" else defined).add(name)
    return defined, undefined


def has_static_objects(path, sanitized):
    if sanitized:
        return False  # sanitizers register themselves by constructors
    out = subprocess.run(["objdump", "-h", path], check=True, capture_output=True, text=True).stdout
    return bool(STATIC.search(out))


def check(what, objects, sanitized):
    faults, defined, undefined = [], set(), set()
    for path in objects:
        d, u = symbols(path)
        defined |= d
        undefined |= u
        if "/net/rds/" in str(path) and has_static_objects(path, sanitized):
            faults.append(f"{path}: static constructors or destructors")
    allowed = seam()
    for name in sorted(undefined - defined - allowed):
        if not HELPERS.match(name):
            faults.append(f"{what}: the core imports {name}, which the seam does not declare")
    for name in sorted(allowed - undefined):
        faults.append(f"{what}: the seam declares {name}, which nothing in the core calls")
    print(f"{what}: {len(objects)} objects, {len(undefined & allowed)} of "
          f"{len(allowed)} functions of the seam in use")
    return faults


def kernel_objects():
    sources = list((TOP / "net/rds").rglob("*.cc")) + list((TOP / "transports").glob("*/*.cc"))
    objects = [s.with_suffix(".o") for s in sources]
    return objects if all(o.exists() for o in objects) else []


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--sim", nargs="+", required=True, metavar="OBJECT")
    args = ap.parse_args()
    faults = check("user space", args.sim, sanitized=True)
    kernel = kernel_objects()
    if kernel:
        faults += check("kernel", kernel, sanitized=False)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
