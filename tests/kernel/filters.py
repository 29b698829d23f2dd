# SPDX-License-Identifier: GPL-2.0
"""Packet filters that a test puts before a guest, and takes away, while there is traffic.

The kernel's first chain of a hook patches code that every packet runs through, and so does taking
away the last one. A real processor stands that. The emulator with two of them once let one spin in
ip_local_deliver for 21 s (faults.resets_are_injected, RCU stall). So an empty chain stands at the
hook from before the traffic until after it, and those that come and go patch nothing.
"""
import contextlib

from vm import VMError

CHAIN = "{ type filter hook input priority 0; }"


@contextlib.contextmanager
def ready(*machines, modules=""):
    """Between this and its end, incoming() is quick and patches nothing."""
    for machine in machines:
        machine.check(f"modprobe -a nf_tables {modules} && "
                      f"nft 'add table inet stands; add chain inet stands in {CHAIN}'")
    try:
        yield
    finally:
        for machine in machines:
            with contextlib.suppress(VMError):  # that it is dead, its test has told
                machine.run("nft delete table inet stands")


@contextlib.contextmanager
def incoming(machine, *rules):
    """Packets that come in have to pass these rules. A test that fails under them leaves them: its
    guests are thrown away."""
    text = "".join(f"; add rule inet cut in {rule}" for rule in rules)
    machine.check(f"nft 'add table inet cut; add chain inet cut in {CHAIN}{text}'")
    yield
    machine.check("nft delete table inet cut")
