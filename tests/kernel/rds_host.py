# SPDX-License-Identifier: GPL-2.0
"""The application on a host with RDS whose peer is a program without it: does what it is told.

    rds_host.py ADDR4 ADDR6       `python3 -I -S` runs it in a guest

Prints "ready", then takes one TCP connection after the other at ADDR4, port 7000. A line each way,
of JSON: {"do": "counters"} is answered with {"ok": ...} or {"error": ...}. Ends when stdin does.

    fresh                         other sockets, bound to port 4000 of both addresses; the old ones
                                  take with them what they had to send and to be read
    counters                      all of rds-info -c
    set NAME VALUE                a file of /proc/sys/net/rds; answers what it held before
    send TO PORT COUNT BYTES TOS  messages of pattern(n, BYTES), n from 0 on, without waiting; the
                                  number that were taken, then (fewer) the errno of the next one
    region BYTES                  registers memory, which it keeps; the cookie
    next FAMILY MILLISECONDS      what can be read: {length, from, port, hex}, or null
"""
import ctypes
import json
import mmap
import os
import select
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

CONTROL, SOL_RDS, INFO_COUNTERS, SETTOS = 7000, 276, 10000, 0x89E0
GET_MR, READWRITE = 2, 1
COUNTER = struct.Struct("=32sQ")


def pattern(n, length):
    """Different for every n, and never the same again within a frame."""
    return bytes((n * 31 + i + i // 255) & 255 for i in range(length))


def name(addr, port):
    """As rds_talk.sockaddr(), with a port."""
    packed = bytearray(rds_talk.sockaddr(addr))
    packed[2:4] = struct.pack(">H", port)
    return bytes(packed)


def host_of(packed):
    """Address and port of a sockaddr."""
    family, port = struct.unpack_from("=H", packed)[0], struct.unpack_from(">H", packed, 2)[0]
    if family == socket.AF_INET:
        return socket.inet_ntop(family, packed[4:8]), port
    return socket.inet_ntop(family, packed[8:24]), port


class Host:
    def __init__(self, *addrs):
        self.addrs, self.socks, self.others = addrs, [], {}
        self.room = ctypes.create_string_buffer(2 << 20)
        self.do_fresh()

    def do_fresh(self):
        for sock in (*self.socks, *self.others.values()):
            sock.close()
        self.socks, self.others = [rds_talk.bound(addr) for addr in self.addrs], {}
        for sock in self.socks:
            sock.setblocking(False)

    def do_counters(self):
        length = ctypes.c_int(len(self.room))
        rds_talk.checked(rds_talk.libc.getsockopt(self.socks[0].fileno(), SOL_RDS, INFO_COUNTERS,
                                                  self.room, ctypes.byref(length)))
        return {text.split(b"\0")[0].decode(): value
                for text, value in COUNTER.iter_unpack(self.room.raw[:length.value])}

    def do_set(self, file, value):
        path = f"/proc/sys/net/rds/{file}"
        with open(path) as f:
            before = f.read().strip()
        with open(path, "w") as f:  # from the beginning, or it does not count
            f.write(value)
        return before

    def sender(self, family, tos):
        """A socket has one type of service for ever."""
        if not tos:
            return self.socks[family]
        if (family, tos) not in self.others:
            sock = rds_talk.bound()
            packed = name(self.addrs[family], 5000 + tos)
            rds_talk.checked(rds_talk.libc.bind(sock.fileno(), packed, len(packed)))
            rds_talk.checked(rds_talk.libc.ioctl(sock.fileno(), SETTOS,
                                                 ctypes.byref(ctypes.c_uint8(tos))))
            self.others[family, tos] = sock
        return self.others[family, tos]

    def do_send(self, to, port, count, length, tos):
        sock, packed = self.sender(":" in to, tos), name(to, port)
        for n in range(count):
            data = pattern(n, length)
            if rds_talk.libc.sendto(sock.fileno(), data, length, socket.MSG_DONTWAIT, packed,
                                    len(packed)) < 0:
                return n, ctypes.get_errno()
        return count, 0

    def do_region(self, length):
        self.region, cookie = mmap.mmap(-1, length), ctypes.c_uint64()
        at = ctypes.addressof(ctypes.c_char.from_buffer(self.region))
        self.socks[0].setsockopt(SOL_RDS, GET_MR, struct.pack(
            "=4Q", at, length, ctypes.addressof(cookie), READWRITE))
        return cookie.value

    def do_next(self, family, patience):
        sock, packed = self.socks[family], ctypes.create_string_buffer(128)
        length = ctypes.c_int(len(packed))
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        poll.poll(patience)
        got = rds_talk.libc.recvfrom(sock.fileno(), self.room, len(self.room),
                                     socket.MSG_DONTWAIT, packed, ctypes.byref(length))
        if got < 0:
            return None
        addr, port = host_of(packed.raw)
        return {"length": got, "from": addr, "port": port,
                "hex": ctypes.string_at(self.room, got).hex()}

    def answer(self, line):
        try:
            what = json.loads(line)
            return {"ok": getattr(self, "do_" + what.pop("do"))(**what)}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return {"error": f"{type(error).__name__}: {error}"}


def serve(host, conn, poll):
    """Until the other side hangs up; False when stdin ends."""
    with conn, conn.makefile("rw") as lines:
        poll.register(conn, select.POLLIN)
        try:
            while all(fd != 0 for fd, _ in poll.poll()):
                line = lines.readline()
                if not line:
                    return True
                print(json.dumps(host.answer(line)), file=lines, flush=True)
        finally:
            poll.unregister(conn)
    return False


def main(*addrs):
    host, poll = Host(*addrs), select.poll()
    listener = socket.create_server((addrs[0], CONTROL))
    poll.register(0, select.POLLIN | select.POLLHUP)
    print("ready", flush=True)
    while True:
        poll.register(listener, select.POLLIN)
        if any(fd == 0 for fd, _ in poll.poll()):
            return
        poll.unregister(listener)
        if not serve(host, listener.accept()[0], poll):
            return


main(*sys.argv[1:])
