# SPDX-License-Identifier: GPL-2.0
"""The facts that rds_parity tells of a host with two network namespaces, and those that are kept.

parity_facts plays it on mainline's modules and on ours, where there are both. What ours told then
is kept in tests/kernel/kept/, a file for each group, so that kernels without mainline's modules
can tell whether it is still so. What is told now is in build/facts/, too: a change that is meant,
which parity_facts has judged, is copied from there.
"""
import contextlib
import difflib

import guest
import parity
from netns_pair import may_be_called

GROUPS = {
    "poll": ("poll/*", "epoll/*"),
    "waiting": ("waiters/*", "queue/*", "timeout/*"),
    "congestion": ("congestion/*",),
    "signals": ("signal/*",),
    "calls": ("sharing/*", "flags/*", "calls/*"),
    "options": ("options/SOL_RDS*", "options/[el]*", "ioctl*", "socket*"),
    "layer": ("options/SOL_SOCKET*",),  # the kernel's own, so not kept
    "tables": ("info/*",),
    "files": ("files/*",),
}
KEPT = guest.TOP / "tests/kernel/kept"
TOLD = guest.TOP / "build/facts"
HEAD = "# SPDX-License-Identifier: GPL-2.0\n"
NEAR, FAR, SILENT = "10.8.0.1", "10.8.0.2", "10.8.0.77"
NEAR6, FAR6, SILENT6 = "fd00:8::1", "fd00:8::2", "fd00:8::77"
WIRE = fr"""
ends() {{ ip $1 -batch - <<EOF
link set lo up
addr add $2/24 dev cable
addr add $3/64 dev cable nodad
link set cable up
EOF
}}
ip netns add there && ip link add cable address 02:00:00:00:00:01 type veth \
	peer name cable address 02:00:00:00:00:02 netns there &&
ends "" {NEAR} {NEAR6} && ends "-n there" {FAR} {FAR6}"""


@contextlib.contextmanager
def wire(t):
    """The addresses of here, and of a network namespace there."""
    t.a.check(WIRE)
    may_be_called(t, "there")
    yield
    t.a.check("ip netns del there")


def tell(side, t, globs, extra=""):
    only = " ".join(f"--only '{glob}'" for glob in globs)
    with wire(t):
        side.run(t.a, f"{t.prog('rds_parity')} --local {NEAR} --local6 {NEAR6}"
                 f" --netns there --remote {FAR} --remote6 {FAR6} --silent {SILENT}"
                 f" --silent6 {SILENT6} {only} {extra}", 600)


def lines(facts):
    """ITEM/NAME = VALUE, a line each; an item whose facts are all alike has one."""
    items = {}
    for name, value in facts.items():
        item, _, last = name.rpartition("/")
        items.setdefault(item, {})[last] = value.text
    return [f"{item}/{name} = {value}\n" for item, of in items.items()
            for name, value in ({"*": min(of.values())} if len(set(of.values())) == 1 < len(of)
                                else of).items()]


def as_kept(t, group):
    """The facts of this group are those that are kept."""
    side = parity.Side(t, "ours", "ours")
    tell(side, t, GROUPS[group])
    told = [HEAD, *lines(side.facts)]
    TOLD.mkdir(parents=True, exist_ok=True)
    (TOLD / f"{group}.txt").write_text("".join(told))
    file = KEPT / f"{group}.txt"
    kept = file.read_text().splitlines(keepends=True) if file.exists() else []
    other = [line for line in difflib.unified_diff(kept, told, "kept", "told", n=0)
             if line[0] in "+-"]
    assert not other, f"told otherwise than in {file}:\n{''.join(other)}"
    t.note(f"{len(side.facts)} facts")
