# SPDX-License-Identifier: GPL-2.0
"""Parts that tests over InfiniBand share, ours with ours and with mainline."""
import json

import filters
import hosts
from judges import all_but_told, exact
from traffic import A, A6, B, B6, Flows, counters, ping, stress_says

MIXED = "--flows 16"  # lengths from 0 to 64 KiB
LOAD = "--flows 16 --max-payload 8192"
MANY = "--flows 64 --max-payload 8192"
STEADY = "--rate 300 --drain 15"
ROCE = 4791  # UDP port

# Ways in which rds-stress -D can differ; without fence and notifications it only writes.
RDMA_WAYS = [" ".join(f"--rdma-use-{what} 0" for what in without) for without in
             ((), ("once",), ("fence",), ("notify",), ("once", "fence"), ("fence", "notify"))]


def queue_pairs(t, machine, options=""):
    """The lines of rds-info on the connections' queue pairs; with "-a" those of IPv6, too."""
    out = machine.check(f"{t.tool('rds-info')} -I {options} --json")
    return json.loads(out)["ib_connections"]


def pings(t):
    for source, target in ((A, B), (A6, B6)):
        ping(t, t.a, source, target)
        ping(t, t.b, target, source)


def flows(t, messages=12):
    """Mixed sizes both ways, IPv4 and IPv6; exactly once and in order."""
    for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A), (t.a, A6, t.b, B6), (t.b, B6, t.a, A6)):
        to_mainline = t.flavour(t.vms.index(ends[2])) == "mainline"
        judge, options = (all_but_told, "--drain 5") if to_mainline else (exact, "")
        judge(Flows(t, *ends, MIXED, messages=messages, send_options=options).result())
    t.note(f"4 times {16 * messages} messages, each exactly once and in order")


def nothing_comes(machine):
    """While it lasts. (Not by `ip link set down` where the adapter is software: under load soft-RoCE
    does not get over that. A queue pair with frames in it stands still, or queue pair 1 is in error
    and nobody can connect, until the adapter is removed; mainline's traffic stops for good, too.)"""
    if machine.adapter == hosts.ADAPTER:
        return machine.kernel.cut(machine)
    # Soft-iWARP's frames are TCP's.
    what = f"udp dport {ROCE}" if machine.adapter == "rxe" else "meta l4proto tcp"
    return filters.incoming(machine, f"{what} drop")


def cut(t, machine, ours):
    """Nothing gets to `machine` until a connection is given up."""
    def resets():
        return [counters(t, m)["conn_reset"] for m in ours]
    before = resets()
    with nothing_comes(machine):
        for _ in range(1000):
            if resets() != before:
                break
        else:
            raise AssertionError("no connection broke")


def broken_streams(t, load=LOAD, steady=STEADY):
    """Traffic both ways goes on however often the connection breaks; its accounts."""
    ours = [m for n, m in enumerate(t.vms) if t.flavour(n) == "ours"]
    with filters.ready(t.a, t.b):
        flows = [Flows(t, *ends, load, send_options=steady)
                 for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A))]
        for machine in (t.a, t.b):
            for flow in flows:
                flow.wait_progress()
            cut(t, machine, ours)
        for flow in flows:
            flow.wait_progress()
            to_mainline = t.flavour(t.vms.index(flow.receiver)) == "mainline"
            t.note((all_but_told if to_mainline else exact)(flow.stop()))
    assert sum(counters(t, m)[why] for m in ours for why in ("ib_completion_errors", "ib_tx_stuck"))


def patient(t):
    """Adapters try again as often as they can. A guest's link loses what comes too fast, and an
    operation goes with its connection: that would be told, rightly, and end rds-stress."""
    for n, machine in enumerate(t.vms):
        load = f"/run/busybox insmod {t.modules_dir.resolve()}/rds_rdma.ko"
        if t.flavour(n) == "mainline":
            load = "modprobe rds_rdma"
        machine.check(f"rmmod rds_rdma && {load} rds_ib_retry_count=7")


def rdma(t, active, passive, target, options, bytes_each):
    """rds-stress with RDMA: bytes and notifications were right at both ends, and there were some."""
    said = json.loads(stress_says(t, active, passive, target,
                                  f"--json -D {bytes_each} {options}").splitlines()[-1])
    counts = said["counts"]
    moved = counts["rdma_in_bytes"] + counts["rdma_out_bytes"]
    assert moved >= counts["operations"] * bytes_each > 0, said
    notified = "--rdma-use-notify 0" not in options
    assert counts["notifications"] == (counts["operations"] if notified else 0), said
    return counts["operations"]


def rdma_each_way(t, load="-T 1 -t 2 -d 4"):
    """With and without use-once, fence and notifications, IPv4 and IPv6, either end active.
    Mainline's hosts read with a fence: they call a read done when the message behind it was
    acknowledged, and its data may not be there then."""
    mainline = "mainline" in (t.flavour(0), t.flavour(1))
    done = {}
    pings(t)  # the first messages between two of mainline's may be lost
    for n, ways in enumerate(RDMA_WAYS):
        if mainline and "fence" in ways and "notify" not in ways:
            continue
        ends = ((t.a, t.b, (B, B6)), (t.b, t.a, (A, A6)))[n % 2]
        done[ways] = rdma(t, *ends[:2], ends[2][n // 2 % 2], f"{load} {ways}", 8192)
    t.note(", ".join(f"{count} {ways or 'with everything'}" for ways, count in done.items()))
