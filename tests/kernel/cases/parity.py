# SPDX-License-Identifier: GPL-2.0
"""Mainline's modules and ours do the same, and ours do it no worse: wakeups and what is told of
queues, between two hosts. See parity.py above this directory."""
import parity
from parity_flood import delayed
from suite import test
from traffic import A, A6, B, B6, helper

KERNELS = parity.KERNELS
FULL = 10  # all that rds_edge.py sends then fits the receiver's buffer: its port stays clear


@test(vms=2, modules="mainline", extra=True)
def edge_triggered_sender(t):
    """With EPOLLOUT|EPOLLET a sender that met EAGAIN is woken every time that there is room."""
    def play(side):
        sink = t.b.spawn(f"{helper('rds_sink.py')} {B}", stdin=True)
        sink.wait_output("^ready$")
        with delayed(t.a, "delay 5ms"), delayed(t.b, "delay 5ms"):
            side.run(t.a, f"{helper('rds_edge.py')} {A} {B} {FULL}")
        sink.kill()
        sink.wait()
    parity.compare(t, play)


@test(vms=2, modules="mainline")
def unread_messages(t):
    """RDS_INFO_RECV_MESSAGES: the local address is the reader's, the remote one the sender's."""
    def play(side):
        reader = t.b.spawn(f"{helper('rds_unread.py')} hold {B} {B6}")
        reader.wait_output("^ready$")
        sender = t.a.spawn(f"{helper('rds_unread.py')} send {A} {B} {A6} {B6}", stdin=True)
        side.read(reader.check())
        sender.write("", close=True)
        sender.check()
    parity.compare(t, play)
