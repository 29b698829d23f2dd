# SPDX-License-Identifier: GPL-2.0
"""RDS for asyncio: sends wait for room and for the end of congestion, receives for a message.

An RDS socket is readable while there is a message, and writable while its queue has room, whether or
not the port that a message is for is congested. So a sender to a full port waits for neither, but for
the notice that the port takes messages again, and has it even when nobody reads the messages here:
notices come before messages, and a look (MSG_PEEK) leaves those. The look is taken when something has
come, not while something is there: that is what the edge-triggered epoll is for.
"""
from __future__ import annotations

import asyncio
import select
import socket
from typing import Any, AsyncIterator, Callable, Optional

from . import abi, addresses
from .addresses import Address
from .sockets import Congested, Socket

_Waiter = asyncio.Future  # of None


class AsyncSocket:
    """Takes over an RDS socket, in a running loop. `on_event` is called with each event that comes by
    itself; those that come with a message are in it."""

    def __init__(self, sock: Socket,
                 on_event: Optional[Callable[[abi.Event], None]] = None) -> None:
        self.socket = sock
        self.on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._receivers: set[_Waiter[None]] = set()
        self._senders: set[_Waiter[None]] = set()
        self._congested: dict[_Waiter[None], int] = {}  # and its port
        sock.setblocking(False)
        sock.monitor_congestion()
        self._edge = select.epoll()
        self._edge.register(sock.fileno(), select.EPOLLIN | select.EPOLLET)
        self._loop.add_reader(self._edge.fileno(), self._came)

    @classmethod
    def bound(cls, address: Address, **how: Any) -> AsyncSocket:
        """A new socket, bound to (host, port)."""
        return cls(Socket(address, **how))

    async def send(self, data: Any, to: Optional[Address] = None, *,
                   order: Optional[abi.Order] = None) -> None:
        """Returns when the kernel has the message. Of several that wait for one port, none is first."""
        while True:
            try:
                self.socket.send_message(data, to, order=order)
                return
            except BlockingIOError:
                await self._room()
            except Congested:
                await self._end_of_congestion(to or self.socket.getpeername())

    async def receive(self) -> abi.Message:
        """The next message."""
        while True:
            try:
                got = self.socket.receive()
            except BlockingIOError:
                await self._wait_in(self._receivers)
                continue
            if isinstance(got, abi.Message):
                return got
            self._tell(got)

    async def __aiter__(self) -> AsyncIterator[abi.Message]:
        while True:
            yield await self.receive()

    def close(self) -> None:
        """Takes back what is not delivered, as close(2) does; who waits is told by an OSError."""
        if self._edge.closed:
            return
        self._loop.remove_reader(self._edge.fileno())
        self._loop.remove_writer(self.socket.fileno())
        self._edge.close()
        self.socket.close()
        for waiter in (*self._receivers, *self._senders, *self._congested):
            if not waiter.done():
                waiter.set_result(None)  # it tries again, and has EBADF

    async def __aenter__(self) -> AsyncSocket:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    # ---- waiting ----

    async def _wait_in(self, waiters: set[_Waiter[None]]) -> None:
        waiter = self._loop.create_future()
        waiters.add(waiter)
        try:
            await waiter
        finally:
            waiters.discard(waiter)

    async def _room(self) -> None:
        self._loop.add_writer(self.socket.fileno(), self._has_room)
        await self._wait_in(self._senders)

    async def _end_of_congestion(self, to: Address) -> None:
        waiter = self._loop.create_future()
        self._congested[waiter] = addresses.port_of(to)
        try:
            await waiter
        finally:
            del self._congested[waiter]

    # ---- called by the loop ----

    def _has_room(self) -> None:
        self._loop.remove_writer(self.socket.fileno())
        _wake(self._senders)

    def _came(self) -> None:
        self._edge.poll(0)
        _wake(self._receivers)
        if self._congested:
            self._look()

    def _look(self) -> None:
        """Takes the notices, and leaves the messages where they are."""
        while True:
            try:
                said = self.socket.recvmsg(0, abi.ANCILLARY_ROOM, socket.MSG_PEEK)
            except BlockingIOError:
                return
            got = abi.received(*said)
            if isinstance(got, abi.Message):
                return
            self._tell(got)

    def _tell(self, notice: abi.Notice) -> None:
        for event in notice.events:
            if isinstance(event, abi.CongestionEnded):
                _wake(w for w, port in self._congested.items() if event.includes(port))
            if self.on_event:
                self.on_event(event)


def _wake(waiters: Any) -> None:
    for waiter in list(waiters):
        if not waiter.done():
            waiter.set_result(None)
