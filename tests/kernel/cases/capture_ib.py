# SPDX-License-Identifier: GPL-2.0
"""The same over soft-RoCE: build/captures/NAME.pcap.gz, see capture.py.

The tests want captures in which no adapter sent again: a line of the result tells. sent_again_ib is
one of the other kind, which is not made anew: packets were lost, and a connection ended for want of
credits.
"""
import base64
import gzip
import sys

from guest import TOP
from ib_traffic import ROCE, pings
from parity_flood import delayed
from quiet import gone, impatient
from suite import test
from traffic import A, B, helper, wait_counter

sys.path.append(str(TOP / "tests/wireshark"))
from pcap import Packet, records  # noqa: E402

EXTRA = True
IB = True
KERNELS = ["6.1", "6.12"]  # see ib_mainline.py
TOLD = helper("rds_told.py")
SNAP, ROOM = 2048, 16384  # bytes of a packet, KiB of them that wait for tcpdump
SLOW = "rate 8mbit"  # or the guests' network loses some of a burst, and adapters send again


def say(t):
    """Messages of all sizes each way, RDMA, a port that fills: tests/wireshark/told.py."""
    answering = t.b.spawn(f"{TOLD} answer {B}", stdin=True)
    answering.wait_output("^ready$")
    asking = t.a.spawn(f"{TOLD} ask {A} {B}", stdin=True)
    for end in (asking, answering):
        end.wait_output("^said$", 100)
    for end in (asking, answering):
        end.write("", close=True)
        end.check()


def end(t):
    """Both connections, in order, when each host was asked whether it is there."""
    for machine in t.vms:
        wait_counter(t, machine, "ib_rx_heartbeat", 1)
    impatient(*t.vms, ms=1)
    for machine in t.vms:
        gone(machine, "infiniband")


def sent_again(data):
    sends = [(one.pair, one.number) for one in map(Packet, records(data)) if one.is_send]
    return len(sends) - len(set(sends))


def capture(t, name):
    """All of two connections, from their beginning; two of ours count buffers, ask each other whether
    they are there, and end them in order."""
    ours_alone = t.flavour(0) == t.flavour(1) == "ours"
    if ours_alone:
        for machine in t.vms:
            machine.check("sysctl -qw net.rds.ib.flow_control=1 net.rds.ib.heartbeat_interval_secs=1")
    dump = t.a.spawn(f"tcpdump -Z root -p -U --immediate-mode -s {SNAP} -B {ROOM} -i eth0"
                     f" -w /tmp/c.pcap udp port {ROCE} 2>&1")
    dump.wait_output("listening on")
    with delayed(t.a, SLOW), delayed(t.b, SLOW):
        pings(t)
        say(t)
        if ours_alone:
            end(t)
    t.a.wait_until("size() { stat -c %s /tmp/c.pcap; }; [ $(size) = $(sleep 1; size) ]")
    t.a.check("kill -INT $(pidof tcpdump)")
    dump.check(30)
    data = base64.b64decode(t.a.check("base64 /tmp/c.pcap"))
    into = TOP / "build/captures"
    into.mkdir(exist_ok=True)
    (into / f"{name}.pcap.gz").write_bytes(gzip.compress(data, mtime=0))
    again = sent_again(data)
    t.note(f"{len(data)} bytes, {again} packets that an adapter sent again"
           + (": not for the tests, which want none" if again else ""))


@test(vms=2, only="ours")
def ours(t):
    """Between two hosts of ours."""
    capture(t, "ours_ib")


@test(vms=2, modules=("mainline", "mainline"))
def mainlines(t):
    """Between two hosts with mainline's modules."""
    capture(t, "mainlines_ib")


@test(vms=2, modules=("ours", "mainline"))
def one_of_each(t):
    """Between one of ours and one of mainline's."""
    capture(t, "one_of_each_ib")
