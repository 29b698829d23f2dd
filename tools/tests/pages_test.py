#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""pages_test.py REPORT_PAGES: pages of rdsctl report are well-formed, and what they link to is there.

Read by a parser of XML, which takes nothing that is not closed, quoted and escaped; and once more by
Python's parser of HTML, for which nothing must look like a script, a picture or an address outside.
"""
import html.parser
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

HTML = "{http://www.w3.org/1999/xhtml}"
NASTY = "<script>alert(1)</script>"


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def faults(name, text):
    root = ElementTree.fromstring(text.partition("\n")[2])
    ids = {e.get("id") for e in root.iter() if e.get("id")}
    for link in root.iter(HTML + "a"):
        if link.get("href", "")[:1] != "#" or link.get("href")[1:] not in ids:
            yield f"{name}: a link to {link.get('href')}"
    seen = Tags(text)
    if bad := seen.tags & {"script", "img", "link", "iframe", "object", "base", "form"}:
        yield f"{name}: has {bad}"
    if bad := {a for a in seen.attributes if a.startswith("on") or a == "src"}:
        yield f"{name}: has attributes {bad}"
    for row in root.iter(HTML + "tr"):
        cells = {e.tag for e in row}
        if len(cells) != 1:
            yield f"{name}: a row of {cells}"
    if name == "hostile" and not any(NASTY in t for t in root.itertext()):
        yield "hostile: the hostile text is not there as text"


def main():
    with tempfile.TemporaryDirectory() as where:
        made = subprocess.run([sys.argv[1], where], check=True, stdout=subprocess.PIPE, text=True)
        found = [fault for name in made.stdout.split()
                 for fault in faults(name, (pathlib.Path(where) / f"{name}.html").read_text())]
    print("\n".join(found) or f"{len(made.stdout.split())} pages are well-formed")
    return bool(found) or len(made.stdout.split()) != 5


if __name__ == "__main__":
    sys.exit(main())
