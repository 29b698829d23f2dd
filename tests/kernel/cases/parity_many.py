# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours with more strangers than ours has room for by default. See parity.py
above this directory."""
import parity
from parity_strangers import strangers
from suite import test

KERNELS = parity.KERNELS
EXTRA = True  # minutes
STRANGERS = 5000


@test(vms=2, modules="mainline", timeout=700)
def many_strangers_who_ping(t):
    """5000 addresses ask for one answer and reset; a host never heard of is answered, known ones
    are not refused."""
    parity.compare(t, strangers(t, STRANGERS, "ping"))


@test(vms=2, modules="mainline", timeout=700)
def many_strangers_who_say_nothing(t):
    """5000 addresses connect and reset, as those do who look for open ports."""
    parity.compare(t, strangers(t, STRANGERS))
