# SPDX-License-Identifier: GPL-2.0
"""The machine that runs a guest's kernel: QEMU without KVM, or the kernel itself (User-Mode Linux).

Both give the guest the host's `/` read-only, a port to its agent, and at most one network
interface, eth0. Neither needs root, and both end with the process that started them.
"""
import concurrent.futures
import contextlib
import os
import shutil
import signal
import socket
import subprocess

TICKS = os.sysconf("SC_CLK_TCK")
COMMON = ("quiet loglevel=5 panic=-1 oops=panic log_buf_len=4M slab_nomerge printk.devkmsg=on"
          " random.trust_cpu=on rdinit=/init kasan_multi_shot")

# These cost an emulator much, and matter to no test.  It translates a program anew for each place in
# memory that the program comes to: short ones took four times as long.
EMULATED = "mitigations=off norandmaps cryptomgr.notests"


# The kernel ends such a process when the *thread* that started it ends. Guests go from one file of
# tests to the next, whose threads come and go: so all are started by this one.
_starter = concurrent.futures.ThreadPoolExecutor(1)


def started(*args, **options):
    """A process that ends with this one, however that ends."""
    return _starter.submit(subprocess.Popen, *args, **options).result()


def processor(pid):
    """Seconds of the host's processors that process @pid has used, with its children that are gone."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0
    return sum(map(int, fields[11:15])) / TICKS


class Qemu:
    # For guest.INIT: how the host's root is mounted, and where the agent's port is.
    config = {"LOWER": "-t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro hr",
              "PORT": "/dev/vport0p1"}
    longest = 1 << 19  # bytes of a command through the port; longer ones go by file
    env = {}  # of the guest's programs

    def __init__(self, vm):
        self.vm, self.proc = vm, None
        self.qmp, self.qmp_guest = socket.socketpair()

    def start(self, initrd, port, log):
        fds = [port.fileno(), self.qmp_guest.fileno()]
        with self.qmp_guest:
            self.proc = started(
                ["setpriv", "--pdeathsig", "KILL", *self.command(initrd, *fds)], pass_fds=fds,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def command(self, initrd, port, qmp):
        vm = self.vm
        args = ["qemu-system-x86_64", "-name", f"pf_rds-{vm.name}",
                "-M", "q35", *self.clock(),
                "-cpu", "max,erms=off,fsrm=off", "-m", str(vm.mem), "-smp", str(vm.smp),
                "-nodefaults", "-display", "none", "-no-reboot",
                "-kernel", str(vm.kernel.boot_file), "-initrd", str(initrd),
                "-append", f"console=ttyS0 {EMULATED} panic_print=0x40 unknown_nmi_panic {COMMON}"
                f" {vm.boot}",
                "-serial", f"file:{vm.console}",
                "-chardev", f"socket,id=qmp,fd={qmp}", "-mon", "chardev=qmp,mode=control",
                "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=port,fd={port}", "-device", "virtserialport,chardev=port",
                "-virtfs", "local,path=/,mount_tag=hr,security_model=none,readonly=on,"
                "multidevs=remap"]
        return args + (vm.net.qemu() if vm.net else [])

    def clock(self):
        """With icount, an instruction takes 2^icount ns of the guest's time and waiting none, so
        that neither the load nor the speed of the host is seen."""
        if self.vm.icount is None:
            return ["-accel", "tcg,thread=multi"]
        return ["-accel", "tcg,thread=single", "-icount", f"shift={self.vm.icount},sleep=off"]

    def used(self):
        return processor(self.proc.pid) if self.proc else 0

    def provoke(self):
        """Makes the kernel panic with a backtrace of every CPU on the console."""
        with contextlib.suppress(OSError):
            self.qmp.sendall(b'{"execute":"qmp_capabilities"}{"execute":"inject-nmi"}')
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.proc.wait(5)

    def close(self):
        if self.proc:  # or it never began
            self.proc.kill()
            self.proc.wait()
        self.qmp.close()


class Uml:
    """The kernel is a process, its tasks are traced children in the same process group: all of
    them have to end together, or the orphans would run their code on the host."""
    config = {"LOWER": "-t hostfs none -o ro,/", "PORT": "/dev/ttyS0"}
    longest = 2000  # the line's buffer has 4096, and once full it stays so
    # In one of some 15 plays of robust.random_calls memcmp() read a page that its mask register leaves
    # out. Perhaps a thread that is interrupted loses these; forms without them were not seen to fail.
    env = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512VL,-AVX512BW"}

    def __init__(self, vm):
        self.vm, self.proc = vm, None

    def start(self, initrd, port, log):
        vm = self.vm
        net = vm.net.uml() if vm.net else None
        args = [str(vm.kernel.boot_file), f"mem={vm.mem}M", f"initrd={initrd}", f"uml_dir={vm.workdir}",
                "umid=guest", "con=null", "con0=null,fd:1", f"ssl0=fd:{port.fileno()}",
                *([f"vec0:{net[1]}"] if net else []), *COMMON.split(), *vm.boot.split()]
        with open(vm.console, "w") as console:
            # A fatal signal it can handle: it takes its children along.
            self.proc = started(
                ["setpriv", "--pdeathsig", "TERM", *args], stdin=subprocess.DEVNULL, stdout=console,
                stderr=log, pass_fds=[port.fileno(), *(net[:1] if net else [])],
                env={**os.environ, **self.memory()}, start_new_session=True)

    def memory(self):
        """Where its memory is a file: /dev/shm, unless that is too small or not executable."""
        shm = os.statvfs("/dev/shm")
        fits = shm.f_bavail * shm.f_frsize > self.vm.mem << 20
        return {} if fits and not shm.f_flag & os.ST_NOEXEC else {"TMPDIR": self.vm.workdir}

    def used(self):
        if not self.proc:
            return 0
        pid = self.proc.pid
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as children:
            return processor(pid) + sum(map(processor, children.read().split()))
        return 0

    def provoke(self):
        pass

    def close(self):
        if self.proc:  # or it never began
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.proc.pid, signal.SIGKILL)
            self.proc.wait()
        shutil.rmtree(self.vm.workdir, ignore_errors=True)
