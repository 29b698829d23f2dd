# SPDX-License-Identifier: GPL-2.0
"""A key to memory, and programs that try it.

    rds_keys.py own ADDR                `python3 -I -S` runs it in a guest
    rds_keys.py use ADDR PEER COOKIE

The owner prints "cookie N", and at the end of its input "is B", the first byte of its memory, which
was 0. The other one writes 7 there by RDMA and prints "status N" (RDS_RDMA_*).
"""
import ctypes
import mmap
import os
import select
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, GET_MR, READWRITE, BYTES = 276, 2, 1, 4096
RDMA_ARGS, RDMA_STATUS, NOTIFY_ME = 1, 4, 0x20
PATIENCE = 100


def memory():
    room = mmap.mmap(-1, BYTES)
    return room, ctypes.addressof(ctypes.c_char.from_buffer(room))


def own(addr):
    sock, (room, at), cookie = rds_talk.bound(addr), memory(), ctypes.c_uint64()
    sock.setsockopt(SOL_RDS, GET_MR, struct.pack("=4Q", at, BYTES, ctypes.addressof(cookie),
                                                 READWRITE))
    print("cookie", cookie.value, flush=True)
    sys.stdin.read()
    print("is", room[0], flush=True)


def use(addr, peer, cookie):
    sock, (room, at) = rds_talk.bound(addr), memory()
    room[0] = 7
    piece = ctypes.create_string_buffer(struct.pack("=2Q", at, 1))
    args = struct.pack("=7Q", int(cookie), 0, 1, ctypes.addressof(piece), 1, READWRITE | NOTIFY_ME, 1)
    sock.sendmsg([b"x"], [(SOL_RDS, RDMA_ARGS, args)], 0, (peer, rds_talk.PORT))
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    assert poll.poll(PATIENCE * 1000), "nothing is told"
    for level, kind, data in sock.recvmsg(1, 1000, socket.MSG_DONTWAIT)[1]:
        if (level, kind) == (SOL_RDS, RDMA_STATUS):
            print("status", struct.unpack_from("=Qi", data)[1], flush=True)


{"own": own, "use": use}[sys.argv[1]](*sys.argv[2:])
