#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The generic netlink families are the same in their specifications, in the headers, and in rdsctl.

Of each docs/netlink/*.yaml: its attributes and operations are those of the header that it names, in
the same order, and so are the entries of enums whose count the header has. The JSON of rdsctl has
the specification's names: tools/ctl/state.cc has every attribute of docs/netlink/rds.yaml by its
name, and its words those of the enums. tools/ctl/doctor_drops.cc names counters that exist, and all that
tell of trouble.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
DROPS = "tools/ctl/doctor_drops.cc"
# Trouble by its name or an alert, and yet without a row of doctor's: why.
ROWLESS = {
    "send_drop_acked": "mainline's: always 0",
    "ib_tx_stalled": "mainline's: always 0",
    "tcp_sndbuf_full": "how a fast sender is slowed down: nothing is wrong",
    "tcp_listen_failed": "doctor.cc has a check of its own for it",
    "ib_tx_ring_full": "how a fast sender is slowed down: nothing is wrong",
    "conn_reset": "the alert is of many in a short time, and doctor knows of no time",
}


def enums(header):
    """Names of each enum of a header, without UNSPEC and what only counts."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    for body in re.findall(r"enum[\w\s]*\{(.*?)\}", text, re.S):
        names = [part.split("=")[0].strip() for part in body.split(",")]
        yield [n for n in names if n and not n.endswith(("UNSPEC", "_MAX"))]


def prefixed(names, prefix):
    return [n for n in names if n.startswith(prefix)]


def sets(spec):
    """(prefix, names) of each attribute set, and of the operations."""
    part = spec.partition("\nattribute-sets:")[2].partition("\noperations:")[0]
    for piece in part.split("\n    name-prefix: ")[1:]:
        prefix, _, rest = piece.partition("\n")
        rest = rest.split("\n  -\n")[0]
        yield prefix, re.findall(r"^        name: ([\w-]+)$", rest, re.M)
    part = spec.partition("\noperations:")[2].partition("\nmcast-groups:")[0]
    yield (re.search(r"name-prefix: ([\w-]+)", part)[1],
           re.findall(r"^      name: ([\w-]+)$", part, re.M))


def constant(prefix, name):
    return (prefix + name).replace("-", "_").upper()


def header_faults(path):
    spec = path.read_text()
    name = re.search(r"^uapi-header: (\S+)$", spec, re.M)[1]
    known = [n for names in enums((TOP / "include/uapi" / name).read_text()) for n in names]
    checked = 0
    for prefix, names in sets(spec):
        wanted = [constant(prefix, n) for n in names]
        checked += len(wanted)
        has = prefixed(known, constant(prefix, ""))
        if has != wanted:
            yield f"{path.name}: {prefix}*: {wanted}, but the header has {has}"
    if not checked:
        yield f"{path.name}: no attribute was found"


def words(spec):
    return {name: re.findall(r"[\w-]+", entries) for name, entries in
            re.findall(r"name: ([\w-]+)\n    type: enum\n(?:    doc: .*\n)?    entries: \[(.*?)\]",
                       spec)}


def tool_faults():
    spec = (TOP / "docs/netlink/rds.yaml").read_text()
    tool = (TOP / "tools/ctl/state.cc").read_text()
    fields = dict(re.findall(r"\{(RDS_\w+), +\"([\w-]+)\"", tool))
    for prefix, names in sets(spec):
        for name in names:
            if name != "pad" and "cmd" not in prefix and fields.get(constant(prefix, name)) != name:
                yield f"tools/ctl/state.cc: {constant(prefix, name)} is not \"{name}\""
    for table, enum in (("state", "path-state"), ("news", "path-news"), ("method", "method"),
                        ("peer", "path-peer"), ("transport", "transport")):
        has = re.search(rf"{table}_words\[\] = \{{(.*?)\}}", tool, re.S)[1]
        if re.findall(r'"([\w-]+)"', has) != words(spec)[enum]:
            yield f"tools/ctl/state.cc: the words of {enum} are not those of the specification"


def counters():
    """Names of all counters, as tools have them."""
    known = re.findall(r"X\((\w+)\)", (TOP / "net/rds/stats.h").read_text())
    for kind in ("tcp", "ib"):
        for header in (TOP / f"transports/{kind}").glob("*.h"):
            listed = re.findall(r"^\s+X\((\w+)\)", header.read_text(), re.M)
            known += [f"{kind}_{n}" for n in listed]
    return known


def troubles(known):
    """Those that rdsctl show lists, and those that an alert is of."""
    view = (TOP / "tools/ctl/view.cc").read_text()
    body = re.search(r"\nbool is_trouble\(.*?\n\}", view, re.S)[0]
    parts = re.findall(r'"(\w+)"', body)
    rules = (TOP / "packaging/metrics/pf_rds.rules.yml").read_text()
    alerts = set(re.findall(r"increase\(rds_(\w+)_total", rules))
    if len(parts) < 5 or len(alerts) < 5:
        return None
    return [n for n in known if n in alerts or any(part in n for part in parts)]


def counter_faults():
    known = counters()
    doctor = (TOP / DROPS).read_text()
    named = re.findall(r'^\t\{"(\w+)",\s+(?:true|false),', doctor, re.M)
    wanted = troubles(known)
    yield from (f"{DROPS}: there is no counter {n}" for n in named if n not in known)
    if len(named) < 5 or not wanted:
        yield f"{DROPS}: no counters were found"
        return
    yield from (f"{DROPS}: {n} is trouble, and has no row"
                for n in wanted if n not in named and n not in ROWLESS)
    yield from (f"tests/docs/netlink.py: {n} needs no exception"
                for n in ROWLESS if n in named or n not in wanted)


def main():
    faults = [fault for path in sorted((TOP / "docs/netlink").glob("*.yaml"))
              for fault in header_faults(path)]
    faults += [*tool_faults(), *counter_faults()]
    print("\n".join(faults) or "the families are as they are specified")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
