# SPDX-License-Identifier: GPL-2.0
"""Frames on the wire, well and badly formed, from a peer without RDS. The same against mainline's
modules, to show that the peer speaks what is spoken there. faults.py holds what ours must count."""
import json

from suite import test
from traffic import A, B

# What mainline does after these: the rest of the message never comes, so it waits.
WAITS = {"too_long", "huge", "huge_map", "half_header", "half_payload", "half_map", "http",
         "random"}
# Every port of the peer is congested now, so the answer to a ping stays behind.
HELD = {"map_ones"}


@test(vms=2, modules=("none", "mainline"), timeout=200)
def mainline_understands_the_peer(t):
    """54 frames to mainline's modules: each ping after one is answered, or it waits for more."""
    out = t.a.check(f"{t.prog('rds_peer')} --connect {B} --each --wait 2000"
                    " --except rdma_dest", 180)  # its reader would hit a BUG
    seen = {line["frame"]: line for line in map(json.loads, out.splitlines())}
    for name, line in seen.items():
        assert line["recovers"], line
        wanted = "silent" if name in WAITS | HELD else "pong"
        assert line["outcome"] == wanted, line
    assert WAITS | HELD < set(seen), seen.keys()
    t.note(f"{len(seen)} frames")


def calls_back(t):
    """The peer has the larger address: it knocks, is called back, and pings over that."""
    said = t.b.check(f"{t.prog('rds_peer')} --listen {B} --knock {A} --frame map_zero"
                     " --frame ping --expect '0->7' --wait 20000", 60)
    frames = [json.loads(line) for line in said.splitlines()]
    assert frames[0]["flags"] == 1 and frames[0]["congested_ports"] == 0, frames[0]
    assert frames[-1]["state"] == "open", frames[-1]


@test(vms=2, modules=("ours", "none"))
def ours_calls_back(t):
    """A connection from the larger address is a knock: ours hangs up and connects itself."""
    calls_back(t)


@test(vms=2, modules=("mainline", "none"))
def mainline_calls_back(t):
    """As mainline does."""
    calls_back(t)
