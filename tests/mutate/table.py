# SPDX-License-Identifier: GPL-2.0
"""The results of the runs: a summary, verdicts.json, and the table in docs/testing.md."""
import json

KINDS = {"operator": "another operator", "not": "a condition turned round",
         "drop": "a statement left out", "at once": "a function that returns at once",
         "constant": "a constant off by one", "wake": "the other wakeup"}
BY = {"unit": "unit tests", "corners": "corner tests", "between": "tests between two atomics",
      "sim": "stories"}
MUTANTS = "<!-- mutants:begin (written by run.py --write) -->", "<!-- mutants:end -->"
GLUE = "<!-- glue:begin (written by glue.py --write) -->", "<!-- glue:end -->"


def is_hole(row):
    """Nobody noticed, and nobody says why that is right."""
    return not row["by"] and not row["reason"]


def line(row):
    why = row["reason"] or (f"{row['units']} unit tests reach it" if row["reached"] else
                            "nothing reaches it")
    return f"{row['id']}\t{row['file']}:{row['line']} {row['function']}: {row['text']} ({why})"


def counts(rows):
    """[tried, noticed by each of BY, explained, survived]"""
    by = [sum(r["by"] == b for r in rows) for b in BY]
    holes = sum(is_hole(r) for r in rows)
    return [len(rows), *by, len(rows) - sum(by) - holes, holes]


def rate(rows):
    """Per cent of those that can be noticed."""
    tried, *by, explained, _ = counts(rows)
    return 100 * sum(by) / max(1, tried - explained)


def summary(rows):
    tried, *by, explained, holes = counts(rows)
    unseen = sum(not r["reached"] for r in rows)
    noticed = ", ".join(f"{n} by {what}" for n, what in zip(by, BY.values()))
    return (f"{tried} mutants: noticed {noticed}; {explained} explained, {holes} survived "
            f"({unseen} reached by nothing): {rate(rows):.1f} %")


def key(row):
    return row["file"], row["function"], row["text"]


def remember(path, rows, current, commit):
    """Adds @rows to what earlier runs said of mutants that are still there."""
    known = json.loads(path.read_text()) if path.exists() else []
    tried = {key(r) for r in rows}
    known = [r for r in known if key(r) in current and key(r) not in tried]
    known += [{**r, "commit": commit} for r in rows]
    path.write_text(json.dumps(known, indent=1))
    return known


def write(doc, rows):
    heads = ["tried", *BY.values(), "explained", "survived"]
    lines = [f"Commits {', '.join(sorted({r['commit'] for r in rows}))}: "
             f"{rate(rows):.1f} % noticed.", "", f"| mutant | {' | '.join(heads)} |",
             "|---|" + "--:|" * len(heads)]
    for kind, what in KINDS.items():
        own = [r for r in rows if r["kind"] == kind]
        if own:
            lines.append(f"| {what} | {' | '.join(map(str, counts(own)))} |")
    lines.append(f"| all | {' | '.join(map(str, counts(rows)))} |")
    between(doc, MUTANTS, "\n".join(lines))


def between(doc, marks, what):
    """@what in the place of all that stands between @marks."""
    text = doc.read_text()
    begin, end = marks
    doc.write_text(text[:text.index(begin)] + f"{begin}\n\n{what}\n\n{end}" +
                   text[text.index(end) + len(end):])


def glue_summary(rows):
    explained = sum(bool(r["reason"]) and not r["who"] for r in rows)
    noticed = sum(bool(r["who"]) for r in rows)
    return (f"{len(rows)} mutants of the glue: {noticed} noticed, {explained} explained, "
            f"{len(rows) - noticed - explained} survived: "
            f"{100 * noticed / max(1, len(rows) - explained):.0f} %")


def write_glue(doc, said):
    between(doc, GLUE, said)
