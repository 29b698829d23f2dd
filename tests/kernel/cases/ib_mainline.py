# SPDX-License-Identifier: GPL-2.0
"""Ours and mainline's over InfiniBand (soft-RoCE on the hosts' network interface)."""
from ib_traffic import broken_streams, flows, patient, pings, rdma, rdma_each_way
from suite import test
from traffic import A, B, acks_are_timed, counters, helper, peers_of, slow_reader

IB = True
# Mainline's of 7.2 leaves connections behind when its modules go, and the kernel does not like that;
# on debug kernels lockdep gives up at mainline's first connection.
KERNELS = ["6.1", "6.12"]

SIZES = ((1, 4095), (4096, 100), (1 << 20, 0), (1 << 20, 4095))  # RDMA: bytes, and where in a page


@test(vms=2, modules=("ours", "mainline"), timeout=180)
def ours_is_the_smaller(t):
    """Pings and exact flows of mixed sizes, both ways and families; mainline is the larger."""
    pings(t)
    flows(t)
    assert peers_of(t, t.a) == {"other"}
    pings(t)  # a connection may be new
    acks_are_timed(t, t.a)


@test(vms=2, modules=("mainline", "ours"), timeout=180, extra=True)
def mainline_is_the_smaller(t):
    """The same with mainline's modules on the host with the smaller address."""
    pings(t)
    flows(t)


@test(vms=2, modules=("ours", "mainline"))
def a_message_before_an_operation(t):
    """A message wakes mainline although an operation was to follow it, which brings no frame: nobody waits
    for the keepalive that would. The connection begins with the two, so they are one burst."""
    answering = t.b.spawn(f"{helper('rds_talk.py')} answer {B}", stdin=True)
    answering.wait_output("^ready$")
    assert t.a.check(f"{helper('rds_talk.py')} beside {A} {B} hello", t.seconds(60)) == "re: hello\n"
    assert counters(t, t.a)["ib_tx_keepalive"] == 0
    answering.write("", close=True)
    answering.check()


def counted_flows(t):
    """Both hosts want buffers counted. A host that ours calls counts its own, though its reply names none."""
    for machine in (t.a, t.b):
        machine.check("echo 1 >/proc/sys/net/rds/ib/flow_control")
    pings(t)
    flows(t)


@test(vms=2, modules=("ours", "mainline"), timeout=180)
def credits_with_mainline_larger(t):
    """Flows in both directions while both count buffers: nobody stands still for want of credits."""
    counted_flows(t)
    assert counters(t, t.a)["ib_rx_credit_updates"] > 0


@test(vms=2, modules=("mainline", "ours"), timeout=180, extra=True)
def credits_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    counted_flows(t)


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def congestion(t):
    """A slow reader, both ways: refused, told, woken."""
    slow_reader(t, t.a, A, t.b, B, t.flavour(0))
    slow_reader(t, t.b, B, t.a, A, t.flavour(1))


@test(vms=2, modules=("ours", "mainline"), timeout=240, extra=True)
def breaks_with_mainline_larger(t):
    """Adapters give connections up under traffic, both ways: nothing lost, all in order."""
    broken_streams(t)


@test(vms=2, modules=("mainline", "ours"), timeout=240, extra=True)
def breaks_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    broken_streams(t)


@test(vms=2, modules=("ours", "mainline"), timeout=240)
def rdma_with_mainline_larger(t):
    """RDMA in every way and of several sizes, either end active; bytes and notices are right."""
    patient(t)
    rdma_each_way(t)
    for size, align in SIZES:
        rdma(t, t.a, t.b, B, f"-T 1 -d 2 --rdma-alignment {align}", size)


@test(vms=2, modules=("mainline", "ours"), timeout=240, extra=True)
def rdma_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    patient(t)
    rdma_each_way(t)
    for size, align in SIZES:
        rdma(t, t.b, t.a, A, f"-T 1 -d 2 --rdma-alignment {align}", size)
