# SPDX-License-Identifier: GPL-2.0
"""Mutants that somebody wrote down (tests/sim/mutate/mutants.py), as sites for gen.py.

Such a mutant is a text of the core and what becomes of it. The whole body of the function around it
is written a second time, with the change, before the first: "if (rds_mut(7)) { ... return; }". A
text outside of functions (a constant, a member) cannot be had like this, and wants its own build.
"""
import re

import clang_ast
import gen
import sites

KIND = "hand-made"


class Bodies(sites.Finder):
    """The bodies of a file's functions, not what is in them."""

    def early(self, node, body, name):
        where = clang_ast.extent(body, self.file, self.src)
        if not where or not where[2]:
            return
        back = node.get("type", {}).get("qualType", "").split("(")[0].strip()
        leaves = node["kind"] in ("CXXConstructorDecl", "CXXDestructorDecl") or back == "void"
        line = self.src.count(b"\n", 0, where[0]) + 1
        self.sites[where[:2]] = sites.Site(self.file, *where[:2], "body", KIND, "",
                                           "return;" if leaves else "", name, line)

    def visit(self, node, function, statement):
        pass


def bodies(file, root):
    src = (root / file).read_bytes()
    finder = Bodies(file, src)
    for node in clang_ast.tree(file, root):
        finder.walk(node)
    return list(finder.sites.values())


def pattern(text):
    """@text with any white space between its words."""
    return re.compile(r"\s+".join(re.escape(word) for word in text.split()))


def site(mutant, found, root=gen.ROOT):
    """The site of @mutant, whose text is in one of the bodies @found; None: in none of them, or not
    there any more (mutate.py --check tells)."""
    text = (root / mutant.file).read_text()
    place = pattern(mutant.old).search(text)
    if not place:
        return None
    begin, end = (len(text[:at].encode()) for at in place.span())
    around = [b for b in found if b.file == mutant.file and b.begin < begin and end < b.end]
    if not around:
        return None
    body = max(around, key=lambda b: b.end - b.begin)
    src, new = text.encode(), mutant.new.encode()
    broken = src[body.begin:begin] + new + src[end:body.end - 1]
    if re.search(rb"^\s*#", broken, re.M):
        return None
    again = clang_ast.plain(broken.decode()) + f" {body.new} }}"
    at = body.begin + 1
    return body._replace(begin=at, end=at, form="enter", old=mutant.name, new=again)


def all_sites(mutants, cache, root=gen.ROOT):
    """{name: site} of those of @mutants that lie in functions."""
    found = gen.find_all(sorted({m.file for m in mutants}), root, cache, bodies)
    placed = {m.name: site(m, found, root) for m in mutants}
    return {name: s for name, s in placed.items() if s}
