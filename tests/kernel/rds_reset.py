# SPDX-License-Identifier: GPL-2.0
"""RDS_CONN_RESET, RDS6_CONN_RESET and SO_RDS_INQ, run in a guest with `python3 -I -S`.

    rds_reset.py answers ME PEER    what connections are ended, what is refused (a message has gone
                                    from ME to PEER, over type of service 0)
    rds_reset.py nobody ME PEER     the same calls by a user without rights
    rds_reset.py inq ME             how many bytes can be read, between two sockets of one address

A rule that does not hold is an assertion.
"""
import errno
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rds_talk import PORT, bound  # noqa: E402

SOL_RDS, RESET, RESET6, INQ, CMSG_INQ = 276, 8, 11, 67, 131
RECV_BATCH, LENGTHS = 66, 130
ANY = "0.0.0.0"


def mapped(addr):
    if ":" in addr:
        return socket.inet_pton(socket.AF_INET6, addr)
    return bytes(10) + b"\xff\xff" + socket.inet_aton(addr) if addr != ANY else bytes(16)


def v4(src, dst, tos=0):
    return RESET, struct.pack("=B3x4s4s", tos, socket.inet_aton(src), socket.inet_aton(dst))


def v6(src, dst, tos=0):
    return RESET6, struct.pack("=B3x16s16s", tos, mapped(src), mapped(dst))


def answer(option, value):
    with bound() as sock:
        try:
            sock.setsockopt(SOL_RDS, option, value)
        except OSError as error:
            return errno.errorcode[error.errno]
    return "ok"


def answers(me, peer):
    for form in (v4, v6):
        assert answer(*form(me, peer)) == "ok", form
        assert answer(*form(me, ANY)) == "ok", form
        assert answer(*form(me, peer, 9)) == "ENOENT", form
        assert answer(*form(peer, me)) == "ENOENT", form
        assert answer(*form("192.0.2.1", ANY)) == "ENOENT", form
        option, value = form(me, peer)
        for wrong in (value[:-1], value + b"\0", b"1234567"):
            assert answer(option, wrong) == "EINVAL", (form, len(wrong))
    # The number's other meaning.
    assert answer(RESET, struct.pack("=i", 2)) == "ok"


def nobody(me, peer):
    os.setgid(65534)
    os.setuid(65534)
    for form in (v4, v6):
        assert answer(*form(me, peer)) == "EACCES", form


def control(sock, size=100, flags=0):
    _, found, _, _ = sock.recvmsg(size, 400, flags)
    return {kind: data for level, kind, data in found if level == SOL_RDS}


def left(found):
    return struct.unpack("=i", found[CMSG_INQ])[0]


def inq(me):
    sender, reader = bound(me, PORT + 1), bound(me)
    assert reader.getsockopt(SOL_RDS, INQ) == 0

    def write(*lengths):
        for length in lengths:
            sender.sendto(bytes(length), (me, PORT))

    write(10)
    assert CMSG_INQ not in control(reader)
    reader.setsockopt(SOL_RDS, INQ, 1)
    assert reader.getsockopt(SOL_RDS, INQ) == 1
    write(10, 20, 0, 5)
    assert left(control(reader, flags=socket.MSG_PEEK)) == 35
    assert [left(control(reader)) for _ in range(4)] == [25, 5, 5, 0]
    write(30, 40)
    assert left(control(reader, size=4)) == 40  # one that is cut has gone, whole
    assert left(control(reader)) == 0
    reader.setsockopt(SOL_RDS, RECV_BATCH, 3)
    write(1, 2, 3, 4)
    found = control(reader)
    assert left(found) == 4 and len(found[LENGTHS]) == 12, found
    assert list(found)[-1] == LENGTHS, found
    found = control(reader)
    assert left(found) == 0 and len(found[LENGTHS]) == 4, found
    reader.setsockopt(SOL_RDS, RECV_BATCH, 0)
    reader.setsockopt(SOL_RDS, INQ, 0)
    write(1)
    assert CMSG_INQ not in control(reader)
    try:
        reader.setsockopt(SOL_RDS, INQ, b"\1")
        raise AssertionError("a byte was taken")
    except OSError as error:
        assert error.errno == errno.EINVAL


{"answers": answers, "nobody": nobody, "inq": inq}[sys.argv[1]](*sys.argv[2:])
