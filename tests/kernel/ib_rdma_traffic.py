# SPDX-License-Identifier: GPL-2.0
"""Parts that tests of RDMA share: memory on one host, operations from the other."""
import contextlib
import json
import time

import judges
from tap import tap
from traffic import counters, ping
from vm import CommandTimeout


def state(t, machine):
    return machine.run(f"{t.tool('rds-info')} -c -p -s -r -I | grep -v ' 0$'")[1]


class Owner:
    """rds_rdma's owner of memory on one host; the other one is told where it is."""

    def __init__(self, t, machine, at, peer, options="", both=""):
        """`both`: options of both programs, not only of the one that asks."""
        self.t, self.machine = t, machine
        self.where = f"--bind {peer} --to {at} --timeout {int(t.seconds(60))} {options} {both}"
        self.process = machine.spawn(f"{t.prog('rds_rdma')} own --bind {at} --to {peer}"
                                     f" --timeout {int(t.seconds(60))} {both}")
        self.process.wait_output("^ready$")

    def tap(self, machine, what):
        """The checks, or errors, from the other host; the owner ends with them."""
        tap(self.t, machine, f"{self.t.prog('rds_rdma')} {what} {self.where}",
            self.t.seconds(100))
        self.process.check(30)


class Storm:
    """Operations from `machine` on the memory of an owner until stop(), and their account."""

    def __init__(self, t, machine, at, owner, owner_at, options=""):
        self.t, self.machine = t, machine
        self.owner = Owner(t, owner, owner_at, at, options)
        self.process = machine.spawn(f"nice -n 15 {t.prog('rds_rdma')} storm {self.owner.where}",
                                     stdin=True)
        self.process.wait_output("^storming$")
        self.progress, self.resets = 0, self.ended()

    def ended(self):
        """Connections that ended, as the host counts that asks."""
        return counters(self.t, self.machine)["conn_reset"]

    def done(self):
        """Pages that were pinned: a count of what was begun."""
        return pins(self.machine)[0]

    def wait_progress(self, pages=300):
        # rdma_cm may take a minute to end a connection before the next can be made.
        wanted, end = self.done() + pages, time.monotonic() + self.t.seconds(100)
        while self.done() < wanted:
            assert not self.process.done, self.process.output + self.state()
            assert time.monotonic() < end, "the operations have stopped:\n" + self.state()
        self.progress += 1

    def state(self):
        """For whoever has to find out why."""
        return state(self.t, self.machine) + state(self.t, self.owner.machine)

    def account(self):
        """It ends; what it says."""
        self.process.write("", close=True)
        said = self.process.check(self.t.seconds(60))
        self.owner.process.check(30)
        return json.loads([line for line in said.splitlines() if line.startswith("{")][-1])

    def stop(self, faults):
        """The account, judged; `faults` connections at least were to end."""
        found = self.account()
        deaths = max(faults, self.ended() - self.resets)
        judges.storm(found, self.progress, deaths)
        names = ("operations", "success", "remote_error", "dropped", "other_error", "canceled")
        self.t.note(", ".join(f"{found[name]} {name}" for name in names)
                    + f", {deaths} connections ended")
        return found


@contextlib.contextmanager
def lending(t, owner, at):
    """The server of examples/lend, while it lasts."""
    serving = owner.spawn(f"{t.example('lend')} serve {at} 4000")
    serving.wait_output("^ready$")
    yield serving
    serving.kill()
    serving.wait()


def example(t, owner, at, user, own, number=0):
    """examples/lend: @user has memory of @owner's twice, and adds @number to the counter there."""
    ping(t, user, own, at)
    with lending(t, owner, at) as serving:
        for nth in range(2):
            said = user.check(f"{t.example('lend')} ask {own} {at} 4000 {number or ''}",
                              timeout=t.seconds(100))
            added = f"added {number} to {nth * number}\n" if number else ""
            assert said == f"65528 bytes written and read back\n{added}", said
            serving.wait_output(rf"(^{own} has written every byte\n){{{nth + 1}}}")


# With several processors each has a part of it that the file does not show for a while.
PINS = "{ [ ! -e /proc/sys/vm/stat_refresh ] || echo >/proc/sys/vm/stat_refresh; }"


def pins(machine):
    """Pages pinned since the guest booted, and let go."""
    out = machine.check(f"{PINS}; grep nr_foll_pin /proc/vmstat")
    return [int(line.split()[1]) for line in out.splitlines()]


def pinned(machine):
    """Pages that are pinned now: what mainline's modules have left stays until the guest ends."""
    made, let_go = pins(machine)
    return made - let_go


def nothing_pinned(t, machine, but=0):
    """Freed memory is let go within a second or so; `but` pages were pinned before."""
    try:
        machine.wait_until(f"{PINS}; set -- $(grep nr_foll_pin /proc/vmstat);"
                           f" [ $(($2 - $4)) = {but} ] || {{ echo $2 $4; false; }}")
    except CommandTimeout as error:
        raise AssertionError(f"{error}\n{state(t, machine)}") from None
    assert pins(machine)[0] > 0


def regions_used(t, machine):
    seen = counters(t, machine)
    return seen["ib_rdma_mr_8k_used"] + seen["ib_rdma_mr_1m_used"]
