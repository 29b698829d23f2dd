# SPDX-License-Identifier: GPL-2.0
"""Sends a message to each of many hosts that are not there, from one socket.

    rds_lost_hosts.py ME FIRST HOSTS    prints "sent N" and keeps the socket until stdin ends

`python3 -I -S` runs it in a guest.
"""
import ipaddress
import socket
import sys

PORT = 4000


def main(me, first, hosts):
    with socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        sock.bind((me, 0))
        for number in range(hosts):
            sock.sendto(b"are you there", (str(ipaddress.ip_address(first) + number), PORT))
        print(f"sent {hosts}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    socket.AF_RDS = 21
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
