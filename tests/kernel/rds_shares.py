# SPDX-License-Identifier: GPL-2.0
"""A user takes as much as it gets.

    rds_shares.py ME FIRST HOSTS SOCKETS    sends to so many hosts from FIRST on, then opens and binds
                                            so many sockets beside that one. Prints how many of each
                                            it got, and why no more; ends when stdin does

`python3 -I -S` runs it in a guest.
"""
import errno
import ipaddress
import os
import resource
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402


def take(count, one):
    """(how many, the errno of what was refused or "-")."""
    for got in range(count):
        try:
            one(got)
        except OSError as error:
            return got, errno.errorcode[error.errno]
    return count, "-"


def main(me, first, hosts, sockets):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    sock, more = rds_talk.bound(me, 0), []
    first = ipaddress.ip_address(first)
    print(*take(int(hosts), lambda i: rds_talk.send(
        sock, "1", rds_talk.sockaddr(str(first + i), 5000), socket.MSG_DONTWAIT)),
        *take(int(sockets), lambda i: more.append(rds_talk.bound(me, 0))), flush=True)
    sys.stdin.read()


main(*sys.argv[1:])
