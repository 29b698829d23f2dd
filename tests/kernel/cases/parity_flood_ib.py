# SPDX-License-Identifier: GPL-2.0
"""The same as in parity_flood.py, over soft-RoCE."""
import parity
from parity_flood import flood
from suite import test
from traffic import A, B

KERNELS = parity.KERNELS
IB = True
MEM = 1024
MEMORY = {"memory at the receiver*": (1.2, 8000)}


@test(vms=2, modules="mainline", timeout=500, extra=True)
def stopped_reader_rdma(t):
    """40 sockets flood a reader over queue pairs that has stopped; another pair talks on."""
    def play(side):
        flood(side, t.a, A, t.b, B)
    parity.compare(t, play, MEMORY)
