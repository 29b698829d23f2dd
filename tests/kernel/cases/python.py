# SPDX-License-Identifier: GPL-2.0
"""The Python package `rds` and its examples, with the kernel's sockets."""
import re

from guest import TOP
from suite import HERE, test
from traffic import A, A6, B

PYTHON = f"env PYTHONPATH={TOP}/python PYTHONDONTWRITEBYTECODE=1 python3 -S"


@test(vms=2, only="ours", timeout=300)
def package(t):
    """Every call of it: addresses, hints, what is not read, congestion, asyncio."""
    out = t.a.check(f"{PYTHON} {HERE}/rds_python.py {A} {A6} 2>&1", timeout=t.seconds(200))
    ran = re.search(r"^Ran (\d+) tests", out, re.M)
    t.note(ran[0])
    assert int(ran[1]) >= 12 and "\nOK\n" in out, out


def send_file(t, sender, receiver):
    """From one program to the other: all of it, in order or not."""
    t.a.check("head -c 3000000 /dev/urandom >/tmp/from")
    receiving = t.b.spawn(f"{receiver} recv {B} 4000 /tmp/to", stdin=True)
    t.b.wait_until("grep -q 4000 /proc/net/rds/sockets", t.seconds(90))
    said = t.a.check(f"{sender} send {A} {B} 4000 /tmp/from", timeout=t.seconds(100))
    assert "3000000 bytes delivered" in said, said
    receiving.write("", close=True)
    assert "3000000 bytes received" in receiving.check(60)
    sums = {m.check(f"sha256sum <{f}").strip() for m, f in ((t.a, "/tmp/from"), (t.b, "/tmp/to"))}
    assert len(sums) == 1, sums


@test(vms=2, only="ours", timeout=300)
def bulk(t):
    """examples/bulk.py and examples/bulk.c send each other a file."""
    ours, c = f"{PYTHON} {TOP}/examples/bulk.py", t.example("bulk")
    for sender, receiver in ((ours, c), (c, ours)):
        send_file(t, sender, receiver)


@test(vms=2, timeout=300)
def echo(t):
    """examples/echo.py: questions by the hundred, answered in order, on mainline's modules as well."""
    echo_py = f"{PYTHON} {TOP}/examples/echo.py"
    serving = t.b.spawn(f"{echo_py} serve {B} 4000")
    serving.wait_output("^ready$", t.seconds(90))
    said = t.a.check(f"{echo_py} ask {A} {B} 4000 500", timeout=t.seconds(100))
    assert "500 answers, in order" in said, said
    serving.kill()
    serving.wait()
    t.note(said.strip())
