#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""metrics_test.py METRICS_PAGES: names that the alert rules, the dashboard and docs/metrics.md have are
names that rdsctl metrics exports, of the right kind; each alert is tried firing and silent; the
dashboard is one that Grafana can draw. Needs nothing of Prometheus; see promtool.py for that.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
SHIPPED = TOP / "packaging/metrics"
OTHERS = {"node_textfile_mtime_seconds", "ALERTS"}  # node_exporter's, and Prometheus's own
GROWTH = r"\b(?:rate|increase|irate)\("
WORDS = {"sum", "count", "max", "by", "without", "and", "or", "unless", "on", "ignoring", "instance",
         "state", "side", "peer", "module", "version", "file", "alertname", "alertstate"}


def exported(text):
    """Names and kinds of a text of metrics."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))


def metrics_in(expr):
    """Names in an expression: words that are neither called, nor in quotes, nor labels."""
    bare = re.sub(r'"[^"]*"|\$\w+|\[[^]]*\]', " ", expr)
    return {w for w in re.findall(r"[a-zA-Z_]\w*(?!\w|\s*\()", bare)} - WORDS


def wrong(where, expr, known):
    for name in metrics_in(expr) - OTHERS:
        if name not in known:
            yield f"{where}: nobody exports {name}"
        elif known[name] == "counter" and not re.search(GROWTH + name + r"\b", expr):
            yield f"{where}: {name} is a counter: only its growth says anything"
        elif known[name] == "gauge" and re.search(GROWTH + name + r"\b", expr):
            yield f"{where}: {name} is a gauge: it has no rate"
    if not metrics_in(expr):
        yield f"{where}: no metric is in {expr}"


def expressions(rules):
    """Of a file of rules: each alert's expression, on its line or folded on those below."""
    for alert in rules.split("- alert: ")[1:]:
        found = re.search(r"expr: (?:>-\n)?(.*?)\n\s+(?:for|labels):", alert, re.S)
        yield alert.split()[0], " ".join(found[1].split())


def tried(tests):
    """Alerts that a test wants to fire, and those that it wants to be silent."""
    both = re.findall(r"alertname: (\w+)\n\s+exp_alerts:( \[\])?", tests)
    return {n for n, silent in both if not silent}, {n for n, silent in both if silent}


def rule_faults(known):
    rules = dict(expressions((SHIPPED / "pf_rds.rules.yml").read_text()))
    for alert, expr in rules.items():
        yield from wrong(alert, expr, known)
    for what, names in zip(("firing", "silent"), tried((SHIPPED / "pf_rds.rules.test.yml").read_text())):
        for alert in set(rules) ^ names:
            yield f"{alert}: not tried {what}, or not there"
    if len(rules) < 8:
        yield f"only {len(rules)} rules were found"


def overlap(a, b):
    return (a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
            and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"])


def dashboard_faults(known):
    board = json.loads((SHIPPED / "pf_rds.dashboard.json").read_text())
    panels = board["panels"]
    for member in ("title", "uid", "schemaVersion", "templating"):
        if not board.get(member):
            yield f"the dashboard has no {member}"
    if len({p["id"] for p in panels}) != len(panels) or len(panels) < 10:
        yield "panels have one id, or there are few"
    for at, panel in enumerate(panels):
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24 or any(overlap(place, p["gridPos"]) for p in panels[:at]):
            yield f"{panel['title']}: is on top of another"
        if panel["type"] != "row" and not (panel["targets"] and panel["description"]):
            yield f"{panel['title']}: shows nothing, or does not say what"
        for target in panel.get("targets", ()):
            yield from wrong(panel["title"], target["expr"], known)
    for note in board["annotations"]["list"]:
        yield from wrong(note["name"], note["expr"], known)


def page_faults(known):
    """docs/metrics.md has a row for each gauge, and for nothing else."""
    rows = set(re.findall(r"^\| `(rds_\w+)", (TOP / "docs/metrics.md").read_text(), re.M))
    for name in rows ^ {n for n, kind in known.items() if kind == "gauge"}:
        yield f"docs/metrics.md: {name} is only {'there' if name in rows else 'exported'}"


def main():
    with tempfile.TemporaryDirectory() as where:
        subprocess.run([sys.argv[1], where], check=True, stdout=subprocess.DEVNULL)
        known = exported((pathlib.Path(where) / "all.prom").read_text())
    found = [*rule_faults(known), *dashboard_faults(known), *page_faults(known)]
    print("\n".join(found) or f"{len(known)} metrics; rules, dashboard and page name only these")
    return bool(found) or len(known) < 130


if __name__ == "__main__":
    sys.exit(main())
