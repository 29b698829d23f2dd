# SPDX-License-Identifier: GPL-2.0
"""First contact, many times: every pair of addresses is a connection that never was.

    rds_first.py answer ME PEER N         answers everybody until stdin ends
    rds_first.py ask ME PEER N [dontwait] one message on each of N connections, one by one; prints
                                          how many were answered and how long the slowest took
    rds_first.py burst ME PEER N          the same, all at once and answering: both sides call

All three bind, print "ready", and begin when a line comes in. ME and PEER are the first of N
addresses each. An answer proves the message: nothing else is sent that could have pushed it.
`python3 -I -S` runs it in a guest.
"""
import ipaddress
import os
import select
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_talk  # noqa: E402

PATIENCE = 50  # s for one answer; it takes milliseconds, once the other host is there
MSG_DONTWAIT = 0x40


class Host:
    def __init__(self, me, peer, count):
        first, self.peer = ipaddress.ip_address(me), ipaddress.ip_address(peer)
        self.socks = [rds_talk.bound(str(first + i)) for i in range(count)]
        self.poll = select.poll()
        for sock in self.socks:
            sock.setblocking(False)
            self.poll.register(sock, select.POLLIN)
        self.numbers = {sock.fileno(): i for i, sock in enumerate(self.socks)}
        self.answered = set()

    def turn(self, timeout):
        """Answers what came; False when stdin has ended."""
        for fd, _ in self.poll.poll(timeout * 1000):
            if fd == 0:
                return False
            number = self.numbers[fd]
            try:
                data, name = rds_talk.receive_bytes(self.socks[number])
            except BlockingIOError:
                continue  # readable because a congestion map came
            if data.decode() == f"re {number}":
                self.answered.add(number)
            else:
                rds_talk.send(self.socks[number], f"re {number}", name)
        return True

    def ask(self, number, flags):
        self.socks[number].setblocking(True)
        rds_talk.send(self.socks[number], f"ask {number}",
                      rds_talk.sockaddr(str(self.peer + number)), flags)
        self.socks[number].setblocking(False)

    def wait(self, numbers):
        end = time.monotonic() + PATIENCE
        while not numbers <= self.answered and time.monotonic() < end:
            self.turn(0.5)

    def serve(self):
        self.poll.register(0, select.POLLIN | select.POLLHUP)
        while self.turn(60):
            pass


def main(role, me, peer, count, flags=""):
    count = int(count)
    host = Host(me, peer, count)
    print("ready", flush=True)
    sys.stdin.readline()
    slowest = 0
    groups = [[i] for i in range(count)] if role == "ask" else [range(count)]
    for group in groups if role != "answer" else []:
        began = time.monotonic()
        for number in group:
            host.ask(number, MSG_DONTWAIT if flags == "dontwait" else 0)
        host.wait(set(group))
        slowest = max(slowest, time.monotonic() - began)
    if role != "answer":
        print(f"answered {len(host.answered)} of {count}, slowest {slowest * 1000:.0f} ms, "
              f"missing {sorted(set(range(count)) - host.answered)}", flush=True)
    host.serve()


main(*sys.argv[1:])
