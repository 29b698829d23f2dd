# SPDX-License-Identifier: GPL-2.0
"""A terminal's text as an SVG file, with the colours of its escape sequences."""
import re
from xml.sax.saxutils import escape

CELL, LINE, MARGIN = 8.4, 19, 14  # pixels, of a character of 14 px
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341"}
PROMPT, TEXT, GROUND = "#79c0ff", "#e6edf3", "#0d1117"
SEQUENCE = re.compile(r"\x1b\[([\d;]*)m")


def pieces(line):
    """(text, colour) of a line; colour is None where it is the terminal's own."""
    colour, at = None, 0
    for found in SEQUENCE.finditer(line):
        if found.start() > at:
            yield line[at:found.start()], colour
        at = found.end()
        colour = next((COLOURS[c] for c in found[1].split(";") if c in COLOURS), None)
    if at < len(line):
        yield line[at:], colour


def span(text, colour):
    text = escape(text)
    return f'<tspan fill="{colour}">{text}</tspan>' if colour else text


def svg(lines, title):
    """The file's text. A line that begins with "$ " is a command."""
    shown = [[("$ ", PROMPT), (line[2:], None)] if line.startswith("$ ") else list(pieces(line))
             for line in lines]
    width = round(2 * MARGIN + CELL * max(sum(len(text) for text, _ in line) for line in shown))
    height = 2 * MARGIN + LINE * len(shown)
    rows = [f'<text x="{MARGIN}" y="{MARGIN + LINE * n + 14}" xml:space="preserve">'
            + "".join(span(*piece) for piece in line) + "</text>"
            for n, line in enumerate(shown) if line]
    return "\n".join([
        "<!-- SPDX-License-Identifier: GPL-2.0 -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" font-family="ui-monospace, DejaVu Sans Mono, monospace" font-size="14"'
        f' fill="{TEXT}">', f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{GROUND}"/>', *rows, "</svg>", ""])
