# SPDX-License-Identifier: GPL-2.0
"""An RDS socket: a socket.socket that knows both families' addresses, hints, congestion and queries.

Everything of socket.socket works: timeouts, fileno(), selectors, with. A message that a receiver is
too slow for is told of in one of two ways: a socket without a timeout waits in the kernel, one with a
timeout, or that does not block, raises Congested.
"""
from __future__ import annotations

import ctypes
import errno
import fcntl
import itertools
import os
import socket
import struct
from typing import Any, Iterable, Optional, Sequence, Union

from . import abi, addresses
from .addresses import Address

_TIMEVAL = struct.Struct("@ll")
_TOLD_OF_ONE = 4 + socket.CMSG_SPACE(32)  # its length, and its latency


class Congested(OSError):
    """The receiver's queue is full. When it is not any more a Notice with CongestionEnded comes, if
    monitor_congestion() asked for that; without, the socket becomes readable once."""


class Socket(socket.socket):
    """Bound to `address` if one is given: (host, port), port 0 for a free one."""

    _batches: Optional[bool] = None  # known when first asked for

    def __init__(self, address: Optional[Address] = None, *,
                 transport: Optional[abi.Transport] = None, fileno: Optional[int] = None) -> None:
        if fileno is None:
            fileno = socket.socket(abi.AF_RDS, socket.SOCK_SEQPACKET, 0).detach()
        # Of this family, so that it takes addresses of both: see addresses.py.
        super().__init__(socket.AF_INET6, socket.SOCK_SEQPACKET, 0, fileno)
        try:
            if transport is not None:
                self.setsockopt(abi.SOL_RDS, abi.SO_RDS_TRANSPORT, int(transport))
            if address is not None:
                self.bind(address)
        except BaseException:
            self.close()
            raise

    def dup(self) -> Socket:
        """The same socket by another file descriptor, with the same timeout."""
        again = Socket(fileno=os.dup(self.fileno()))
        # One with a timeout does not block in the kernel, where both are one.
        again.settimeout(self.gettimeout())
        return again

    # ---- calls with addresses, which else are socket.socket's ----

    def bind(self, address: Any) -> None:
        super().bind(addresses.six(address))

    def connect(self, address: Any) -> None:
        """Where messages go that name no destination; nothing is sent."""
        super().connect(addresses.six(address))

    def sendto(self, data: Any, *rest: Any) -> int:
        """sendto(data, address) or sendto(data, flags, address)."""
        flags = rest[0] if len(rest) > 1 else 0
        return super().sendto(data, flags, addresses.six(rest[-1]))

    def sendmsg(self, buffers: Iterable[Any], ancdata: Iterable[Any] = (), flags: int = 0,
                address: Any = None, /) -> int:
        where = None if address is None else addresses.six(address)
        return super().sendmsg(buffers, ancdata, flags, where)

    # ---- messages ----

    def send_message(self, data: Any, to: Optional[Address] = None, *,
                     order: Optional[abi.Order] = None, flags: int = 0) -> None:
        """Queues one message, whole. The kernel has it then, and sends it until it is delivered or
        this socket is closed. A hint is refused (EINVAL) by modules that do not know hints."""
        hints = () if order is None else (abi.order_message(order),)
        try:
            self.sendmsg((data,), hints, flags, to)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                raise Congested(error.errno, "the receiver's queue is full") from error
            raise

    def send_messages(self, messages: Sequence[bytes], to: Optional[Address] = None, *,
                      order: Optional[abi.Order] = None) -> int:
        """Queues messages to one address, hundreds in each call of the kernel's; none may be empty.
        Returns how many: fewer than there are where this socket waits no longer for room, and
        raises, as send_message() does, if that is none. Modules that do not know such calls get
        one at a time."""
        if not all(messages):
            raise ValueError("an empty message goes by send_message()")
        sent = 0
        while sent < len(messages):
            some = self._of_one_call(messages, sent)
            try:
                queued = self._send_together(some, to, order)
            except OSError:
                if not sent:
                    raise
                break
            sent += queued
            if queued < len(some):
                break
        return sent

    def _of_one_call(self, messages: Sequence[bytes], first: int) -> Sequence[bytes]:
        """Those from `first` on that one call takes, one at least."""
        most, room = abi.RDS_MAX_SEGMENTS if self.knows_batches else 1, abi.MAX_MESSAGE
        last = first
        while last < len(messages) and last - first < most and len(messages[last]) <= room:
            room -= len(messages[last])
            last += 1
        return messages[first:max(last, first + 1)]

    def _send_together(self, some: Sequence[bytes], to: Optional[Address],
                       order: Optional[abi.Order]) -> int:
        """How many of them were queued, one at least."""
        if len(some) == 1:
            self.send_message(some[0], to, order=order)
            return 1
        lengths = [len(one) for one in some]
        said = [abi.segments_message(lengths)]
        if order is not None:
            said.append(abi.order_message(order))
        try:
            sent = self.sendmsg((b"".join(some),), said, 0, to)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                raise Congested(error.errno, "the receiver's queue is full") from error
            raise
        return sum(end <= sent for end in itertools.accumulate(lengths))

    def receive(self, flags: int = 0) -> Union[abi.Message, abi.Notice]:
        """The next message, or what has happened meanwhile."""
        return abi.received(*self.recvmsg(abi.MAX_MESSAGE, abi.ANCILLARY_ROOM, flags))

    def receive_many(self, most: int = 64) -> list[Union[abi.Message, abi.Notice]]:
        """Waits for one, as receive() does, and takes what else is there, up to `most`."""
        found = self._receive_together(most)
        patience = self.gettimeout()
        if patience:
            self.settimeout(0)  # or Python waits, whatever the flags say
        try:
            while len(found) < most:
                found += self._receive_together(most - len(found), socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
        finally:
            if patience:
                self.settimeout(patience)
        return found

    def _receive_together(self, most: int, flags: int = 0) -> list[Union[abi.Message, abi.Notice]]:
        """One call of the kernel's. Other calls of this socket return single messages, so the option
        does not stay."""
        most = min(most, abi.RDS_MAX_SEGMENTS)
        if most < 2 or not self.knows_batches:
            return [self.receive(flags)]
        self.setsockopt(abi.SOL_RDS, abi.RDS_RECV_BATCH, most)
        try:
            room = abi.ANCILLARY_ROOM + most * _TOLD_OF_ONE
            return abi.received_many(*self.recvmsg(abi.MAX_MESSAGE, room, flags))
        finally:
            self.setsockopt(abi.SOL_RDS, abi.RDS_RECV_BATCH, 0)

    def cancel(self, to: Optional[Address] = None) -> None:
        """Takes back what is not delivered: to one address, or (mainline's cannot) to all."""
        name = b"" if to is None else addresses.sockaddr(to)
        self.setsockopt(abi.SOL_RDS, abi.RDS_CANCEL_SENT_TO, name)

    # ---- settings and questions ----

    @property
    def order(self) -> abi.Order:
        """The hint of messages that have none of their own. Modules that do not know hints answer
        ENOPROTOOPT."""
        return abi.Order(self.getsockopt(abi.SOL_RDS, abi.RDS_ORDER))

    @order.setter
    def order(self, order: abi.Order) -> None:
        self.setsockopt(abi.SOL_RDS, abi.RDS_ORDER, int(abi.Order(order)))

    @property
    def knows_order(self) -> bool:
        """Whether these are modules that know hints; others send everything in order."""
        try:
            return self.order is not None
        except OSError as error:
            if error.errno == errno.ENOPROTOOPT:
                return False
            raise

    @property
    def knows_batches(self) -> bool:
        """Whether these are modules that send and return many messages a call."""
        if self._batches is None:
            try:
                self.getsockopt(abi.SOL_RDS, abi.RDS_RECV_BATCH)
                self._batches = True
            except OSError as error:
                if error.errno != errno.ENOPROTOOPT:
                    raise
                self._batches = False
        return self._batches

    @property
    def transport(self) -> Optional[abi.Transport]:
        """None as long as there is none: not bound, and not chosen."""
        number = self.getsockopt(abi.SOL_RDS, abi.SO_RDS_TRANSPORT)
        return None if number == abi.RDS_TRANS_NONE else abi.Transport(number)

    @property
    def type_of_service(self) -> int:
        """Can be set once, before the first message."""
        return fcntl.ioctl(self, abi.SIOCRDSGETTOS, b"\0")[0]

    @type_of_service.setter
    def type_of_service(self, service: int) -> None:
        fcntl.ioctl(self, abi.SIOCRDSSETTOS, bytes((service,)))

    @property
    def send_timeout(self) -> Optional[float]:
        """SO_SNDTIMEO: for how long a socket without a Python timeout waits for room, or (mainline's
        do not) for the end of congestion. None is for ever."""
        seconds, micro = _TIMEVAL.unpack(
            self.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.size))
        return seconds + micro / 1e6 or None

    @send_timeout.setter
    def send_timeout(self, seconds: Optional[float]) -> None:
        micro = 0 if seconds is None else max(1, round(seconds * 1e6))
        self.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEVAL.pack(*divmod(micro, 1000000)))

    def monitor_congestion(self, ports: Union[bool, Iterable[int]] = True) -> None:
        """True: a CongestionEnded comes for ports that a send has failed for. Some ports (mainline's
        cannot): for these, and those with which they share a bit. False: none comes."""
        if isinstance(ports, bool):
            self.setsockopt(abi.SOL_RDS, abi.RDS_CONG_MONITOR, int(ports))
        else:
            self.setsockopt(abi.SOL_RDS, abi.RDS_CONG_MONITOR,
                            struct.pack("=Q", abi.congestion_mask(ports)))

    def trace_latency(self, spans: Iterable[abi.Span] = tuple(abi.Span)) -> None:
        """Each message brings a Latency from now on."""
        self.setsockopt(abi.SOL_RDS, abi.SO_RDS_MSG_RXPATH_LATENCY, abi.pack_spans(spans))

    def unread(self, peer: Optional[tuple[str, int]] = None) -> abi.Unread:
        """How much has come and is not read: of one peer (port 0: of all its ports), or of all.
        Modules that cannot tell answer ENOPROTOOPT."""
        asked = abi.pack_query(peer)
        question = ctypes.create_string_buffer(asked, len(asked))
        size = ctypes.c_uint32(len(asked))
        # socket.getsockopt() gives the kernel nothing to read.
        if _libc.getsockopt(self.fileno(), abi.SOL_RDS, abi.RDS_RECV_QUERY, question,
                            ctypes.byref(size)) < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return abi.unpack_query(question.raw)


_libc = ctypes.CDLL(None, use_errno=True)
