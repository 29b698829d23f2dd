# SPDX-License-Identifier: GPL-2.0
"""Many addresses of one host send to one of another: how soon is each heard again after a cut?

    rds_storm.py send COUNT TO      a socket at each of 10.8.0.1, 10.8.0.2 ..., two messages a second
    rds_storm.py receive COUNT TO   takes them

The receiver prints "all" when it has heard of each since it began, or since its input said "mark",
with the 50th, 99th and last 100th of the times, in ms; when its input ends, how many came of each, and
how many of all were not the next. A line ends the sending, and how many each socket has sent is printed;
the sockets stay until the input ends. `python3 -I -S` runs it in a guest.
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

PAUSE = 0.5  # s between two messages of a socket


def address(n):
    return f"10.8.{n // 250}.{n % 250 + 1}"


def send(count, to):
    name = rds_talk.sockaddr(to)
    socks = [rds_talk.bound(address(n)) for n in range(count)]
    sent = [0] * count
    print("ready", flush=True)
    while not select.select([0], [], [], PAUSE)[0]:
        for n, sock in enumerate(socks):
            try:
                rds_talk.send(sock, f"{sent[n]}", name, socket.MSG_DONTWAIT)
                sent[n] += 1
            except BlockingIOError:
                pass
    sys.stdin.readline()
    print(json.dumps(dict(zip(map(address, range(count)), sent))), flush=True)
    sys.stdin.read()


def receive(count, to):
    sock, came, wrong = rds_talk.bound(to), {}, 0
    sock.setblocking(False)
    marked, heard = time.monotonic(), {}
    print("ready", flush=True)
    while True:
        ready = select.select([0, sock], [], [])[0]
        if 0 in ready:
            if not os.read(0, 100):
                break
            marked, heard = time.monotonic(), {}
            continue
        data, name = rds_talk.receive_bytes(sock)
        host = socket.inet_ntoa(struct.unpack_from("=4s", name, 4)[0])
        wrong += int(data) != came.get(host, 0)
        came[host] = int(data) + 1
        if host in heard:
            continue
        heard[host] = 1000 * (time.monotonic() - marked)
        if len(heard) == count:
            times = sorted(heard.values())
            print("all", *(round(times[p * (count - 1) // 100]) for p in (50, 99, 100)), flush=True)
    print(json.dumps({"came": came, "wrong": wrong}), flush=True)


{"send": send, "receive": receive}[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
