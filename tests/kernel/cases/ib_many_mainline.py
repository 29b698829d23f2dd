# SPDX-License-Identifier: GPL-2.0
"""As ib_many, with mainline's modules at one end."""
from ib_traffic import MANY, broken_streams
from suite import test

IB = True
EXTRA = True
KERNELS = ["6.1", "6.12"]  # see ib_mainline.py


@test(vms=2, modules=("ours", "mainline"), timeout=400)
def breaks_with_mainline_larger(t):
    """Adapters give connections up under traffic, both ways: nothing lost, all in order."""
    broken_streams(t, MANY, "--rate 300 --drain 60")


@test(vms=2, modules=("mainline", "ours"), timeout=400)
def breaks_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    broken_streams(t, MANY, "--rate 300 --drain 60")
