# SPDX-License-Identifier: GPL-2.0
"""A sender that sleeps until its edge-triggered epoll tells it that there is room again.

    rds_edge.py ME PEER TIMES       `python3 -I -S` runs it in a guest

Fills its small queue of 8 KiB TIMES times and waits each time; prints how often it was woken as a
fact. With more than 12 TIMES a receiver that is slow may fill up, and its port is congested.
Messages go to the port of rds_sink.py.
"""
import os
import select
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

PATIENCE = 5  # s; an answer takes as long as the link's delay
SNDBUF, MESSAGE = 8192, "x" * 500


def fill(sock, name):
    """Until there is no room; how many messages went."""
    count = 0
    while True:
        try:
            rds_talk.send(sock, MESSAGE, name, socket.MSG_DONTWAIT)
            count += 1
        except BlockingIOError:
            return count


def main(me, peer, times):
    sock, name, woken = rds_talk.bound(me), rds_talk.sockaddr(peer), 0
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SNDBUF)
    epoll = select.epoll()
    epoll.register(sock, select.EPOLLOUT | select.EPOLLET)
    epoll.poll(0)  # the edge that registering is
    for _ in range(int(times)):
        sent = fill(sock, name)
        if not sent or not epoll.poll(PATIENCE):
            break
        woken += 1
    print(f"fact woken = {woken} of {times}", flush=True)


main(*sys.argv[1:])
