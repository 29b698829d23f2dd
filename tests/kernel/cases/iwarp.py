# SPDX-License-Identifier: GPL-2.0
"""Two hosts of ours over iWARP (soft-iWARP, which our debug kernel has)."""
import contextlib

from ib_traffic import LOAD, STEADY, broken_streams, flows, pings
from suite import test
from traffic import A, A6, B, B6, Flows, counters, exact, helper, lends_nothing, wait_finding

IB = "rds_ib_everywhere=Y"
ADAPTER = "siw"
KERNELS = ["uml"]


@test(vms=2, only="ours", timeout=180)
def ours_with_ours(t):
    """Pings and exact flows; buffers are counted without being asked to, for nobody asks again."""
    pings(t)
    flows(t)
    for machine in (t.a, t.b):
        assert counters(t, machine)["ib_rx_credit_updates"] > 0
        assert machine.check("cat /proc/sys/net/rds/ib/flow_control").strip() == "0"


@test(vms=2, only="ours", timeout=180)
def few_buffers(t):
    """Sixteen buffers, fast senders: who has no credit waits, and nothing is lost."""
    for machine in (t.a, t.b):
        machine.check("echo 16 >/proc/sys/net/rds/ib/max_recv_wr")
    flows(t)
    seen = [{k: v for k, v in counters(t, machine).items() if v} for machine in (t.a, t.b)]
    for host in seen:
        assert host.get("ib_tx_throttle") and not host.get("ib_completion_errors"), seen


@test(vms=2, only="ours", timeout=240)
def connections_break(t):
    """Nothing gets through until a connection is given up, both ways: nothing lost."""
    broken_streams(t)


@test(vms=2, only="ours", timeout=240)
def adapter_goes(t):
    """The adapter is taken away and comes back under traffic: nothing is lost."""
    flow = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
    for machine in (t.a, t.b):
        flow.wait_progress()
        machine.unplug()
        machine.plug()
    flow.wait_progress()
    t.note(exact(flow.stop()))


@test(vms=2, only="ours")
def has_no_regions(t):
    """An adapter connects a queue pair to itself, by which keys of regions change; iWARP's cannot. A
    program that would lend memory is told so, and not to try again."""
    lends_nothing(t)


@test(vms=2, only="ours")
def who_does_not_ask_gets_tcp(t):
    """Mainline serves such an address by TCP; so do we, unless a socket or the parameter wants it
    otherwise, and no matter which module was there first."""
    asks, by_tcp = f"{helper('rds_policy.py')} taken {A}", f"{t.modules_dir.resolve()}/rds_tcp.ko"
    adapter = f"{t.modules_dir.resolve()}/rds_rdma.ko"
    t.a.check(f"/run/busybox insmod {by_tcp}")
    assert t.a.check(asks).strip() == "0", "the parameter is set"
    t.a.check(f"/run/busybox rmmod rds_rdma && /run/busybox insmod {adapter}")
    for _ in range(2):
        assert t.a.check(asks).strip() == "2" and t.a.check(f"{asks} 0").strip() == "0"
        t.a.check(f"/run/busybox rmmod rds_tcp && ! {asks} | grep -qv EADDRNOTAVAIL &&"
                  f" /run/busybox insmod {by_tcp}")


@contextlib.contextmanager
def not_reached(t, mine, other, why):
    """A message waits for a host that is not reached, and doctor has said why."""
    held = t.a.spawn(f"exec {t.prog('rds_hold')} --bind {mine} --to {other} --messages 1",
                     stdin=True)
    held.wait_output("^ready$")
    assert wait_finding(t, "paths", why)["what"].startswith(f"{other} has not"), why
    yield
    held.kill()
    held.wait()


@test(vms=2, only="ours", timeout=240)
def doctor_calls(t):
    """Doctor tells an address that nobody has; of a host that is there it cannot call the port,
    for want of a queue pair, and names all that it may be. Then the message arrives. A port that
    rds_tcp has already is told of on its own host."""
    ctl, modules = t.tool("rdsctl"), t.modules_dir.resolve()
    load_rdma = f"/run/busybox insmod {modules}/rds_rdma.ko {t.a.parameters()}"
    t.a.check("modprobe rdma_ucm")
    with not_reached(t, A, "10.9.0.77", "no way to it"):
        t.b.check("/run/busybox rmmod rds_rdma")
    with not_reached(t, A6, B6, "nobody answers on RDMA port 16385 there"):
        t.b.check(load_rdma)
    t.b.check(f"{ctl} peer replace {A} refuse")
    with not_reached(t, A, B, "nobody answers on RDMA port 18634 there: the host is down, has no"
                     " rds_rdma, its table of peers refuses this host, or a filter is between"):
        counted = counters(t, t.b)
        assert counted["ib_peer_refused"] > 0 == counted["ib_version_refused"], counted
        t.b.check(f"{ctl} peer del {A}")
        t.a.wait_until(f"{ctl} path show state up unacked 0 | grep -q '> {B} '", 60)
    t.a.check(f"/run/busybox rmmod rds_rdma && /run/busybox insmod {modules}/rds_tcp.ko &&"
              f" {load_rdma}")
    wait_finding(t, "counters", "over iWARP rds_tcp has that of IPv6", False)
