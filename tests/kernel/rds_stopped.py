# SPDX-License-Identifier: GPL-2.0
"""One reader that has stopped, many that flood it, and two others who want to talk meanwhile.

    rds_stopped.py reader ME [full] [watch]
                                        port 4000 with the least SO_RCVBUF; `full`: once it holds
                                        more than that. Prints "ready", and with a line from stdin
                                        reads; that line is what flood printed. `watch`: for 3 s
                                        something may come for the second time
    rds_stopped.py flood ME PEER COUNT  COUNT sockets send to it whenever they can. Prints "stopped"
                                        when nothing is taken any more, with a line from stdin
                                        {port: how many messages were taken}; ends when stdin does
    rds_stopped.py answer ME            port 5000: answers everything, until stdin ends
    rds_stopped.py ask ME PEER TIMES    from port 5001 there; prints how many came back within a
                                        second each

`python3 -I -S` runs it in a guest. A message of the flood is its sender's port and its number.
"""
import json
import os
import select
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

TALK, ASK, OWN = 5000, 5001, 5002
HEAD, LENGTH = struct.Struct("=HI"), 1000
ENOUGH = 500  # messages of each: mainline takes any number for 127.0.0.1


def send(sock, data, name):
    """False when there is no room, or the port is congested."""
    got = rds_talk.libc.sendto(sock.fileno(), data, len(data), socket.MSG_DONTWAIT, name, len(name))
    return got == len(data)


def receive(sock, patience):
    """A message and where it came from, or None."""
    end = time.monotonic() + patience
    while (left := end - time.monotonic()) > 0:
        select.select([sock], [], [], left)
        try:
            data, name = rds_talk.receive_bytes(sock)
            return data, name
        except BlockingIOError:
            continue  # readable because a congestion map came
    return None


def filled(me):
    """A socket that has sent to the reader, and {port: messages}. Loopback has delivered a message
    when sendto() returns."""
    own = rds_talk.bound(me, OWN)
    for number in range(60):
        send(own, HEAD.pack(OWN, number).ljust(LENGTH), rds_talk.sockaddr(me))
    return own, {OWN: 60}


def reader(me, *how):
    sock = rds_talk.bound(me)
    own, before = filled(me) if "full" in how else (None, {})
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    sock.setblocking(False)
    print("ready", flush=True)
    taken = {int(port): count for port, count in json.loads(sys.stdin.readline()).items()}
    taken.update(before)
    following, wrong, began = dict.fromkeys(taken, 0), 0, time.monotonic()
    while following != taken and (got := receive(sock, 20)):
        port, number = HEAD.unpack_from(got[0])
        wrong += number != following[port] or len(got[0]) != LENGTH
        following[port] = max(following[port], number + 1)
    wrong += "watch" in how and receive(sock, 3) is not None
    missing = sum(taken.values()) - sum(following.values())
    print(f"{sum(taken.values())} were taken, read in {time.monotonic() - began:.1f} s\n"
          f"fact flood: lost = {missing}\nfact flood: not in order = {wrong}", flush=True)


def offer(sock, port, sent, name):
    """The next message of a sender, if it is taken."""
    took = sent[port] < ENOUGH and send(sock, HEAD.pack(port, sent[port]).ljust(LENGTH), name)
    sent[port] += took
    return took


def flood(me, peer, count):
    ports = range(6000, 6000 + int(count))
    socks, sent = {port: rds_talk.bound(me, port) for port in ports}, dict.fromkeys(ports, 0)
    name, still, last = rds_talk.sockaddr(peer), False, time.monotonic()
    while not select.select([0], [], [], 0.02)[0]:
        while any([offer(sock, port, sent, name) for port, sock in socks.items()]):
            last = time.monotonic()
        if not still and time.monotonic() > last + 1:
            ends = "no" if min(sent.values()) == ENOUGH else "yes"
            print(f"fact flood: ends for want of room = {ends}\nstopped", flush=True)
            still = True
    print(json.dumps(sent), flush=True)
    sys.stdin.read()  # closing the sockets would cancel what is still on its way


def answer(me):
    sock = rds_talk.bound(me, TALK)
    sock.setblocking(False)
    print("ready", flush=True)
    while not select.select([0, sock], [], [])[0].count(0):
        got = receive(sock, 0.1)
        if got:
            while not send(sock, *got):
                time.sleep(0.01)


def ask(me, peer, times):
    sock, name, came = rds_talk.bound(me, ASK), rds_talk.sockaddr(peer, TALK), 0
    sock.setblocking(False)
    for number in range(int(times)):
        text = str(number).encode()
        began = time.monotonic()
        while not send(sock, text, name) and time.monotonic() < began + 1:
            time.sleep(0.01)
        while (left := began + 1 - time.monotonic()) > 0:
            got = receive(sock, left)
            if got and got[0] == text:
                came += 1
                break
        if number - came > 5:
            break  # it will not get better
    print(f"{came} of {times}", flush=True)


{"reader": reader, "flood": flood, "answer": answer, "ask": ask}[sys.argv[1]](*sys.argv[2:])
