#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make demo`: two hosts talk RDS, to be watched.

Boots two machines with a stock kernel, loads the modules in both, pings both ways, runs
rds-stress between them, shows rds-info and says in words what was seen. Exits with 0 only if all
of it worked. --modules ours,mainline puts mainline's modules on the second host.
"""
import argparse
import os
import pathlib
import re
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest  # noqa: E402
import vm  # noqa: E402

A, B, A6, B6 = "10.9.0.1", "10.9.0.2", "fd00:9::1", "fd00:9::2"
PINGS, STRESS_SECONDS = 5, 5
STRESS = "-t 2 -d 8 -q 1024 -a 256 -v"


class DemoFailed(Exception):
    pass


class Ticker:
    """Prints a dot a second while something takes its time."""

    def __init__(self, text):
        self.text, self.done = text, threading.Event()

    def __enter__(self):
        self.began = time.monotonic()
        print(f"{self.text} ", end="", flush=True)
        self.thread = threading.Thread(target=self.tick, daemon=True)
        self.thread.start()

    def tick(self):
        while not self.done.wait(1):
            print(".", end="", flush=True)

    def __exit__(self, kind, *_):
        self.done.set()
        self.thread.join()
        print(f" {'failed' if kind else 'done'} after {time.monotonic() - self.began:.1f} s")


class Demo:
    def __init__(self, options, hosts):
        self.a, self.b = hosts
        self.tools = pathlib.Path(options.tools).resolve()
        self.modules = (options.modules.split(",") * 2)[:2]
        self.seen = []

    def heading(self, text):
        print(f"\n== {text}", flush=True)

    def show(self, host, text, timeout=60):
        """Runs a command for all to see, returns its output."""
        print(f"{host.name}# {os.path.basename(text.split()[0])} "
              f"{' '.join(text.split()[1:])}", flush=True)
        cmd = host.spawn(text, echo=Indent())
        rc, out = cmd.wait(timeout)
        if rc:
            raise DemoFailed(f"on {host.name}: '{text}' ended with {rc}")
        return out

    def tool(self, name):
        path = self.tools / name
        if not path.exists():
            raise vm.SetupError(f"{path} is not built, run: make")
        return str(path)

    def load(self):
        self.heading("load the modules")
        for host, kind in zip((self.a, self.b), self.modules):
            if kind == "ours":
                files = guest.our_modules(guest.TOP / f"build/modules-{host.kernel.version}")
                print(f"{host.name}# insmod {' '.join(f.name for f in files)}")
            else:
                print(f"{host.name}# modprobe rds_tcp   (mainline's)")
            host.load(kind)
            self.show(host, "grep ^rds /proc/modules")
        whose = " and ".join({"ours": "our", "mainline": "mainline's"}[m]
                             for m in sorted(set(self.modules), reverse=True))
        self.seen.append(f"{whose} modules run in two stock {self.a.kernel.version} kernels")

    def ping(self):
        self.heading("ping both ways, IPv4 and IPv6")
        for host, source, target in ((self.a, A, B), (self.b, B, A), (self.a, A6, B6),
                                     (self.b, B6, A6)):
            out = self.show(host, f"{self.tool('rds-ping')} -c {PINGS} -i 0.2 -I {source} {target}")
            answers = len(re.findall(r"^ *\d+: [\d.]+ usec", out, re.M))
            if answers != PINGS:
                raise DemoFailed(f"{answers} of {PINGS} pings from {source} to {target} answered")
        self.seen.append(f"{4 * PINGS} of {4 * PINGS} pings were answered, both ways,"
                         " IPv4 and IPv6")

    def stress(self):
        self.heading(f"rds-stress for {STRESS_SECONDS} seconds, every payload checked")
        tool = self.tool("rds-stress")
        print(f"b# rds-stress -r {B} -p 4000 &", flush=True)
        passive = self.b.spawn(f"{tool} -r {B} -p 4000")
        self.b.wait_until("ss -Hltn 'sport = :4000' | grep -q .")
        said = self.show(self.a, f"{tool} -s {B} -p 4000 -T {STRESS_SECONDS} {STRESS}")
        verified = re.search(r"^verified: (\d+) messages", said, re.M)
        if not verified or int(verified[1]) == 0:
            raise DemoFailed("rds-stress verified no message")
        rc, out = passive.wait(30)
        if rc:
            raise DemoFailed(f"the passive side of rds-stress ended with {rc}:\n{out}")
        self.seen.append(f"rds-stress checked {int(verified[1]):,} messages: all in order, with"
                         " the right sender and payload")

    def info(self):
        self.heading("what rds-info says on the first host")
        self.show(self.a, f"{self.tool('rds-info')} -n -T")
        counters = self.show(self.a, f"{self.tool('rds-info')} -c")
        match = re.search(r"^ *recv_delivered +(\d+)", counters, re.M)
        delivered = int(match[1]) if match else 0
        if not delivered:
            raise DemoFailed("the counter recv_delivered says that nothing was delivered")
        self.seen.append(f"rds-info counts {delivered:,} messages delivered on {A}")

    def unload(self):
        self.heading("unload, and read the kernels' logs")
        for host in (self.a, self.b):
            host.unload()
            bad = host.dmesg_problems()
            if bad:
                raise DemoFailed(f"the kernel of {host.name} complained, see {host.klog_path}:\n"
                                 + "\n".join(bad[:10]))
        print("modules unloaded, no warning in either kernel log")
        self.seen.append("the modules were unloaded again and neither kernel had a complaint")


class Indent:
    """Puts output below the command that made it."""

    def __init__(self):
        self.start = True

    def __call__(self, text):
        for line in text.splitlines(True):
            sys.stdout.write(("   " if self.start else "") + line)
            self.start = line.endswith("\n")
        sys.stdout.flush()


def parse(argv):
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--modules", default="ours", help="ours, mainline, or one for each: M,M")
    ap.add_argument("--tools", default=guest.TOP / "build/tools", help="where rds-ping is")
    ap.add_argument("--kernel", help="6.1 (default), 6.12 or 7.2")
    return ap.parse_args(argv)


def play(options):
    began = time.monotonic()
    kernels = (options.kernel,) * 2
    with vm.pair(kernels=kernels, start=False, logdir=vm.LOGS / "demo") as hosts:
        demo = Demo(options, hosts)
        with Ticker(f"booting two hosts ({hosts[0].kernel.version}, emulated, no root needed)"):
            for host in hosts:
                host.start()
            for host in hosts:
                host.ready()
        print(f"a is {A} and {A6}, b is {B} and {B6}")
        for step in (demo.load, demo.ping, demo.stress, demo.info, demo.unload):
            step()
    print(f"\n== Seen, in {time.monotonic() - began:.0f} seconds:")
    for line in demo.seen:
        print(f"   - {line}")


def main(argv=None):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        play(parse(argv))
        return 0
    except (DemoFailed, vm.VMError, vm.SetupError, OSError, ValueError) as error:
        print(f"\ndemo: FAILED: {error}\nlogs: {vm.LOGS / 'demo'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
