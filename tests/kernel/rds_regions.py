# SPDX-License-Identifier: GPL-2.0
"""Registers memory with an adapter, as it is told.

    rds_regions.py ADDR        `python3 -I -S` runs it in a guest

Prints "ready", and answers the N'th line of input with "N ok", or "N error ERRNO".

    get COUNT BYTES     registers so many pieces of memory, each of so many bytes
    map PEER BYTES      the same of one, for a message to PEER, as long as that has to wait
    free [FLAGS]        all of them, in the order in which they were made
    flush               has what was freed cleared away
    stale               frees the last one a second time
"""
import ctypes
import mmap
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, GET_MR, FREE_MR, READWRITE, CMSG_MAP = 276, 2, 3, 1, 3


class Owner:
    def __init__(self, addr, port=rds_talk.PORT):
        self.sock, self.held, self.seen = rds_talk.bound(addr, port), [], set()
        self.room = mmap.mmap(-1, 2 << 20)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.room))

    def get(self, count, size):
        for _ in range(int(count)):
            cookie = ctypes.c_uint64()
            self.sock.setsockopt(SOL_RDS, GET_MR, struct.pack(
                "=4Q", self.at, int(size), ctypes.addressof(cookie), READWRITE))
            assert cookie.value and cookie.value not in self.seen, hex(cookie.value)
            self.held.append(cookie.value)
            self.seen.add(cookie.value)

    def map(self, peer, size):
        args = struct.pack("=4Q", self.at, int(size), 0, READWRITE)
        self.sock.sendmsg([b"for you"], [(SOL_RDS, CMSG_MAP, args)], 0, (peer, rds_talk.PORT))

    def let_go(self, cookie, flags=0):
        self.sock.setsockopt(SOL_RDS, FREE_MR, struct.pack("=2Q", cookie, int(flags)))

    def free(self, flags=0):
        while self.held:
            self.last = self.held.pop(0)
            self.let_go(self.last, flags)

    def flush(self):
        self.let_go(0)

    def stale(self):
        self.let_go(self.last)


def main(addr):
    owner = Owner(addr)
    print("ready", flush=True)
    for number, line in enumerate(sys.stdin, 1):
        what, *words = line.split()
        try:
            getattr(owner, what)(*words)
            print(number, "ok", flush=True)
        except OSError as error:
            print(number, "error", error.errno, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
