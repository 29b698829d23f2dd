# SPDX-License-Identifier: GPL-2.0
"""A minimal RDS peer for the load and contact tests, run in a guest with `python3 -I -S`.

    rds_talk.py open [ADDR]       opens (and binds) a socket, prints "open", waits for stdin's end
    rds_talk.py loop ADDR         one message to oneself
    rds_talk.py namespaces ADDR N the same in N namespaces one after the other
    rds_talk.py answer ME         answers one message, prints it
    rds_talk.py ask ME PEER TEXT  sends TEXT, prints the answer
    rds_talk.py beside ME PEER TEXT   the same, with an operation behind TEXT that no adapter can do

Python's own socket module takes (IPv4, port) only as an RDS address, so the calls with addresses
go through ctypes; errors come out as OSError.
"""
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys

AF_RDS, PORT, PATIENCE = 21, 4000, 40
libc = ctypes.CDLL(None, use_errno=True)


def sockaddr(addr, port=PORT):
    if ":" in addr:
        return struct.pack("=HH4s16sI", socket.AF_INET6, socket.htons(port), b"",
                           socket.inet_pton(socket.AF_INET6, addr), 0)
    return struct.pack("=HH4s8s", socket.AF_INET, socket.htons(port), socket.inet_aton(addr), b"")


def checked(result):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def bound(addr=None, port=PORT):
    sock = socket.socket(AF_RDS, socket.SOCK_SEQPACKET, 0)
    if addr:
        name = sockaddr(addr, port)
        checked(libc.bind(sock.fileno(), name, len(name)))
    return sock


def send(sock, text, name, flags=0):
    checked(libc.sendto(sock.fileno(), text.encode(), len(text), flags, name, len(name)))


def receive(sock):
    """The message and the sender's address, ready to be sent to."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    if not poll.poll(PATIENCE * 1000):
        sys.exit(f"nothing came in {PATIENCE} s")
    data, name = receive_bytes(sock)
    return data.decode(), name


def receive_bytes(sock):
    data, name = ctypes.create_string_buffer(1 << 16), ctypes.create_string_buffer(128)
    length = ctypes.c_int(128)
    got = checked(libc.recvfrom(sock.fileno(), data, len(data), 0, name, ctypes.byref(length)))
    return data.raw[:got], name.raw[:length.value]


def operate(sock, peer):
    """An atomic operation across a border of 8 bytes, without a message: nothing of it is sent."""
    own, silent = ctypes.create_string_buffer(8), 0x40
    args = struct.pack("=9Q", 1, ctypes.addressof(own), 4, 1, 0, 0, 0, silent, 1)
    sock.sendmsg([], [(276, 6, args)], 0, (peer, PORT))  # SOL_RDS, RDS_CMSG_ATOMIC_FADD


def in_namespace(addr):
    """A child in a network namespace of its own, which dies with it."""
    pid = os.fork()
    if pid:
        assert os.waitpid(pid, 0)[1] == 0
        return
    checked(libc.unshare(0x40000000))  # CLONE_NEWNET
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ctl:
        up = struct.pack("16sh14x", b"lo", 1)  # struct ifreq with IFF_UP
        fcntl.ioctl(ctl, 0x8914, up)  # SIOCSIFFLAGS
    sock = bound(addr)
    send(sock, "hello", sockaddr(addr))
    print(receive(sock)[0], flush=True)
    os._exit(0)


def main(what, me=None, peer=None, text="hello"):
    if what == "namespaces":
        for _ in range(int(peer)):
            in_namespace(me)
        return
    sock = bound(me)
    if what == "open":
        print("open", flush=True)
        sys.stdin.read()
    elif what == "loop":
        send(sock, text, sockaddr(me))
        print(receive(sock)[0])
    elif what == "answer":
        print("ready", flush=True)
        asked, name = receive(sock)
        send(sock, "re: " + asked, name)
        print(asked, flush=True)
        sys.stdin.read()  # closing the socket would cancel what is still on its way
    elif what in ("ask", "beside"):
        send(sock, text, sockaddr(peer))
        if what == "beside":
            operate(sock, peer)
        print(receive(sock)[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
