# SPDX-License-Identifier: GPL-2.0
"""No memory: every allocation of every call fails once, and workers' allocations now and then."""
import scarce
from netns_pair import IN_X, IN_Y, X, X6, Y, Y6, pair, unpair
from suite import test
from tap import tap
from traffic import Flows, exact

KERNELS = ["uml", "x86"]
MEM = 1500
NEW_GUESTS = True  # it measures memory


def failnth(t, options, prefix="", timeout=200):
    scarce.prepare(t.a)
    tap(t, t.a, f"{prefix} {t.prog('rds_failnth')} {options}", timeout)


@test(timeout=300)
def calls_on_loopback(t):
    """Each allocation of each call on a loopback socket fails once; what the call left is right."""
    for host in ("127.0.0.1", "::1"):
        failnth(t, f"--sockets --local {host} --remote {host}")


@test(timeout=300)
def calls_over_tcp(t):
    """The same between two namespaces."""
    pair(t)
    for ends in ((X, Y), (X6, Y6)):
        failnth(t, f"--sockets --local {ends[0]} --remote {ends[1]} --netns /run/netns/y", IN_X)
    unpair(t)


@test(timeout=300)
def namespaces(t):
    """A network namespace is made without memory; the first one not to fail is complete."""
    failnth(t, "--namespaces", timeout=280)
    scarce.judge(t)


@test(timeout=300, modules="none")
def modules(t):
    """The modules are loaded without memory, one by one; rmmod leaves nothing."""
    for name in ("rds", "rds_loop", "rds_tcp"):
        # From the guest's own memory: 9p is not of use any more (every open is EINVAL) once an
        # allocation of its own has failed.
        t.a.check(f"cp {t.modules_dir}/{name}.ko /run/")
        failnth(t, f"--module /run/{name}.ko", timeout=280)
        t.a.check(f"/run/busybox insmod /run/{name}.ko")
    scarce.judge(t)


def soft_roce(t):
    """An adapter at 10.8.0.1."""
    t.a.check("modprobe -a rdma_rxe rdma_cm && ip link add cable type veth peer name end &&"
              " ip addr add 10.8.0.1/24 dev cable && ip link set cable up && ip link set end up &&"
              " rdma link add rxe0 type rxe netdev cable")


@test(timeout=300, modules="none")
def adapter(t):
    """The same of rds_rdma, where there is an adapter, which comes later, too."""
    names = ("rds", "rds_rdma")
    soft_roce(t)
    for name in names:
        t.a.check(f"cp {t.modules_dir}/{name}.ko /run/")
    t.a.check("/run/busybox insmod /run/rds.ko")
    failnth(t, "--module /run/rds_rdma.ko", timeout=280)
    t.a.check("/run/busybox insmod /run/rds_rdma.ko && rdma link del rxe0 &&"
              " rdma link add rxe0 type rxe netdev cable && /run/busybox rmmod rds_rdma rds &&"
              " rdma link del rxe0 && ip link del cable")
    scarce.judge(t)


@test(timeout=300, modules="none")
def regions(t):
    """Memory regions are registered, and operations are asked for, without memory; nothing stays
    pinned."""
    soft_roce(t)
    t.a.check(" && ".join(f"/run/busybox insmod {t.modules_dir}/{name}.ko"
                          for name in ("rds", "rds_rdma")))
    failnth(t, "--regions --local 10.8.0.1")
    t.a.wait_until("awk '/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 }"
                   " END { exit a != r }' /proc/vmstat")
    t.a.check("rdma link del rxe0 && ip link del cable")
    scarce.judge(t)


@test(timeout=300)
def workers(t):
    """One in thirty allocations of softirqs and workers fails under traffic: nothing is lost."""
    pair(t)
    for ends in ((X, Y, IN_X, IN_Y), (Y6, X6, IN_Y, IN_X)):
        flows = Flows(t, t.a, ends[0], t.a, ends[1], "--flows 8 --max-payload 60000",
                      send_options="--rate 1000 --drain 15", prefixes=ends[2:])
        with scarce.memory(t.a, 3):
            flows.wait_progress(500)
        t.note(exact(flows.stop()))
    unpair(t)
