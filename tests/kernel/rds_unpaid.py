# SPDX-License-Identifier: GPL-2.0
"""Sockets of a cgroup that nobody reads, and who fills them from another host.

    rds_unpaid.py hold GROUP ME COUNT   ports 6000 and up, made in the cgroup by a task that then
                                        leaves it. Prints "ready"; ends when stdin does
    rds_unpaid.py flood ME PEER COUNT   sends to all of them until nothing has been taken for six
                                        seconds; prints how many messages were

`python3 -I -S` runs it in a guest.
"""
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

FIRST, LENGTH, QUIET, MOST = 6000, 8000, 6, 60


def enter(group):
    with open(f"{group}/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))


def hold(group, me, count):
    enter(group)
    socks = [rds_talk.bound(me, FIRST + i) for i in range(int(count))]
    enter(os.path.dirname(group))
    print("ready", flush=True)
    sys.stdin.read()
    for sock in socks:
        sock.close()


def flood(me, peer, count):
    sock, data, taken = rds_talk.bound(me), bytes(LENGTH), 0
    names = [rds_talk.sockaddr(peer, FIRST + i) for i in range(int(count))]
    start = last = time.monotonic()
    while time.monotonic() < min(last + QUIET, start + MOST):
        for name in names:
            if rds_talk.libc.sendto(sock.fileno(), data, LENGTH, socket.MSG_DONTWAIT, name,
                                    len(name)) == LENGTH:
                taken += 1
                last = time.monotonic()
        time.sleep(0.001)
    print(taken, flush=True)


{"hold": hold, "flood": flood}[sys.argv[1]](*sys.argv[2:])
