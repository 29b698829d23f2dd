# SPDX-License-Identifier: GPL-2.0
"""A dump of the counters (generic netlink family "rds") in two messages, between which something
happens: `python3 -I -S rds_dump.py`, in a guest.

The kernel makes the first message when it is asked, and the second when the first is read. Prints
"asked", waits for a line of input, reads, and prints {"names": [...], "interrupted": bool}.
"""
import json
import socket
import struct
import sys

NETLINK_GENERIC, CTRL, GETFAMILY, FAMILY_ID, FAMILY_NAME = 16, 16, 3, 1, 2
REQUEST, DUMP, INTERRUPTED, DONE = 0x1, 0x300, 0x10, 3
COUNTER_GET, NAME = 3, 2


def message(kind, command, flags, attributes=b""):
    return struct.pack("=IHHIIBBH", 20 + len(attributes), kind, flags, 1, 0, command, 1, 0) + attributes


def attributes(data):
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3fff, data[4:size]
        data = data[(size + 3) & ~3:]


def family(sock):
    name = b"rds\0"
    sock.send(message(CTRL, GETFAMILY, REQUEST, struct.pack("=HH", 4 + len(name), FAMILY_NAME) + name))
    return struct.unpack("=H", dict(attributes(sock.recv(4096)[20:]))[FAMILY_ID])[0]


def messages(data):
    while data:
        size, kind, flags = struct.unpack_from("=IHH", data)
        yield kind, flags, data[20:size]
        data = data[(size + 3) & ~3:]


def main():
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.send(message(family(sock), COUNTER_GET, REQUEST | DUMP))
    print("asked", flush=True)
    sys.stdin.readline()
    names, interrupted, done, sizes = [], False, False, []
    while not done:
        got = sock.recv(1 << 16)
        sizes.append(len(got))
        for kind, flags, body in messages(got):
            interrupted |= bool(flags & INTERRUPTED)
            done = kind == DONE
            if not done:
                names.append(dict(attributes(body))[NAME].rstrip(b"\0").decode())
    print(json.dumps({"names": names, "interrupted": interrupted, "messages": len(sizes)}))


main()
