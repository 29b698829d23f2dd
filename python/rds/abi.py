# SPDX-License-Identifier: GPL-2.0
"""Numbers and structures of <linux/rds.h>: bytes become values and values bytes, by no system call.

python/tests/abi_test.py compares the numbers with the header.
"""
from __future__ import annotations

import dataclasses
import enum
import socket
import struct
from typing import Callable, Iterable, Iterator, Optional, Sequence, Tuple, Union

from . import addresses

AF_RDS = 21
SOL_RDS = 276

# Socket options.
RDS_CANCEL_SENT_TO = 1
RDS_RECVERR = 5
RDS_CONG_MONITOR = 6
SO_RDS_TRANSPORT = 8
SO_RDS_MSG_RXPATH_LATENCY = 10
RDS_ORDER = 64
RDS_RECV_QUERY = 65
RDS_RECV_BATCH = 66
RDS_TRANS_NONE = -1

# Control messages.
RDS_CMSG_RDMA_DEST = 2
RDS_CMSG_RDMA_STATUS = 4
RDS_CMSG_CONG_UPDATE = 5
RDS_CMSG_RXPATH_LATENCY = 11
RDS_CMSG_ZCOPY_COMPLETION = 13
RDS_CMSG_ORDER = 128
RDS_CMSG_SEGMENT = 129
RDS_CMSG_RECV_BATCH = 130

# ioctls: SIOCPROTOPRIVATE and the one after it.
SIOCRDSSETTOS = 0x89E0
SIOCRDSGETTOS = 0x89E1

RDS_CONG_MONITOR_SIZE = 64
RDS_RECV_QUERY_NBUFS = 1
RDS_RECV_QUERY_SPAN = 2
RDS_RECV_QUERY_UNKNOWN = 0xFFFFFFFF

RDS_MAX_SEGMENTS = 1024

MAX_MESSAGE = 1 << 20
# All that one recvmsg(2) may have to say, with room for what later kernels add.
ANCILLARY_ROOM = 512

_QUERY = struct.Struct("=128sIIII")  # struct rds_recv_query
_TRACE = struct.Struct("=B3B4x3Q")  # struct rds_cmsg_rx_trace
_NOTIFY = struct.Struct("=Qi")  # struct rds_rdma_notify, and four bytes that say nothing
_U32 = struct.Struct("=I")
_U64 = struct.Struct("=Q")

Ancillary = Tuple[int, int, bytes]


class Order(enum.IntEnum):
    """May a message overtake earlier ones of its socket to the same destination? See rds(7), Order."""

    ORDERED = 0
    HALF = 1
    UNORDERED = 2


class Transport(enum.IntEnum):
    """How a socket's messages travel; LOOP can be read and not chosen."""

    IB = 0
    TCP = 2
    LOOP = 3


class Span(enum.IntEnum):
    """Where a received message spent its time."""

    HEADER_TO_DATA = 0
    REASSEMBLY = 1
    QUEUED = 2


@dataclasses.dataclass(frozen=True)
class CongestionEnded:
    """Ports that were congested take messages again: of a mask of 64 bits, bit `port % 64`."""

    mask: int

    def includes(self, port: int) -> bool:
        """Whether a send to this port should be tried again."""
        return bool(self.mask & congestion_mask((port,)))


@dataclasses.dataclass(frozen=True)
class ZeroCopyDone:
    """The memory of these MSG_ZEROCOPY sends may be used again."""

    cookies: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class RdmaDone:
    """An RDMA or atomic operation has ended; status 0 is success, see RDS_RDMA_* in <linux/rds.h>."""

    token: int
    status: int


@dataclasses.dataclass(frozen=True)
class RdmaCookie:
    """A peer's memory region came with the message."""

    cookie: int


@dataclasses.dataclass(frozen=True)
class Latency:
    """Nanoseconds that the message spent, for each span that was asked for."""

    spans: tuple[tuple[Span, int], ...]


Event = Union[CongestionEnded, ZeroCopyDone, RdmaDone, RdmaCookie, Latency]


@dataclasses.dataclass(frozen=True)
class Message:
    """A message that recvmsg(2) returned, whole unless `truncated`."""

    data: bytes
    sender: addresses.Address
    truncated: bool = False
    events: tuple[Event, ...] = ()


@dataclasses.dataclass(frozen=True)
class Notice:
    """An answer of recvmsg(2) without a message: things that happened."""

    events: tuple[Event, ...]


@dataclasses.dataclass(frozen=True)
class Unread:
    """The answer of RDS_RECV_QUERY. `span` is None where the kernel cannot tell it."""

    messages: int
    span: Optional[int]


