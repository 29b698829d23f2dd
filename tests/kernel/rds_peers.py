# SPDX-License-Identifier: GPL-2.0
"""The answers of the table of peers as they come, before any tool has read them.

    rds_peers.py KEY     `python3 -I -S` runs it in a guest

Dumps the table, and asks for an entry of 10.8.9.9 with KEY twice, so that the second is refused.
Prints how many bytes came, and how often KEY was in them.
"""
import socket
import struct
import sys

CTRL, GETFAMILY, SET, DUMP = 16, 3, 1, 3  # message type and commands
REQUEST, ACK, DUMP_FLAGS, DONE, ERROR = 1, 4, 0x300, 3, 2
HEADER = struct.Struct("=IHHIIBBH")


def attribute(number, data):
    return struct.pack("=HH", 4 + len(data), number) + data + bytes(-len(data) % 4)


def ask(sock, family, command, flags, attributes=b""):
    """All bytes of the answers."""
    sock.send(HEADER.pack(HEADER.size + len(attributes), family, REQUEST | flags, 1, 0, command, 1,
                          0) + attributes)
    heard = b""
    while True:
        data = sock.recv(1 << 16)
        heard += data
        at = 0
        while at < len(data):
            length, kind = struct.unpack_from("=IH", data, at)
            if kind in (DONE, ERROR):
                return heard
            at += (length + 3) & ~3


def family_of(answer):
    at = HEADER.size
    while at < len(answer):
        length, number = struct.unpack_from("=HH", answer, at)
        if number == 1:
            return struct.unpack_from("=H", answer, at + 4)[0]
        at += (length + 3) & ~3
    raise SystemExit("no such family")


def main(key):
    key = key.encode()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        sock.bind((0, 0))
        family = family_of(ask(sock, CTRL, GETFAMILY, ACK, attribute(2, b"rds_peers\0")))
        entry = (attribute(1, socket.inet_aton("10.8.9.9")) + attribute(2, b"\x20")
                 + attribute(4, b"\0") + attribute(5, b"\x01") + attribute(6, key))
        heard = [ask(sock, family, SET, ACK, entry) for _ in range(2)]
        assert b"there is an entry" in heard[1] or struct.unpack_from("=i", heard[1], 16)[0] == -17
        heard.append(ask(sock, family, DUMP, DUMP_FLAGS))
    heard = b"".join(heard)
    print(f"{len(heard)} bytes, key {heard.count(key)} times")


main(*sys.argv[1:])
