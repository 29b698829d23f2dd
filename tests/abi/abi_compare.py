#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare our <linux/rds.h> with the system's: every constant, size and offset.

The names are read with ctags out of both headers, so nothing depends on a list kept by
hand. A C program that prints a line for each name is compiled once against each header;
the two outputs must be equal. Names that only one header has are a failure as well, apart
from the extensions given on the command line.

    abi_compare.py --include DIR [--extension NAME]... [--self-test]

--self-test breaks copies of our header in several ways and demands that each is noticed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

PORTS = (0, 1, 31, 32, 63, 64, 4000, 65535)


class AbiError(Exception):
    """The headers cannot be compared at all; the message says why."""


def run(argv, **kwargs):
    """Run a command and return its output; raise AbiError with its messages on failure."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=60, check=False, **kwargs)
    if done.returncode != 0:
        raise AbiError(f"{' '.join(argv)} failed:\n{done.stdout}")
    return done.stdout


def system_header(cc):
    """Path of the header a program gets when it says #include <linux/rds.h>."""
    out = run([cc, "-M", "-xc", "-"], input="#include <linux/rds.h>\n")
    for word in out.replace("\\\n", " ").split():
        if word.endswith("linux/rds.h"):
            return word
    raise AbiError("the compiler finds no <linux/rds.h> of the system (package linux-libc-dev)")


class Names:
    """The names that one header defines, sorted by kind."""

    def __init__(self, header):
        tags = run(["ctags", "-f", "-", "--output-format=json", "--language-force=C",
                    "--kinds-C=degmstu", "--fields=+KnSsZt", header])
        tags = [json.loads(line) for line in tags.splitlines() if line.startswith("{")]
        self.constants, self.functions, self.members = set(), set(), set()
        self.types = set()
        anonymous = self._anonymous_members(tags)
        for tag in tags:
            self._add(tag, anonymous)

    @staticmethod
    def _anonymous_members(tags):
        """Scope of an unnamed struct -> the member that has this type."""
        found = {}
        for tag in tags:
            if tag["kind"] == "member" and "::__anon" in tag.get("typeref", ""):
                found[tag["typeref"].split(":", 1)[1]] = tag["name"]
        return found

    def _add(self, tag, anonymous):
        kind, name = tag["kind"], tag["name"]
        if kind == "macro" and "signature" in tag:
            self.functions.add(name)
        elif kind == "macro" and name != "_LINUX_RDS_H":
            self.constants.add(name)
        elif kind == "enumerator":
            self.constants.add(name)
        elif kind in ("struct", "union", "enum") and not name.startswith("__anon"):
            self.types.add(f"{kind} {name}")
        elif kind == "typedef":
            self.types.add(name)
        elif kind == "member":
            self.members.add(self._path(tag, anonymous))

    @staticmethod
    def _path(tag, anonymous):
        """(struct, member.submember) with the unnamed scopes resolved."""
        outer = tag["scope"].split("::")
        path = []
        for depth in range(1, len(outer)):
            member = anonymous.get("::".join(outer[:depth + 1]))
            if member:      # an unnamed union has no member: its contents are the struct's own
                path.append(member)
        return outer[0], ".".join(path + [tag["name"]])


PROGRAM_HEAD = r"""
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <linux/rds.h>
#define TYPE(x) _Generic((x), \
	unsigned char: "u8", signed char: "s8", char: "char", unsigned short: "u16", short: "s16", \
	unsigned int: "u32", int: "s32", unsigned long: "ul", long: "sl", \
	unsigned long long: "u64", long long: "s64", unsigned char *: "u8[]", \
	unsigned int *: "u32[]", unsigned long long *: "u64[]", default: "struct")
#define VALUE(label, x) \
	printf("%s = %lld, %zu bytes, %s\n", label, (long long)(x), sizeof(x), TYPE(x))
#define MEMBER(s, m) \
	printf("struct %s.%s at %zu, %zu bytes, %s\n", #s, #m, offsetof(struct s, m), \
	       sizeof(((struct s *)0)->m), TYPE(((struct s *)0)->m))
int main(void)
{
"""


def program(names):
    """C source that prints every name of the header with what it stands for."""
    lines = [f'\tVALUE("{name}", {name});' for name in sorted(names.constants)]
    for name in sorted(names.functions):
        lines += [f'\tVALUE("{name}({port})", {name}({port}));' for port in PORTS]
    for name in sorted(names.types):
        lines.append(f'\tprintf("{name}: %zu bytes, aligned to %zu\\n", '
                     f'sizeof({name}), _Alignof({name}));')
    lines += [f"\tMEMBER({struct}, {member});" for struct, member in sorted(names.members)]
    return PROGRAM_HEAD + "\n".join(lines) + "\n\treturn 0;\n}\n"


