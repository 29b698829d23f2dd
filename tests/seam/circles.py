#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""No circle of includes among the units of net/rds, nor among those of net/linux and the transports.

A unit is a stem: path.h and path.cc are one, and so is every source that only adds to the class of
another's header (PARTS), which has no header of its own. An include of either file counts for the
unit. So the units have an order from bottom to top, and one speaks upwards only through what the
lower one declares. docs/rooms.md has that order for net/rds: each unit is on one floor there, and
includes nothing of a higher one.

--table prints that order, one line a floor.
"""
import argparse
import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
HOUSES = {
    "net/rds": ("net/rds/*", "net/rds/*/*"),
    "net/linux and transports": ("net/linux/*", "transports/*/*"),
}
# Sources without header, and the unit whose class they add to.
PARTS = {
    "net/rds/path/path_*": "net/rds/path/path",
    "net/rds/conn/conn_*": "net/rds/conn/conn_table",
    "net/rds/cong_*": "net/rds/cong",
    "net/rds/socket/socket_*": "net/rds/socket/socket",
    "net/rds/rdma_op": "net/rds/rdma",
    "transports/ib/ib_link_recv": "transports/ib/ib_link",
    "transports/ib/ib_link_send": "transports/ib/ib_link",
}
# (from, to): why. The list only shrinks: an entry that nothing needs any more is a fault.
EXCEPTIONS = {}
PAGE = "docs/rooms.md"
FLOOR = re.compile(r"^\| [\w ]+ \| ([\w ]+) \| .* \|$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SOURCES = (".h", ".c", ".cc")


def load(patterns):
    """{path: text} of the files of a house."""
    return {str(path.relative_to(TOP)): path.read_text() for pattern in patterns
            for path in sorted(TOP.glob(pattern))
            if path.suffix in SOURCES and not path.name.endswith(".mod.c")}


def unit_of(path, headers):
    stem = pathlib.PurePath(path).with_suffix("")
    if str(stem) not in headers:
        for pattern, whole in PARTS.items():
            if stem.match(pattern):
                return whole
    return str(stem)


def resolve(path, name, files):
    """The file of the house that @path means by @name."""
    spots = [pathlib.PurePath(path).parent / name, pathlib.PurePath(name)]
    for spot in spots:
        parts = []
        for part in spot.parts:
            parts = parts[:-1] if part == ".." else parts + [part]
        if "/".join(parts) in files:
            return "/".join(parts)
    return None


def arrows(files):
    """{unit: {unit that it includes: [lines]}}"""
    headers = {path[:-2] for path in files if path.endswith(".h")}
    found = {unit_of(path, headers): {} for path in files}
    for path, text in files.items():
        mine = unit_of(path, headers)
        for number, line in enumerate(text.splitlines(), 1):
            name = INCLUDE.match(line)
            target = name and resolve(path, name.group(1), files)
            other = target and unit_of(target, headers)
            if other and other != mine:
                found[mine].setdefault(other, []).append(f'{path}:{number}: #include "{name.group(1)}"')
    return found


def reach(graph, start):
    """{unit: the one before it} of all that @start can reach, by the shortest way."""
    before, queue = {}, collections.deque([start])
    while queue:
        unit = queue.popleft()
        for other in graph[unit]:
            if other not in before:
                before[other] = unit
                queue.append(other)
    return before


def circles(graph):
    """[(units, arrows of one way round)] for each set of units that reach each other."""
    seen, found = set(), []
    for unit in sorted(graph):
        before = reach(graph, unit)
        if unit in seen or unit not in before:
            continue
        units = {unit} | {other for other in before if unit in reach(graph, other)}
        seen |= units
        way, at = [], unit
        while not way or at != unit:
            way.append((before[at], at))
            at = before[at]
        found.append((sorted(units), way[::-1]))
    return found


def floors(graph):
    """The units from bottom to top; of a graph without circles."""
    left, placed, rows = dict(graph), set(), []
    while left:
        row = sorted(unit for unit, others in left.items() if set(others) <= placed)
        rows.append(row)
        placed |= set(row)
        left = {unit: others for unit, others in left.items() if unit not in placed}
    return rows


def by_the_page(graph, text):
    """Faults of net/rds against the order that the page has."""
    floor, faults = {}, []
    for number, row in enumerate(FLOOR.findall(text.split("## Upwards")[0])[1:]):
        for name in row.split():
            if name in floor:
                faults.append(f"{PAGE}: {name} is on two floors")
            floor[name] = number
    names = {pathlib.PurePath(unit).name: unit for unit in graph}
    faults += [f"{PAGE}: {name} is missing" for name in sorted(names.keys() - floor.keys())]
    faults += [f"{PAGE}: there is no {name}" for name in sorted(floor.keys() - names.keys())]
    for name, unit in sorted(names.items()):
        for other, lines in sorted(graph[unit].items()):
            if floor.get(pathlib.PurePath(other).name, 0) > floor.get(name, len(floor)):
                faults += [f"{PAGE}: upwards: {line}" for line in lines]
    return faults


def check(files, exceptions):
    graph = arrows(files)
    faults = [f"{a} does not include {b} any more: off the list of exceptions with it"
              for a, b in exceptions if a in graph and b not in graph[a]]
    for a, b in exceptions:
        graph.get(a, {}).pop(b, None)
    for units, way in circles(graph):
        faults.append(f"a circle of {len(units)}: {' '.join(units)}")
        faults += [f"    {line}" for a, b in way for line in graph[a][b]]
    return graph, faults


def self_test():
    """A planted circle is found, and nothing else."""
    good = {"net/rds/low.h": "", "net/rds/low.cc": '#include "low.h"\n',
            "net/rds/high.h": '#include "low.h"\n', "net/rds/path/path.h": '#include "../low.h"\n',
            "net/rds/path/path_more.cc": '#include "path.h"\n'}
    plants = {
        "by a source": {"net/rds/low.cc": '#include "low.h"\n#include "high.h"\n'},
        "by a header": {"net/rds/low.h": '#include "net/rds/high.h"\n'},
        "by a part": {"net/rds/high.h": '#include "path/path.h"\n',
                      "net/rds/path/path_more.cc": '# include "../high.h"\n'},
    }
    faults = [f"self-test: {line}" for line in check(good, {})[1]]
    for what, plant in plants.items():
        said = check(good | plant, {})[1]
        if not said or not said[0].startswith("a circle of 2:") or len(said) != 3:
            faults.append(f"self-test: a circle {what} was not found: {said}")
    planted = good | plants["by a source"]
    if check(planted, {("net/rds/low", "net/rds/high"): "test"})[1]:
        faults.append("self-test: an exception does not count")
    if not check(good, {("net/rds/low", "net/rds/high"): "test"})[1]:
        faults.append("self-test: an exception that nothing needs does not show")
    page = "| floor | rooms | what |\n|---|---|---|\n| a | low path | . |\n| b | high | . |\n"
    if by_the_page(arrows(good), page):
        faults.append("self-test: a page that is right is refused")
    for wrong in (page.replace("low path", "path").replace("high", "high low"),
                  page.replace("low path", "low"), page.replace("high", "high path"),
                  page.replace("high", "high none")):
        if len(by_the_page(arrows(good), wrong)) < 1:
            faults.append("self-test: a page that is wrong passes")
    return faults


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--table", action="store_true")
    args = ap.parse_args()
    faults = self_test()
    for house, patterns in HOUSES.items():
        files = load(patterns)
        graph, bad = check(files, EXCEPTIONS)
        if house == "net/rds":
            bad += by_the_page(graph, (TOP / PAGE).read_text())
        if len(graph) < 10 or not any(graph.values()):
            bad.append(f"{house}: nothing was found to check")
        print(f"{house}: {len(files)} files, {len(graph)} units, "
              f"{sum(map(len, graph.values()))} arrows")
        if args.table and not bad:
            for number, row in enumerate(floors(graph), 1):
                print(f"{number:3} {' '.join(pathlib.PurePath(unit).name for unit in row)}")
        faults += bad
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
