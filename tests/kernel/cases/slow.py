# SPDX-License-Identifier: GPL-2.0
"""Callers whose memory answers late, as a FUSE file's does, or never."""
from netns_pair import IN_X, X, Y, pair, unpair
from suite import test
from tap import tap
from traffic import ping

SETTINGS, NOBODY = "/proc/sys/net/rds", X.rpartition(".")[0] + ".77"


@test(only="ours", timeout=600, kernels=["6.1", "6.12", "7.2"])
def memory(t):
    """Each call that copies, with memory that is not there yet, by system call and by io_uring: while it
    waits nobody else does, and then it ends as ever. Requests of io_uring that are cancelled, or
    whose socket or ring goes, leave nothing."""
    pair(t)
    t.a.check(f"modprobe rdma_cm && {IN_X} sh -c 'echo 0 >{SETTINGS}/tcp/rds_tcp_user_timeout_ms &&"
              f" echo 0 >{SETTINGS}/idle_timeout_ms'")
    ping(t, t.a, X, Y, prefix=IN_X)
    # The peer is silent from now on, and its connection up: what is sent stays unacknowledged.
    t.a.check("ip -n y link set cable down")
    tap(t, t.a, f"{IN_X} {t.prog('rds_slow')} --tcp {X} --peer {Y} --nobody {NOBODY}"
        f" --module {t.modules_dir}/rds_rdma.ko --patience {int(t.seconds(20))}", 500)
    unpair(t)
