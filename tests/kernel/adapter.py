# SPDX-License-Identifier: GPL-2.0
"""An adapter that is not what software is: rds_strict.ko (tests/strict/strict.h) between the
guest's adapter and our modules. It warns in the kernel's log of what no adapter forgives."""
import contextlib

import suite
from traffic import counters

MODULE = "rds_strict"
# Packets of one burst are lost here and there on the guests' network.
PATIENT = "rds_ib_retry_count=6"


@contextlib.contextmanager
def adapters(t, profile="", machines=None):
    """Each guest gets one of this family, and our modules behind it."""
    machines = machines or (t.a, t.b)
    loading = [m.spawn(f"/run/busybox insmod {t.modules_dir.resolve()}/{MODULE}.ko"
                       f" profile={profile} && "
                       + m.load_command(suite.where(t.options, "ours"))) for m in machines]
    for command in loading:
        command.check()
    yield
    for machine in machines:
        machine.unload()
        machine.check(f"/run/busybox rmmod {MODULE}")


def set_fault(machine, name, value, module=MODULE):
    machine.check(f"echo '{value}' >/sys/module/{module}/parameters/{name}")


def fault(machine, name, module=MODULE):
    return machine.check(f"cat /sys/module/{module}/parameters/{name}").strip()


@contextlib.contextmanager
def faults(*machines, module=MODULE, **values):
    """While it lasts the parameters have these values; they are 0 by themselves."""
    for machine in machines:
        for name, value in values.items():
            set_fault(machine, name, value, module)
    yield
    for machine in machines:
        for name in values:
            set_fault(machine, name, 0, module)


class Resets:
    """Connections that ended on either host since this was made."""

    def __init__(self, t):
        self.t, self.before = t, self.now(t)

    @staticmethod
    def now(t):
        return [counters(t, machine)["conn_reset"] for machine in (t.a, t.b)]

    def none(self):
        now = self.now(self.t)
        assert now == self.before, f"connections ended: {self.before} -> {now}"
