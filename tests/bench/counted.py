# SPDX-License-Identifier: GPL-2.0
"""Boots the stock kernel under an instruction counter, with one set of RDS modules, and measures.

`-icount shift=0,sleep=off` makes the guest's clock advance by one nanosecond per instruction and
jump over idle time, so the result does not depend on what else the host does. The guest is an
initramfs of its own (busybox, rdsperf, a few modules): nothing else runs in it.

Of two guests that wait for each other neither may jump, so they sleep while they are idle, and what
the host does has a part in how packets meet: such figures scatter more (Pair).
"""
import concurrent.futures
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path.insert(0, str(TOP / "tests/kernel"))
import guest  # noqa: E402

WORK = TOP / "build/bench"
SOURCES = ["keys.c", "main.c", "many.c", "neighbour.c", "net.c", "peer.c", "rdma.c", "rx.c",
           "sock.c", "tx.c", "visit.c", "witness.c"]
# Families over soft-RoCE, which a guest plays that has this role; of two guests a and b are the ends.
PAIRED, NEAR, THROUGH = "rds-ib", "rds-ib-self", "rds-ib-through"
ROLES = {NEAR: "s", THROUGH: "t"}
# RDRAND: without any entropy every new slab page (its free list is shuffled) would cost thousands.
# No ERMS: a copy then is `rep movsq`, one count per 8 bytes, and not one per byte.
CPU = "qemu64,+rdrand,+ssse3,+sse4.1,+sse4.2,+popcnt"
# Soft-RoCE sums up every byte; this instruction makes it cheap, as adapters do.
CPU_IB = CPU + ",+pclmulqdq"
# Without interrupts for what was sent: how many there are depends on the host.
PARAMETERS = {"virtio_net.ko": "napi_tx=0"}
BOOT_LIMIT = 900  # seconds of the host's; a full suite takes about one minute

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
while read m; do insmod /mods/$m || echo "INSMOD FAIL $m"; done </mods/order
opt() { sed -n "s/.*bench_$1=\\([^ ]*\\).*/\\1/p" /proc/cmdline; }
dmesg -n 1
echo BENCH-START
role=$(opt role)
key=$(opt key)
set=$(opt set)
[ -z "$set" ] || sysctl -w "$set" || poweroff -f
rdsperf suite -o $(opt seed) ${role:+-i $role} ${key:+-k $key} $(cat /cases)
echo BENCH-END
if [ "$(opt prof)" = 1 ]; then
	echo 0 >/proc/sys/kernel/kptr_restrict
	echo KALLSYMS; grep ' [tTwW] ' /proc/kallsyms; echo KALLSYMS-END
fi
dmesg | grep -E 'BUG|WARNING|Oops|Call Trace|general protection|refcount|RDS/tcp: send' |
	head -n 8 | sed 's/^/DMESG /'
