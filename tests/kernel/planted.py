#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Plants mistakes in our modules, one at a time, and shows that tests tell them.

    planted.py [NAME ...]      all of them, or some; `make KERNEL=kcsan modules tests` comes first,
                               and the same with uml and 6.12
    planted.py --check         only: does each still apply?

Each is built in a copy of the sources; then tests run on it: races.* on the kcsan kernel, until
KCSAN has reported a data race; users.* on User-Mode Linux, and on a stock kernel (what users of a
host may notice, or take). A mistake that nobody reports is a hole in those tests, and the exit status says so.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import time
from typing import NamedTuple

import guest

sys.path.insert(0, str(guest.TOP / "tests/sim/mutate"))
from mutants import Mutant  # noqa: E402
from mutate import Stale, mutate  # noqa: E402

SOURCES, MODULES = "build/src-planted", "build/modules-planted"
LONGEST = 300  # s for a test, on a machine shared by many

RACES = [
    Mutant("plain-load", "every atomic load is a plain one", "net/rds/ref.h",
           "return __atomic_load_n(&v_, __ATOMIC_RELAXED);", "return v_;"),
    Mutant("plain-mem", "a delivery looks at the queue's memory by a plain load",
           "net/rds/socket/socket_recv.cc", "RDS_UNLIKELY(unread_mem() / rds::kHardMemFactor > limit)",
           "RDS_UNLIKELY(*reinterpret_cast<uint64_t *>(&rcv_mem) / rds::kHardMemFactor > limit)"),
    Mutant("take-lock", "a reader takes what has arrived without the lock",
           "net/rds/socket/socket_recv.cc",
           "if (reading.empty() && unread.has_arrived()) { Guard g(recv_lock);",
           "if (reading.empty() && unread.has_arrived()) {"),
    Mutant("queue-lock", "messages are queued without the path's lock", "net/rds/path/path_queue.cc",
           "rds::Guard g(lock); if (RDS_UNLIKELY(dead_ || conn.life.is_ending())) {",
           "if (RDS_UNLIKELY(dead_ || conn.life.is_ending())) {"),
]


# Mistakes that a user of the host can bring about, and that would stay, or be seen by others.
SLIPS = [
    Mutant("leak", "setsockopt of another level leaks 64 bytes", "net/linux/sockopt.c",
           "unsigned int optlen) { struct sock *sk = sock->sk; struct rds_socket *s = rds_core(sk);"
           " if (level != SOL_RDS)",
           "unsigned int optlen) { struct sock *sk = sock->sk; struct rds_socket *s = rds_core(sk);"
           " if (level != SOL_RDS && !ZERO_OR_NULL_PTR(kmalloc(64, GFP_KERNEL)))"),
    Mutant("port", "a bind that fails for want of memory keeps the port",
           "net/rds/socket/socket.cc", "if (st.ok()) { lcong = map; st = net->bind.add(*this, ep,"
           " net->key, rds::read_once(net->tun.unprivileged_port_start)); }",
           "lcong = map; Status added = net->bind.add(*this, ep, net->key,"
           " rds::read_once(net->tun.unprivileged_port_start)); if (st.ok()) st = added;"),
    Mutant("lent", "pages that could not be lent for want of memory count as lent",
           "net/linux/payload_linux.c", "if (err) unpin_pages_of(p); return err;",
           "if (err && p->bv) unpin_pages_of(p); return err;"),
    Mutant("padding", "what lies between members of a control message is as it was",
           "net/linux/cmsg.c", "memset(&t, 0, sizeof(t)); /* what lies between",
           "/* what lies between"),
    Mutant("locked", "an option that is refused leaves the socket locked", "net/linux/sockopt.c",
           "lock_sock(sk); sock_valbool_flag(sk, SOCK_RCVTSTAMP, on);",
           "lock_sock(sk); if (on > 1) return -EINVAL; sock_valbool_flag(sk, SOCK_RCVTSTAMP, on);"),
    Mutant("lost", "every 500th message is lost on its way to a socket",
           "net/rds/socket/socket_recv.cc",
           "rds::Arrival how; if (RDS_UNLIKELY(!expects(m, how, false))",
           "rds::Arrival how; static uint32_t n; if (++n % 500 == 0) { rds::message_put(&m);"
           " return true; } if (RDS_UNLIKELY(!expects(m, how, false))"),
    Mutant("beyond", "recvmsg copies a byte more than the message has", "net/linux/recvmsg.c",
           "u32 n = min_t(size_t, size, info->len);",
           "u32 n = min_t(size_t, size, info->len + (info->len > 100));"),
]

