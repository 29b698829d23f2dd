# SPDX-License-Identifier: GPL-2.0
"""Reads everything that comes to port 4000 of an address, with room for control messages.

    rds_sink.py ADDR        `python3 -I -S` runs it in a guest

Prints "ready", then a line per message: its length and the types of its control messages.
Ends when stdin does.
"""
import os
import select
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402


def main(addr):
    sock = rds_talk.bound(addr)
    sock.setblocking(False)
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    poll.register(0, select.POLLIN | select.POLLHUP)
    print("ready", flush=True)
    while all(fd != 0 for fd, _ in poll.poll(60000)):
        try:
            data, control, _, _ = sock.recvmsg(2 << 20, 4096)
        except BlockingIOError:
            continue
        print(len(data), *(kind for _, kind, _ in control), flush=True)


main(*sys.argv[1:])
