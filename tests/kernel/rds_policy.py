# SPDX-License-Identifier: GPL-2.0
"""Answers that one user gets, run in a guest with `python3 -I -S`.

    rds_policy.py socket            opens a socket
    rds_policy.py bind ADDR PORT    and binds it
    rds_policy.py transport TYPE    and sets SO_RDS_TRANSPORT
    rds_policy.py taken ADDR [TYPE] binds it, after setting that, and prints which one it has

Prints "ok" or the errno's name.
"""
import errno
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, SO_RDS_TRANSPORT = 276, 8


def main(what, *args):
    try:
        if what == "bind":
            rds_talk.bound(args[0], int(args[1]))
            return "ok"
        sock = rds_talk.bound()
        if what == "taken":
            if args[1:]:
                sock.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, struct.pack("=i", int(args[1])))
            sock.bind((args[0], 0))
            return sock.getsockopt(SOL_RDS, SO_RDS_TRANSPORT)
        if what == "transport":
            sock.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, struct.pack("=i", int(args[0])))
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


print(main(*sys.argv[1:]))
