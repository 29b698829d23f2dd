# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours with one reader that has stopped: others go on, nothing is lost. See
parity.py above this directory."""
import parity
from parity_flood import delayed, flood
from suite import test
from traffic import A, B

KERNELS = parity.KERNELS
# Bounded: what the guest has to remember besides, and within one host what the senders' own buffers
# may hold, 40 of 104 KiB in pages that are not full.
MEMORY = {"memory at the receiver at*": (1.2, 16000), "memory at the receiver": (1.2, 4000)}


def over_tcp(t):
    def play(side):
        with delayed(t.a, "delay 20ms"), delayed(t.b, "delay 20ms"):
            flood(side, t.a, A, t.b, B)
    return play


@test(vms=2, modules="mainline", timeout=400, extra=True)
def stopped_reader(t):
    """40 sockets flood a reader over TCP that has stopped; another pair of these hosts talks on."""
    parity.compare(t, over_tcp(t), MEMORY)


@test(vms=2, modules="mainline", timeout=400, extra=True)
def stopped_reader_at_mainline(t):
    """The same, ours floods a reader at a host with mainline's modules."""
    parity.compare(t, over_tcp(t), MEMORY, ours=("ours", "mainline"))


@test(vms=2, modules="mainline", timeout=400, extra=True)
def stopped_reader_of_mainline(t):
    """The same, mainline's modules flood a reader of ours."""
    parity.compare(t, over_tcp(t), MEMORY, ours=("mainline", "ours"))


@test(vms=2, modules="mainline", timeout=400, extra=True)
def stopped_reader_here(t):
    """The same within one host, by 127.0.0.1 and by the host's own address. Its reader has a small
    buffer only when it is full: senders of one host are told too early to overrun it."""
    def play(side):
        for address in ("127.0.0.1", A):
            flood(side, t.a, address, t.a, address, f" at {address}", "full")
    parity.compare(t, play, MEMORY)
