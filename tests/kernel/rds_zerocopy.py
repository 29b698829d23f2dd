# SPDX-License-Identifier: GPL-2.0
"""Messages out of a program's own pages, from any byte on, in one piece and in several.

    rds_zerocopy.py take ME         prints "ready", then a line for each message, see line()
    rds_zerocopy.py keep ME         the same of messages that lie unread until there is a line of
                                    input
    rds_zerocopy.py send ME PEER    sends them, prints the same lines and "sent", waits for its
                                    input's end
    rds_zerocopy.py reuse ME PEER   the same, every second one as an ordinary message; behind "sent"
                                    all are completed, and their memory has been written to again
"""
import hashlib
import itertools
import mmap
import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, ZCOPY_COOKIE, ZCOPY_COMPLETION = 276, 12, 13
SO_ZEROCOPY, SO_RCVBUFFORCE, MSG_ZEROCOPY = 60, 33, 0x4000000
PAGE, SENDER = 4096, 4001
FROM, LENGTHS = (0, 1, 100, PAGE - 1), (1, 5000, 2 * PAGE, 40000, 100000)
CASES = list(itertools.product(FROM, LENGTHS, (1, 3)))


def line(data):
    """Length and digest: the same for the same bytes."""
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}"


def send_all(sock, peer, room, lent):
    """All cases, those without a copy whose number is in @lent."""
    for number, (begin, length, pieces) in enumerate(CASES):
        whole = memoryview(room)[begin:begin + length]
        cut = length // pieces
        parts = [whole[n * cut:(n + 1) * cut if n + 1 < pieces else None] for n in range(pieces)]
        cookie = (SOL_RDS, ZCOPY_COOKIE, struct.pack("=I", number))
        how = ([cookie], MSG_ZEROCOPY) if number in lent else ([], 0)
        sent = sock.sendmsg(parts, *how, (peer, rds_talk.PORT))
        assert sent == length, sent
        print(line(whole), flush=True)


def sender(me):
    sock, room = rds_talk.bound(me, SENDER), mmap.mmap(-1, 1 << 18)
    sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    room[:] = random.Random(1).randbytes(len(room))
    return sock, room


def send(me, peer):
    sock, room = sender(me)
    send_all(sock, peer, room, range(len(CASES)))
    print("sent", flush=True)
    sys.stdin.read()


def await_completions(sock, lent):
    """Until the cookies of all @lent are back."""
    left, end = set(lent), time.monotonic() + rds_talk.PATIENCE
    while left:
        assert time.monotonic() < end, f"not completed: {left}"
        try:
            control = sock.recvmsg(1, 256, socket.MSG_DONTWAIT)[1]
        except BlockingIOError:
            time.sleep(0.01)
            continue
        for level, kind, data in control:
            assert (level, kind) == (SOL_RDS, ZCOPY_COMPLETION), (level, kind)
            count, = struct.unpack_from("=I", data)
            left -= set(struct.unpack_from(f"={count}I", data, 4))


def reuse(me, peer):
    sock, room = sender(me)
    lent = range(0, len(CASES), 2)
    send_all(sock, peer, room, lent)
    await_completions(sock, lent)
    room[:] = bytes(len(room))
    print("sent", flush=True)
    sys.stdin.read()


def take(me):
    sock = rds_talk.bound(me)
    print("ready", flush=True)
    take_all(sock)


def keep(me):
    sock = rds_talk.bound(me)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    print("ready", flush=True)
    sys.stdin.readline()
    take_all(sock)


def take_all(sock):
    for _ in CASES:
        print(line(sock.recv(1 << 20)), flush=True)


{"send": send, "reuse": reuse, "take": take, "keep": keep}[sys.argv[1]](*sys.argv[2:])
