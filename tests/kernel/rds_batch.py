# SPDX-License-Identifier: GPL-2.0
"""Many datagrams a call: RDS_CMSG_SEGMENT and RDS_RECV_BATCH, run in a guest with `python3 -I -S`.

    rds_batch.py here ADDR          every rule of both, between sockets of one address
    rds_batch.py receive ME         a receiver that takes many a call
    rds_batch.py send ME PEER       and a sender of many a call, who knows what comes

The first prints the name of each rule that holds, the others what came; a rule that does not hold
is an assertion.
"""
import ctypes
import errno
import mmap
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rds_talk import PORT, bound, libc  # noqa: E402

SOL_RDS = 276
RDMA_DEST, ZCOPY_COOKIE, ORDER = 2, 12, 128
SEGMENT, MOST = 129, 1024
RECV_BATCH, LENGTHS = 66, 130
SO_TIMESTAMP = 29
LARGEST = 1 << 20
PATIENCE = 20  # s
STREAM = [size % 1500 + 1 for size in range(0, 600 * 37, 37)]  # lengths of what goes between two


def segments(*lengths):
    return (SOL_RDS, SEGMENT, struct.pack(f"={len(lengths)}I", *lengths))


def pattern(count, first=0):
    return bytes((first + n) % 251 for n in range(count))


def cut(data, lengths):
    at = 0
    for length in lengths:
        yield data[at:at + length]
        at += length


class Pair:
    """Two sockets of one address, and what one call of each does."""

    def __init__(self, addr):
        self.addr = addr
        self.sender, self.receiver = bound(addr, PORT + 1), bound(addr)
        self.receiver.settimeout(PATIENCE)
        self.to = (addr, PORT)

    def send(self, data, *control, flags=0, sock=None):
        return (sock or self.sender).sendmsg([data], control, flags, self.to)

    def send_each(self, *messages, sock=None):
        for data in messages:
            self.send(data, sock=sock)

    def fails(self, code, data, *control, flags=0):
        try:
            sent = self.send(data, *control, flags=flags)
        except OSError as error:
            assert error.errno == code, (error, code)
        else:
            raise AssertionError(f"sent {sent}, wanted {errno.errorcode[code]}")
        self.nothing()

    def nothing(self):
        self.receiver.setblocking(False)
        try:
            raise AssertionError(f"came: {self.receiver.recv(100)}")
        except BlockingIOError:
            self.receiver.settimeout(PATIENCE)

    def batch(self, most):
        self.receiver.setsockopt(SOL_RDS, RECV_BATCH, most)

    def receive(self, room=65536, control=8192, flags=0):
        """(messages, lengths or None, flags, from whom, other control messages)"""
        data, told, got, name = self.receiver.recvmsg(room, control, flags)
        lengths, others = None, []
        for level, kind, value in told:
            assert level != SOL_RDS or kind == LENGTHS, kind
            if level == SOL_RDS:
                lengths = list(struct.unpack(f"={len(value) // 4}I", value))
            else:
                others.append(kind)
        if lengths is None or got & socket.MSG_TRUNC:
            return [data], lengths, got, name, others
        assert sum(lengths) == len(data), (lengths, len(data))
        return list(cut(data, lengths)), lengths, got, name, others

    def receives(self, *messages, **how):
        found = self.receive(**how)
        assert found[0] == list(messages), (found, messages)
        return found

    def close(self):
        self.sender.close()
        self.receiver.close()


# ---- sending ----

def one_length(p):
    data = pattern(10)
    assert p.send(data, segments(4)) == 10
    for part in (data[:4], data[4:8], data[8:]):
        p.receives(part)
    assert p.send(data, segments(10)) == p.send(data, segments(4000)) == 10
    p.receives(data)
    p.receives(data)


def a_length_each(p):
    lengths = [1, 5000, 3, 70, 70]
    data = pattern(sum(lengths))
    assert p.send(data, segments(*lengths), (SOL_RDS, ORDER, struct.pack("=I", 0))) == len(data)
    for part in cut(data, lengths):
        p.receives(part)


