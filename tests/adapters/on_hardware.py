# SPDX-License-Identifier: GPL-2.0
"""Plays RDS over two hosts' real adapters and makes a report of it, as a directory and a tar file.

    on-hardware.sh --interface ens1f0np0 root@other            an hour
    on-hardware.sh --interface ens1f0np0 --only ib_rdma root@other

Run it as root on one of two hosts whose adapters are on one network, with the same kernel. Nobody
may use RDS on them meanwhile. The adapters' interfaces get addresses of 10.9.0.0/24 and fd00:9::/64
and lose them again. Links go down, and the adapters' drivers let go of them and take them again: no
way to the other host may lead over these interfaces.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tarfile

TOP = pathlib.Path(__file__).resolve().parents[2]
# Cases of the suite in the order in which one wants to know. Filters of IP packets do not reach what
# an adapter carries, so those that need one are not among them (ib.last_word_is_lost and the like),
# nor is ib.credits, which reads soft-RoCE's counters.
PLAN = """
    ib.ours_with_ours hardware.counted hardware.rates ib_rdma.data ib_rdma.data_v6 ib_rdma.refused
    ib.further_addresses ib.tcp_beside_it ib.a_mebibyte ib.types_of_service
    ib.rings_of_any_size ib.congestion ib.no_buffers ib_rdma.the_example ib_rdma.freed_in_use
    ib_rdma.by_who_was_called ib_rdma.killed ib_rdma.an_administrator_ends_them ib_regions ib_stress ib_idle
    hardware.quiet_connections hardware.link_goes ib.queue_pairs_break ib_rdma.connections_cut
    ib.adapter_goes ib_rdma.adapter_goes ib.modules_go_under_load hardware.everything_at_once
    """.split()
LONG = "1200"  # s that hardware.everything_at_once takes
FACTS = {
    "kernel": "uname -srvm", "command line": "cat /proc/cmdline",
    "distribution": "sed -n 's/^PRETTY_NAME=//p' /etc/os-release",
    "processors": "lscpu | sed -n 's/^Model name: *//p'; nproc", "memory": "head -1 /proc/meminfo",
    "adapter": "lspci -nns $(basename $(readlink -f /sys/class/net/{0}/device)) 2>/dev/null",
    "driver": "ethtool -i {0} 2>/dev/null", "RDMA links": "rdma link show", "RDMA devices": "rdma dev",
    "limits": "ibv_devinfo -v 2>/dev/null", "link": "ip -d link show {0}",
    "IOMMU": "ls /sys/kernel/iommu_groups 2>/dev/null | wc -l",
    "modules of RDS": "cd {1} && sha256sum *.ko", "RDMA objects": "rdma res 2>/dev/null",
}
COPIED = ["Makefile", "scripts", "tests", "examples", "build/tools", "build/tests/progs",
          "build/tests/kernel", "build/examples"]
VERDICT = re.compile(r"^(ok|FAIL|skip) +(\S+?):? .*$", re.M)


class Refused(Exception):
    """The hosts are not as they must be; the text says what to do."""


class Machine:
    def __init__(self, name, shell, interface):
        self.name, self.shell, self.interface = name, shell, interface

    def ask(self, command, **options):
        return subprocess.run([*self.shell, command], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120, **options)

    def says(self, command):
        return self.ask(command, stdin=subprocess.DEVNULL).stdout.strip()

    def facts(self, modules):
        return {what: self.says(command.format(self.interface, modules))
                for what, command in FACTS.items()}


def parse(argv):
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("other", help="the other host, as ssh wants it (root@name)")
    ap.add_argument("--interface", required=True, help="of the adapter")
    ap.add_argument("--peer-interface", help="of the other host's (default: the same name)")
    ap.add_argument("--only", help="these cases or files of tests/kernel/cases, not the whole plan")
    ap.add_argument("--report", type=pathlib.Path, help="directory (default: rds-on-hardware-TIME)")
    ap.add_argument("--shell", help="in place of ssh and the other host's name; gets one more word")
    ap.add_argument("--built", action="store_true",
                    help="both hosts have this checkout, built, at the same path")
    for what, usual in (("unplug", "the driver lets go"), ("plug", "and takes it again"),
                        ("cut", "the interface goes down"), ("mend", "and up again")):
        ap.add_argument(f"--{what}", metavar="COMMAND", help=f"in place of: {usual}")
    options = ap.parse_args(argv)
    now = datetime.datetime.now().strftime("%Y-%m-%d-%H%M")
    options.report = options.report or pathlib.Path(f"rds-on-hardware-{now}")
    return options


def look(here, there, options):
    """Refuses hosts on which tests would do harm, or fail for no fault of RDS."""
    versions = [one.says("uname -r") for one in (here, there)]
    if versions[0] != versions[1] or not versions[0]:
        raise Refused(f"one host has kernel {versions[0]}, the other {versions[1]}: boot the same")
    modules = TOP / f"build/modules-{versions[0]}"
    if not (modules / "rds_rdma.ko").exists():
        raise Refused(f"{modules}/rds_rdma.ko is not built: the kernel's headers are missing, or it"
                      " has no InfiniBand")
    for one in (here, there):
        if one.says("id -u") != "0":
            raise Refused(f"{one.name}: root runs this, on both hosts ({one.says('id -u')})")
        for tool in ("busybox", "rdma", "nft", "ss"):
            if one.ask(f"command -v {tool}").returncode:
                raise Refused(f"{one.name}: no {tool}; install busybox-static, iproute2, nftables")
        if one.says("cat /proc/modules | grep '^rds'"):
            raise Refused(f"{one.name}: RDS is loaded; unload it first (modprobe -r rds_rdma rds_tcp)")
        if one.ask(f"[ -e /sys/class/net/{one.interface} ]").returncode:
            raise Refused(f"{one.name}: no interface {one.interface}")
    address = options.other.rpartition("@")[2]
    if not options.shell and here.interface in here.says(f"ip route get {address}").split():
        raise Refused(f"the way to {address} leads over {here.interface}, whose link will go")
    return modules


def copy(there, modules):
    tar = subprocess.Popen(["tar", "-C", TOP, "-cz", *COPIED, modules.relative_to(TOP)],
                           stdout=subprocess.PIPE)
    got = there.ask(f"mkdir -p {TOP} && tar -C {TOP} -xz", stdin=tar.stdout)
    if tar.wait() or got.returncode:
        raise Refused(f"the checkout cannot be copied to {TOP} of the other host: {got.stdout}")


def play(here, there, options):
    """The suite's output."""
    ways = {what: getattr(options, what) for what in ("unplug", "plug", "cut", "mend")
            if getattr(options, what)}
    hosts = options.report / "hosts.json"
    hosts.write_text(json.dumps({name: {"shell": one.shell, "interface": one.interface, **ways}
                                 for name, one in (("a", here), ("b", there))}, indent=1))
    cases = options.only.split() if options.only else PLAN
    said = []
    suite = subprocess.Popen(
        [sys.executable, TOP / "tests/kernel/run.py", "--all", "--hosts", hosts.resolve(), *cases],
        env={"SECONDS_EACH": LONG, **os.environ}, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    with suite.stdout as lines:
        for line in lines:
            print(line, end="", flush=True)
            said.append(line)
    suite.wait()
    return "".join(said)


def report(facts, said, options):
    verdicts = VERDICT.findall(said)
    bad = [name for how, name in verdicts if how == "FAIL"]
    text = ["# RDS on two hosts' adapters", "",
            f"{datetime.datetime.now():%Y-%m-%d %H:%M}, failures: "
            f"{', '.join(bad) or 'no'}, {len(bad)} of {len(verdicts)}", "", "```", said, "```", ""]
    for name, found in facts.items():
        text += [f"## {name}", ""]
        for what, value in found.items():
            text += [f"### {what}", "", "```", value, "```", ""]
    (options.report / "report.md").write_text("\n".join(text))
    logs = TOP / "build/logs/hosts"
    with tarfile.open(f"{options.report}.tar.gz", "w:gz") as tar:
        tar.add(options.report, arcname=options.report.name)
        if logs.exists():
            tar.add(logs, arcname=f"{options.report.name}/logs")
    print(f"the report: {options.report}/report.md; to send: {options.report}.tar.gz")
    return 1 if bad or not verdicts else 0


def main(argv=None):
    options = parse(argv)
    shell = shlex.split(options.shell) if options.shell else ["ssh", "-o", "BatchMode=yes", options.other]
    here = Machine("this host", ["sh", "-c"], options.interface)
    there = Machine("the other host", shell, options.peer_interface or options.interface)
    try:
        modules = look(here, there, options)
        if not options.built:
            copy(there, modules)
    except Refused as why:
        sys.exit(f"on-hardware: {why}")
    options.report.mkdir(parents=True, exist_ok=True)
    facts = {one.name: one.facts(modules) for one in (here, there)}
    said = play(here, there, options)
    for one in (here, there):
        facts[one.name]["RDMA objects afterwards"] = one.says(FACTS["RDMA objects"])
        facts[one.name]["kernel's log"] = one.says("dmesg | tail -n 300")
    return report(facts, said, options)


if __name__ == "__main__":
    sys.exit(main())
