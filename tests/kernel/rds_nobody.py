# SPDX-License-Identifier: GPL-2.0
"""Nobody, in a cgroup, with RDS.

    rds_nobody.py wait GROUP ME PEER N LENGTH   N threads send messages of that length to a host that
                                                does not answer. Prints the pid; ends when stdin does
    rds_nobody.py all GROUP ME PEER HOSTS       has all that there is to have: see Everything. Prints
                                                "has ..."; closes it when stdin ends

`python3 -I -S` runs it in a guest, as root: it enters the cgroup, and is nobody then.
"""
import ctypes
import ipaddress
import os
import resource
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

NOBODY, STACK, DUMPABLE = 65534, 256 << 10, 4
SOL_RDS, GET_MR, RECVERR, CONG_MONITOR, ORDER, RECV_QUERY = 276, 2, 5, 6, 64, 65
CMSG_ZCOPY_COOKIE, SO_ZEROCOPY, MSG_ZEROCOPY, UNORDERED = 12, 60, 0x4000000, 2
DONTWAIT = socket.MSG_DONTWAIT


def enter(group):
    with open(f"{group}/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    os.setgroups([])
    os.setresgid(*[NOBODY] * 3)
    os.setresuid(*[NOBODY] * 3)
    rds_talk.libc.prctl(DUMPABLE, 1)
    threading.stack_size(STACK)


def waiting(sock, name, data, n):
    """N threads that send until the socket is closed, and so wait for room."""
    def send():
        while rds_talk.libc.sendto(sock.fileno(), data, len(data), 0, name, len(name)) > 0:
            pass
    for _ in range(n):
        threading.Thread(target=send, daemon=True).start()


def wait(me, peer, n, length):
    sock = rds_talk.bound(me)
    waiting(sock, rds_talk.sockaddr(peer), bytes(int(length)), int(n))
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)  # with threads that wait


class Everything:
    def __init__(self, me, peer, hosts):
        self.me, self.peer, self.had = me, peer, []
        self.socks = [rds_talk.bound(me, 0) for _ in range(100)]
        for what in ("loopback", "full_ports", "hosts", "lent_pages", "flows", "senders_that_wait",
                     "options"):
            number = getattr(self, what)(int(hosts))
            self.had.append(f"{what} {number}")

    def to(self, sock, name, data, flags=DONTWAIT):
        return rds_talk.libc.sendto(sock.fileno(), data, len(data), flags, name, len(name)) >= 0

    def loopback(self, _):
        """Messages of all lengths that nobody reads, half of them between 127/8."""
        here = [rds_talk.bound(self.me, 7001), rds_talk.bound("127.0.0.9", 7002)]
        self.socks += here
        names = [rds_talk.sockaddr(self.me, 7001), rds_talk.sockaddr("127.0.0.9", 7002)]
        return sum(self.to(here[i % 2], names[i % 2], bytes(100 << i % 8)) for i in range(60))

    def full_ports(self, _):
        """A reader with a small buffer; others wait for it, one with a monitor."""
        reader = rds_talk.bound(self.me, 7003)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socks.append(reader)
        self.socks[0].setsockopt(SOL_RDS, CONG_MONITOR, 1)
        name = rds_talk.sockaddr(self.me, 7003)
        return sum(not self.to(sock, name, bytes(2000)) for sock in self.socks[:50])

    def hosts(self, n):
        first = ipaddress.ip_address("10.10.0.1")
        return sum(self.to(self.socks[1], rds_talk.sockaddr(str(first + i), 5000), b"1")
                   for i in range(n))

    def lent_pages(self, _):
        """Whose completions nobody reads."""
        sock = self.socks[2]
        sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        self.pages, taken = bytearray(8192), 0
        for i in range(50):
            try:
                taken += sock.sendmsg([self.pages], [(SOL_RDS, CMSG_ZCOPY_COOKIE,
                                                      struct.pack("=I", i))],
                                      MSG_ZEROCOPY | DONTWAIT, (self.peer, 9)) == len(self.pages)
            except OSError:
                break
        return taken

    def flows(self, _):
        """Un-ordered messages to many ports, so that their peer numbers them."""
        self.socks[3].setsockopt(SOL_RDS, ORDER, UNORDERED)
        return sum(self.to(self.socks[3], rds_talk.sockaddr(addr, port), b"flow")
                   for addr in (self.peer, self.me) for port in range(7000, 7050))

    def senders_that_wait(self, _):
        waiting(self.socks[4], rds_talk.sockaddr("10.10.255.1", 5000), bytes(100_000), 50)
        waiting(self.socks[5], rds_talk.sockaddr(self.me, 7003), bytes(2000), 20)
        return 70

    def options(self, _):
        """Options and queries, and memory regions where the transport has any."""
        done = 0
        cookie = ctypes.c_uint64()
        for sock in self.socks[:20]:
            for option, value in ((RECVERR, 1), (GET_MR, struct.pack(
                    "=4Q", ctypes.addressof(cookie), 8, ctypes.addressof(cookie), 1))):
                try:
                    sock.setsockopt(SOL_RDS, option, value)
                    done += 1
                except OSError:
                    pass
            query = bytearray(struct.pack("=128sIIII", b"", 3, 0, 0, 0))
            size = ctypes.c_int(len(query))
            done += rds_talk.libc.getsockopt(sock.fileno(), SOL_RDS, RECV_QUERY,
                                             (ctypes.c_char * len(query)).from_buffer(query),
                                             ctypes.byref(size)) == 0
        return done


def everything(me, peer, hosts):
    user = Everything(me, peer, hosts)
    print("has", ", ".join(user.had), flush=True)
    sys.stdin.read()
    os._exit(0)  # with threads that wait


command, group, *words = sys.argv[1:]
enter(group)
{"wait": wait, "all": everything}[command](*words)
