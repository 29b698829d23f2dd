#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rds.aio over a socket that is made up: a pair of AF_UNIX is its readiness, and a list what was sent.

As in the kernel, notices come before messages and are taken even by a look, a send to a full port has
ENOBUFS, and one without room EAGAIN. The VM suite's `python` does the same with real sockets.
"""
import asyncio
import collections
import errno
import os
import pathlib
import socket
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rds import CongestionEnded, Message, Socket, abi, aio  # noqa: E402

PEER = ("192.0.2.2", 4000)
PATIENCE = 20  # seconds after which a test that waits has failed


class MadeUp(Socket):
    """One end; the other is `tap`, by which messages and notices come."""

    def __init__(self):
        ours, self.tap = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(fileno=ours.detach())
        self.messages, self.notices = collections.deque(), collections.deque()
        self.sent, self.full, self.no_room, self.tries = [], set(), False, 0

    def setsockopt(self, *_):
        pass

    def message(self, text):
        self.tap.send(b"M" + text)

    def notice(self, *ports):
        self.tap.send(b"N" + struct.pack("=Q", abi.congestion_mask(ports)))

    def recvmsg(self, size, room=0, flags=0):
        try:
            while True:
                got = super().recvmsg(100)[0]
                (self.messages if got[:1] == b"M" else self.notices).append(got[1:])
        except BlockingIOError:
            pass
        if self.notices:
            return b"", [(abi.SOL_RDS, abi.RDS_CMSG_CONG_UPDATE, self.notices.popleft())], 0, None
        if not self.messages:
            raise BlockingIOError(errno.EAGAIN, "nothing")
        text = self.messages[0] if flags & socket.MSG_PEEK else self.messages.popleft()
        return text[:size], [], 0, PEER

    def sendmsg(self, buffers, ancdata=(), flags=0, address=None):
        self.tries += 1
        if self.fileno() < 0 or self.no_room or address[1] in self.full:
            number = errno.EBADF if self.fileno() < 0 else errno.EAGAIN if self.no_room else errno.ENOBUFS
            raise OSError(number, os.strerror(number))
        self.sent.append((b"".join(buffers), address[1]))


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.fake = MadeUp()
        self.events = []
        self.sock = aio.AsyncSocket(self.fake, self.events.append)
        self.addCleanup(self.fake.tap.close)
        self.addCleanup(self.sock.close)

    async def until(self, condition):
        async def look():
            while not condition():
                await asyncio.sleep(0)
        await asyncio.wait_for(look(), PATIENCE)

    def begin(self, work):
        return asyncio.create_task(asyncio.wait_for(work, PATIENCE))

    async def test_a_receiver_waits(self):
        reading = self.begin(self.sock.receive())
        await self.until(lambda: self.sock._receivers)
        self.fake.message(b"hello")
        self.assertEqual(await reading, Message(b"hello", PEER))

    async def test_each_of_several_receivers_has_one(self):
        reading = [self.begin(self.sock.receive()) for _ in range(3)]
        await self.until(lambda: len(self.sock._receivers) == 3)
        for text in b"1", b"2", b"3":
            self.fake.message(text)
        self.assertEqual({(await one).data for one in reading}, {b"1", b"2", b"3"})

    async def test_a_receiver_that_gave_up_loses_nothing(self):
        reading = self.begin(self.sock.receive())
        await self.until(lambda: self.sock._receivers)
        self.fake.message(b"late")
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        self.assertFalse(self.sock._receivers)
        self.assertEqual((await self.begin(self.sock.receive())).data, b"late")

    async def congested_sender(self, port=PEER[1]):
        self.fake.full.add(port)
        sending = self.begin(self.sock.send(b"x", (PEER[0], port)))
        await self.until(lambda: self.sock._congested)
        return sending

    async def test_congestion_ends_while_nobody_reads_messages(self):
        sending = await self.congested_sender()
        self.fake.message(b"unread")
        await self.until(lambda: self.fake.messages)  # it was looked at
        self.fake.full.clear()
        self.fake.notice(PEER[1])
        await sending
        self.assertEqual(self.fake.sent, [(b"x", PEER[1])])
        self.assertEqual(self.events, [CongestionEnded(1 << PEER[1] % 64)])
        self.assertEqual((await self.begin(self.sock.receive())).data, b"unread")
        self.assertEqual(self.events, [CongestionEnded(1 << PEER[1] % 64)])

    async def test_a_receiver_tells_the_sender(self):
        sending = await self.congested_sender()
        self.fake.full.clear()
        self.fake.notice(PEER[1])
        self.fake.message(b"read")
        self.assertEqual((await self.begin(self.sock.receive())).data, b"read")
        await sending

    async def test_of_other_ports_it_is_not_told(self):
        sending = await self.congested_sender()
        tries = self.fake.tries
        self.fake.notice(PEER[1] + 1)
        await self.until(lambda: self.events)
        self.assertEqual(self.fake.tries, tries)
        self.fake.notice(PEER[1] + 64)  # the same bit: it tries, and waits on
        await self.until(lambda: self.fake.tries == tries + 1)
        self.assertFalse(sending.done())
        self.fake.full.clear()
        self.fake.notice(PEER[1])
        await sending
        self.assertFalse(self.sock._congested)

    async def test_a_sender_waits_for_room(self):
        self.fake.no_room = True
        sending = self.begin(self.sock.send(b"x", PEER))
        await self.until(lambda: self.sock._senders)
        self.assertFalse(sending.done())
        self.fake.no_room = False
        await sending
        self.assertEqual(self.fake.sent, [(b"x", PEER[1])])

    async def test_closing_ends_all_waiting(self):
        sending, reading = await self.congested_sender(), self.begin(self.sock.receive())
        await self.until(lambda: self.sock._receivers)
        self.sock.close()
        self.sock.close()
        for one in sending, reading:
            with self.assertRaises(OSError) as told:
                await one
            self.assertEqual(told.exception.errno, errno.EBADF)

    async def test_one_after_the_other(self):
        for text in b"a", b"b":
            self.fake.message(text)
        got = []
        async for message in self.sock:
            got.append(message.data)
            if len(got) == 2:
                break
        self.assertEqual(got, [b"a", b"b"])


if __name__ == "__main__":
    unittest.main()
