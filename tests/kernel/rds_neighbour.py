# SPDX-License-Identifier: GPL-2.0
"""How often messages go to and fro between two sockets of another process inside of one call of ours,
run in a guest with `python3 -I -S`.

    rds_neighbour.py ME    fails where there is a call in which none does, however often it is made

ME is an address of this namespace, and 10.8.0.77 is one that nobody has.
"""
import ctypes
import functools
import itertools
import mmap
import os
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

SOL_RDS, CANCEL, SEND_MESSAGES, SO_SNDBUFFORCE = 276, 1, 10003, 32
NOBODY_THERE, VERY_MANY = "10.8.0.77", 100000
TRIES, GOT_ON = 100, 6  # others run at the end of any call, and while Python comes and goes
libc = ctypes.CDLL(None, use_errno=True)


def put(sock, port, size, many=1):
    name = rds_talk.sockaddr(NOBODY_THERE, port)
    for _ in range(many):
        rds_talk.checked(libc.sendto(sock.fileno(), bytes(size), size, socket.MSG_DONTWAIT, name,
                                     len(name)))


def queue_very_many(me):
    sock = rds_talk.bound(me, 0)
    sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 30)
    put(sock, 7, 0, VERY_MANY)
    return sock


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
    """(name, what makes ready the call, and gives it), of calls that look at all that is queued for one
    host. What Python does for them takes no longer than it must: others get on meanwhile, too."""
    sock, room, length = rds_talk.bound(me, 0), ctypes.create_string_buffer(8 << 20), ctypes.c_int()
    name = rds_talk.sockaddr(NOBODY_THERE, 8)

    def cancel():
        put(sock, 8, 64)
        return functools.partial(libc.setsockopt, sock.fileno(), SOL_RDS, CANCEL, name, len(name))

    def close():
        other = rds_talk.bound(me, 0)
        put(other, 8, 64)
        return functools.partial(os.close, other.detach())

    def show():
        length.value = len(room)
        return functools.partial(libc.getsockopt, sock.fileno(), SOL_RDS, SEND_MESSAGES, room,
                                 ctypes.byref(length))

    return cancel, close, show


def inside(me):
    """The kernel interrupts no system call that does not ask: of one that never does nobody gets anything
    done inside, but at its end."""
    os.sched_setaffinity(0, [0])
    rounds, crowd = mmap.mmap(-1, 4096), queue_very_many(me)
    witness = os.fork()
    if not witness:
        go_to_and_fro(me, rounds)
    for ready in long_calls(me):
        most = 0
        for tries in range(TRIES):
            call = ready()
            began = rounds[:8]
            result = call()
            most = max(most, struct.unpack("=Q", rounds[:8])[0] - struct.unpack("=Q", began)[0])
            rds_talk.checked(result or 0)
            if most >= GOT_ON:
                break
        assert most >= GOT_ON, f"nobody gets on inside of {ready.__name__}: {most} rounds at most"
        print(f"{ready.__name__}: {most} rounds inside of a call, after {tries} with fewer", flush=True)
    os.kill(witness, 9)
    crowd.close()


inside(sys.argv[1])
