# SPDX-License-Identifier: GPL-2.0
"""A conversation that is told beforehand (tests/wireshark/told.py), while the wire is captured.

    rds_told.py answer ME       `python3 -I -S` runs it in a guest
    rds_told.py ask ME PEER

The second end, which answers, prints "ready", and sends each message back. Then it reads memory of
the other's by RDMA, and one of its ports is not read until it is full. Both print "said" when all
was as told.
"""
import ctypes
import errno
import mmap
import os
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f"{HERE}/../wireshark"]
import rds_talk  # noqa: E402
import told  # noqa: E402

SOL_RDS, RDMA_ARGS, RDMA_DEST, RDMA_MAP, RDMA_STATUS = 276, 1, 2, 3, 4
USE_ONCE, NOTIFY_ME = 0x8, 0x20
PATIENCE = 60


def receive(sock):
    """A message, where it came from, and its control messages; notices alone are passed over."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            data, control, _, name = sock.recvmsg(1 << 16, 1024, socket.MSG_DONTWAIT)
        except BlockingIOError:
            time.sleep(0.001)
            continue
        if not any(kind == RDMA_STATUS for _, kind, _ in control):
            return data, name, {kind: value for _, kind, value in control}
    sys.exit("nothing came")


def send(sock, data, name, control=()):
    assert sock.sendmsg([data], control, 0, name) == len(data)


def memory():
    room = mmap.mmap(-1, mmap.PAGESIZE)
    return room, ctypes.addressof(ctypes.c_char.from_buffer(room))


def lend(sock, peer):
    """A message brings the key of a region, and what comes back says that it was read."""
    room, at = memory()
    room[:told.REGION] = told.text(99, told.REGION)
    args = struct.pack("=4Q", at, told.REGION, 0, USE_ONCE)
    send(sock, b"read this", peer, [(SOL_RDS, RDMA_MAP, args)])
    assert receive(sock)[0] == b"have it"


def borrow(sock):
    data, name, control = receive(sock)
    assert data == b"read this", data
    cookie, = struct.unpack("=Q", control[RDMA_DEST])
    room, at = memory()
    piece = ctypes.create_string_buffer(struct.pack("=2Q", at, told.REGION))
    args = struct.pack("=7Q", cookie, 0, told.REGION, ctypes.addressof(piece), 1,
                       USE_ONCE | NOTIFY_ME, 1)
    send(sock, b"have it", name, [(SOL_RDS, RDMA_ARGS, args)])
    end = time.monotonic() + PATIENCE
    while room[:told.REGION] != told.text(99, told.REGION):
        assert time.monotonic() < end, "it was not read"
        time.sleep(0.01)


def fill(sock, peer):
    """Few at a time, for the port is full as soon as its host has said so."""
    filler, count = rds_talk.bound(ME, told.SLOW), 0
    filler.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            filler.sendmsg([told.text(count, told.FILL)], (), socket.MSG_DONTWAIT,
                           (peer, told.SLOW))
            count += 1
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                break
            assert error.errno == errno.EAGAIN, error
        time.sleep(0.01)
    else:
        sys.exit("the port was never full")
    send(sock, b"%d" % count, (peer, told.ANSWERS))
    assert receive(sock)[0] == b"read"


def drain(sock, slow):
    data, name, _ = receive(sock)
    for number in range(int(data)):
        assert receive(slow)[0] == told.text(number, told.FILL)
    send(sock, b"read", name)


def ask(peer):
    sock = rds_talk.bound(ME, told.ASKS)
    for data in told.messages():
        send(sock, data, (peer, told.ANSWERS))
    for data in told.messages():
        assert receive(sock)[0] == data
    lend(sock, (peer, told.ANSWERS))
    fill(sock, peer)


def answer():
    sock, slow = rds_talk.bound(ME, told.ANSWERS), rds_talk.bound(ME, told.SLOW)
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    print("ready", flush=True)
    for data in told.messages():
        got, name, _ = receive(sock)
        assert got == data
        send(sock, data, name)
    borrow(sock)
    drain(sock, slow)


WHAT, ME, *REST = sys.argv[1:]
{"ask": ask, "answer": answer}[WHAT](*REST)
print("said", flush=True)
sys.stdin.read()  # closing the sockets would cancel what is still on its way
