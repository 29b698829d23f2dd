# SPDX-License-Identifier: GPL-2.0
"""The harness itself: what it must notice, it notices. Every other test rests on this."""
import copy
import pathlib
import tempfile

import parity
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
def settings_are_seen(t):
    """A setting, an address, a mount, a directory and what was written are told: nobody after this
    file has its guests again."""
    before = suite.State.whole(t.a)
    assert suite.State.whole(t.a) == before
    for deed, undo, name in (
            ("sysctl -qw net.ipv4.tcp_rmem='4096 8192 16384'", "sysctl -qw net.ipv4.tcp_rmem='{}'",
             "net.ipv4.tcp_rmem"),
            ("ip addr add 10.77.0.1/24 dev lo", "ip addr del 10.77.0.1/24 dev lo",
             "ip inet 10.77.0.1/24 scope global lo"),
            ("mount -t tmpfs x /mnt", "umount /mnt", "mount x /mnt tmpfs"),
            ("mkdir /run/left", "rmdir /run/left", "directory /run/left"),
            ("dd if=/dev/zero of=/run/left bs=1M count=40 status=none", "rm /run/left",
             "written")):
        t.a.check(deed)
        names = {name for name, _ in suite.State.whole(t.a).items() ^ before.items()}
        assert any(one.startswith(name) for one in names), (name, names)
        t.a.check(undo.format(before.get(name)))
        assert suite.State.whole(t.a) == before, deed


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
    slow = t.a.spawn("echo before; sleep 1000")
    slow.wait_output("^before$")
    try:
        slow.wait(2)
    except vm.CommandTimeout as error:
        assert "before" in str(error), error
    else:
        raise AssertionError("sleep 1000 ended within two seconds")
    slow.kill()
    assert slow.wait()[0]


@test(modules="none")
def switched_off_at_any_time(t):
    """A guest that never began, or could not, can be switched off, and by two at once."""
    guest = vm.VM("c", kernel=t.a.kernel.name, logdir=t.a.logdir)
    guest.close()
    # A kernel of its own: guests of the suites beside this one are started from the same.
    guest.kernel = copy.copy(guest.kernel)
    guest.kernel.machine = cannot_start(guest.kernel.machine)
    try:
        guest.start()
    except OSError as error:
        assert "no such emulator" in str(error), error
    else:
        raise AssertionError("it started")
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


HEAD = f"{parity.SECTION}\n\n| fact | mainline 6.1 | ours | why |\n|---|---|---|---|\n"


def judged(t, mainline, ours, row="", slack=None):
    """The verdict on what the two sides printed: None, or why not."""
    sides = [parity.Side(t, "ours", who) for who in ("mainline", "ours")]
    for side, said in zip(sides, (mainline, ours)):
        side.read(said)
    with tempfile.NamedTemporaryFile("w", suffix=".md") as page:
        page.write(HEAD + (f"| parity_is_judged.{row} | of a test |\n" if row else ""))
        page.flush()
        try:
            parity.judge(t, sides, slack or {}, pathlib.Path(page.name))
        except AssertionError as error:
            return str(error).splitlines()[1]
    return None


@test(modules="none")
def parity_is_judged(t):
    """A difference from mainline's without a row, a row that is true no more, a figure that is
    worse."""
    same, other = "fact a = 1\nnoise\n", "fact a = 2\n"
    assert judged(t, same, same) is None
    assert "NOT IN" in judged(t, same, other)
    assert "NOT IN" in judged(t, same, ""), "a fact that only one side knows"
    assert judged(t, same, other, "a | 1 | 2") is None
    assert judged(t, same, other, "? | * | 2") is None
    assert "NOT IN" in judged(t, same, other, "a | 1 | 3")
    assert "no fact is like the row" in judged(t, same, same, "a | 1 | 2")
    less = ["less x = 100 kB", "less x = 110 kB"]
    assert "OURS IS WORSE" in judged(t, *less)
    assert judged(t, *less[::-1]) is None
    assert judged(t, *less, slack={"x": (1, 10)}) is judged(t, *less, slack={"*": (1.1, 0)}) is None
    assert "OURS IS WORSE" in judged(t, "more y = 50 of 50", "more y = 1 of 50")
    assert judged(t, "more y = 1 of 50", "more y = 50 of 50") is None
    t.notes.clear()  # they are not about RDS
