# SPDX-License-Identifier: GPL-2.0
"""The parts of a test guest: a kernel, an initramfs, a tree of modules.

The guest's root is the host's own `/` (9p or hostfs), read-only, below an overlay whose upper layer is
guest memory: every path of the host is there (a checkout below /tmp too) and can be written to
without the host noticing. /run, /proc, /sys and /dev are the guest's.
"""
import functools
import hashlib
import lzma
import os
import pathlib
import shlex
import shutil
import struct
import subprocess
import tempfile
import time

import hosts
import machine

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
CACHE = pathlib.Path(os.environ.get("PF_RDS_CACHE", pathlib.Path.home() / ".cache/pf_rds"))
BOOT_MODULES = ["virtio_pci", "virtio_console", "virtio_net", "9p", "9pnet_virtio", "overlay"]
# Debug kernels, and how many times longer than on a stock kernel things may take there: all limits
# of time are multiplied by that, in VM.wait_for() and Context.seconds().
DEBUG = {"uml": 3, "x86": 10, "kcsan": 6}
OURS = ["rds", "rds_loop", "rds_tcp"]
OURS_IB = ["rds", "rds_loop", "rds_rdma"]

INIT = r"""#!/bin/busybox sh
die() { echo "init: $*" >/dev/console; sleep 1; exit 1; }
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
. /config
while read m; do insmod /mods/$m || die "cannot insmod $m"; done </mods/order
mount $LOWER /lower || die "cannot mount the host's root"
mount -t tmpfs -o size=75% tmp /over
mkdir /over/up /over/work
mount -t overlay -o lowerdir=/lower,upperdir=/over/up,workdir=/over/work over /new || die "overlay"
mount --move /proc /new/proc
mount --move /sys /new/sys
mount --move /dev /new/dev
mkdir -p /new/dev/pts /new/dev/shm
mount -t devpts devpts /new/dev/pts
mount -t tmpfs shm /new/dev/shm
mount -t tmpfs run /new/run
mount -t debugfs debug /new/sys/kernel/debug
mkdir -p /new/run/lock /new/run/netns
# Host files that we need may lie where a file system of the guest's own is mounted.
for p in $KEEP; do mkdir -p "/new$p" && mount --bind "/lower$p" "/new$p"; done
# Users of the guest run what is here, though the checkout lie where only its owner may look.
p=$CHECKOUT
while [ "$p" ]; do chmod a+x "/new$p"; p=${p%/*}; done
mkdir -p /new/lib/modules
mount --bind "/lower$MODTREE" /new/lib/modules || die "no modules in $MODTREE"
hostname "$NAME"
ip link set lo up
[ ! -e /new/sys/class/net/vec0 ] || ip link set vec0 name eth0
if [ -e /sys/class/net/eth0 ] || [ -e /new/sys/class/net/eth0 ]; then
	echo 0 >/new/proc/sys/net/ipv6/conf/eth0/accept_dad
	echo 0 >/new/proc/sys/net/ipv6/conf/eth0/accept_ra
	for a in $ADDRS; do ip addr add "$a" dev eth0; done
	ip link set eth0 up
fi
cp /agent /bin/busybox /new/run/
export PATH=$GUEST_PATH
exec /bin/switch_root /new /run/agent "$DIRECTORY" "$PORT"
"""


class SetupError(Exception):
    """Something the guest needs is missing on the host; the text says what to do."""


