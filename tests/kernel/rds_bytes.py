# SPDX-License-Identifier: GPL-2.0
"""A raw TCP peer that says one message in as many segments as it has bytes.

    rds_bytes.py ME PEER PORT COUNT     `python3 -I -S` runs it in a guest

Announces a message of COUNT bytes and one for PEER's PORT, prints "announced", and with a line from
stdin sends COUNT bytes: the next one when TCP has sent the one before, so none waits for company.
Prints "sent" when PEER's TCP has all of them; sends the last byte with another line, and ends when
stdin does.
"""
import fcntl
import socket
import struct
import sys
import time

SIOCOUTQ, SIOCOUTQNSD = 0x5411, 0x894b


def amount(sock, what):
    return struct.unpack("=i", fcntl.ioctl(sock, what, bytes(4)))[0]


def all_there(sock):
    while amount(sock, SIOCOUTQ):
        time.sleep(0.01)


def main(me, target, port, count):
    sock = socket.create_connection((target, 16385), 20, (me, 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.sendall(struct.pack(">QQIHH24x", 1, 0, int(count) + 1, 9, int(port)))
    all_there(sock)
    print("announced", flush=True)
    sys.stdin.readline()
    for _ in range(int(count)):
        sock.send(b"x")
        while amount(sock, SIOCOUTQNSD):
            time.sleep(0)
    all_there(sock)
    print("sent", flush=True)
    sys.stdin.readline()
    sock.send(b"x")
    sys.stdin.read()


main(*sys.argv[1:])
