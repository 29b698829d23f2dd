# SPDX-License-Identifier: GPL-2.0
"""Clang's syntax tree of one file, as JSON, without its includes.

clang writes where a thing is only as far as that differs from what it wrote before; resolve() says
it in full. Offsets are of bytes, so sources are bytes here.
"""
import json
import re
import subprocess

FLAGS = ["-std=gnu++20", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-w", "-x", "c++"]
INCLUDES = [".", "tests/sim/include", "net/rds", "include/uapi"]
FILE = re.compile(r'\s*"file": "(.*)"')


class Broken(Exception):
    """A file that clang cannot read."""


def flags(root):
    return FLAGS + [f"-I{root / d}" for d in INCLUDES]


def chunks(lines):
    """(the file that was named last, the lines) of each declaration of the outermost level."""
    now, chunk, began, included = None, None, None, False
    for line in lines:
        m = FILE.match(line)
        if m and not included:
            now = m[1]
        included = '"includedFrom": {' in line
        if line.startswith("    {"):
            chunk, began = [], now
        if chunk is not None:
            chunk.append(line)
            if line.startswith("    }"):
                yield began, chunk
                chunk = None


def resolve(thing, now):
    """Gives every place in @thing its file ("_f"), in the order in which clang wrote them."""
    if isinstance(thing, list):
        for one in thing:
            now = resolve(one, now)
        return now
    if not isinstance(thing, dict):
        return now
    if "offset" in thing:
        thing["_f"] = now = thing.get("file", now)
        return now
    for key, value in thing.items():
        if key != "includedFrom" and isinstance(value, (dict, list)):
            now = resolve(value, now)
    return now


def dump(cmd, file, root):
    """The output of "clang @cmd -ast-dump=json" on @file."""
    cmd = ["nice", *cmd, "-Xclang", "-ast-dump=json", "-fsyntax-only", file]
    p = subprocess.run(cmd, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode:
        raise Broken(f"{file}: clang cannot read it:\n{p.stderr[-2000:]}")
    return p.stdout


def tree(file, root):
    """The declarations of @file (a path below @root) itself."""
    out = dump(["clang++-14", *flags(root)], file, root)
    name = f'"file": "{file}"'
    found = []
    for began, lines in chunks(out.splitlines()):
        if began == file or any(name in line for line in lines):
            node = json.loads("\n".join(lines).rstrip(","))
            resolve(node, began)
            found.append(node)
    return found


def named(cmd, file, root, word):
    """Those declarations of @file whose names have @word in them; @cmd: a C compiler that finds
    what it includes, in @root. So clang does not write down what the kernel's headers have."""
    out = dump([*cmd, "-Xclang", f"-ast-dump-filter={word}"], file, root)
    read, at, now, found = json.JSONDecoder(), 0, None, []
    while (at := out.find("{", at)) >= 0:
        node, at = read.raw_decode(out, at)
        now = resolve(node, now)
        if node.get("loc", {}).get("_f") == file:
            found.append(node)
    return found


def closing(src, at):
    """Behind the parenthesis that closes the one at @at."""
    depth = 0
    for i in range(at, len(src)):
        depth += {b"(": 1, b")": -1}.get(src[i:i + 1], 0)
        if not depth:
            return i + 1
    return len(src)


def place(loc, file, src):
    """(begin, end, written here) of the token at @loc; a macro is its call. None: elsewhere."""
    if "spellingLoc" in loc:
        if loc["expansionLoc"].get("isMacroArgExpansion"):
            loc = loc["spellingLoc"]
        else:
            loc = loc["expansionLoc"]
            if loc.get("_f") != file:
                return None
            end = loc["offset"] + loc["tokLen"]
            call = re.compile(rb"\s*\(").match(src, end)
            return loc["offset"], closing(src, call.end() - 1) if call else end, False
    if loc.get("_f") != file or "offset" not in loc:
        return None
    return loc["offset"], loc["offset"] + loc["tokLen"], True


def extent(node, file, src):
    """(begin, end, written here) of @node in @file."""
    ends = node.get("range", {})
    if not ends.get("begin") or not ends.get("end"):
        return None
    first, last = place(ends["begin"], file, src), place(ends["end"], file, src)
    if not first or not last or last[1] <= first[0]:
        return None
    return first[0], last[1], first[2] and last[2]


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|//[^\n]*|/\*.*?\*/', re.S)


def plain(text):
    """@text in one line, without comments."""
    text = TOKEN.sub(lambda m: " " if m[0].startswith("/") else m[0], text)
    return " ".join(text.split())
