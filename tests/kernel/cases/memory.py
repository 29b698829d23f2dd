# SPDX-License-Identifier: GPL-2.0
"""Whose memory the messages are: the cgroup of who made the socket pays."""
from suite import test
from traffic import A

KERNELS = ["6.1", "6.12", "7.2"]  # the debug kernels have no memory controller
ROOT = "/sys/fs/cgroup"
GROUP = f"{ROOT}/rds"


def sock_bytes(machine):
    return int(machine.check(f"awk '$1 == \"sock\" {{print $2}}' {GROUP}/memory.stat"))


@test(vms=2, only="ours")
def charged_to_a_cgroup(t):
    """What is queued to send, and what is not read, is in memory.stat until it is gone."""
    mounted = not t.a.run(f"mountpoint -q {ROOT}")[0]
    if not mounted:
        t.a.check(f"mount -t cgroup2 none {ROOT}")
    t.a.check(f"echo +memory >{ROOT}/cgroup.subtree_control && mkdir {GROUP}")
    queued = {"unread": f"--bind {A} --unread 100 --messages 0",
              "unsent": f"--bind {A} --to 10.9.0.77 --messages 100"}
    for what, options in queued.items():
        hold = t.a.spawn(f"sh -c 'echo $$ >{GROUP}/cgroup.procs && exec {t.prog('rds_hold')}"
                         f" {options} --length 1000'", stdin=True)
        hold.wait_output("^ready$")
        charged = sock_bytes(t.a)
        t.note(f"{what}: {charged} bytes for 100 messages of 1000")
        assert 100 * 1000 <= charged <= 100 * 2000 + 2 * 16384, charged
        hold.write("", close=True)
        hold.check()
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
    assert t.a.check("awk '$1 == \"RDS\" {print $4}' /proc/net/protocols").strip() == "0"
    t.a.check(f"rmdir {GROUP} && echo -memory >{ROOT}/cgroup.subtree_control")
    if not mounted:
        t.a.check(f"umount {ROOT}")
