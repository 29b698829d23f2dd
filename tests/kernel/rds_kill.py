#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Ends RDS' TCP connections over and over, as `ss -K` does once.

    rds_kill.py COUNT [PAUSE]       until COUNT were ended, PAUSE seconds (0.02) after each look
"""
import socket
import struct
import sys
import time

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, SOCK_DESTROY = 4, 20, 21
REQUEST, ACK, DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
TCP_ESTABLISHED = 1
PORT = 16385
HEAD = struct.Struct("=IHHII")      # nlmsghdr
ASK = struct.Struct("=BBBBI48s")    # inet_diag_req_v2: family, protocol, ..., states, id
ID = slice(HEAD.size + 4, HEAD.size + 52)  # behind family, state, timer, retrans


def request(netlink, kind, flags, family, states, ident):
    body = ASK.pack(family, socket.IPPROTO_TCP, 0, 0, states, ident)
    netlink.send(HEAD.pack(HEAD.size + len(body), kind, REQUEST | flags, 1, 0) + body)


def messages(netlink):
    """(kind, bytes) of what the kernel answers, to the end of the dump or the error code."""
    while True:
        data = netlink.recv(1 << 16)
        while data:
            length, kind, *_ = HEAD.unpack_from(data)
            yield kind, data[:length]
            if kind in (NLMSG_DONE, NLMSG_ERROR):
                return
            data = data[length + 3 & ~3:]


def connections(netlink, family):
    request(netlink, SOCK_DIAG_BY_FAMILY, DUMP, family, 1 << TCP_ESTABLISHED, bytes(48))
    found = [data[ID] for kind, data in messages(netlink) if kind == SOCK_DIAG_BY_FAMILY]
    return [ident for ident in found if PORT in struct.unpack_from("!HH", ident)]


def destroyed(netlink, family, ident):
    """False if it was gone already."""
    request(netlink, SOCK_DESTROY, ACK, family, 1 << TCP_ESTABLISHED, ident)
    (_, data), = messages(netlink)
    return struct.unpack_from("=i", data, HEAD.size)[0] == 0


def main(count, pause=0.02):
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
    killed = 0
    while killed < int(count):
        for family in (socket.AF_INET, socket.AF_INET6):
            killed += sum(destroyed(netlink, family, one) for one in connections(netlink, family))
        time.sleep(float(pause))
    print(killed)


if __name__ == "__main__":
    main(*sys.argv[1:])
