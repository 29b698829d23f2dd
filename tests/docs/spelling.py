#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Words of the documentation are spelt right: README.md, CHANGELOG.md, docs/ with its manual pages.

hunspell's British dictionary knows them, or tests/docs/words.txt does, which has no word that nobody
writes. Code, names with a dot, a slash, an underscore or a digit, and options are no words.
"""
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
OWN = TOP / "tests/docs/words.txt"
CODE = re.compile(r"```.*?```|<!--.*?-->|`[^`]*`", re.S)
NAME = re.compile(r"\S*[_/\\.()=@#\d]\w\S*|\S*\w[_/()=@#\d]\S*|(?<!\w)--?\w[\w-]*|\$\w+|\w+\(\)|\d+'s")


def prose(page):
    """The page's text, each line in its place, without what is no word."""
    if page.suffix == ".md":
        text = CODE.sub(lambda code: "\n" * code[0].count("\n"), page.read_text())
    else:
        text = subprocess.run(["mandoc", "-T", "ascii", page], capture_output=True, text=True,
                              check=True).stdout
        text = re.sub(".\b", "", text)
    return NAME.sub(" ", text)


def unknown(text):
    out = subprocess.run(["hunspell", "-d", "en_GB", "-i", "utf-8", "-l"], input=text,
                         capture_output=True, text=True, check=True).stdout
    return set(out.split())


def main():
    pages = [TOP / "README.md", TOP / "CHANGELOG.md", *sorted((TOP / "docs").rglob("*.md")),
             *sorted((TOP / "docs/man").glob("*.[1-8]"))]
    texts = {page: prose(page) for page in pages}
    own = {line for line in OWN.read_text().splitlines() if line and not line.startswith("#")}
    bad = {w for w in unknown("\n".join(texts.values())) if w.removesuffix("'s") not in own}
    faults = [f"{page.relative_to(TOP)}:{n}: {word}" for word in sorted(bad)
              for page, text in texts.items() for n, line in enumerate(text.splitlines(), 1)
              if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line)]
    said = set(re.findall(r"[\w']+", "\n".join(texts.values())))
    said |= {w.removesuffix("'s") for w in said}
    faults += [f"tests/docs/words.txt: nobody writes {w}" for w in sorted(own - said)]
    print("\n".join(faults) or f"{len(pages)} pages, and {len(own)} words of their own")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
