#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boots stock Debian kernels in emulated machines and runs commands in them.

    with pair() as (a, b):                      # joined by a network of their own
        a.load_mainline()                       # or insmod_ours(DIR)
        rc, out = a.run("ss -ltn", timeout=10)
        a.check("modprobe veth")                # raises with the output when it fails
        cmd = b.spawn("sleep 5; echo x")        # cmd.wait(), .kill(), .output, .write()
        assert not a.dmesg_problems()

The guest sees the host's files (guest.py says how) and runs as root. Nothing of the host is
touched: no KVM, no host network, no root needed. A guest that panics or falls silent raises
GuestDead at once. The guests' processes die with this one, however it ends.

As a command (exit status = the command's, the worse one of two; 99 = the kernel complained):
    vm.py run [--modules mainline|ours[:DIR]|none] [--kernel 6.12] -- 'COMMAND'
    vm.py run --two --modules ours,mainline --a 'COMMAND' --b 'COMMAND'
"""
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest  # noqa: E402

SetupError = guest.SetupError
LOGS = guest.TOP / "build/logs"
# Threads of our workqueues and mainline's, as kernels of different ages name them.
RESCUERS = "krdsd|rds_tcp|rds_ib|kworker/R-(krds|rds_).*"
SILENCE = float(os.environ.get("PF_RDS_SILENCE", 25))  # s without a beat: the guest hangs
BOOT_TIMEOUT = 120  # s until the agent says hello; it takes 3 on a quiet machine, 17 on CI's
PROBLEM = re.compile(
    r"\bBUG\b|WARNING|Oops|Call Trace|refcount|lockdep|possible (recursive|circular|irq|deadlock)"
    r"|possible deadlock|general protection|soft lockup|hung task|blocked for more than"
    r"|rcu.*(stall|detected)|leaked|Kernel panic|unregister_netdevice: waiting|still has objects"
    r"|Objects remaining|KASAN|KCSAN|UBSAN|ODEBUG|suspicious|page allocation failure|Out of memory"
    r"|double free|DMA-API|cm_destroy_id_wait_timeout", re.I)
# Matches PROBLEM, but is only the header of a good report or nothing of ours. The last one: a
# program gets no page because it was to fail.
HARMLESS = re.compile(r"module verification failed|loading out-of-tree module"
                      r"|VM_FAULT_OOM leaked out to the #PF handler")

SO_SNDBUFFORCE = 32  # Python has no name for it
CABLE_BYTES = 4 << 20

# The agent's protocol, see agent.c.
HEAD = struct.Struct("<III")
RUN, RUN_STDIN, INPUT, INPUT_END, KILL, SYNC = range(1, 7)
HELLO, _BEAT, OUT, EXIT, LOG = range(16, 21)
SYNC_NAME = "(sync)"

# Consoles of guests that did not boot, and were booted once more (run.py counts them).
boot_retries = []


class VMError(Exception):
    pass


class GuestDead(VMError):
    """Panic, hang or end of the process: the guest is of no more use until power_cycle()."""


class CommandFailed(VMError):
    pass


class CommandTimeout(VMError):
    pass


class Command:
    """A command running in the guest; stdout and stderr come together."""

    def __init__(self, vm, ident, text):
        self.vm, self.ident, self.text = vm, ident, text
        self.chunks, self.rc, self.echo = [], None, None
        self.began = time.monotonic()

    @property
    def output(self):
        return "".join(self.chunks)

    @property
    def done(self):
        return self.rc is not None

    def wait(self, timeout=60):
        self.vm.wait_for(lambda: self.done, timeout, lambda: f"'{self.text}' did not end", self)
        return self.rc, self.output

    def check(self, timeout=60):
        """Like wait(), but a failure is an exception and only the output is returned."""
        rc, out = self.wait(timeout)
        if rc:
            raise CommandFailed(f"{self.vm.name}: '{self.text}' exits {rc}:\n{out.rstrip()}")
        return out

    def wait_output(self, pattern, timeout=60):
        """Waits until the output matches; the command's end without a match is a failure."""
        rx = re.compile(pattern, re.M)
        self.vm.wait_for(lambda: rx.search(self.output) or self.done, timeout,
                         lambda: f"'{self.text}' did not print /{pattern}/", self)
        match = rx.search(self.output)
        if not match:
            raise CommandFailed(f"{self.vm.name}: '{self.text}' ended ({self.rc}) without printing"
                                f" /{pattern}/:\n{self.output.rstrip()}")
        return match

    def kill(self, sig=9):
        if not self.done:
            self.vm.send(KILL, self.ident, str(int(sig)))

    def write(self, data, close=False):
        if data:
            self.vm.send(INPUT, self.ident, data)
        if close:
            self.vm.send(INPUT_END, self.ident)


class VM:
    """One guest. start() returns while it boots, ready() waits for it; every call does."""

    def __init__(self, name, kernel=None, mem=512, smp=2, logdir=None, net=None, env=None,
                 icount=None, ib=False, adapter="rxe", boot=""):
        self.name, self.kernel, self.icount = name, guest.kernel(kernel), icount
        self.boot = boot  # more words for the kernel
        self.smp = max(smp, self.kernel.least_smp)
        self.mem = max(mem, self.kernel.least_mem)
        self.logdir = pathlib.Path(logdir or LOGS / "adhoc")
        self.net, self.env = net, env or {}
        # RDS' transport is InfiniBand in place of TCP, over this adapter in software; a text: with
        # these parameters of the module.
        self.ib, self.adapter = ib, self.kernel.adapter or adapter
        self.deadline = None  # time.monotonic() no wait may pass (the test's own time limit)
        self.cond = threading.Condition()
        self.machine = self.workdir = self.port = self.klog_file = None
        self.modules = self.transcript = self.dead = None
        self.boots, self.before = 0, 0  # how often, and what used() was when it was switched off

    # ---- power ----

    def start(self):
        self.logdir.mkdir(parents=True, exist_ok=True)
        # A later boot leaves the log of the one before: that may be what a failure points to.
        self.boots += 1
        nth = f".{self.boots}" if self.boots > 1 else ""
        self.console = self.logdir / f"{self.name}{nth}.console.log"
        self.klog_path = self.logdir / f"{self.name}{nth}.dmesg.log"
        self.commands, self.klog, self.mark, self.ids, self.console_mark = {}, [], 0, 0, 0
        self.dead = self.hello = self.modules = None
        self.tree = str(self.kernel.modules)  # what init mounted on /lib/modules
        self.beat = time.monotonic()
        self.klog_file = open(self.klog_path, "w", buffering=1)
        self.workdir = tempfile.mkdtemp(prefix="pf_rds-vm-")
        initrd = pathlib.Path(self.workdir) / "initrd"
        initrd.write_bytes(self.kernel.initramfs(self))
        self.port, port = socket.socketpair()
        self.machine = self.kernel.machine(self)
        with port, open(self.logdir / f"{self.name}.machine.log", "w") as log:
            self.machine.start(initrd, port, log)
        threading.Thread(target=self.reader, args=(self.port,), daemon=True).start()
        return self

    def ready(self):
        if self.machine is None:
            self.start()
        self.beat = max(self.beat, time.monotonic() - 1) if not self.hello else self.beat
        began = time.monotonic()
        self.wait_for_boot()
        if self.deadline is not None:  # a boot's time is not the test's
            self.deadline += time.monotonic() - began
        shutil.rmtree(self.workdir, ignore_errors=True)
        if self.ib:
            self.check(f"modprobe -a {self.kernel.modules_of(self.adapter)} rdma_cm")
            self.plug()
        self.sync()
        self.mark = len(self.klog)  # what the boot itself had to say is not ours
        self.console_mark = self.console.stat().st_size
        return self

    def wait_for_boot(self, attempts=3):
        """An emulated kernel dies once in a hundred boots, or stands still: the emulator runs code
        that the kernel has just changed (int3 in sched_clock_cpu). Nothing of ours is loaded yet."""
        try:
            self.wait_for(lambda: self.hello, BOOT_TIMEOUT, lambda: "the guest did not boot",
                          booting=True)
        except GuestDead as error:
            if attempts == 1 or self.machine is None:  # or it was switched off
                raise
            boot_retries.append(self.console)
            print(f"vm: {self.name} did not boot, once more: {error}", file=sys.stderr)
            self.close()
            self.start()
            self.wait_for_boot(attempts - 1)

    def log_to(self, logdir):
        """Logs go to another directory from here on; the console goes on where it is."""
        self.logdir = pathlib.Path(logdir)
        self.logdir.mkdir(parents=True, exist_ok=True)
        with self.cond:
            self.klog_file.close()
            self.klog_path = self.logdir / self.klog_path.name
            self.klog_file = open(self.klog_path, "w", buffering=1)

    def close(self):
        """Power off, as pulling the plug: the root is read-only, nothing is worth saving."""
        # Taken at once: an interrupt's handler may do this in the middle of it.  A reader may
        # notice only when the next boot has begun.
        machine, self.machine = self.machine, None
        port, self.port = self.port, None
        if machine:
            self.before += machine.used()
            machine.close()
        if port:
            with contextlib.suppress(OSError):
                port.shutdown(socket.SHUT_RDWR)
            port.close()
        with self.cond:
            self.dead = self.dead or "is switched off"
            if self.klog_file:
                self.klog_file.close()
        if self.workdir:
            shutil.rmtree(self.workdir, ignore_errors=True)

    def used(self):
        """Seconds of the host's processors that this guest has taken, over all its boots."""
        machine = self.machine
        return self.before + (machine.used() if machine else 0)

    def power_cycle(self, wait=True):
        """The plug is pulled and the guest boots anew, with no modules of ours loaded."""
        self.close()
        self.start()
        return self.ready() if wait else self

    def __enter__(self):
        return self.start().ready()

    def __exit__(self, *_):
        self.close()

    # ---- talking to the agent ----

    def reader(self, sock):
        pending = b""
        with contextlib.suppress(OSError):
            while data := sock.recv(1 << 16):
                pending += data
                with self.cond:
                    pending = self.handle_all(pending)
                    self.cond.notify_all()
        with self.cond:
            if sock is self.port:
                self.dead = self.dead or "stopped (panic, or its machine ended)"
            self.cond.notify_all()

    def handle_all(self, data):
        """Handles the whole frames in data, returns what is left over."""
        at = 0
        while len(data) - at >= HEAD.size:
            kind, ident, length = HEAD.unpack_from(data, at)
            if len(data) - at - HEAD.size < length:
                break
            at += HEAD.size
            self.handle(kind, ident, data[at:at + length].decode(errors="replace"))
            at += length
        return data[at:]

    def handle(self, kind, ident, text):
        self.beat = time.monotonic()
        cmd = self.commands.get(ident)
        if kind == HELLO:
            self.hello = True
        elif kind == LOG:
            head, _, line = text.partition(";")
            prio, _, stamp, *_ = head.split(",")
            self.klog.append(line.split("\n")[0])
            if not self.klog_file.closed:
                self.klog_file.write(f"<{int(prio) & 7}>[{int(stamp) / 1e6:12.6f}] "
                                     f"{self.klog[-1]}\n")
        elif kind == OUT and cmd:
            cmd.chunks.append(text)
            if cmd.echo:
                cmd.echo(text)
        elif kind == EXIT and cmd:
            cmd.rc = int(text)
            del self.commands[ident]
            if self.transcript and cmd.text != SYNC_NAME:
                self.transcript.write(f"{self.name}$ {cmd.text}\n{cmd.output}"
                                      f"[{cmd.rc}, {time.monotonic() - cmd.began:.2f} s]\n")

    def send(self, kind, ident, text=""):
        self.alive()
        data = text.encode()
        try:
            self.port.sendall(HEAD.pack(kind, ident, len(data)) + data)
        except OSError:
            self.dead = self.dead or "stopped (panic, or its machine ended)"
            self.alive()

    def alive(self):
        if self.dead:
            raise GuestDead(f"{self.name} {self.dead}; console: {self.console}\n"
                            + self.console_tail())

    def wait_for(self, condition, timeout, what, cmd=None, booting=False):
        """Every wait ends here: condition, the guest's death, its silence, or the time limit."""
        end = time.monotonic() + timeout * self.kernel.pace
        if self.deadline is not None and not booting:
            end = min(end, self.deadline)
        with self.cond:
            while not condition():
                self.alive()
                now = time.monotonic()
                if not booting and now - self.beat > SILENCE * self.kernel.pace:
                    break
                if now >= end and booting:
                    break
                if now >= end:
                    said = f"; so far it said:\n{cmd.output.rstrip()}" if cmd else ""
                    raise CommandTimeout(f"{self.name}: {what()} in time{said}")
                self.cond.wait(min(end - now, 0.5))
            else:
                return
        self.hang()

    def hang(self):
        self.machine.provoke()
        self.dead = f"hangs (silent for {time.monotonic() - self.beat:.0f} s)"
        self.alive()

    def console_tail(self, lines=30):
        try:
            text = self.console.read_bytes()[self.console_mark:].decode(errors="replace")
            text = text.splitlines()
        except OSError:
            return ""
        first = next((n for n, line in enumerate(text) if PROBLEM.search(line)), len(text) - lines)
        return "\n".join(text[max(0, first):][:lines])

    def request(self, kind, text, echo=None):
        self.ids += 1
        cmd = Command(self, self.ids, text)
        cmd.echo = echo
        with self.cond:
            self.commands[cmd.ident] = cmd
        if len(text) > self.machine.longest:
            script = self.logdir.resolve() / f"{self.name}.{self.boots}.{cmd.ident}.sh"
            script.write_text(text + "\n")
            text = f". {script}"
        self.send(kind, cmd.ident, text)
        return cmd

    def spawn(self, text, stdin=False, echo=None):
        """Starts a command in the background. echo gets its output as it comes."""
        if self.machine is None or not self.hello:
            self.ready()
        return self.request(RUN_STDIN if stdin else RUN, text, echo)

    def run(self, text, timeout=60):
        cmd = self.spawn(text)
        try:
            return cmd.wait(timeout)
        except CommandTimeout:
            cmd.kill()
            raise

    def check(self, text, timeout=60):
        rc, out = self.run(text, timeout)
        if rc:
            raise CommandFailed(f"{self.name}: '{text}' exits {rc}:\n{out.rstrip()}")
        return out

    def wait_until(self, text, timeout=30, pause=0.1):
        """Repeats a command until it succeeds."""
        end, out = time.monotonic() + timeout * self.kernel.pace, ""
        while time.monotonic() < end:
            rc, out = self.run(text, timeout)
            if rc == 0:
                return out
            time.sleep(pause)
        raise CommandTimeout(f"{self.name}: '{text}' never succeeded; at last:\n{out.rstrip()}")

    def kill_all(self, timeout=10):
        """Ends what spawn() left running."""
        for cmd in list(self.commands.values()):
            cmd.kill()
            cmd.wait(timeout)

    # ---- the adapter ----

    def plug(self):
        self.kernel.plug(self)

    def unplug(self, timeout=100):
        """Returns when nobody uses the adapter any more: rdma_cm may take a minute to end a connection."""
        self.kernel.unplug(self, timeout)

    # ---- the kernel's log and modules ----

    def sync(self):
        self.request(SYNC, SYNC_NAME).wait(30)

    def dmesg_mark(self):
        self.sync()
        self.mark = len(self.klog)

    def dmesg(self):
        """Kernel log lines since the last mark."""
        self.sync()
        return self.klog[self.mark:]

    def dmesg_problems(self):
        """Lines since the last mark that no good kernel prints."""
        return [line for line in self.dmesg()
                if PROBLEM.search(line) and not HARMLESS.search(line)]

    def first_problem(self):
        """The first of these and the lines behind it, of a stack only what was surely called: the
        log of a machine of the CI is gone when somebody asks why."""
        behind = itertools.dropwhile(
            lambda line: not PROBLEM.search(line) or HARMLESS.search(line), self.dmesg())
        return list(itertools.islice((line for line in behind if " ? " not in line), 35))

    def tree_command(self, tree):
        """Makes modprobe (and request_module) see this lib/modules."""
        if str(tree) == self.tree:
            return "true"
        self.tree = str(tree)
        return ("{ /run/busybox umount /lib/modules 2>/dev/null; "
                f"/run/busybox mount -o bind {tree} /lib/modules && "
                f"[ -d /lib/modules/{self.kernel.version} ]; }}")

    def load_command(self, modules):
        """Shell text that loads modules: mainline, ours, ours:DIR or none. Text, so that two
        guests can do it at the same time."""
        kind, _, directory = modules.partition(":")
        self.modules = kind
        if kind == "none":  # and none of ours installed, where socket() could find it
            return self.tree_command(self.kernel.modules)
        if kind == "mainline":
            return (f"{self.tree_command(self.kernel.modules)} && modprobe rds && modprobe "
                    + (f"rds_rdma {self.parameters()}" if self.ib else "rds_tcp"))
        if kind != "ours":
            raise SetupError(f"unknown modules '{modules}': mainline, ours, ours:DIR or none")
        files = guest.our_modules(directory or self.kernel.modules_dir,
                                  guest.OURS_IB if self.ib else guest.OURS)
        steps = [self.tree_command(self.kernel.tree(files[0].parent))]
        needs = guest.kernel_needs(files)
        if needs:
            steps.append(f"modprobe -a {needs}")
        steps += [f"/run/busybox insmod {f.resolve()}" for f in files]
        return f"{' && '.join(steps)} {self.parameters()}"

    def parameters(self):
        return self.ib if isinstance(self.ib, str) else ""

    def load(self, modules):
        self.check(self.load_command(modules))

    def load_mainline(self):
        self.load("mainline")

    def insmod_ours(self, directory):
        """insmod rds, rds_loop, rds_tcp with full paths, after what they need of the kernel."""
        self.load(f"ours:{directory}")

    def modprobe_ours(self, directory, what="rds_tcp"):
        """modprobe from a tree where our modules are installed over the kernel's."""
        self.check(f"{self.tree_command(self.kernel.tree(directory))} && "
                   f"modprobe {what}")
        self.modules = "ours"

    def unload(self, timeout=100):
        """rmmod in reverse; a module that stays busy is a failure that says who holds it. rdma_cm
        may take a minute to end a connection."""
        self.wait_until(
            "for m in rds_rdma rds_tcp rds_loop rds; do [ ! -d /sys/module/$m ] || /run/busybox rmmod $m ||"
            " { cat /sys/module/$m/refcnt; grep ^rds /proc/modules; exit 1; }; done", timeout)
        # A workqueue that nobody destroyed has its rescuer still.
        left = self.run(f"grep -xhE '{RESCUERS}' /proc/[0-9]*/comm 2>/dev/null")[1]
        if left:
            raise VMError(f"{self.name}: threads of modules that are gone: {left}")
        self.modules = None


class Net:
    """One end of a cable between two guests: datagram sockets in a directory of ours (QEMU), or
    without a name (User-Mode Linux)."""

    def __init__(self, directory, me, addrs, end):
        self.directory, self.me, self.addrs, self.end = directory, me, addrs, end

    def qemu(self):
        local, remote = (f"{self.directory}/{n}" for n in (self.me, 3 - self.me))
        return ["-netdev", f"dgram,id=n0,local.type=unix,local.path={local},"
                f"remote.type=unix,remote.path={remote}",
                "-device", f"virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:09:00:0{self.me}"]

    def uml(self):
        """Vectors (vec=1) would be faster, but their locks make lockdep complain and give up."""
        fd = self.end.fileno()
        return fd, f"transport=fd,fd={fd},mac=52:54:00:09:00:0{self.me},gro=0,vec=0"


def cable():
    """Two connected ends.  User-Mode Linux drops what does not fit into one, and by default that is
    less than the 128 packets that soft-RoCE sends at once and, after a loss, again half a second
    later."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    for end in ends:
        try:
            end.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, CABLE_BYTES)
        except PermissionError:  # as much as the host's net.core.wmem_max allows
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, CABLE_BYTES)
    return ends


@contextlib.contextmanager
def pair(names=("a", "b"), kernels=(None, None), v4="10.9.0.{}/24", v6="fd00:9::{}/64",
         start=True, smp=1, **options):
    """Two guests on one network, booting side by side."""
    ends = cable()
    with ends[0], ends[1], tempfile.TemporaryDirectory(prefix="pf_rds-net-") as directory:
        vms = [VM(name, kernel=kern, smp=smp,
                  net=Net(directory, n, [v4.format(n), v6.format(n)], end), **options)
               for n, (name, kern, end) in enumerate(zip(names, kernels, ends), 1)]
        try:
            if start:
                for vm in vms:
                    vm.start()
                for vm in vms:
                    vm.ready()
            yield vms
        finally:
            for vm in vms:
                vm.close()


if __name__ == "__main__":
    import vm_cli
    sys.exit(vm_cli.main())
