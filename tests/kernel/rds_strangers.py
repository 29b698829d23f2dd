# SPDX-License-Identifier: GPL-2.0
"""Hosts that nobody has heard of come one after the other, say next to nothing, and go.

    rds_strangers.py PEER FIRST COUNT [ping]    `python3 -I -S` runs it in a guest

COUNT addresses from FIRST on connect to PEER's port 16385 and reset the connection; with `ping`
they ask for an answer of RDS' first. They come in groups. Prints how many TCP let in.
"""
import ipaddress
import select
import socket
import struct
import sys

TOGETHER = 50
# A header and no payload: from port 7 to port 0.
PING = struct.pack(">QQIHHBB4xH16x", 1, 0, 0, 7, 0, 0, 0, 0)


def visitor(peer, me):
    """A connection, or None when there is none to be had."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.settimeout(5)
    try:
        sock.bind((me, 0))
        sock.connect((peer, 16385))
    except OSError:
        sock.close()
        return None
    return sock


def ask(socks):
    """All of them ask at once; a moment is enough for the answers to come."""
    waiting, poll = len(socks), select.poll()
    for sock in socks:
        try:
            sock.sendall(PING)
        except OSError:
            pass  # it was shown out
        poll.register(sock, select.POLLIN)
    while waiting and (ready := poll.poll(500)):
        for fd, _ in ready:
            poll.unregister(fd)
            waiting -= 1


def main(peer, first, count, ping=""):
    came, count = 0, int(count)
    for begin in range(0, count, TOGETHER):
        group = range(begin, min(begin + TOGETHER, count))
        socks = [visitor(peer, str(ipaddress.ip_address(first) + n)) for n in group]
        socks = [sock for sock in socks if sock]
        came += len(socks)
        if ping:
            ask(socks)
        for sock in socks:
            sock.close()
    print(f"{came} of {count} were let in", flush=True)


main(*sys.argv[1:])