def congestion_mask(ports: Iterable[int]) -> int:
    """The bits that stand for these ports."""
    mask = 0
    for port in ports:
        mask |= 1 << (port % RDS_CONG_MONITOR_SIZE)
    return mask


def order_message(order: Order) -> Ancillary:
    """The control message that hints at one message's order."""
    return (SOL_RDS, RDS_CMSG_ORDER, _U32.pack(Order(order)))


def segments_message(lengths: Sequence[int]) -> Ancillary:
    """The control message that cuts a call's bytes into messages of these lengths."""
    return (SOL_RDS, RDS_CMSG_SEGMENT, struct.pack(f"={len(lengths)}I", *lengths))


def pack_query(peer: Optional[tuple[str, int]] = None) -> bytes:
    """A struct rds_recv_query that asks for both numbers, of one peer (port 0: all its ports) or all."""
    name = addresses.sockaddr(peer) if peer else b""
    return _QUERY.pack(name, RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN, 0, 0, 0)


def unpack_query(answer: bytes) -> Unread:
    """The numbers in the struct that the kernel has filled in."""
    _, _, messages, span, _ = _QUERY.unpack_from(answer)
    return Unread(messages, None if span == RDS_RECV_QUERY_UNKNOWN else span)


def pack_spans(spans: Iterable[Span]) -> bytes:
    """A struct rds_rx_trace_so."""
    wanted = bytes(Span(span) for span in spans)
    return struct.pack("=B3s", len(wanted), wanted)


def _zero_copy(payload: bytes) -> ZeroCopyDone:
    (count,) = _U32.unpack_from(payload)
    return ZeroCopyDone(struct.unpack_from(f"={count}I", payload, _U32.size))


def _latency(payload: bytes) -> Latency:
    count, *rest = _TRACE.unpack_from(payload)
    return Latency(tuple((Span(where), spent) for where, spent in zip(rest[:count], rest[3:])))


_EVENTS: dict[int, Callable[[bytes], Event]] = {
    RDS_CMSG_CONG_UPDATE: lambda payload: CongestionEnded(*_U64.unpack_from(payload)),
    RDS_CMSG_ZCOPY_COMPLETION: _zero_copy,
    RDS_CMSG_RDMA_STATUS: lambda payload: RdmaDone(*_NOTIFY.unpack_from(payload)),
    RDS_CMSG_RDMA_DEST: lambda payload: RdmaCookie(*_U64.unpack_from(payload)),
    RDS_CMSG_RXPATH_LATENCY: _latency,
}


def events(ancillary: Iterable[Ancillary]) -> Iterator[Event]:
    """The events that control messages tell of. Those of other levels, and of numbers that are not known here,
    are passed over; one that was cut short raises struct.error."""
    for level, number, payload in ancillary:
        decode = _EVENTS.get(number) if level == SOL_RDS else None
        if decode:
            yield decode(payload)


def received(data: bytes, ancillary: Iterable[Ancillary], flags: int,
             sender: Optional[addresses.Address]) -> Union[Message, Notice]:
    """The answer of recvmsg(2) as one thing or the other: without a sender it was no message."""
    said = tuple(events(ancillary))
    if not sender:
        return Notice(said)
    return Message(data, sender, bool(flags & socket.MSG_TRUNC), said)


def _lengths(ancillary: Iterable[Ancillary]) -> tuple[int, ...]:
    """Those that a batch has told; none: it was none."""
    for level, number, payload in ancillary:
        if level == SOL_RDS and number == RDS_CMSG_RECV_BATCH:
            return struct.unpack(f"={len(payload) // _U32.size}I", payload)
    return ()


def received_many(data: bytes, ancillary: Sequence[Ancillary], flags: int,
                  sender: Optional[addresses.Address]) -> list[Union[Message, Notice]]:
    """The same of a socket with RDS_RECV_BATCH. Latencies are each message's own, other events the
    first one's."""
    lengths = _lengths(ancillary)
    if len(lengths) < 2:
        return [received(data, ancillary, flags, sender)]
    said = tuple(events(ancillary))
    latencies = [one for one in said if isinstance(one, Latency)]
    others = tuple(one for one in said if not isinstance(one, Latency))
    found: list[Union[Message, Notice]] = []
    at = 0
    for number, length in enumerate(lengths):
        own = tuple(latencies[number:number + 1])
        found.append(Message(data[at:at + length], sender or ("", 0), False,
                             own if number else others + own))
        at += length
    return found
