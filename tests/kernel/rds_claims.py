# SPDX-License-Identifier: GPL-2.0
"""Raw TCP peers that announce a long message and keep the other host waiting.

    rds_claims.py PEER COUNT PORT [trickle]     `python3 -I -S` runs it in a guest

COUNT peers, 10.8.0.1 and on, connect to PEER's port 16385 and send a header that announces 1 MiB
for PORT, alone in its segment; with `trickle` 64 bytes follow one by one. Prints "said" when PEER's
TCP has all of it and ends when stdin does.
"""
import fcntl
import socket
import struct
import sys
import time

MEBIBYTE, TRICKLE, SIOCOUTQ = 1 << 20, 64, 0x5411


def unsent(sock):
    """Bytes that the other host's TCP has not acknowledged."""
    return struct.unpack("=i", fcntl.ioctl(sock, SIOCOUTQ, bytes(4)))[0]


def say(peers, data):
    for peer in peers:
        peer.sendall(data)
    while any(unsent(peer) for peer in peers):
        time.sleep(0.01)


def main(target, count, port, trickle=""):
    peers = []
    for number in range(1, int(count) + 1):
        peer = socket.create_connection((target, 16385), 20, (f"10.8.0.{number}", 0))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peers.append(peer)
    say(peers, struct.pack(">QQIHH24x", 1, 0, MEBIBYTE, 9, int(port)))
    for _ in range(TRICKLE if trickle else 0):
        say(peers, b"x")
    print("said", flush=True)
    sys.stdin.read()


main(*sys.argv[1:])
