# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours on one host: memory of cgroups, tracepoints, what an administrator
has forbidden. See parity.py above this directory."""
import contextlib
import re

import guest
import parity
import vm
from memcg import GROUP, ROOT, group, sock_bytes
from suite import test
from traffic import A, PYTHON, helper

KERNELS = parity.KERNELS
TRACE = "/sys/kernel/tracing"
NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups"
# Lines that an administrator writes to be without RDS, or without a part of it.
LINES = ["", "install rds /bin/false", "blacklist rds", "alias net-pf-21 off",
         "install net-pf-21 /bin/false", "install rds_tcp /bin/false", "blacklist rds_tcp",
         "install rds_rdma /bin/false"]
NAMES = ["rds", "rds_tcp", "rds_rdma", "net-pf-21"]


def inside(command):
    """A shell command whose process is in the cgroup."""
    return f"sh -c 'echo $$ >{GROUP}/cgroup.procs && exec {command}'"


@test(vms=2, modules="mainline")
def reserved_memory(t):
    """SO_RESERVE_MEM: what sockets reserved of their cgroup's memory is given back on close."""
    def play(side):
        with group(t):
            side.run(t.a, inside(f"{helper('rds_reserve.py')} {A} 20 1048576"))
            with contextlib.suppress(vm.CommandTimeout):
                t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat", 15)
            side.fact("bytes left in memory.stat", sock_bytes(t.a))
    parity.compare(t, play)


@test(vms=2, modules="mainline")
def buffer_limit_is_traced(t):
    """The tracepoint sock_exceed_buf_limit is on while sockets send at their cgroup's limit. There
    is no process to be ended for it, so memory is refused, which is what the tracepoint tells."""
    def play(side):
        mounted = t.a.run(f"mountpoint -q {TRACE}")[0] == 0
        t.a.check(("" if mounted else f"mount -t tracefs none {TRACE} && ")
                  + f"echo 1 >{TRACE}/events/sock/sock_exceed_buf_limit/enable")
        with group(t):
            t.a.check(f"echo 16M >{GROUP}/memory.max")
            said = t.a.check(inside(f"{helper('rds_overcharge.py')} {A} 10.9.0.77 300 {ROOT}"))
            t.note(f"{side.who}: {', '.join(said.splitlines())}")
            t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
        t.a.check(f"echo 0 >{TRACE}/events/sock/sock_exceed_buf_limit/enable && echo >{TRACE}/trace"
                  + ("" if mounted else f" && umount {TRACE}"))
        strange = [line for line in t.a.dmesg_problems()
                   if not re.search("Call Trace|[Oo]ut of memory", line)]
        side.fact("complaints of the kernel", ", ".join(strange) or "none")
        t.a.dmesg_mark()  # a process that is ended for its cgroup has a trace in the log
    parity.compare(t, play)


def installed(side):
    """The files for modprobe that come with these modules, as a shell command that puts them."""
    files = (guest.TOP / "packaging").glob("*.conf") if side.kind == "ours" else []
    return " ".join(f"cp {path} /etc/modprobe.d/ &&" for path in files)


def would_load(t, side, names):
    """Which of RDS' modules modprobe would load for each name."""
    said = t.a.check("".join(f"echo '<{name}>'; modprobe -n -v {name} 2>&1;" for name in names)
                     + " true")
    for part in said.split("<")[1:]:
        name, _, text = part.partition(">")
        found = set(re.findall(r"insmod \S*/(rds(?:_tcp|_rdma)?)\.ko", text))
        yield name, ", ".join(sorted(found)) or "nothing"


@test(modules="mainline", timeout=200, extra=True)
def administrator(t):
    """Modules that /etc/modprobe.d forbids stay out: modprobe's answers, and a socket of user
    nobody."""
    def play(side):
        t.a.unload()
        t.a.check(f"mount -t tmpfs none /etc/modprobe.d && {installed(side)} true")
        for line in LINES:
            t.a.check(f"echo '{line}' >/etc/modprobe.d/x.conf")
            what = line or "nothing forbidden"
            for name, answer in would_load(t, side, NAMES):
                side.fact(f"{what}: modprobe {name} loads", answer)
            # Mainline's rds has loopback in it.
            (_, answer), = would_load(t, side, ["rds_loop" if side.kind == "ours" else "rds"])
            side.fact(f"{what}: modprobe of what has loopback loads", answer)
            asked = t.a.run(f"{NOBODY} {PYTHON} -c 'import socket; socket.socket(21, 5, 0)'")[1]
            error = re.search(r"Errno (\d+)", asked)
            side.fact(f"{what}: socket(PF_RDS) by nobody",
                      f"errno {error[1]}" if error else "ok")
            loaded = t.a.check("sed -n 's/^\\(rds\\) .*/\\1/p' /proc/modules").strip()
            side.fact(f"{what}: then there is", loaded or "nothing")
            t.a.unload()
        t.a.check("umount /etc/modprobe.d")
    parity.compare(t, play)