def dump(cc, names, include, scratch):
    """Compile the program against one header and return the lines that it prints."""
    source = os.path.join(scratch, "dump.c")
    binary = os.path.join(scratch, "dump")
    with open(source, "w", encoding="ascii") as file:
        file.write(program(names))
    flags = [f"-I{include}"] if include else []
    run([cc, "-std=gnu11", "-Wall", "-Werror", *flags, source, "-o", binary])
    return run([binary]).splitlines()


def compare_names(system, ours, extensions):
    """Lines about names that only one of the headers has."""
    found = []
    for kind in ("constants", "functions", "types", "members"):
        theirs, mine = getattr(system, kind), getattr(ours, kind)
        found += [f"missing in ours: {name}" for name in sorted(theirs - mine)]
        found += [f"only in ours: {name}" for name in sorted(mine - theirs)
                  if name not in extensions and f"struct {name[0]}" not in extensions]
    known = ours.constants | ours.functions | ours.types
    found += [f"announced as an extension but not there: {name}"
              for name in sorted(extensions - known)]
    return found


def compare(cc, include, extensions):
    """All differences between the two headers, and how many lines were compared."""
    system = Names(system_header(cc))
    ours = Names(os.path.join(include, "linux", "rds.h"))
    found = compare_names(system, ours, extensions)
    if found:
        return found, 0
    with tempfile.TemporaryDirectory(prefix="rds_abi.") as scratch:
        want = dump(cc, system, None, scratch)
        have = dump(cc, system, include, scratch)
    found = [f"system: {a}\n  ours: {b}" for a, b in zip(want, have) if a != b]
    if len(want) != len(have):
        found.append(f"{len(want)} lines against {len(have)}")
    return found, len(want)


# Each breaks a copy of our header in another way: (what, pattern, replacement).
BREAKAGES = (
    ("a constant changed", r"RDS_RECVERR\t+5", "RDS_RECVERR 4"),
    ("a constant of another type", r"\(1ULL << ", "(1 << "),
    ("a constant gone", r"#define RDS_FREE_MR\b.*", ""),
    ("a name too many", r"(#define RDS_FREE_MR\b)", r"#define RDS_MADE_UP 1\n\1"),
    ("an enumerator moved", r"\tRDS_MSG_RX_DGRAM_REASSEMBLE,.*", ""),
    ("a member's type", r"__be16\tlport;", "__be32\tlport;"),
    ("a member's sign", r"__s32\tstatus;", "__u32\tstatus;"),
    ("members swapped", r"(\t__u64\tcookie_addr;)\n(\t__u64\tflags;)", r"\2\n\1"),
    ("a member renamed", r"\bfport;", "rport;"),
    ("a member of a nested struct gone", r"\t\t\t__u64\tnocarry_mask;\n", ""),
    ("packing lost", r"__attribute__\(\(packed\)\)", ""),
    ("packing added", r"(cache_allocs;\n\})", r"\1 __attribute__((packed))"),
    ("a type gone", r"typedef __u8\s+rds_tos_t;", ""),
)


def self_test(cc, include, extensions):
    """Every breakage must be reported; returns those that went unnoticed."""
    with open(os.path.join(include, "linux", "rds.h"), encoding="ascii") as file:
        good = file.read()
    missed = []
    for what, pattern, replacement in BREAKAGES:
        bad, count = re.subn(pattern, replacement, good)
        if count == 0:
            missed.append(f"{what}: the pattern no longer matches the header")
            continue
        with tempfile.TemporaryDirectory(prefix="rds_abi.") as scratch:
            os.mkdir(os.path.join(scratch, "linux"))
            with open(os.path.join(scratch, "linux", "rds.h"), "w", encoding="ascii") as file:
                file.write(bad)
            try:
                noticed = bool(compare(cc, scratch, extensions)[0])
            except AbiError:    # it does not even compile: that is noticing, too
                noticed = True
        if not noticed:
            missed.append(f"{what}: not noticed")
    return missed


def main():
    """Parse the command line and compare; exit status 1 when something differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", required=True, help="directory with our linux/rds.h")
    parser.add_argument("--extension", action="append", default=[], help="a name only ours has")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    extensions = set(options.extension)
    try:
        if options.self_test:
            found = self_test(options.cc, options.include, extensions)
            count = len(BREAKAGES)
        else:
            found, count = compare(options.cc, options.include, extensions)
    except AbiError as error:
        print(error, file=sys.stderr)
        return 1
    for line in found:
        print(line)
    print(f"{count} compared, {len(found)} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
