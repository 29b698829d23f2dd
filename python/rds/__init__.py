# SPDX-License-Identifier: GPL-2.0
"""Reliable Datagram Sockets (RDS): one socket, reliable and ordered messages to any socket of a cluster.

    with rds.Socket(("192.0.2.1", 4000)) as sock:
        sock.send_message(b"hello", ("192.0.2.2", 4000))
        print(sock.receive())

rds(7) tells what a socket does, docs/python.md how this package shows it; rds.aio is for asyncio.
"""
from .abi import (CongestionEnded, Event, Latency, Message, Notice, Order, RdmaCookie, RdmaDone, Span,
                  Transport, Unread, ZeroCopyDone)
from .addresses import Address
from .sockets import Congested, Socket

__all__ = [
    "Address", "Congested", "CongestionEnded", "Event", "Latency", "Message", "Notice", "Order", "RdmaCookie",
    "RdmaDone", "Socket", "Span", "Transport", "Unread", "ZeroCopyDone",
]
