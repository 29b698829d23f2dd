# SPDX-License-Identifier: GPL-2.0
"""Where a file can be broken, and how: the mutants that its syntax tree offers.

Only what runs is broken: the bodies of functions. Expressions that the compiler must know
(constexpr, static assertions, labels of a switch, arguments of templates, bounds of arrays) and
default arguments stay.
"""
import re
from typing import NamedTuple

import clang_ast

SWAPS = {"<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="],
         "!=": ["=="], "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"], "+=": ["-="],
         "-=": ["+="]}
WAKES = {"RDS_WAKE_READ": "RDS_WAKE_WRITE", "RDS_WAKE_WRITE": "RDS_WAKE_READ"}
SKIPPED = {"ConstantExpr", "StaticAssertDecl", "EnumDecl", "FieldDecl", "ParmVarDecl",
           "TemplateArgument", "CXXDefaultArgExpr", "CXXDefaultInitExpr", "CXXNoexceptExpr",
           "UnaryExprOrTypeTraitExpr", "NonTypeTemplateParmDecl", "TypeAliasDecl", "TypedefDecl",
           "ClassTemplateSpecializationDecl", "ClassTemplatePartialSpecializationDecl"}
FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl",
             "CXXConversionDecl"}
# The kinds of statements that may be left out.
DROPPED = {"CallExpr", "CXXMemberCallExpr", "CXXOperatorCallExpr", "CompoundAssignOperator",
           "BinaryOperator", "UnaryOperator", "ExprWithCleanups"}
JUMPS = {"ReturnStmt": "return", "BreakStmt": "break", "ContinueStmt": "continue"}
ASKED = {"CallExpr", "CXXMemberCallExpr", "DeclRefExpr", "MemberExpr"}
CASTS = {"ImplicitCastExpr", "ExprWithCleanups"}
# A body that says what a function says that returns at once.
NOTHING = re.compile(r"\{\s*return (?:0|false|nullptr|\{\});\s*(?:/\*.*\*/)?\s*\}")


class Site(NamedTuple):
    file: str
    begin: int
    end: int
    form: str  # expr: another expression; drop: not at all; jump: not left; enter: left at once
    kind: str
    old: str
    new: str
    function: str
    line: int
    around: str = ""  # the line of a constant: one looks like the other

    @property
    def key(self):
        """The name that a list has for it: it stays when lines move."""
        return self.file, self.function, self.text

    @property
    def text(self):
        return f"{self.kind}: {self.old}" + (f" => {self.new}" if self.new else "") + \
            (f" in {self.around}" if self.around else "")


def body_places(node):
    """Which of the children of @node are statements."""
    inner, kind = node.get("inner", []), node["kind"]
    if kind == "CompoundStmt":
        return set(range(len(inner)))
    if kind == "IfStmt":
        return set(range(len(inner) - 1 - bool(node.get("hasElse")), len(inner)))
    if kind in ("WhileStmt", "ForStmt", "CXXForRangeStmt", "CaseStmt", "DefaultStmt", "LabelStmt"):
        return {len(inner) - 1}
    return {0} if kind == "DoStmt" else set()


def is_const(node):
    return node.get("constexpr") or node.get("storageClass") == "static" and \
        node["kind"] == "VarDecl"