def connected(p):
    name = struct.pack("=HH4s8s", socket.AF_INET, socket.htons(PORT), socket.inet_aton(p.addr), b"")
    assert libc.connect(p.sender.fileno(), name, len(name)) == 0
    assert p.sender.sendmsg([b"ab", b"cdef"], [segments(3)]) == 6
    p.receives(b"abc")
    p.receives(b"def")


def what_is_refused(p):
    data = pattern(10)
    p.sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    for wrong in (segments(), segments(0), segments(5, 0, 5), segments(5, 4), segments(5, 6),
                  segments(0xffffffff, 11), (SOL_RDS, SEGMENT, b"abc"),
                  (SOL_RDS, SEGMENT, b"abcdefg")):
        p.fails(errno.EINVAL, data, wrong)
    p.fails(errno.EINVAL, b"", segments(4))
    p.fails(errno.EINVAL, data, segments(4), segments(4))
    p.fails(errno.EINVAL, data, segments(4), (SOL_RDS, RDMA_DEST, bytes(8)))
    p.fails(errno.EINVAL, data, segments(4), (SOL_RDS, ZCOPY_COOKIE, bytes(4)))
    p.fails(errno.EINVAL, data, segments(4), (SOL_RDS, ZCOPY_COOKIE, bytes(4)), flags=0x4000000)
    p.fails(errno.EMSGSIZE, pattern(MOST + 1), segments(1))
    p.fails(errno.EMSGSIZE, pattern(MOST + 1), segments(*[1] * (MOST + 1)))
    p.fails(errno.EMSGSIZE, pattern(200000), segments(100000))
    p.fails(errno.EMSGSIZE, pattern(200000), segments(100000, 100000))
    p.fails(errno.EMSGSIZE, bytes(LARGEST + 1), segments(LARGEST // 1000))


def as_much_as_there_may_be(p):
    """More than the send buffer, of datagrams each of which fits."""
    p.receiver.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
    data = pattern(LARGEST)
    assert p.send(data, segments(LARGEST // MOST)) == LARGEST
    for part in cut(data, [LARGEST // MOST] * MOST):
        p.receives(part)


def room_for_a_part(p):
    """The receiver's buffer fills: whole datagrams, then EAGAIN; and again when it was read."""
    p.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    p.sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
    data, length = pattern(100 * 1000), 1000
    sent = p.send(data, segments(length), flags=socket.MSG_DONTWAIT)
    assert 0 < sent < len(data) and sent % length == 0, sent
    try:
        more = p.send(data, segments(length), flags=socket.MSG_DONTWAIT)
        raise AssertionError(f"{more} more")
    except OSError as error:
        assert error.errno in (errno.EAGAIN, errno.ENOBUFS), error
    for part in cut(data, [length] * (sent // length)):
        p.receives(part)
    p.nothing()


def a_limit_of_time(p):
    """The call returns those that were sent when the time was over."""
    p.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    p.sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("=qq", 0, 200000))
    sent = p.send(pattern(100000), segments(1000))
    assert 0 < sent < 100000 and sent % 1000 == 0, sent


def a_reader_makes_room(p):
    """A call that may wait sends all, in order."""
    p.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    lengths = [n % 900 + 1 for n in range(MOST)]
    data, result = pattern(sum(lengths)), []
    sender = threading.Thread(target=lambda: result.append(p.send(data, segments(*lengths))))
    sender.start()
    for part in cut(data, lengths):
        p.receives(part)
    sender.join()
    assert result == [len(data)], result


class Raw:
    """A msghdr whose pointers may be bad."""

    def __init__(self, parts, control=(0, 0)):
        self.vec = b"".join(struct.pack("=QQ", at, length) for at, length in parts)
        self.keep = ctypes.create_string_buffer(self.vec, len(self.vec))
        self.header = ctypes.create_string_buffer(struct.pack(
            "=QI4xQQQQi4x", 0, 0, ctypes.addressof(self.keep), len(parts), *control, 0), 56)

    def call(self, function, sock):
        ctypes.set_errno(0)
        return function(sock.fileno(), self.header, 0), ctypes.get_errno()


def an_address_that_is_none(p):
    """A fault: what came before it was sent, or stays to be read."""
    name = struct.pack("=HH4s8s", socket.AF_INET, socket.htons(PORT), socket.inet_aton(p.addr), b"")
    assert libc.connect(p.sender.fileno(), name, len(name)) == 0
    good = ctypes.create_string_buffer(pattern(100), 100)
    there, nowhere = (ctypes.addressof(good), 100), (4096, 100)
    told = ctypes.create_string_buffer(struct.pack("=QiiI4x", 20, SOL_RDS, SEGMENT, 50), 24)
    control = (ctypes.addressof(told), 24)
    found = [Raw([there, nowhere], control).call(libc.sendmsg, p.sender),
             Raw([nowhere], control).call(libc.sendmsg, p.sender)]
    assert found == [(100, 0), (-1, errno.EFAULT)], found
    p.batch(10)
    found = [Raw([nowhere], control).call(libc.recvmsg, p.receiver),
             Raw([there], (4096, 4096)).call(libc.recvmsg, p.receiver)]
    assert found == [(-1, errno.EFAULT)] * 2, found
    found = Raw([(there[0], 60), nowhere], control).call(libc.recvmsg, p.receiver)
    assert found == (50, 0), found
    p.receives(pattern(50, 50))


# ---- receiving ----

def the_option(p):
    def get():
        return p.receiver.getsockopt(SOL_RDS, RECV_BATCH)

    assert get() == 0
    for most in (1, 16, MOST, 0):
        p.batch(most)
        assert get() == most
    p.batch(3)
    for wrong in (-1, MOST + 1, 1 << 30, b"abc"):
        try:
            p.batch(wrong)
            raise AssertionError(f"{wrong} was taken")
        except OSError as error:
            assert error.errno == errno.EINVAL, error
    assert get() == 3


def as_many_as_there_are(p):
    messages = [b"abc", b"", b"d", pattern(5000)]
    p.batch(16)
    p.send_each(*messages)
    found = p.receives(*messages)
    assert found[1:] == ([3, 0, 1, 5000], 0, (p.addr, PORT + 1), []), found[1:]
    p.nothing()
    p.send_each(b"one")
    assert p.receives(b"one")[1] == [3]
    p.batch(0)
    p.send_each(b"one", b"two")
    assert p.receives(b"one")[1] is None
    p.receives(b"two")


def as_many_as_are_wanted(p):
    p.batch(2)
    p.send_each(b"a", b"b", b"c")
    p.receives(b"a", b"b")
    p.receives(b"c")
    p.batch(1)
    p.send_each(b"a", b"b")
    assert p.receives(b"a")[1] == [1]
    p.receives(b"b")


def as_many_as_fit(p):
    p.batch(16)
    p.send_each(b"abcd", b"efgh", b"ijkl", b"")
    p.receives(b"abcd", b"efgh", room=11)
    p.receives(b"ijkl", b"", room=4)
    p.send_each(b"abcdefgh", b"i")
    found = p.receives(b"abcd", room=4)
    assert found[1] == [8] and found[2] & socket.MSG_TRUNC, found
    p.receives(b"i")
    p.send_each(b"abcdefgh", b"i")
    buffer = bytearray(4)
    got, _, flags, _ = p.receiver.recvmsg_into([buffer], 0, socket.MSG_TRUNC)
    assert got == 8 and bytes(buffer) == b"abcd" and flags & socket.MSG_TRUNC, got
    p.receives(b"i")


def a_look_is_at_one(p):
    p.batch(16)
    p.send_each(b"a", b"b")
    assert p.receives(b"a", flags=socket.MSG_PEEK)[1] == [1]
    p.receives(b"a", b"b")


def of_one_sender(p):
    other = bound(p.addr, PORT + 2)
    p.batch(16)
    p.send_each(b"a", b"b")
    p.send_each(b"c", sock=other)
    p.send_each(b"d")
    assert p.receives(b"a", b"b")[3] == (p.addr, PORT + 1)
    assert p.receives(b"c")[3] == (p.addr, PORT + 2)
    assert p.receives(b"d")[3] == (p.addr, PORT + 1)
    other.close()


def as_many_as_can_be_told(p):
    p.batch(16)
    p.send_each(b"a", b"b", b"c", b"d")
    found = p.receives(b"a", control=0)
    assert found[1] is None and found[2] & socket.MSG_CTRUNC, found
    assert p.receives(b"b", b"c", control=socket.CMSG_SPACE(8))[1] == [1, 1]
    p.receives(b"d")


def each_has_its_date(p):
    p.batch(16)
    p.receiver.setsockopt(SOL_RDS, SO_TIMESTAMP, 1)
    p.send_each(b"a", b"b", b"c")
    assert p.receives(b"a", b"b", b"c")[4] == [SO_TIMESTAMP] * 3
    p.send_each(b"a", b"b", b"c")
    room = 2 * socket.CMSG_SPACE(16) + socket.CMSG_SPACE(8)
    found = p.receives(b"a", b"b", control=room)
    assert found[1] == [1, 1] and found[4] == [SO_TIMESTAMP] * 2, found
    p.receives(b"c")
    p.receiver.setsockopt(SOL_RDS, SO_TIMESTAMP, 0)
    p.send_each(b"a", b"b")  # it is not asked for: these have none
    p.receiver.setsockopt(SOL_RDS, SO_TIMESTAMP, 1)
    p.send_each(b"c", b"d")
    assert p.receives(b"a", b"b")[4] == []
    assert p.receives(b"c", b"d")[4] == [SO_TIMESTAMP] * 2


def many_at_both_ends(p):
    p.batch(MOST)
    p.receiver.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)
    data = pattern(64 * MOST)
    assert p.send(data, segments(64)) == len(data)
    assert p.receive(room=len(data))[1] == [64] * MOST


RULES = [one_length, a_length_each, connected, what_is_refused, as_much_as_there_may_be,
         room_for_a_part, a_limit_of_time, a_reader_makes_room, an_address_that_is_none,
         the_option, as_many_as_there_are, as_many_as_are_wanted, as_many_as_fit, a_look_is_at_one,
         of_one_sender, as_many_as_can_be_told, each_has_its_date, many_at_both_ends]


def here(addr):
    for rule in RULES:
        pair = Pair(addr)
        try:
            rule(pair)
        except BaseException:
            print(f"not ok {rule.__name__}", flush=True)
            raise
        pair.close()
        print(f"ok {rule.__name__}", flush=True)


# ---- between two hosts ----

def send(me, peer):
    sock, at, data = bound(me, PORT + 1), 0, pattern(sum(STREAM))
    calls = 0
    while at < len(STREAM):
        some = STREAM[at:at + 50]
        first = sum(STREAM[:at])
        want = sum(some)
        assert sock.sendmsg([data[first:first + want]], [segments(*some)], 0, (peer, PORT)) == want
        at += len(some)
        calls += 1
    print(f"{len(STREAM)} in {calls} calls", flush=True)
    sys.stdin.read()


def receive(me):
    sock, lengths, data, calls = bound(me), [], b"", 0
    sock.setsockopt(SOL_RDS, RECV_BATCH, 64)
    print("ready", flush=True)
    while len(lengths) < len(STREAM):
        some, told, flags, _ = sock.recvmsg(mmap.PAGESIZE * 16, 1024)
        assert not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC), flags
        lengths += struct.unpack(f"={len(told[0][2]) // 4}I", told[0][2])
        data += some
        calls += 1
    assert lengths == STREAM and data == pattern(sum(STREAM)), "what came is not what was sent"
    print(f"{len(lengths)} in {calls} calls", flush=True)


{"here": here, "send": send, "receive": receive}[sys.argv[1]](*sys.argv[2:])
