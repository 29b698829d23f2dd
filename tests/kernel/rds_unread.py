# SPDX-License-Identifier: GPL-2.0
"""Unread messages as RDS_INFO_RECV_MESSAGES and its IPv6 sister list them.

    rds_unread.py hold ADDR...      binds port 7000 of every address, prints "ready", and
                                    when each has a message the facts, a line for each
    rds_unread.py send ME PEER...   a message from ME, port 4000, to PEER for each two of them;
                                    ends when stdin does

`python3 -I -S` runs it in a guest.
"""
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

PORT, SOL_RDS, PATIENCE = 7000, 276, 30
CODES = {"RDS_INFO_RECV_MESSAGES": (10005, 4, socket.AF_INET),
         "RDS6_INFO_RECV_MESSAGES": (10014, 16, socket.AF_INET6)}


def table(sock, code, size, family):
    record = struct.Struct(f"=QI{size}s{size}s2s2sBB")
    for seq, length, laddr, faddr, lport, fport, flags, tos in record.iter_unpack(
            sock.getsockopt(SOL_RDS, code, 1000)):
        names = [f"{socket.inet_ntop(family, addr)} port {int.from_bytes(port, 'big')}"
                 for addr, port in ((laddr, lport), (faddr, fport))]
        yield f"local {names[0]}, remote {names[1]}, {length} bytes, flags {flags}, tos {tos}"


def hold(*addrs):
    socks = [rds_talk.bound(addr, PORT) for addr in addrs]
    print("ready", flush=True)
    end = time.monotonic() + PATIENCE
    while sum(1 for _ in table(socks[0], *CODES["RDS6_INFO_RECV_MESSAGES"])) < len(addrs):
        if time.monotonic() > end:
            sys.exit("not all messages have come")
        time.sleep(0.1)
    for title, how in CODES.items():
        for number, line in enumerate(sorted(table(socks[0], *how))):
            print(f"fact {title} {number} = {line}", flush=True)


def send(*addrs):
    socks = [rds_talk.bound(me) for me in addrs[::2]]
    for sock, peer in zip(socks, addrs[1::2]):
        rds_talk.send(sock, "hello", rds_talk.sockaddr(peer, PORT))
    sys.stdin.read()


{"hold": hold, "send": send}[sys.argv[1]](*sys.argv[2:])
