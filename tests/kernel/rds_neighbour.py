# SPDX-License-Identifier: GPL-2.0
"""A user who does his worst in a loop, run in a guest with `python3 -I -S`.

    rds_neighbour.py DEED ME PEER      prints "ready" when it was done once, waits for a line, goes on
                                       until the input ends, prints how often
    rds_neighbour.py inside ME PEER    how often messages go to and fro between two sockets of another
                                       process inside of one call; fails where there is a call in
                                       which none does, however often it is made

DEED is one of the functions below. ME is an address of this namespace, PEER one of the host behind
the cable, and 10.8.0.77 is one that nobody has.
"""
import ctypes
import itertools
import mmap
import os
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, CANCEL, INFO, ZCOPY_COOKIE = 276, 1, range(10000, 10018), 12
SO_SNDBUFFORCE, SO_ZEROCOPY, MSG_ZEROCOPY = 32, 60, 0x4000000
EVERYBODY = 0x50000000  # a user's and a net namespace
NOBODY_THERE, QUEUED, VERY_MANY = "10.8.0.77", 1000, 100000
SEND_MESSAGES = 10003
TRIES, GOT_ON = 100, 5  # at its end a call lets others run once; and while Python comes and goes
libc = ctypes.CDLL(None, use_errno=True)


def put(sock, addr, port, size=64):
    try:
        rds_talk.send(sock, "x" * size, rds_talk.sockaddr(addr, port), socket.MSG_DONTWAIT)
    except OSError:
        return False
    return True


def queue(me):
    """Messages that wait for a host that is not there, as many as one may have."""
    sock = rds_talk.bound(me, 0)
    for _ in range(QUEUED):
        put(sock, NOBODY_THERE, 7)
    return sock


def queue_very_many(me):
    sock, name = rds_talk.bound(me, 0), rds_talk.sockaddr(NOBODY_THERE, 7)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 30)
    for _ in range(VERY_MANY):
        rds_talk.checked(libc.sendto(sock.fileno(), b"", 0, socket.MSG_DONTWAIT, name, len(name)))
    return sock


def take_back(sock):
    put(sock, NOBODY_THERE, 8)
    name = rds_talk.sockaddr(NOBODY_THERE, 8)
    rds_talk.checked(libc.setsockopt(sock.fileno(), SOL_RDS, CANCEL, name, len(name)))


def cancel(me, _):
    crowd, sock = queue(me), rds_talk.bound(me, 0)
    while True:
        take_back(sock)
        yield crowd


def info(me, _):
    crowd, sock, room = queue(me), rds_talk.bound(), ctypes.create_string_buffer(1 << 22)
    while True:
        for code in INFO:
            libc.getsockopt(sock.fileno(), SOL_RDS, code, room, ctypes.byref(ctypes.c_int(len(room))))
        for name in ("sockets", "connections", "paths"):
            with open(f"/proc/net/rds/{name}", "rb") as file:
                file.read()
        yield crowd


def bind(me, _):
    while True:
        yield rds_talk.bound(me, 0).close()


def flap(me, _):
    """Its own socket fills, is read, and fills again."""
    full, sock = rds_talk.bound(me, 3001), rds_talk.bound(me, 0)
    full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    full.setblocking(False)
    while True:
        while put(sock, me, 3001, 512):
            pass
        try:
            while full.recv(4096):
                pass
        except BlockingIOError:
            pass
        yield


def lend(me, peer):
    """Notes that pages are one's own again, which nobody reads."""
    room = mmap.mmap(-1, 4096)
    while True:
        with rds_talk.bound(me, 0) as sock:
            sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
            try:
                for cookie in range(64):
                    sock.sendmsg([room], [(SOL_RDS, ZCOPY_COOKIE, struct.pack("=I", cookie))],
                                 MSG_ZEROCOPY | socket.MSG_DONTWAIT, (peer, 3002))
            except OSError:
                pass  # no more may be locked, or waits
        yield


