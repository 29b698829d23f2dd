# SPDX-License-Identifier: GPL-2.0
"""Sockets whose cgroup has no more memory for what they send, and no process to be ended for it.

    rds_overcharge.py ME PEER COUNT ROOT    `python3 -I -S` runs it in a guest, in the cgroup

COUNT sockets are made; then this process leaves for the cgroup ROOT, and they send until the first
is refused.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

MESSAGES, LENGTH = 90, 1000  # within a socket's own limit


def main(me, peer, count, root):
    socks = [rds_talk.bound(me, 4000 + n) for n in range(int(count))]
    with open(f"{root}/cgroup.procs", "w") as procs:
        procs.write("0")
    sent = 0
    try:
        for _ in range(MESSAGES):
            for sock in socks:
                rds_talk.send(sock, "x" * LENGTH, rds_talk.sockaddr(peer), 0x40)
                sent += 1
    except OSError as error:
        print(error)
    print(f"{sent} were taken", flush=True)


main(*sys.argv[1:])
