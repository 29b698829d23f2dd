# SPDX-License-Identifier: GPL-2.0
"""Sockets that reserve memory, which their cgroup pays for, and are closed.

    rds_reserve.py ADDR COUNT BYTES     `python3 -I -S` runs it in a guest

Prints as a fact what setsockopt(SO_RESERVE_MEM) answered.
"""
import errno
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SO_RESERVE_MEM = 73


def reserve(sock, size):
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_RESERVE_MEM, size)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "ok"


def main(addr, count, size):
    socks = [rds_talk.bound(addr, 4000 + n) for n in range(int(count))]
    answers = sorted({reserve(sock, int(size)) for sock in socks})
    print(f"fact setsockopt(SO_RESERVE_MEM) = {', '.join(answers)}", flush=True)


main(*sys.argv[1:])
