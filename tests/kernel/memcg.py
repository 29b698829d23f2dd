# SPDX-License-Identifier: GPL-2.0
"""A cgroup in a guest, and what its memory controller charges for sockets."""
import contextlib

ROOT = "/sys/fs/cgroup"
GROUP = f"{ROOT}/rds"


SOCK = f"awk '$1 == \"sock\" {{print $2}}' {GROUP}/memory.stat"
# Newer kernels' stable releases refuse it to all but TCP's sockets, UDP's included.
RESERVE_UDP = ("python3 -c 'import socket;"
               " socket.socket(type=socket.SOCK_DGRAM).setsockopt(socket.SOL_SOCKET, 73, 4096)'")


def sock_bytes(machine, least=0):
    """The bytes charged for sockets, once they are @least: kernels since 6.8 bring memory.stat up
    to date every two seconds when little has changed."""
    if least:
        machine.wait_until(f"[ $({SOCK}) -ge {least} ]")
    return int(machine.check(SOCK))


def reserves(machine):
    """Can sockets other than TCP's reserve memory?"""
    return not machine.run(f"sh -c 'echo $$ >{GROUP}/cgroup.procs && exec \"$@\"' - {RESERVE_UDP}")[0]


@contextlib.contextmanager
def group(t, machine=None):
    """A cgroup of its own with the memory controller."""
    machine = machine or t.a
    mounted = not machine.run(f"mountpoint -q {ROOT}")[0]
    if not mounted:
        machine.check(f"mount -t cgroup2 none {ROOT}")
    machine.check(f"echo +memory >{ROOT}/cgroup.subtree_control && mkdir {GROUP}")
    yield
    machine.check(f"rmdir {GROUP} && echo -memory >{ROOT}/cgroup.subtree_control")
    if not mounted:
        machine.check(f"umount {ROOT}")


def hold(t, options):
    return t.a.spawn(f"sh -c 'echo $$ >{GROUP}/cgroup.procs && exec {t.prog('rds_hold')}"
                     f" {options} --length 1000'", stdin=True)


def objects(machine):
    """Messages and sockets that there are, by the kernel's caches for them: slabs that a processor
    has at hand count whole."""
    rows = machine.check("grep -E '^(rds_msg_[0-9]+|RDS) ' /proc/slabinfo").splitlines()
    return {row.split()[0]: int(row.split()[1]) for row in rows}
