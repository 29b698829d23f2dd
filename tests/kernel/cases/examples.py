# SPDX-License-Identifier: GPL-2.0
"""The programs of examples/ in C, C++ and Rust do what their first lines say, and the C++ header what docs/cxx.md
does. bulk: `order.the_example`; lines: `batch`; lend over adapters: `ib_rdma.the_example`."""
import re
import signal

from suite import test
from traffic import A, A6, B, counters, lends_nothing, wait_counter


def held_back(t, reading, command, seconds):
    """The words of a sender whose reader stands still until the sender has met the full port."""
    reading.kill(signal.SIGSTOP)
    before = counters(t, t.a)["cong_send_error"]
    sending = t.a.spawn(command)
    wait_counter(t, t.a, "cong_send_error", before + 1)
    reading.kill(signal.SIGCONT)
    return sending.check(seconds)


@test(vms=2, timeout=300)
def congestion(t):
    """examples/congestion: a sender that never waits in a send is told by the monitor when to go on."""
    program = t.example("congestion")
    reading = t.b.spawn(f"{program} recv {B} 4000 300", stdin=True)
    t.b.wait_until("grep -q 4000 /proc/net/rds/sockets" if t.b.modules == "ours" else
                   f"{t.tool('rds-info')} -k | grep -q 4000")
    said = held_back(t, reading, f"{program} send {A} {B} 4000 300", t.seconds(120))
    reading.write("", close=True)
    assert "300 messages, in order" in reading.check(30)
    waits = re.search(r"300 messages delivered, waited (\d+) times", said)
    t.note(said.strip())
    assert int(waits[1]) >= 1, said


@test(vms=2, timeout=300)
def zerocopy(t):
    """examples/zerocopy: a sender writes to its pages again when their cookies are back, and the reader gets what
    was sent. Where pages cannot be lent, over loopback, messages are copied."""
    program = t.example("zerocopy")
    for reader, own, address, lent in ((t.b, A, B, 40), (t.a, "127.0.0.1", "127.0.0.1", 0)):
        reading = reader.spawn(f"{program} recv {address} 4000 40", stdin=True)
        reader.wait_until(f"{t.tool('rds-info')} -k | grep -qw 4000")
        said = t.a.check(f"{program} send {own} {address} 4000 40", timeout=t.seconds(120))
        reading.write("", close=True)
        assert "40 messages, each as it was sent" in reading.check(30)
        assert said == f"40 messages delivered, {lent} of them without a copy\n", said


@test(vms=2, timeout=300)
def lend(t):
    """examples/lend over TCP: there is no RDMA, and both ends say so."""
    lends_nothing(t)


@test(vms=1, only="ours")
def unread(t):
    """examples/unread: what has come, of one peer and of all, before and after a message is read."""
    said = t.a.check(f"{t.example('unread')} 127.0.0.1 127.0.0.9")
    assert said.splitlines() == ["of all: 2 messages, span 2", "of the other: 0 messages, span 0",
                                 "of all, after reading one: 1 messages, span 1"], said


@test(vms=2, only="ours")
def cxx_header(t):
    """<rds/socket.hpp> (docs/cxx.md): every call of it that is a system call."""
    out = t.a.check(f"{t.built('tests/cxx/rds_cxx')} {A} {A6} 2>&1", timeout=t.seconds(100))
    ran = re.search(r"(\d+) tests from \d+ test suites? ran", out)
    t.note(ran[0])
    assert int(ran[1]) >= 10 and f"[  PASSED  ] {ran[1]} tests" in out, out


@test(vms=2, timeout=300)
def cxx_echo(t):
    """examples/cxx/echo.cpp: questions of one host, answered by the other, on mainline's modules as well."""
    echo = t.example("cxx/echo")
    serving = t.b.spawn(f"{echo} serve {B}:4000")
    serving.wait_output("^ready$", t.seconds(30))
    said = t.a.check(f"{echo} ask {A}:0 {B}:4000 200", timeout=t.seconds(100))
    assert said == f"200 answers of {B}:4000\n", said
    serving.kill()
    serving.wait()


@test(vms=2, timeout=300)
def cxx_flood(t):
    """examples/cxx/flood.cpp: hundreds of messages a call to a slow reader; the sender is told when to go
    on. Mainline's modules take one a call."""
    flood = t.example("cxx/flood")
    reading = t.b.spawn(f"{flood} recv {B}:4000 5000", stdin=True)
    t.b.wait_until(f"{t.tool('rds-info')} -k | grep -q 4000")
    # Mainline's 6.x begins on one path and goes on by another: sends that do not wait are overtaken then.
    t.a.check(f"{t.tool('rds-ping')} -c 1 {B}")
    said = held_back(t, reading, f"{flood} send {A}:0 {B}:4000 5000", t.seconds(200))
    reading.write("", close=True)
    read = re.search(r"5000 messages, in order, by (\d+) calls", reading.check(30))
    waits = re.search(r"5000 messages delivered, waited (\d+) times", said)
    t.note(f"{said.strip()}; {read[0]}")
    assert int(waits[1]) >= 1, said
    assert int(read[1]) < 5000 or t.a.modules != "ours", read[0]


@test(vms=1, needs="examples/rust/hello")
def rust(t):
    """examples/rust/hello.rs: a message over loopback."""
    said = t.a.check(f"{t.example('rust/hello')}")
    assert said == "hello from 127.0.0.1\n", said
