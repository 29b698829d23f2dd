# SPDX-License-Identifier: GPL-2.0
"""The command line of vm.py: one command in one guest, or one in each of two."""
import argparse
import os
import shutil
import signal
import sys
import time

import vm

COMPLAINED = 99


def parse(argv):
    ap = argparse.ArgumentParser(prog="vm.py", description=vm.__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = ap.add_subparsers(required=True)
    run = sub.add_parser("run", help="boot, load modules, run a command, print its output")
    run.add_argument("--modules", default="none", metavar="M[,M]",
                     help="mainline, ours[:DIR] or none; two for two guests")
    run.add_argument("--kernel", help="6.1 (default), 6.12 or 7.2; KERNEL in the environment")
    run.add_argument("--mem", type=int, default=512, help="MiB for each guest")
    run.add_argument("--smp", type=int, default=1)
    run.add_argument("--timeout", type=float, default=120)
    run.add_argument("--two", action="store_true", help="two guests, 10.9.0.1 and 10.9.0.2")
    run.add_argument("--a", default="true", help="command of the first guest with --two")
    run.add_argument("--b", default="true", help="command of the second guest with --two")
    run.add_argument("--dmesg", action="store_true", help="print the kernel log since loading")
    run.add_argument("command", nargs="*", help="command for the (first) guest")
    return ap.parse_args(argv)


def echo(prefix):
    """A writer that puts the guest's name before every line, and no line in two."""
    state = {"start": True}

    def write(text):
        for line in text.splitlines(True):
            sys.stdout.write((prefix if state["start"] else "") + line)
            state["start"] = line.endswith("\n")
        sys.stdout.flush()
    return write


def report(guest, dmesg):
    """Prints what the kernel complained about; says whether it did."""
    if dmesg:
        print(*(f"{guest.name} kernel: {line}" for line in guest.dmesg()), sep="\n")
    bad = guest.dmesg_problems()
    for line in bad[:20]:
        print(f"{guest.name} KERNEL COMPLAINS: {line}", file=sys.stderr)
    if bad:
        print(f"all of it: {guest.klog_path}", file=sys.stderr)
    return bool(bad)


def own_logs():
    """A directory for this run's logs; several people may be at it. Old ones go."""
    for old in vm.LOGS.glob("adhoc-*"):
        if old.stat().st_mtime < time.time() - 86400:
            shutil.rmtree(old)
    return vm.LOGS / f"adhoc-{os.getpid()}"


def run(args):
    options = {"mem": args.mem, "smp": args.smp, "logdir": own_logs()}
    modules = args.modules.split(",")
    began = time.monotonic()
    with vm.pair(kernels=(args.kernel, args.kernel), start=False, **options) as vms:
        vms = vms if args.two else vms[:1]
        if not args.two:
            vms[0].net = None
        for guest in vms:
            guest.start()
        loading = [guest.ready().spawn(guest.load_command(mods))
                   for guest, mods in zip(vms, modules * 2)]
        for command in loading:
            command.check()
        print(f"vm: {len(vms)} up with {args.modules} after {time.monotonic() - began:.1f} s",
              file=sys.stderr)
        texts = [args.a, args.b] if args.two else [" ".join(args.command) or "true"]
        cmds = [g.spawn(text, echo=echo(f"{g.name}| " if args.two else ""))
                for g, text in zip(vms, texts)]
        codes = [cmd.wait(args.timeout)[0] for cmd in cmds]
        complained = [report(guest, args.dmesg) for guest in vms]
    return max(codes) or (COMPLAINED if any(complained) else 0)


def main(argv=None):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run(parse(argv))
    except (vm.VMError, vm.SetupError) as error:
        print(f"vm: {error}", file=sys.stderr)
        return 98
    except KeyboardInterrupt:
        return 130
