#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A terminal's picture has all of its text, in its colours, and is well-formed; README.md's too."""
import pathlib
import unittest
from xml.etree import ElementTree

import terminal_svg

TOP = pathlib.Path(__file__).resolve().parents[2]
TEXT = "{http://www.w3.org/2000/svg}text"


def texts(picture):
    return ["".join(row.itertext()) for row in ElementTree.fromstring(picture).iter(TEXT)]


class Picture(unittest.TestCase):
    def test_all_of_the_text(self):
        lines = ["$ a <b> & 'c'", "", "  \x1b[31mbad\x1b[0m and \x1b[1;32mgood\x1b[0m", "plain"]
        self.assertEqual(texts(terminal_svg.svg(lines, "<t>")),
                         ["$ a <b> & 'c'", "  bad and good", "plain"])

    def test_colours(self):
        picture = terminal_svg.svg(["\x1b[31mbad\x1b[0m x"], "t")
        self.assertIn(f'fill="{terminal_svg.COLOURS["31"]}">bad</tspan> x<', picture)
        self.assertEqual(list(terminal_svg.pieces("a\x1b[0m")), [("a", None)])

    def test_nothing_is_wider_than_the_picture(self):
        root = ElementTree.fromstring(terminal_svg.svg(["x", "y" * 100], "t"))
        self.assertGreaterEqual(int(root.get("width")), 100 * terminal_svg.CELL)

    def test_the_one_of_the_readme(self):
        name = "docs/rdsctl.svg"
        self.assertIn(f"]({name})", (TOP / "README.md").read_text())
        shown = texts((TOP / name).read_text())
        self.assertGreater(sum(line.startswith("$ ") for line in shown), 2)
        self.assertTrue(any("slowest reader" in line for line in shown), shown)


if __name__ == "__main__":
    unittest.main()