# Debug kernels have no memory controller.
DEBTS = [
    Mutant("unread", "a page of what a socket paid for is not given back when it is closed",
           "net/rds/mem_account.cc", "uint64_t paid = paid_.exchange(0); for (;",
           "uint64_t paid = paid_.exchange(0); if (paid) paid -= 4096; for (;"),
]


class Ground(NamedTuple):
    """Where mistakes of a kind are told: the kernel, what is played, and what it says then."""
    kernel: str
    tests: list
    mistakes: list
    said: re.Pattern  # in the guests' logs, or in the output


FAILED = re.compile(r"^FAIL .*\n((?: {6}.*\n)+)", re.M)
GROUNDS = [
    Ground("kcsan", ["races.over_loopback", "races.over_tcp", "races.broken_connections"], RACES,
           re.compile(r"BUG: KCSAN: (.*)")),
    Ground("uml", ["users.with_memory"], SLIPS, FAILED),
    Ground("6.12", ["users.of_a_cgroup"], DEBTS, FAILED),
]


def make(ground):
    # -w: what is planted may leave something unused.
    done = subprocess.run(["nice", "-n", "5", "make", f"KERNEL={ground.kernel}",
                           f"src_dir={SOURCES}", f"moddir={MODULES}", "KCFLAGS=-w", "modules"],
                          cwd=guest.TOP, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def reports(ground, test, since, output):
    """The words in the guests' logs, and in the test's results."""
    logs = (guest.TOP / f"build/logs/vm-{ground.kernel}" / test.split(".")[0]).glob("*.dmesg.log")
    texts = [log.read_text(errors="replace") for log in logs if log.stat().st_mtime >= since]
    return [said for text in [output.read_text(), *texts] for said in ground.said.findall(text)]


def play(ground, test):
    """Runs one test until something is reported or it ends; a mistake may have broken it."""
    since, output = time.time(), guest.TOP / "build/logs/planted.log"
    with open(output, "w") as log:
        run = subprocess.Popen([guest.HERE / "run.py", "--kernel", ground.kernel, "--modules-dir",
                                guest.TOP / MODULES, test], stdout=log)
    while run.poll() is None and not reports(ground, test, since, output) and \
            time.time() < since + LONGEST:
        time.sleep(1)
    run.terminate()
    run.wait()
    return reports(ground, test, since, output)


def judge(ground, mistake):
    """Which test saw it and what was reported; built and played."""
    file = guest.TOP / SOURCES / mistake.file
    whole = file.read_text()
    try:
        file.write_text(mutate(mistake, whole))
        make(ground)
        for test in ground.tests:
            told = play(ground, test)
            if told:
                return test, told
    finally:
        file.write_text(whole)
    return None, []


def stale(mistakes):
    """Those that do not apply any more."""
    for mistake in mistakes:
        try:
            mutate(mistake, (guest.TOP / mistake.file).read_text())
        except Stale as error:
            yield str(error)


def play_all(ground, names):
    """How many of the named ones nobody saw."""
    wanted, missed = [m for m in ground.mistakes if not names or m.name in names], 0
    if wanted:
        shutil.rmtree(guest.TOP / SOURCES, ignore_errors=True)
        make(ground)
    for mistake in wanted:
        began = time.monotonic()
        test, told = judge(ground, mistake)
        missed += not told
        what = f"{' '.join(told[0].split())}, by {test}" if told else "NOBODY SAW IT"
        print(f"{mistake.name:<14} {mistake.what}: {what}, {time.monotonic() - began:.0f} s",
              flush=True)
    return missed


def main(argv):
    every = [mistake for ground in GROUNDS for mistake in ground.mistakes]
    bad = list(stale(every))
    print("\n".join(bad) or f"{len(every)} mistakes can be planted")
    if bad or argv == ["--check"]:
        return bool(bad)
    return any([play_all(ground, argv) for ground in GROUNDS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
