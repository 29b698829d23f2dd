# SPDX-License-Identifier: GPL-2.0
"""Two real hosts in place of the guests: `run.py --hosts FILE`. FILE is JSON:

    {"a": {"shell": ["sh", "-c"], "interface": "ens1f0np0"},
     "b": {"shell": ["ssh", "root@other"], "interface": "ens1f0np0"}}

A shell is a program that runs the one more word that it gets as a shell's command, as root on the
host, and gives it its own input and output. It is to come by another network than the one that is
tested. The interface is the RDMA adapter's; it is given the guests' addresses while tests run.
Both hosts have this checkout, built, at the same path. How the adapter is taken away and comes back
("unplug", "plug") and how nothing comes over it ("cut", "mend") are commands, too, where FILE has
them; else its driver lets go of it, and its interface goes down.

A host is not switched off and on: a test that wants that fails. A test that fails for another reason
leaves modules and filters: what a new guest would not have is taken away before the next.
"""
import contextlib
import functools
import json
import os
import pathlib
import subprocess

PREFIX, ADAPTER = "host:", "hca"
STOCK = "6.1"  # tests for this kernel are for hosts' kernels, too
TOP = pathlib.Path(__file__).resolve().parent.parent.parent
AGENT = "/run/rds-agent"
# The tools that guest.INIT puts there for guests.
PREPARE = f"cat >{AGENT} && chmod 755 {AGENT} && ln -sf $(command -v busybox) /run/busybox"
# rdma_cm may take a minute to end a connection.
CLEAR = """for table in cut stands; do nft delete table inet $table; done 2>/dev/null
for second in $(seq 100); do
	for m in rds_rdma rds_tcp rds_loop rds; do [ ! -d /sys/module/$m ] || rmmod $m; done 2>/dev/null
	[ -d /sys/module/rds ] || break
	sleep 1
done"""


def names(path):
    """Of the kernels of the hosts in the file @path, for guest.kernel()."""
    return [f"{PREFIX}{path}:{name}" for name in json.loads(pathlib.Path(path).read_text())]


class Host:
    """A host, where others take a guest.Kernel. @device is asked for when the adapter is first let go."""
    debug, pace, least_mem, least_smp, adapter = False, 1, 0, 1, ADAPTER

    def __init__(self, name):
        path, _, self.name = name[len(PREFIX):].rpartition(":")
        self.said = json.loads(pathlib.Path(path).read_text())[self.name]
        self.interface = self.said["interface"]
        self.version = self.ask("uname -r").strip()
        self.modules = pathlib.Path("/lib/modules")
        self.dir = self.modules / self.version
        self.modules_dir = TOP / f"build/modules-{self.version}"
        self.machine = Shell
        self.has = self.ask(f"ip -o addr show dev {self.interface}")  # of before

    def ask(self, command, data=b""):
        return subprocess.run([*self.said["shell"], command], check=True, timeout=150, input=data,
                              stdout=subprocess.PIPE).stdout.decode()

    def initramfs(self, vm):
        return b""

    def tree(self, directory):
        """Its own: it is not tests' to install modules in."""
        return self.modules

    def modules_of(self, adapter):
        return "ib_uverbs"  # the adapter's own are there

    @functools.cached_property
    def device(self):
        """The adapter on its bus, and its driver there."""
        path, driver = (self.ask(f"readlink -f /sys/class/net/{self.interface}/device{below}").strip()
                        for below in ("", "/driver"))
        return pathlib.Path(path).name, driver

    def way(self, what, usual):
        return self.said.get(what) or usual()

    def let_go(self, verb):
        device, driver = self.device
        return f"echo {device} >{driver}/{verb}"

    def plug(self, vm):
        """The adapter comes back, if it was away, with the guest's addresses."""
        if vm.run(f"[ -e /sys/class/net/{self.interface} ] && {self.has_adapter()}")[0]:
            vm.check(self.way("plug", lambda: self.let_go("bind")))
        self.address(vm)

    def has_adapter(self):
        return f"rdma link show | grep -qw 'netdev {self.interface}'"

    def address(self, vm):
        sets = [f"ip addr replace {a} dev {self.interface}{' nodad' * (':' in a)}"
                for a in vm.net.addrs]
        vm.wait_until(f"ip link set {self.interface} up && {' && '.join(sets)}"
                      f" && {self.has_adapter()}", 60)

    def leave(self, addrs):
        """The host is as it was, also if a test has failed in the midst of something."""
        there = f"{{ [ -e /sys/class/net/{self.interface} ] && {self.has_adapter()}; }}"
        back = self.said.get("plug") or ("device" in vars(self) and self.let_go("bind"))
        given = [a for a in addrs if a not in self.has]
        self.ask("\n".join([CLEAR, *([f"{there} || {back}"] if back else []),
                            *(f"ip addr del {a} dev {self.interface} 2>/dev/null" for a in given),
                            f"rm -f {AGENT}"]))

    def unplug(self, vm, timeout):
        vm.check(self.way("unplug", lambda: self.let_go("unbind")), timeout)

    @contextlib.contextmanager
    def cut(self, vm):
        vm.check(self.way("cut", lambda: f"ip link set {self.interface} down"))
        try:
            yield
        finally:
            vm.check(self.way("mend", lambda: f"ip link set {self.interface} up"))
            self.address(vm)


@functools.lru_cache
def guest_agent():
    import guest  # which knows of hosts
    return guest.compiled(guest.HERE / "agent.c")


class Shell:
    """The agent on a host, started by a shell, where others take a machine.Qemu."""
    longest = 1 << 19  # bytes of a command; longer ones go by file, which only this host has
    env = {}

    def __init__(self, vm):
        self.vm, self.proc = vm, None

    def start(self, initrd, port, log):
        self.vm.console.write_text("")  # a host's console is its own
        host = self.vm.kernel
        host.ask(CLEAR)
        host.ask(PREPARE, guest_agent())
        self.proc = subprocess.Popen(
            [*host.said["shell"], f"exec {AGENT} {os.getcwd()} -"], stdin=port.fileno(),
            stdout=port.fileno(), stderr=log, start_new_session=True)

    def used(self):
        return 0

    def provoke(self):
        pass

    def close(self):
        if self.proc:
            self.proc.terminate()
            self.proc.wait()
            with contextlib.suppress(subprocess.SubprocessError):  # it is dead, and that was told
                self.vm.kernel.leave(self.vm.net.addrs if self.vm.net else [])
