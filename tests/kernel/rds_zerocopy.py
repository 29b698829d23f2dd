# SPDX-License-Identifier: GPL-2.0
"""Messages out of a program's own pages, from any byte on, in one piece and in several.

    rds_zerocopy.py take ME         prints "ready", then a line for each message, see line()
    rds_zerocopy.py send ME PEER    sends them, prints the same lines and "sent", waits for its
                                    input's end
"""
import hashlib
import itertools
import mmap
import os
import random
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, ZCOPY_COOKIE, SO_ZEROCOPY, MSG_ZEROCOPY = 276, 12, 60, 0x4000000
PAGE, SENDER = 4096, 4001
FROM, LENGTHS = (0, 1, 100, PAGE - 1), (1, 5000, 2 * PAGE, 40000, 100000)
CASES = list(itertools.product(FROM, LENGTHS, (1, 3)))


def line(data):
    """Length and digest: the same for the same bytes."""
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}"


def send(me, peer):
    sock, room = rds_talk.bound(me, SENDER), mmap.mmap(-1, 1 << 18)
    sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    room[:] = random.Random(1).randbytes(len(room))
    for number, (begin, length, pieces) in enumerate(CASES):
        whole = memoryview(room)[begin:begin + length]
        cut = length // pieces
        parts = [whole[n * cut:(n + 1) * cut if n + 1 < pieces else None] for n in range(pieces)]
        sent = sock.sendmsg(parts, [(SOL_RDS, ZCOPY_COOKIE, struct.pack("=I", number))],
                            MSG_ZEROCOPY, (peer, rds_talk.PORT))
        assert sent == length, sent
        print(line(whole), flush=True)
    print("sent", flush=True)
    sys.stdin.read()


def take(me):
    sock = rds_talk.bound(me)
    print("ready", flush=True)
    for _ in CASES:
        print(line(sock.recv(1 << 20)), flush=True)


{"send": send, "take": take}[sys.argv[1]](*sys.argv[2:])
