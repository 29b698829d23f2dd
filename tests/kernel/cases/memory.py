# SPDX-License-Identifier: GPL-2.0
"""Whose memory the messages are: the cgroup of who made the socket pays."""
import contextlib
import re

from suite import test
from traffic import A, B

KERNELS = ["6.1", "6.12", "7.2"]  # the debug kernels have no memory controller
ROOT = "/sys/fs/cgroup"
GROUP = f"{ROOT}/rds"


def sock_bytes(machine):
    return int(machine.check(f"awk '$1 == \"sock\" {{print $2}}' {GROUP}/memory.stat"))


@contextlib.contextmanager
def group(t):
    """A cgroup of its own with the memory controller."""
    mounted = not t.a.run(f"mountpoint -q {ROOT}")[0]
    if not mounted:
        t.a.check(f"mount -t cgroup2 none {ROOT}")
    t.a.check(f"echo +memory >{ROOT}/cgroup.subtree_control && mkdir {GROUP}")
    yield
    t.a.check(f"rmdir {GROUP} && echo -memory >{ROOT}/cgroup.subtree_control")
    if not mounted:
        t.a.check(f"umount {ROOT}")


def hold(t, options):
    return t.a.spawn(f"sh -c 'echo $$ >{GROUP}/cgroup.procs && exec {t.prog('rds_hold')}"
                     f" {options} --length 1000'", stdin=True)


@test(vms=2, only="ours")
def charged_to_a_cgroup(t):
    """What is queued to send, and what is not read, is in memory.stat until it is gone."""
    queued = {"unread": f"--bind {A} --unread 100 --messages 0",
              "unsent": f"--bind {A} --to 10.9.0.77 --messages 100"}
    with group(t):
        for what, options in queued.items():
            holder = hold(t, options)
            holder.wait_output("^ready$")
            charged = sock_bytes(t.a)
            t.note(f"{what}: {charged} bytes for 100 messages of 1000")
            assert 100 * 1000 <= charged <= 100 * 2000 + 2 * 16384, charged
            holder.write("", close=True)
            holder.check()
            t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
        assert t.a.check("awk '$1 == \"RDS\" {print $4}' /proc/net/protocols").strip() == "0"


@test(vms=2, only="ours")
def at_the_cgroups_limit(t):
    """Who queues more than its cgroup may have is stopped, as with TCP; others do not feel it."""
    with group(t):
        t.a.check(f"echo 12M >{GROUP}/memory.max")
        t.a.dmesg_mark()
        # 300 sockets with 100 kB each.  The kernel lets the charge fail, or ends who charges.
        holder = hold(t, f"--bind {A} --to 10.9.0.77 --count 300 --messages 100")
        rc, said = holder.wait()
        assert rc == 137 or rc and "Cannot allocate memory" in said, (rc, said)
        assert int(t.a.check(f"awk '$1 == \"max\" {{print $2}}' {GROUP}/memory.events")) > 0
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
        strange = [line for line in t.a.dmesg_problems()
                   if not re.search("Call Trace|Memory cgroup out of memory", line)]
        assert not strange, strange
        t.a.dmesg_mark()
        t.note(f"exit status {rc}")
    t.a.check(f"{t.tool('rds-ping')} -c 3 {B}")
