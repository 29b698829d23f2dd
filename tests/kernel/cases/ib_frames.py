# SPDX-License-Identifier: GPL-2.0
"""Frames of more than 4 KiB: between two hosts as large as both have buffers for."""
from ib_traffic import broken_streams, rdma_each_way
from suite import test
from traffic import A, B, Flows, counters, exact, large_buffers, mebibytes, ping

SMP = 2  # completions, worker and process of one host at the same time
IB = True
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand

LENGTH = 1000000
# Bytes that the buffers of a and b have, and the frames between them.
WISHES = ((16384, 16384, 16384), (8192, 16384, 8192), (16384, 4096, 4096))
OWN = ("ib_tx_keepalive", "ib_tx_heartbeat", "ib_rx_heartbeat", "ib_tx_credit_updates",
       "send_ack_only")


def wish(t, ends, sizes):
    """For the connections to come; the one that there is goes."""
    for (machine, own, other), size in zip(ends, sizes):
        machine.check(f"echo {size} >/proc/sys/net/rds/ib/frame_bytes")
        ping(t, machine, own, other, count=1)
        machine.check(f"{t.tool('rds-stress')} --reset -r {own} -s {other}")


def sent(t, machine):
    """Frames of messages."""
    now = counters(t, machine)
    return now["ib_tx_frames"] - sum(now[name] for name in OWN)


def frames_each(t, ends):
    """Frames that a message of LENGTH took, from the first host to the second."""
    (machine, own, _), (other, target, _) = ends
    before, messages = sent(t, machine), 6
    exact(Flows(t, machine, own, other, target, f"--flows 1 --length {LENGTH} --max-payload {LENGTH}",
                messages=messages).result())
    return (sent(t, machine) - before) / messages


@test(vms=2, only="ours", timeout=240)
def as_large_as_both_have(t):
    """So many frames take a message of a megabyte, either way."""
    ends = ((t.a, A, B), (t.b, B, A))
    with large_buffers(t):
        for *sizes, both in WISHES:
            wish(t, ends, sizes)
            for way in (ends, ends[::-1]):
                wanted, took = -(-LENGTH // both), frames_each(t, way)
                # Maps and refusals are messages, too.
                assert wanted <= took < wanted + 3, f"{took} frames where {wanted} are wanted"
            t.note(f"{sizes[0]} and {sizes[1]}: {took} frames a message")


@test(vms=2, only="ours", timeout=240, extra=True)
def with_everything(t):
    """Large frames under connections that break, and beside RDMA."""
    broken_streams(t, "--flows 16 --max-payload 65536")
    rdma_each_way(t)
    mebibytes(t)


@test(vms=2, only="ours", timeout=180, extra=True)
def small_ones(t):
    """The same with frames as small as mainline's."""
    for machine in t.vms:
        machine.check("echo 4096 >/proc/sys/net/rds/ib/frame_bytes")
    broken_streams(t, "--flows 16 --max-payload 65536")
    mebibytes(t)