class Finder:
    def __init__(self, file, src):
        self.file, self.src = file, src
        self.sites = {}

    def add(self, where, form, kind, new, function, old=None):
        begin, end = where[:2]
        old = clang_ast.plain(self.text(begin, end)) if old is None else old
        line = self.src.count(b"\n", 0, begin) + 1
        around = ""
        if kind == "constant":
            first, last = self.src.rfind(b"\n", 0, begin) + 1, self.src.find(b"\n", end)
            around = clang_ast.plain(self.text(first, last))
        site = Site(self.file, begin, end, form, kind, old, clang_ast.plain(new), function, line,
                    around)
        self.sites.setdefault((begin, end, form, site.new), site)

    def text(self, begin, end):
        return self.src[begin:end].decode()

    def walk(self, node, function=None, scope=(), statement=False):
        kind = node.get("kind")
        if not kind or kind in SKIPPED or kind.endswith("Attr") or is_const(node) or \
                node.get("isImplicit"):
            return
        if kind in FUNCTIONS:
            self.function(node, scope)
            return
        if kind in ("CXXRecordDecl", "NamespaceDecl") and node.get("name"):
            scope = (*scope, node["name"]) if kind == "CXXRecordDecl" else scope
        if function:
            self.visit(node, function, statement)
        places = body_places(node)
        inner = node.get("inner", [])
        if kind == "FunctionTemplateDecl":  # the others are instances
            inner = [n for n in inner if n.get("kind") in FUNCTIONS][:1]
        for i, child in enumerate(inner):
            if kind == "LambdaExpr" and child.get("kind") == "CXXRecordDecl":
                continue
            self.walk(child, function, scope, i in places)

    def function(self, node, scope):
        name = node.get("name", "?")
        where = clang_ast.place(node["loc"], self.file, self.src) if node.get("loc") else None
        if where:  # Class:: where it is defined outside of the class
            before = re.search(r"((?:\w+::)+)~?$", self.text(max(0, where[0] - 80), where[0]))
            name = (before[1] if before else "".join(s + "::" for s in scope)) + name
        for child in node.get("inner", []):
            if child.get("kind") == "CompoundStmt":
                self.early(node, child, name)
                self.walk(child, name, scope)
            elif child.get("kind") == "CXXCtorInitializer":
                self.walk(child, name, scope)

    def early(self, node, body, name):
        """A function that returns at once."""
        where = clang_ast.extent(body, self.file, self.src)
        back = node.get("type", {}).get("qualType", "").split("(")[0].strip()
        if not where or not where[2] or not body.get("inner") or back.endswith("&") or \
                back == "auto" or node["kind"] in ("CXXConstructorDecl", "CXXDestructorDecl"):
            return
        if NOTHING.fullmatch(self.text(*where[:2])):
            return
        at = where[0] + 1
        self.add((at, at), "enter", "at once", "return;" if back == "void" else "return {};", name,
                 old="")

    def visit(self, node, function, statement):
        where = clang_ast.extent(node, self.file, self.src)
        if not where:
            return
        kind = node["kind"]
        if statement and kind in DROPPED:
            self.add(where, "drop", "drop", "", function)
        if statement and JUMPS.get(kind) == self.text(*where[:2]):
            self.add(where, "jump", "drop", "", function)
        if kind in ("BinaryOperator", "CompoundAssignOperator"):
            self.binary(node, where, function)
        elif kind == "UnaryOperator" and node.get("opcode") == "!":
            if self.text(where[0], where[0] + 1) == "!":
                self.add(where, "expr", "not", f"(bool)({self.text(where[0] + 1, where[1])})",
                         function)
        elif kind == "IfStmt":
            self.condition(node, function)
        elif where[2]:
            self.leaf(node, where, function)

    def binary(self, node, where, function):
        """The operator is what lies between its sides."""
        sides = [clang_ast.extent(n, self.file, self.src) for n in node.get("inner", [])]
        if len(sides) != 2 or not all(sides) or sides[0][1] > sides[1][0]:
            return
        between = self.text(sides[0][1], sides[1][0])
        op = node.get("opcode")
        if clang_ast.plain(between) != op or (where[0], where[1]) != (sides[0][0], sides[1][1]):
            return
        for other in SWAPS.get(op, []):
            self.add(where, "expr", "operator", self.text(where[0], sides[0][1]) + f" {other} " +
                     self.text(sides[1][0], where[1]), function)

    def condition(self, node, function):
        if node.get("hasVar") or node.get("hasInit") or not node.get("inner"):
            return
        asked = node["inner"][0]
        while asked.get("kind") in CASTS and asked.get("inner"):
            asked = asked["inner"][0]
        where = clang_ast.extent(asked, self.file, self.src)
        if asked.get("kind") in ASKED and where and where[2]:
            self.add(where, "expr", "not", f"!({self.text(*where[:2])})", function)

    def leaf(self, node, where, function):
        kind, text = node["kind"], self.text(*where[:2])
        if kind == "IntegerLiteral" and re.fullmatch(r"[0-9][0-9a-fA-FxXuUlL']*", text):
            self.add(where, "expr", "constant", f"{text} + 1", function)
            if int(node.get("value", 0)):
                self.add(where, "expr", "constant", f"{text} - 1", function)
        elif kind == "CXXBoolLiteralExpr" and text in ("true", "false"):
            self.add(where, "expr", "constant", {"true": "false", "false": "true"}[text], function)
        elif kind == "DeclRefExpr" and text in WAKES:
            self.add(where, "expr", "wake", WAKES[text], function)


def find(file, root, nodes=None):
    """Every site of @file, in the order of the text; @nodes: its declarations, if known."""
    src = (root / file).read_bytes()
    finder = Finder(file, src)
    for node in nodes if nodes is not None else clang_ast.tree(file, root):
        finder.walk(node)
    return sorted(finder.sites.values(), key=lambda s: (s.begin, -s.end, s.form, s.new))
