# SPDX-License-Identifier: GPL-2.0
"""A peer that says hello and then goes deaf, run in a guest with `python3 -I -S`.

    rds_deaf.py ADDR LENGTH   takes a connection and says hello as it is said to it; reads to the end
                              of the first message of LENGTH bytes, prints "heard", reads no more
"""
import socket
import struct
import sys

HEADER = 48


def main(addr, length):
    listener = socket.socket()
    # Connections of the program that listened here before may be in TIME_WAIT.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that little is too much
    listener.bind((addr, 16385))
    listener.listen()
    conn = listener.accept()[0]

    def read(n):
        return conn.recv(n, socket.MSG_WAITALL) if n else b""

    conn.sendall(read(HEADER))
    n = None
    while n != int(length):
        n, = struct.unpack_from("!I", read(HEADER), 16)
        read(n)
    print("heard", flush=True)
    sys.stdin.read()


main(*sys.argv[1:])