def open_close(me, peer):
    while True:
        with rds_talk.bound(me, 0) as sock:
            put(sock, peer, 3003)
        yield


def namespaces(_me, _peer):
    while True:
        if pid := os.fork():
            assert os.waitpid(pid, 0)[1] == 0
        else:
            rds_talk.checked(libc.unshare(EVERYBODY))
            rds_talk.bound()
            os._exit(0)
        yield


def dead_hosts(_me, _peer):
    """Thousands of hosts that are not there, called as often as a container's root may say."""
    who = os.getuid()
    rds_talk.checked(libc.unshare(EVERYBODY))
    with open("/proc/self/uid_map", "w", encoding="ascii") as file:
        file.write(f"0 {who} 1")
    os.system("ip link set lo up && ip addr add 10.66.0.1/32 dev lo")
    with open("/proc/sys/net/rds/reconnect_max_delay_ms", "w", encoding="ascii") as file:
        file.write("1")
    sock = rds_talk.bound("10.66.0.1", 0)
    for number in range(QUEUED):
        put(sock, f"10.77.{number // 200}.{number % 200 + 1}", 7, 1)
    while True:
        select.select([], [], [], 0.01)
        yield


def go_to_and_fro(me, rounds):
    """Until it is killed; counts in memory that is shared.  Goes before all others where the kernel lets
    it, and has slept meanwhile, so it does not go on before somebody lets it."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    one, other = rds_talk.bound(me, 0), rds_talk.bound(me, 3004)
    name = rds_talk.sockaddr(me, 3004)
    for number in itertools.count(1):
        rds_talk.send(one, "x", name)
        rds_talk.receive_bytes(other)
        rounds[:8] = struct.pack("=Q", number)
        time.sleep(0.0001)


def long_calls(me):
    """(name, what to do before, the call), of calls that look at all that is queued for one host."""
    sock, room, length = rds_talk.bound(me, 0), ctypes.create_string_buffer(8 << 20), ctypes.c_int()
    others = []

    def show():
        length.value = len(room)
        rds_talk.checked(libc.getsockopt(sock.fileno(), SOL_RDS, SEND_MESSAGES, room,
                                         ctypes.byref(length)))
        assert length.value > VERY_MANY * 20, length.value

    def open_one():
        others.append(rds_talk.bound(me, 0))
        put(others[0], NOBODY_THERE, 8)

    return (("cancel", lambda: put(sock, NOBODY_THERE, 8), lambda: take_back(sock)),
            ("close", open_one, lambda: others.pop().close()),
            ("show", lambda: None, show))


def inside(me):
    """The kernel interrupts no system call that does not ask: of one that never does nobody gets anything
    done inside, but at its end."""
    os.sched_setaffinity(0, [0])
    rounds, crowd = mmap.mmap(-1, 4096), queue_very_many(me)
    witness = os.fork()
    if not witness:
        go_to_and_fro(me, rounds)
    for name, before, call in long_calls(me):
        most = 0
        for tries in range(TRIES):
            before()
            began = rounds[:8]
            call()
            most = max(most, struct.unpack("=Q", rounds[:8])[0] - struct.unpack("=Q", began)[0])
            if most >= GOT_ON:
                break
        assert most >= GOT_ON, f"nobody gets on inside of {name}: {most} rounds at most"
        print(f"{name}: {most} rounds inside of a call, after {tries} calls with fewer", flush=True)
    os.kill(witness, 9)
    crowd.close()


def main(deed, me, peer):
    if deed == "inside":
        inside(me)
        return
    acts = globals()[deed](me, peer)
    next(acts)
    print("ready", flush=True)
    sys.stdin.readline()
    poll = select.poll()
    poll.register(sys.stdin, select.POLLIN | select.POLLHUP)
    for rounds in itertools.count(1):
        next(acts)
        if poll.poll(0):
            print(rounds, flush=True)
            os._exit(0)


main(*sys.argv[1:])
