# SPDX-License-Identifier: GPL-2.0
"""A socket of a cgroup that sends to many hosts, none of which answers.

    rds_callers.py GROUP ME COUNT   one message to each of 10.10.0.1 and further. Prints how many
                                    were taken; ends when stdin does

`python3 -I -S` runs it in a guest.
"""
import ipaddress
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

group, me, count = sys.argv[1:]
with open(f"{group}/cgroup.procs", "w") as procs:
    procs.write(str(os.getpid()))
sock, taken = rds_talk.bound(me), 0
for i in range(int(count)):
    name = rds_talk.sockaddr(str(ipaddress.ip_address("10.10.0.1") + i), 5000)
    taken += rds_talk.libc.sendto(sock.fileno(), b"1", 1, socket.MSG_DONTWAIT, name, len(name)) == 1
print(taken, flush=True)
sys.stdin.read()
