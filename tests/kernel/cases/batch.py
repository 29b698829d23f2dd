# SPDX-License-Identifier: GPL-2.0
"""Many datagrams in one system call: RDS_CMSG_SEGMENT to send, RDS_RECV_BATCH to receive."""
import re

from suite import test
from traffic import A, B, helper, stress

KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]


@test(only="ours")
def rules(t):
    """The rules of either, one by one: lengths, room for a part, faults, senders, errnos."""
    said = t.a.check(f"{helper('rds_batch.py')} here 127.0.0.1", t.seconds(60))
    t.note(f"{len(re.findall('^ok ', said, re.M))} rules")
    assert "not ok" not in said, said


@test(only="ours")
def bytes_that_are_left(t):
    """SO_RDS_INQ: each call says how much can be read after it; empty, cut and many messages, too."""
    t.a.check(f"{helper('rds_reset.py')} inq 127.0.0.1", t.seconds(30))


@test(vms=2, only="ours")
def between_two_hosts(t):
    """Datagrams of every length over TCP, many a call at both ends: each is there, as it was."""
    receiver = t.b.spawn(f"{helper('rds_batch.py')} receive {B}")
    receiver.wait_output("^ready$")
    sender = t.a.spawn(f"{helper('rds_batch.py')} send {A} {B}", stdin=True)
    t.note("received " + receiver.check().splitlines()[-1])
    sender.write("", close=True)
    said = sender.check().splitlines()[-1]
    assert said == "600 in 12 calls", said


@test(vms=2, modules=("ours", "mainline"))
def to_mainline(t):
    """A peer of mainline's sees datagrams, and nothing else."""
    sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
    sink.wait_output("^ready$")
    sender = t.a.spawn(f"{helper('rds_batch.py')} send {A} {B}", stdin=True)
    sink.wait_output(r"(\d+\n){600}")
    sender.write("", close=True)
    sender.check()
    sink.kill()
    sink.wait()


@test(vms=2, only="ours")
def stress_tests(t):
    """rds-stress --segment and --recv-batch: order and payload are checked, with acks, without,
    and with hints of order."""
    for options in ("-t 2 -d 64 -q 200", "-t 2 -q 1k -o", "-d 32 -q 100 --order half:5"):
        checked = stress(t, t.a, t.b, B, f"-T 2 {options} --segment 16 --recv-batch 64")
        t.note(f"{options}: {checked} messages")


@test(vms=2, modules=("ours", "mainline"))
def stress_with_mainline(t):
    """The side that cannot says so, and both end."""
    tool = t.tool("rds-stress")
    waiting = t.b.spawn(f"{tool} -r {B} -p 4000")
    t.b.wait_until("ss -Hltn 'sport = :4000' | grep -q .")
    _, said = t.a.run(f"{tool} -s {B} -p 4000 -T 2 --segment 2")
    rc, there = waiting.wait(30)
    assert rc == 2 and "RDS_RECV_BATCH" in there, (rc, there, said)


def lines_arrive(t):
    """examples/lines: a text, line by line, is the same at the other end."""
    lines = t.example("lines")
    t.a.check("for i in $(seq 3000); do echo line $i of $((i * i)); [ $((i % 7)) = 0 ] && echo; done"
              " >/tmp/text; true")
    receiver = t.b.spawn(f"exec {lines} recv {B} 4000 >/tmp/came")
    t.b.wait_until(f"{t.tool('rds-info')} -k | grep -q 4000")
    said = t.a.check(f"{lines} send {A} {B} 4000 </tmp/text 2>&1", timeout=t.seconds(60))
    receiver.check()
    sums = {m.check(f"sha256sum <{f}").strip() for m, f in ((t.a, "/tmp/text"), (t.b, "/tmp/came"))}
    assert len(sums) == 1 and "3428 lines delivered" in said, (sums, said)


@test(vms=2, only="ours")
def the_example(t):
    """Between two hosts of ours, hundreds of lines a call."""
    lines_arrive(t)


@test(vms=2, modules=("ours", "mainline"))
def the_example_to_mainline(t):
    """Its receiver returns one a call."""
    lines_arrive(t)
