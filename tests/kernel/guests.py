# SPDX-License-Identifier: GPL-2.0
"""The guests of a run of the suite. A file of tests is lent guests of the kind that it asks for: some
that an earlier file has given back, or new ones, which boot with its first test. An emulated kernel
takes seconds to boot, and the emulator is faster with code that it has translated before.

Guests are given back if no test has failed in them and they are as they were after they had booted,
to the last setting (state_whole.sh). They are switched off when no file of their kind is left.
"""
import collections
import contextlib
import dataclasses
import pathlib
import re
import threading

import vm

HERE = pathlib.Path(__file__).resolve().parent
KMEMLEAK = "/sys/kernel/debug/kmemleak"
# These change in a guest that nobody changes: counts of what the kernel has or has had, and the time.
RESTLESS = re.compile(
    r"^((fs\.(dentry-state|file-nr|inode-(nr|state)|quota\..*)|kernel\.(ns_last_pid|random\..*"
    r"|pty\.nr|sched_domain\..*|tainted)|net\.netfilter\..*count|vm\.stat_refresh"
    r"|net\.ipv4\.tcp_fastopen_key)|mount \S+ (/usr)?/lib/modules"  # vm.py knows which are there
    r"|(directory|mount \S+) (/run/(mount|netns)|/sys/kernel/tracing)) ")
# Bits of kernel.tainted that say that modules of ours were loaded: staging, of no tree, unsigned.
LOADED = 1 << 10 | 1 << 12 | 1 << 13


@dataclasses.dataclass(frozen=True)
class Kind:
    """The demands of a file on its guests, see suite.py."""
    count: int = 1
    smp: int = 1
    mem: int = 512
    ib: object = False
    adapter: str = "rxe"
    boot: str = ""

    @classmethod
    def of(cls, module, tests):
        said = {name: getattr(module, name.upper()) for name in cls.__annotations__
                if hasattr(module, name.upper())}
        return cls(count=max(t.vms for t in tests), **said)

    def machine(self):
        """The options of a vm.VM."""
        options = dataclasses.asdict(self)
        del options["count"]
        return options


class State:
    """A guest as a test must leave it (state.sh), to compare."""

    @staticmethod
    def read(guest_vm):
        return set(guest_vm.check(f". {HERE}/state.sh").splitlines())

    @staticmethod
    def strays(guest_vm, before):
        """The lines that are there and were not. Modules that a test's tools pulled in are unloaded
        first: in any order, so each round frees at least one that no other uses."""
        new = State.read(guest_vm) - before
        mods = [line.split()[1] for line in new if line.startswith("module ")]
        if mods:
            guest_vm.run(f"for i in {' '.join(mods)}; do rmmod {' '.join(mods)} 2>/dev/null; done")
            new = State.read(guest_vm) - before
        return sorted(new)

    @staticmethod
    def whole(guest_vm):
        """All settings of a guest, by name."""
        return dict(filter(None, map(State.setting, guest_vm.check(
            f". {HERE}/state_whole.sh").splitlines())))

    @staticmethod
    def setting(line):
        """(name, value) of a line of state_whole.sh, or nothing for a restless one."""
        name, _, value = line.partition(" = ")
        if name == "kernel.tainted":
            return name, str(int(value) & ~LOADED)
        return None if RESTLESS.match(name + " ") else (name, value)


class Guests:
    """One set. Nothing has failed in fresh ones since they booted; @played are the files so far."""

    def __init__(self, kernels, kind, logdir):
        self.kind, self.stack = kind, contextlib.ExitStack()
        pair = self.stack.enter_context(vm.pair(kernels=(list(kernels) * 2)[:2], start=False,
                                                logdir=logdir, **kind.machine()))
        self.vms = pair[:kind.count]
        if kind.count == 1:
            self.vms[0].net = None
        self.fresh, self.before, self.settings, self.played = False, {}, {}, []

    def boot(self):
        for machine in self.vms:
            machine.close()
            machine.deadline = None
            machine.start()
        for machine in self.vms:
            machine.ready()
            machine.run(f"[ ! -e {KMEMLEAK} ] || echo clear >{KMEMLEAK}")
            self.before[machine] = State.read(machine)
            self.settings[machine] = State.whole(machine)
        self.fresh = True

    def used(self):
        """Seconds of the host's processors that all have taken."""
        return sum(machine.used() for machine in self.vms)

    def changes(self):
        """The names of settings that are not as they were after the boot."""
        if not self.fresh:
            return ["a failure"]
        try:
            return sorted({name for machine in self.vms for name, _ in
                           self.settings[machine].items() ^ State.whole(machine).items()})
        except vm.VMError as error:
            return [str(error)]

    def close(self):
        self.fresh = False
        self.stack.close()


class Pool:
    """Guests that wait for the next file of their kind. Any thread calls it."""

    def __init__(self, kernels, kinds=(), say=print):
        """@kinds: of the files to come that take used ones. Without, guests live as long as they
        are lent."""
        self.kernels, self.say, self.lock = kernels, say, threading.Lock()
        self.to_come, self.waiting = collections.Counter(kinds), collections.defaultdict(list)

    @contextlib.contextmanager
    def lend(self, kind, logdir, new=False):
        guests = None if new else self.take(kind)
        if guests:
            self.say(f"again {logdir.name}: guests of {', '.join(guests.played)}")
            for machine in guests.vms:
                machine.log_to(logdir)
        else:
            guests = Guests(self.kernels, kind, logdir)
        try:
            yield guests
        except BaseException:
            guests.close()
            raise
        guests.played.append(logdir.name)
        if not self.give(guests):
            guests.close()

    def take(self, kind):
        with self.lock:
            self.to_come[kind] -= 1
            return self.waiting[kind].pop() if self.waiting[kind] else None

    def give(self, guests):
        """Whether they were taken back."""
        if not self.is_wanted(guests.kind):
            return False
        changes = guests.changes()
        if changes:
            self.say(f"      {guests.played[-1]}: its guests are not used again: "
                     f"{', '.join(changes[:5])}")
            return False
        with self.lock:
            self.waiting[guests.kind].append(guests)
        return True

    def is_wanted(self, kind):
        with self.lock:
            return self.to_come[kind] > len(self.waiting[kind])

    def close(self):
        with self.lock:
            left, self.waiting = self.waiting, collections.defaultdict(list)
            self.to_come.clear()
        for guests in [one for some in left.values() for one in some]:
            guests.close()
