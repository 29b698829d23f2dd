# SPDX-License-Identifier: GPL-2.0
"""The harness itself: what it must notice, it notices. Every other test rests on this."""
import pathlib

import suite
import vm
from suite import test


def cannot_start(machine):
    """A machine like this one whose process never comes to be, and who switches it off is
    interrupted by somebody who does the same (run.py's handler of signals)."""
    class Broken(machine):
        interrupted = False

        def start(self, *_):
            raise OSError("no such emulator")

        def close(self):
            super().close()
            if not self.interrupted:
                self.interrupted = True
                self.vm.close()
    return Broken


@test(modules="none")
def kernel_complaints_are_seen(t):
    """A BUG line in the kernel log is a problem, and is forgotten after a mark."""
    t.a.check("echo 'BUG: the harness tests itself' >/dev/kmsg")
    assert any("tests itself" in line for line in t.a.dmesg_problems())
    t.a.dmesg_mark()
    assert t.a.dmesg_problems() == []


@test(modules="none")
def strays_are_seen(t):
    """A namespace left behind is told by name; a module is unloaded, its interface goes too."""
    before = suite.State.read(t.a)
    t.a.check("modprobe dummy && ip link add x0 type dummy && ip netns add x1")
    assert {"module dummy", "object /sys/class/net/x0"} <= suite.State.read(t.a)
    assert suite.State.strays(t.a, before) == ["object /run/netns/x1"]
    t.a.check("ip netns del x1")
    assert suite.State.strays(t.a, before) == []


@test(modules="none")
def commands_end_as_told(t):
    """Exit status, output, input, a killed command, one that takes too long."""
    assert t.a.run("echo out; echo err >&2; exit 3") == (3, "out\nerr\n")
    cat = t.a.spawn("cat", stdin=True)
    cat.write("through\n")
    cat.wait_output("^through$")
    cat.write("", close=True)
    assert cat.wait() == (0, "through\n")
    slow = t.a.spawn("sleep 1000")
    slow.kill(15)
    assert slow.wait() == (143, "")
    try:
        t.a.run("echo before; sleep 1000", timeout=2)
    except vm.CommandTimeout as error:
        assert "before" in str(error), error
    else:
        raise AssertionError("sleep 1000 ended within two seconds")


@test(modules="none")
def switched_off_at_any_time(t):
    """A guest that never began, or could not, can be switched off, and by two at once."""
    guest = vm.VM("c", kernel=t.a.kernel.name, logdir=t.a.logdir)
    guest.close()
    real, guest.kernel.machine = guest.kernel.machine, cannot_start(guest.kernel.machine)
    try:
        guest.start()
    except OSError as error:
        assert "no such emulator" in str(error), error
    else:
        raise AssertionError("it started")
    finally:
        guest.kernel.machine = real  # all guests share it
    assert guest.machine and guest.port
    for _ in range(2):
        guest.close()
        assert not (guest.machine or guest.port)
    assert guest.klog_file.closed and not pathlib.Path(guest.workdir).exists()


@test(modules="none")
def a_panic_is_told_at_once(t):
    """A panic ends the waiting command with the reason from the console, and a reboot helps."""
    try:
        # Far beyond the test's own limit: waiting for the command would be a failure.
        t.a.run("echo c >/proc/sysrq-trigger; sleep 1000", timeout=1000)
    except vm.GuestDead as error:
        assert "sysrq triggered crash" in str(error), error
    else:
        raise AssertionError("the guest survived a panic")
    t.a.power_cycle()
    assert t.a.run("echo back") == (0, "back\n")