class Kernel:
    """A stock kernel unpacked by scripts/deps.sh, or a debug kernel of scripts/debug-kernel.sh;
    found by scripts/kernel-env.sh. Its adapters are software (hosts.py: those that are not)."""
    adapter = None  # the one that a file of tests asks for
    interface = "eth0"

    def __init__(self, name):
        self.name = name
        self.debug = name in DEBUG
        self.pace = DEBUG.get(name, 1)
        self.least_mem = 1024 if self.debug else 0  # MiB: detectors remember a lot
        self.least_smp = 2 if name in ("x86", "kcsan") else 1
        self.machine = machine.Uml if name == "uml" else machine.Qemu
        got = subprocess.run([TOP / "scripts/kernel-env.sh", name], text=True,
                             capture_output=True)
        if got.returncode:
            raise SetupError(got.stderr.strip())
        env = dict(line.split("=", 1) for line in got.stdout.splitlines())
        self.version, self.image = env["KVER"], env["KIMG"]
        self.modules = pathlib.Path(env["KROOT"]) / "lib/modules"
        self.dir = self.modules / self.version
        self.modules_dir = TOP / f"build/modules-{self.version}"  # where make puts ours

    @functools.cached_property
    def boot_file(self):
        return uncompressed(self)

    def initramfs(self, vm):
        return initramfs(self, vm.name, vm.net.addrs if vm.net else [], vm.env)

    def tree(self, directory):
        return module_tree(self, directory)

    def modules_of(self, adapter):
        return {"rxe": "rdma_rxe"}.get(adapter, adapter)

    def plug(self, vm):
        vm.check(f"rdma link add {vm.adapter}0 type {vm.adapter} netdev eth0")

    def unplug(self, vm, timeout):
        vm.check(f"rdma link del {vm.adapter}0", timeout)

    @functools.cached_property
    def deps(self):
        """Module name -> (file, names it needs), from modules.dep."""
        def name(path):
            return path.rsplit("/", 1)[-1].split(".ko")[0].replace("-", "_")
        table = {}
        for line in (self.dir / "modules.dep").read_text().splitlines():
            path, _, needs = line.partition(":")
            table[name(path)] = (path, [name(n) for n in needs.split()])
        return table

    def load_order(self, names):
        """Files to insmod for these modules, needed ones first; built-in ones need none."""
        order = []

        def add(mod):
            path, needs = self.deps.get(mod, (None, []))
            for need in reversed(needs):
                add(need)
            if path and path not in order:
                order.append(path)
        for mod in names:
            add(mod)
        return [self.dir / path for path in order]


@functools.lru_cache
def kernel(name=None):
    if name and name.startswith(hosts.PREFIX):
        return hosts.Host(name)
    return Kernel(name or os.environ.get("KERNEL") or "6.1")


def uncompressed(kern):
    """The kernel as an ELF file, which QEMU enters by PVH: an emulated CPU takes 6 s to unpack xz.

    The payload's place is in the boot header (Documentation/arch/x86/boot.rst); its last four
    bytes are its unpacked length.
    """
    path = CACHE / "vmlinux" / kern.version
    image = pathlib.Path(kern.image)
    if kern.debug:
        return image
    if path.exists() and path.stat().st_mtime >= image.stat().st_mtime:
        return path
    data = image.read_bytes()
    offset, length = struct.unpack_from("<II", data, 0x248)
    payload = data[(data[0x1F1] + 1) * 512 + offset:][:length]
    if payload.startswith(b"\xfd7zXZ"):
        elf = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        elf = subprocess.run(["zstd", "-dcq"], input=payload[:-4], capture_output=True,
                             check=False).stdout
    else:
        elf = b""
    if len(elf) != struct.unpack("<I", payload[-4:])[0] or not elf.startswith(b"\x7fELF"):
        return image  # a way of packing we do not know: boot it as it is
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, elf)
    return path


def cpio(files):
    """A newc archive of (path, mode, data) entries: what the kernel unpacks as its first root."""
    out = bytearray()
    for ino, (path, mode, data) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        name = path.encode() + b"\0"
        fields = (ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        out += b"070701" + b"".join(b"%08X" % f for f in fields) + name
        out += bytes(-len(out) % 4) + data
        out += bytes(-len(out) % 4)
    return bytes(out)


def base_initramfs(kern):
    """The part all guests of a kernel share, made once per kernel, agent and init script."""
    busybox = pathlib.Path("/bin/busybox")
    if not busybox.exists():
        raise SetupError("busybox-static is not installed, run: scripts/deps.sh")
    source = HERE / "agent.c"
    key = hashlib.sha256(f"{INIT}{BOOT_MODULES}{busybox.stat().st_mtime_ns}{source.read_text()}"
                         .encode()).hexdigest()
    path = CACHE / "initramfs" / f"{kern.version}-{key[:16]}.cpio"
    if path.exists():
        return path
    files = [(d, 0o040755, b"") for d in
             ("bin", "dev", "proc", "sys", "mods", "lower", "over", "new")]
    files += [("bin/busybox", 0o100755, busybox.read_bytes()), ("init", 0o100755, INIT.encode()),
              ("agent", 0o100755, compiled(source))]
    order = []
    for ko in kern.load_order(BOOT_MODULES):
        data = ko.read_bytes()
        files.append(("mods/" + ko.name, 0o100644,
                      lzma.decompress(data) if ko.suffix == ".xz" else data))
        order.append(ko.name)
    files.append(("mods/order", 0o100644, "".join(n + "\n" for n in order).encode()))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, cpio(files))
    return path


