# SPDX-License-Identifier: GPL-2.0
"""As ib.queue_pairs_break, with 64 flows each way: for a machine that does nothing else."""
from ib_traffic import MANY, broken_streams
from suite import test

IB = True
EXTRA = True
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]


@test(vms=2, only="ours", timeout=400)
def queue_pairs_break(t):
    """Adapters give connections up under traffic, both ways: nothing lost, all in order."""
    broken_streams(t, MANY, "--rate 300 --drain 60")
