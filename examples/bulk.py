#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Sends a file in blocks that may overtake each other, and "done" behind all of them.

    bulk.py recv ADDRESS PORT FILE          writes what it is sent
    bulk.py send ADDRESS PEER PORT FILE     sends; PEER's receiver is at PORT

bulk.c is the same in C, and either end may be the other's.  Every block says where it belongs, so the
order in which blocks arrive does not matter: they are un-ordered, and the kernel sends each over
whichever path has least to do.  The last message is half-ordered: when it arrives, all blocks have.
"""
import os
import struct
import sys

import rds

BLOCK = 65536
HEADER = struct.Struct("=QI4x")  # offset, bytes; no bytes: done, and offset is the size of all


def send_file(own, peer, port, path):
    there = (peer, int(port))
    with rds.Socket((own, 0)) as sock, open(path, "rb") as file:
        hints = sock.knows_order  # mainline's modules send everything in order
        offset = 0
        while data := file.read(BLOCK):
            sock.send_message(HEADER.pack(offset, len(data)) + data, there,
                              order=rds.Order.UNORDERED if hints else None)
            offset += len(data)
        sock.send_message(HEADER.pack(offset, 0), there, order=rds.Order.HALF if hints else None)
        # Messages not delivered when a socket is closed are taken back: wait for the answer.
        sock.receive()
    print(f"{offset} bytes delivered")


def receive_file(own, port, path):
    got = late = after = 0
    with rds.Socket((own, int(port))) as sock, open(path, "wb") as file:
        while True:
            message = sock.receive()
            # Anybody may send here, and say what is not so: that is no block.
            if len(message.data) < HEADER.size:
                continue
            offset, size = HEADER.unpack_from(message.data)
            if size != len(message.data) - HEADER.size:
                continue
            if not size:
                break
            os.pwrite(file.fileno(), message.data[HEADER.size:], offset)
            late += offset < after
            after = max(after, offset + size)
            got += size
        if got != offset:
            sys.exit(f"bulk: 'done' overtook {offset - got} bytes")
        print(f"{got} bytes received, {late} blocks were overtaken")
        sock.send_message(message.data, message.sender)
        # Until the sender has the answer, and closes: closing here would take it back.
        sys.stdin.read()


if len(sys.argv) == 5 and sys.argv[1] == "recv":
    receive_file(*sys.argv[2:])
elif len(sys.argv) == 6 and sys.argv[1] == "send":
    send_file(*sys.argv[2:])
else:
    sys.exit(__doc__)