def compiled(source):
    with tempfile.TemporaryDirectory() as tmp:
        done = subprocess.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Os", "-static",
                               "-s", "-o", f"{tmp}/agent", source], capture_output=True, text=True)
        if done.returncode:
            raise SetupError(f"cannot compile {source}:\n{done.stderr}")
        return pathlib.Path(tmp, "agent").read_bytes()


def write_whole(path, data):
    """Appears complete or not at all, also when two runs make the same file."""
    fd, tmp = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(fd, "wb") as f:
        f.write(data)
    os.replace(tmp, path)


def initramfs(kern, name, addrs, env):
    """The whole initramfs of one guest as bytes."""
    keep = [str(p) for p in {TOP, CACHE.resolve(), pathlib.Path.cwd()}
            if str(p).startswith(("/run/", "/dev/"))]
    config = {"NAME": name, "ADDRS": " ".join(addrs), "KEEP": " ".join(keep),
              "MODTREE": str(kern.modules), "DIRECTORY": os.getcwd(), "CHECKOUT": str(TOP),
              **kern.machine.config}
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
           "HOME": os.environ.get("HOME", "/root"), "LANG": "C.UTF-8", **kern.machine.env, **env}
    text = "".join(f"{k}={shlex.quote(v)}\n" for k, v in config.items())
    # The guest's commands need a PATH that finds the host's tools, init's own is /bin.
    init_env = "".join(f"export {k}={shlex.quote(v)}\n" for k, v in env.items() if k != "PATH")
    text += init_env + f"GUEST_PATH={shlex.quote(env['PATH'])}\n"
    return base_initramfs(kern).read_bytes() + cpio([("config", 0o100644, text.encode())])


def our_modules(modules_dir, names=OURS):
    """The files of our modules in the order they are loaded."""
    files = [pathlib.Path(modules_dir) / f"{m}.ko" for m in names]
    missing = [str(f) for f in files if not f.exists()]
    if missing:
        raise SetupError(f"not built: {' '.join(missing)}, run: make")
    return files


def kernel_needs(files):
    """Names of the kernel's own modules that these modules depend on."""
    out = subprocess.run(["/sbin/modinfo", "-F", "depends", *files], capture_output=True,
                         text=True, check=True).stdout
    return " ".join(sorted(set(out.replace(",", " ").split()) - set(OURS + OURS_IB)))


def module_tree(kern, modules_dir):
    """A lib/modules with our modules installed over the kernel's own, as `make install` would
    leave it; returns its path. Made on the host, where depmod is fast, and kept while it fits."""
    files = our_modules(modules_dir)
    files += [f for f in pathlib.Path(modules_dir).glob("rds_rdma.ko")]  # not every kernel's
    stamps = "".join(f"{f.resolve()} {f.stat().st_mtime_ns}\n" for f in files) + kern.version
    tree = TOP / "build" / f"modtree-{hashlib.sha256(stamps.encode()).hexdigest()[:12]}"
    if tree.exists():
        return tree / "lib/modules"
    tree.parent.mkdir(exist_ok=True)
    for old in tree.parent.glob("modtree-*"):
        if old.stat().st_mtime < time.time() - 86400:  # a younger one may be another run's
            shutil.rmtree(old)
    tmp = pathlib.Path(tempfile.mkdtemp(prefix=".modtree-", dir=tree.parent))
    into = tmp / "lib/modules" / kern.version
    (into / "updates").mkdir(parents=True)
    (into / "kernel").symlink_to(kern.dir / "kernel")
    for f in kern.dir.glob("modules.*"):
        if f.name.startswith(("modules.builtin", "modules.order")):
            shutil.copy(f, into)
    for f in files:
        shutil.copy(f, into / "updates")
    (tmp / "stamp").write_text(stamps)
    done = subprocess.run(["/sbin/depmod", "-b", tmp, kern.version], capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"depmod: {done.stderr}")
    try:
        tmp.rename(tree)
    except OSError:
        shutil.rmtree(tmp)  # another run was faster
    return tree / "lib/modules"
