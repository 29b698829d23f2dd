# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours with a stream whose connections break, or whose other end boots anew.
See parity.py above this directory."""
import time

import parity
import suite
from suite import test
from traffic import AWAY, A, B, Flows
from vm import VMError

KERNELS = parity.KERNELS
EXTRA = True
LOAD = "--flows 16 --max-payload 8192"
STEADY = "--rate 500 --drain 10"
KILLS = 6
RDS_TCP = "'( sport = :16385 or dport = :16385 )'"
FAULTS = ("lost", "duplicates", "reordered", "corrupted")


def account(side, play):
    """Facts of a stream; mainline's may stop for good."""
    try:
        found = play()
        goes_on = "yes"
    except (AssertionError, VMError) as error:
        if side.kind == "ours" or "stopped" not in str(error) and "rds_flows" not in str(error):
            raise
        found, goes_on = None, "no"
    side.fact("the stream goes on", goes_on)
    for fault in FAULTS:
        side.fact(fault, found[fault] if found else parity.MISSING)


@test(vms=2, modules="mainline", timeout=300)
def connections_break(t):
    """`ss -K` on either host under a stream: what is lost, comes twice or out of order."""
    def stream():
        for machine in t.vms:
            machine.check("modprobe tcp_diag")
        flows = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
        for machine in (t.a, t.b) * (KILLS // 2):
            flows.wait_progress()
            machine.check(f"ss -HtnK {RDS_TCP}")
        flows.wait_progress()
        return flows.stop()
    parity.compare(t, lambda side: account(side, stream))


def restart(t, ours):
    """The receiving host loses its power under a stream, boots, and a new receiver comes."""
    def play(side):
        def stream():
            flows = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
            flows.wait_progress()
            kind = t.b.modules
            t.b.power_cycle()
            t.b.load(suite.where(t.options, kind))
            began = time.monotonic()
            flows.receive("--from-first")
            flows.wait_progress(timeout=AWAY)
            side.less("the stream is back after", round(time.monotonic() - began, 1), "s")
            return flows.stop()
        account(side, stream)
    # TCP tries again after ever longer pauses: in which of them the host comes back is chance.
    parity.compare(t, play, {"the stream is back after": (1, 13)}, ours)


@test(vms=2, modules="mainline", timeout=300)
def receiver_restarts(t):
    """The receiving host of a stream loses power and boots: nothing is missing from then on."""
    restart(t, ("ours", "ours"))


@test(vms=2, modules="mainline", timeout=300)
def receiver_of_mainline_restarts(t):
    """The same, and it is a host with mainline's modules that ours sends to."""
    restart(t, ("ours", "mainline"))


@test(vms=2, modules="mainline", timeout=300)
def receiver_from_mainline_restarts(t):
    """The same, and it is a host with our modules that mainline's send to."""
    restart(t, ("mainline", "ours"))
