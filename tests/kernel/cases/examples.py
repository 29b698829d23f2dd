# SPDX-License-Identifier: GPL-2.0
"""The programs of examples/ in C do what their first lines say. bulk: `order.the_example`; lines: `batch`."""
import re

from suite import test
from traffic import A, B


@test(vms=2, timeout=300)
def congestion(t):
    """examples/congestion: a sender that never waits in a send is told by the monitor when to go on."""
    program = t.example("congestion")
    reading = t.b.spawn(f"{program} recv {B} 4000 300", stdin=True)
    t.b.wait_until("grep -q 4000 /proc/net/rds/sockets" if t.b.modules == "ours" else
                   f"{t.tool('rds-info')} -k | grep -q 4000")
    said = t.a.check(f"{program} send {A} {B} 4000 300", timeout=t.seconds(120))
    reading.write("", close=True)
    assert "300 messages, in order" in reading.check(30)
    waits = re.search(r"300 messages delivered, waited (\d+) times", said)
    t.note(said.strip())
    assert int(waits[1]) > 1, said


@test(vms=1, only="ours")
def unread(t):
    """examples/unread: what has come, of one peer and of all, before and after a message is read."""
    said = t.a.check(f"{t.example('unread')} 127.0.0.1 127.0.0.9")
    assert said.splitlines() == ["of all: 2 messages, span 2", "of the other: 0 messages, span 0",
                                 "of all, after reading one: 1 messages, span 1"], said
