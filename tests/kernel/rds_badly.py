# SPDX-License-Identifier: GPL-2.0
"""A host that wants to be called, and answers each call by a header of a message that is too long.

    rds_badly.py ME PEER SECONDS     `python3 -I -S` runs it in a guest without RDS

ME is the larger address. It knocks at PEER's port 16385 all the time. Prints the number of calls.
"""
import select
import socket
import sys
import time

PORT, PAUSE = 16385, 0.02  # s between two knocks
BAD = (1).to_bytes(8, "big") + bytes(8) + (1 << 31).to_bytes(4, "big") + bytes(28)


def knock(me, peer):
    with socket.socket(socket.AF_INET6 if ":" in me else socket.AF_INET) as sock:
        sock.settimeout(1)
        sock.bind((me, 0))
        try:
            sock.connect((peer, PORT))
        except OSError:
            pass  # refused: it has enough of us


def answer(listener):
    with listener.accept()[0] as sock:
        try:
            sock.sendall(BAD)
        except OSError:
            pass


def main(me, peer, seconds):
    calls, end = 0, time.monotonic() + float(seconds)
    with socket.create_server((me, PORT)) as listener:
        while time.monotonic() < end:
            knock(me, peer)
            while select.select([listener], [], [], PAUSE)[0]:
                answer(listener)
                calls += 1
    print(calls, flush=True)


main(*sys.argv[1:])