poweroff -f
"""


class BenchError(Exception):
    """The measurement could not be made; the text says why."""


def compile_c(output, sources, *flags):
    done = subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
                           "-Wno-missing-field-initializers", *flags,
                           "-o", output, *[HERE / s for s in sources]],
                          capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"cannot compile {' '.join(sources)}:\n{done.stderr}")


def prepare():
    WORK.mkdir(parents=True, exist_ok=True)
    compile_c(WORK / "rdsperf", SOURCES, "-static")
    compile_c(WORK / "icprof.so", ["icprof.c"], "-shared", "-fPIC")


def known_cases():
    out = subprocess.run([WORK / "rdsperf", "list"], capture_output=True, text=True, check=True)
    return out.stdout.split()


def module_files(kern, modules, ib):
    """Files to insmod, in order. modules: "mainline" or the directory of our three."""
    below = ["virtio_pci", "virtio_net", "dummy", "crc32_pclmul", "rdma_rxe"] if ib else ["veth"]
    if modules == "mainline":
        return kern.load_order([*below, "rds_rdma" if ib else "rds_tcp"])
    names = guest.OURS_IB if ib else guest.OURS
    ours = [pathlib.Path(modules) / f"{m}.ko" for m in names]
    for f in ours:
        if not f.exists():
            raise BenchError(f"{f} is not there, run: make")
    needs = subprocess.run(["/sbin/modinfo", "-F", "depends", *ours], capture_output=True,
                           text=True, check=True).stdout.replace(",", " ").split()
    return kern.load_order([*below, *(n for n in needs if n not in names)]) + ours


def image(kern, modules, cases, ib):
    busybox = pathlib.Path("/bin/busybox")
    if not busybox.exists():
        raise BenchError("busybox-static is not installed, run: scripts/deps.sh")
    files = [(d, 0o040755, b"") for d in ("bin", "dev", "proc", "sys", "tmp", "mods")]
    files += [("init", 0o100755, INIT.encode()), ("bin/busybox", 0o100755, busybox.read_bytes()),
              ("bin/rdsperf", 0o100755, (WORK / "rdsperf").read_bytes()),
              ("cases", 0o100644, "\n".join(cases).encode())]
    order = ""
    for ko in module_files(kern, modules, ib):
        data = ko.read_bytes()
        name = ko.name.removesuffix(".xz")
        files.append(("mods/" + name, 0o100644,
                      lzma.decompress(data) if ko.suffix == ".xz" else data))
        order += f"{name} {PARAMETERS.get(name, '')}\n"
    files.append(("mods/order", 0o100644, order.encode()))
    return guest.cpio(files)


class Boot:
    """One measurement: a module set, a seed, a list of cases (empty: all). With a role it is over
    soft-RoCE: both ends (ROLES), or one of two (a, b), and cable the directory of their sockets.
    With a key ("tcp-md5", "tcp-ao") connections over veth are signed; setting is a sysctl's NAME=VALUE.
    """

    def __init__(self, label, modules, seed, cases=(), prof=False, mem=2048, role="", cable=None,
                 key="", setting=""):
        self.label, self.modules, self.seed = label, modules, seed
        self.cases, self.prof, self.mem = list(cases), prof, mem
        self.role, self.cable, self.key, self.setting = role, cable, key, setting
        marks = (str(seed), role, key, setting, "prof" if prof else "")
        self.log = WORK / f"{'-'.join([label, *filter(None, marks)])}.log"
        self.results, self.complaints = [], []

    def command(self, kern, img):
        append = ("console=ttyS0 quiet nokaslr tsc=reliable clocksource=tsc panic=-1 "
                  f"bench_seed={self.seed} bench_prof={int(self.prof)} bench_role={self.role} "
                  f"bench_key={self.key} bench_set={self.setting}")
        cmd = ["qemu-system-x86_64", "-accel", "tcg", "-smp", "1",
               "-icount", f"shift=0,sleep={'on' if self.cable else 'off'}",
               "-rtc", "base=2024-01-01,clock=vm", "-seed", str(self.seed), "-m", str(self.mem),
               "-cpu", CPU_IB if self.role else CPU, "-nodefaults", "-display", "none",
               "-no-reboot",
               "-kernel", guest.uncompressed(kern), "-initrd", img, "-append", append,
               "-serial", f"file:{self.log}"]
        if self.cable:
            other = "b" if self.role == "a" else "a"
            cmd += ["-netdev", f"dgram,id=n0,local.type=unix,local.path={self.cable}/{self.role},"
                    f"remote.type=unix,remote.path={self.cable}/{other}",
                    "-device", f"virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:09:00:0{self.role}"]
        if self.prof:
            cmd += ["-plugin", f"{WORK / 'icprof.so'},out={self.log}.prof,blocks=1"]
        return cmd

    def run(self, kern):
        img = self.log.with_suffix(".cpio")
        img.write_bytes(image(kern, self.modules, self.cases, bool(self.role)))
        cmd = self.command(kern, img)
        try:
            done = subprocess.run([os.fspath(c) for c in cmd], timeout=BOOT_LIMIT,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            raise BenchError(f"no end after {BOOT_LIMIT} s, see {self.log}") from None
        finally:
            img.unlink()
        if done.returncode:
            raise BenchError(f"qemu failed, see {self.log}\n{done.stderr}")
        self.parse()
        return self

    def parse(self):
        text = self.log.read_text(errors="replace").replace("\r", "")
        for line in text.splitlines():
            if line.startswith("RES "):
                res = dict(re.findall(r"(\w+)=(\S+)", line))
                res["fail"] = line.partition("FAIL ")[2]
                self.results.append(res)
            elif line.startswith(("DMESG ", "INSMOD FAIL", "rdsperf:")):
                self.complaints.append(line)
        if "\nBENCH-END" not in text:
            raise BenchError(f"the guest died before the end, see {self.log}")


class Pair:
    """The same with two guests: each counts for itself, and a message costs what both do."""

    def __init__(self, label, modules, seed, cases=(), prof=False):
        self.label, self.seed, self.prof = label, seed, prof
        self.cable = tempfile.mkdtemp(prefix="pf_rds-bench-")
        self.halves = [Boot(label, modules, seed, cases, prof, mem=1024, role=role,
                            cable=self.cable) for role in "ab"]
        self.results = []

    @property
    def complaints(self):
        return [f"{half.role}: {line}" for half in self.halves for line in half.complaints]

    def run(self, kern):
        try:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda half: half.run(kern), self.halves))
        finally:
            shutil.rmtree(self.cable)
        for a, b in zip(*(half.results for half in self.halves), strict=True):
            both = {k: a[k] for k in ("fam", "test", "size", "n")}
            both["fail"] = a["fail"] or b["fail"]
            if not both["fail"]:
                both["cpu"] = str(float(a["cpu"]) + float(b["cpu"]))
                both["disorder"] = str(int(a["disorder"]) + int(b["disorder"]))
            self.results.append(both)
        return self
