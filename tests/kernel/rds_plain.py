# SPDX-License-Identifier: GPL-2.0
"""A peer without RDS whose TCP alone acknowledges, as mainline's do, and who sends to it.

    rds_plain.py peer ADDR READ TOTAL    takes connections at ADDR, never says a word
    rds_plain.py send ME PEER TOTAL      sends so many numbered messages

The peer prints "ready", reads READ messages of the first connection, and prints "read". At a line
of input it prints "whole N": so many messages its TCP had in whole, and resets the connection. Of
the next it reads the TOTAL'th message at last, and prints "again FIRST LAST": which came over it.
"""
import fcntl
import os
import socket
import struct
import sys
import termios

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

HEADER, LENGTH, DIGITS = 48, 1000, 8
# A host becomes known by a ping, from port 9, that says nothing of acknowledgements.
PING = struct.pack("!QQIHH24x", 1, 0, 0, 9, 0)
WINDOW = 4096  # what TCP may hold for the peer that does not read
PATIENCE = 100


class Stream:
    """The data of a connection: messages by their numbers, and the bytes behind."""

    def __init__(self, listener):
        self.sock, _ = listener.accept()
        self.sock.settimeout(PATIENCE)
        self.sock.sendall(PING)
        self.bytes = b""

    def header(self):
        """(bytes of the payload, is it a message?) of what begins in front; nothing: cut off."""
        if len(self.bytes) < HEADER:
            return None
        length, _, dport = struct.unpack_from("!IHH", self.bytes, 16)
        return length, dport == rds_talk.PORT

    def take(self):
        """The number of the next message that is here in whole, or nothing."""
        while (found := self.header()) and len(self.bytes) >= HEADER + found[0]:
            length, is_message = found
            frame, self.bytes = self.bytes[:HEADER + length], self.bytes[HEADER + length:]
            if is_message:
                assert length == LENGTH, length
                return int(frame[HEADER:HEADER + DIGITS])
        return None

    def next(self):
        while (number := self.take()) is None:
            more = self.sock.recv(65536)
            assert more, "the stream has ended"
            self.bytes += more
        return number

    def reset(self):
        """Messages that only TCP had are lost with it: how many there were."""
        room = fcntl.ioctl(self.sock, termios.FIONREAD, bytes(4))
        left = struct.unpack("i", room)[0]
        self.bytes += self.sock.recv(left, socket.MSG_PEEK)  # to take it would make room for more
        count = 0
        while self.take() is not None:
            count += 1
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        return count


def peer(addr, read, total):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
    listener.bind((addr, 16385))
    listener.listen()
    print("ready", flush=True)
    stream = Stream(listener)
    for number in range(int(read)):
        assert stream.next() == number, number
    print("read", flush=True)
    sys.stdin.readline()
    print("whole", int(read) + stream.reset(), flush=True)
    stream = Stream(listener)
    first = last = stream.next()
    while last < int(total) - 1:
        assert stream.next() == last + 1, last
        last += 1
    print("again", first, last, flush=True)
    sys.stdin.read()


def send(me, to, total):
    sock = rds_talk.bound(me)
    name = rds_talk.sockaddr(to)
    for number in range(int(total)):
        rds_talk.send(sock, f"{number:0{DIGITS}}".ljust(LENGTH, "x"), name)
    print("sent", flush=True)
    sys.stdin.read()


{"peer": peer, "send": send}[sys.argv[1]](*sys.argv[2:])
