# SPDX-License-Identifier: GPL-2.0
"""Bytes that the kernel writes to a program, and whether any of them is old memory.

    rds_leaks.py ME PEER    makes a socket talk to itself at ME, and send to PEER, where nobody
                            listens; then reads every option, table and control message

`python3 -I -S` runs it in a guest.  Prints how many bytes it has looked at, or what it found and
fails.  Debug kernels fill their stacks and freed memory with patterns, which show what was left as it
was.  Not so what lies between members, for a compiler that fills stacks clears that itself.
"""
import ctypes
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, LATENCY, LATENCY_CMSG, TIMESTAMPS = 276, 10, 11, (29, 63)
INFOS = range(10000, 10018)
OPTIONS = [*range(1, 12), 64, 65, *TIMESTAMPS]
ROOM = 65536
# The number of steps, and which they are, in their option and in what is told.
STEPS = {n: bytes([n, *range(n), *[0] * (3 - n)]) for n in (1, 3)}
# Compilers and allocators fill memory with these; four of one are no accident.
PATTERNS = [bytes([b]) * 4 for b in (0xfe, 0xaa, 0x5a, 0x6b, 0xcc)]
found, looked = [], 0


def look(what, data):
    global looked
    looked += len(data)
    for pattern in PATTERNS:
        if pattern in data:
            found.append(f"{what}: {pattern.hex()} at {data.index(pattern)} of {data.hex()}")


def getsockopt(sock, option, room):
    """The bytes that came, as many as the kernel says; None for an errno."""
    buf, size = ctypes.create_string_buffer(room), ctypes.c_int(room)
    got = rds_talk.libc.getsockopt(sock.fileno(), SOL_RDS, option, buf, ctypes.byref(size))
    return None if got < 0 else buf.raw[:size.value]


def options(sock):
    for option in [*OPTIONS, *INFOS]:
        for room in (4, 8, 64, 256, ROOM):
            data = getsockopt(sock, option, room)
            if data is not None:
                look(f"getsockopt {option}", data)


def message(sock, traces):
    """One message with all that a socket may be told of it, and so many steps of its way."""
    data, control, _, name = sock.recvmsg(100, 4096)
    assert data == b"hello", data
    for level, kind, value in control:
        look(f"control message {level}/{kind}", value)
        if (level, kind) == (SOL_RDS, LATENCY_CMSG):
            head, gap = value[:4], value[4:8]
            if head != STEPS[traces] or any(value[8 + 8 * traces:]):
                found.append(f"rds_cmsg_rx_trace of {traces} steps: {value.hex()}")
            assert len(value) == 32, value
            if gap != bytes(4):
                found.append(f"between the members of rds_cmsg_rx_trace: {gap.hex()}")
    return {kind for _, kind, _ in control}


def names(sock):
    for call in (rds_talk.libc.getsockname, rds_talk.libc.getpeername):
        buf, size = ctypes.create_string_buffer(128), ctypes.c_int(128)
        if call(sock.fileno(), buf, ctypes.byref(size)) == 0:
            look(call.__name__, buf.raw[:size.value])


def main(me, peer):
    sock = rds_talk.bound(me)
    names(rds_talk.bound())
    sock.setsockopt(socket.SOL_SOCKET, TIMESTAMPS[0], 1)
    for traces in (3, 1, 3):
        sock.setsockopt(SOL_RDS, LATENCY, STEPS[traces])
        rds_talk.send(sock, "hello", rds_talk.sockaddr(me))
        assert LATENCY_CMSG in message(sock, traces), "no latency was told"
    rds_talk.send(sock, "hello", rds_talk.sockaddr(me))  # is in the tables
    rds_talk.send(sock, "hello", rds_talk.sockaddr(peer))
    rds_talk.checked(rds_talk.libc.connect(sock.fileno(), rds_talk.sockaddr(peer),
                                           len(rds_talk.sockaddr(peer))))
    names(sock)
    options(sock)
    for code in (10001, 10005, 10006, 10007):
        assert getsockopt(sock, code, ROOM), f"table {code} is empty: nothing was looked at"
    print("\n".join(found) or f"{looked} bytes")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
