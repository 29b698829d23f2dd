#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The package `rds` (python/) with the kernel's sockets: run in a guest as

    PYTHONPATH=.../python rds_python.py ADDRESS ADDRESS6

both of which are the guest's own. Only what goes through system calls is tried here; the rest is
python/tests, anywhere.
"""
import asyncio
import errno
import os
import socket
import sys
import unittest

import rds
from rds import abi, aio

OWN, OWN6 = sys.argv[1:3]
PATIENCE = 60  # seconds after which what waits has failed
SMALL = 32768  # bytes that a receive queue takes before its port is congested, or a send queue
BLOCK = bytes(4000)


def pair(address=OWN):
    """Two sockets, and the second one's name."""
    first, second = rds.Socket((address, 0)), rds.Socket((address, 0))
    for one in first, second:
        one.settimeout(PATIENCE)
    return first, second, second.getsockname()


class Sockets(unittest.TestCase):
    def pair(self, address=OWN):
        first, second, name = pair(address)
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        return first, second, name

    def fails(self, number, call, *args, **how):
        with self.assertRaises(OSError) as told:
            call(*args, **how)
        self.assertEqual(told.exception.errno, number)

    def test_both_families(self):
        for address, family in ((OWN, 2), (OWN6, 4), (f"::ffff:{OWN}", 2), ("127.0.0.1", 2), ("::1", 4)):
            with self.subTest(address):
                first, second, name = self.pair(address)
                self.assertEqual(len(name), family)
                first.send_message(b"hello", name)
                self.assertEqual(second.receive(), rds.Message(b"hello", first.getsockname()))
                second.sendto(b"re", first.getsockname())
                second.connect(first.getsockname())
                second.send(b"re")
                self.assertEqual([first.receive().data for _ in range(2)], [b"re", b"re"])
                self.assertEqual(second.getpeername(), first.getsockname())

    def test_the_standard_calls(self):
        first, second, name = self.pair()
        again = first.dup()
        again.sendmsg([b"he", b"llo"], [], 0, name)
        again.close()
        self.assertEqual(second.recvfrom(100), (b"hello", first.getsockname()))
        second.settimeout(0)
        with self.assertRaises(BlockingIOError):
            second.receive()

    def test_many_at_a_time(self):
        first, second, name = self.pair()
        for number in range(5):
            first.send_message(b"%d" % number, name)
        while second.unread().messages < 5:
            pass
        got = second.receive_many(3) + second.receive_many()
        self.assertEqual([m.data for m in got], [b"%d" % n for n in range(5)])
        self.assertEqual(second.gettimeout(), PATIENCE)

    def test_many_a_call(self):
        first, second, name = self.pair()
        messages = [bytes([n % 250 + 1]) * (n % 700 + 1) for n in range(3000)]
        self.assertTrue(first.knows_batches)
        sent, came = 0, []
        first.settimeout(0)
        while len(came) < len(messages):
            try:
                sent += first.send_messages(messages[sent:sent + 2000], name)
            except (BlockingIOError, rds.Congested):
                pass
            came += second.receive_many(500)
        self.assertEqual([one.data for one in came], messages)
        self.assertEqual({one.sender for one in came}, {first.getsockname()})
        self.assertEqual(first.send_messages([], name), 0)
        self.assertRaises(ValueError, first.send_messages, [b"a", b""], name)
        first.send_messages([b"a", b"b"], name, order=rds.Order.ORDERED)
        self.assertEqual([second.receive().data for _ in range(2)], [b"a", b"b"])
        second.trace_latency()
        first.send_messages([b"a", b"b", b"c"], name)
        for one in second.receive_many():
            self.assertEqual([type(event) for event in one.events], [rds.Latency])

    def test_hints(self):
        first, second, name = self.pair()
        self.assertTrue(first.knows_order)
        self.assertEqual(first.order, rds.Order.ORDERED)
        first.order = rds.Order.HALF
        self.assertEqual(first.order, rds.Order.HALF)
        first.send_message(b"x", name, order=rds.Order.UNORDERED)
        self.assertEqual(second.receive().data, b"x")
        self.fails(errno.EINVAL, first.sendmsg, [b"x"], [(abi.SOL_RDS, abi.RDS_CMSG_ORDER, b"\3\0\0\0")],
                   0, name)

    def test_what_is_not_read(self):
        first, second, name = self.pair()
        self.assertEqual(second.unread(), rds.Unread(0, 0))
        for _ in range(3):
            first.send_message(b"x", name)
        while second.unread().messages < 3:
            pass
        self.assertEqual(second.unread(), rds.Unread(3, 3))
        self.assertEqual(second.unread(first.getsockname()[:2]), rds.Unread(3, 3))
        self.assertEqual(second.unread((OWN, 0)), rds.Unread(3, 3))
        self.assertEqual(second.unread((OWN6, 0)), rds.Unread(0, 0))
        second.receive()
        self.assertEqual(second.unread().messages, 2)
        with rds.Socket() as unbound:
            self.fails(errno.ENOTCONN, unbound.unread)

    def test_settings(self):
        with rds.Socket() as sock:
            self.assertIsNone(sock.transport)
        with rds.Socket(transport=rds.Transport.TCP) as sock:
            self.assertEqual(sock.transport, rds.Transport.TCP)
            sock.bind((OWN, 0))
            sock.type_of_service = 7
            self.assertEqual(sock.type_of_service, 0)  # as TCP has it
            self.assertIsNone(sock.send_timeout)
            for seconds in (1.5, None):
                sock.send_timeout = seconds
                self.assertEqual(sock.send_timeout, seconds)
        with rds.Socket(("127.0.0.1", 0)) as sock:
            self.assertEqual(sock.transport, rds.Transport.LOOP)
        self.fails(errno.EADDRNOTAVAIL, rds.Socket, ("192.0.2.99", 0))

    def test_latency(self):
        first, second, name = self.pair()
        second.trace_latency((rds.Span.QUEUED,))
        first.send_message(b"x", name)
        (latency,) = second.receive().events
        self.assertEqual([span for span, _ in latency.spans], [rds.Span.QUEUED])

    def test_taken_back(self):
        first, second, name = self.pair()
        nowhere = ("10.9.0.77", 4000)
        first.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        first.setblocking(False)
        for to in (nowhere, None):
            with self.assertRaises(BlockingIOError):
                while True:
                    first.send_message(BLOCK, nowhere)
            first.cancel(to)
            first.send_message(b"x", name)
            second.receive()

    def fill(self, first, second, name):
        """Sends until the port is congested; how many that took."""
        second.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        first.setblocking(False)
        count = 0
        with self.assertRaises(rds.Congested):
            while True:
                try:
                    first.send_message(BLOCK, name)
                    count += 1
                except BlockingIOError:
                    pass
        first.settimeout(PATIENCE)
        return count

    def test_congestion_is_told(self):
        for ports in ("all", "mask"):
            first, second, name = self.pair()
            first.monitor_congestion(True if ports == "all" else (name[1],))
            for _ in range(self.fill(first, second, name)):
                second.receive()
            (ended,) = first.receive().events
            self.assertTrue(ended.includes(name[1]))
            first.send_message(b"x", name)

    def test_congestion_that_nobody_ends(self):
        first, second, name = self.pair()
        self.fill(first, second, name)
        first.settimeout(None)
        first.send_timeout = 0.2
        self.fails(errno.ETIMEDOUT, first.send_message, BLOCK, name)


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def test_a_slow_reader_whose_sender_reads_nothing(self):
        """The sender has unread messages all the time, and is told of the end of congestion."""
        first, second, name = pair()
        second.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        ended = []
        async with aio.AsyncSocket(first, ended.append) as sender, aio.AsyncSocket(second) as reader:
            for _ in range(3):
                await reader.send(b"unread", first.getsockname())

            async def send():
                for number in range(200):
                    await sender.send(b"%d" % number + BLOCK, name)

            sending = asyncio.create_task(send())
            for number in range(200):
                if number % 50 == 10:
                    while not sender._congested and not sending.done():
                        await asyncio.sleep(0)
                message = await asyncio.wait_for(reader.receive(), PATIENCE)
                self.assertEqual(message.data.rstrip(b"\0"), b"%d" % number)
            await asyncio.wait_for(sending, PATIENCE)
            self.assertGreater(len(ended), 2)
            self.assertTrue(all(event.includes(name[1]) for event in ended))
            self.assertEqual([(await sender.receive()).data for _ in range(3)], [b"unread"] * 3)

    async def test_room(self):
        """A queue that is full because of a host that is not there has room once that is given up."""
        first, second, name = pair()
        first.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
        async with aio.AsyncSocket(first) as sender, aio.AsyncSocket(second) as reader:
            async def fill():
                while True:
                    await sender.send(BLOCK, ("10.9.0.77", 4000))

            filling = asyncio.create_task(fill())
            while not sender._senders:
                await asyncio.sleep(0)
            filling.cancel()
            await asyncio.gather(filling, return_exceptions=True)
            sending = asyncio.create_task(sender.send(b"x", name))
            while not sender._senders:
                await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait_for(sending, PATIENCE)
            self.assertEqual((await reader.receive()).data, b"x")


if __name__ == "__main__":
    os.environ["PYTHONASYNCIODEBUG"] = ""
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
