# SPDX-License-Identifier: GPL-2.0
"""Addresses: a program says ("192.0.2.1", 4000) or ("fe80::1%eth0", 4000), as rds(7) takes both.

Python's socket module thinks that RDS is IPv4 only. A socket object whose family is AF_INET6 hands a
struct sockaddr_in6 to the kernel, and RDS takes an IPv4 address in one: written as ::ffff:192.0.2.1.
So one socket object does for both, and what comes back has its own family.
"""
from __future__ import annotations

import functools
import ipaddress
import socket
import struct
from typing import Tuple, Union

Address = Union[Tuple[str, int], Tuple[str, int, int, int]]
_Six = Tuple[str, int, int, int]
_MAPPED = bytes(10) + b"\xff\xff"


@functools.lru_cache(maxsize=4096)
def _parse(host: str) -> tuple[str, str]:
    """The address as IPv6 has it, and its zone. There are no names in RDS: an address is what a
    socket of the other host is bound to, and a name may stand for several."""
    where = ipaddress.ip_address(host)
    if isinstance(where, ipaddress.IPv4Address):
        return f"::ffff:{where}", ""
    if where.ipv4_mapped:
        return f"::ffff:{where.ipv4_mapped}", ""
    return str(where).partition("%")[0], where.scope_id or ""


def _scope(zone: str) -> int:
    """Asked anew each time: an interface of the same name may come with another number."""
    if not zone or zone.isdigit():
        return int(zone or 0)
    return socket.if_nametoindex(zone)


def six(address: Address) -> _Six:
    """The tuple that a socket object of family AF_INET6 takes."""
    name, port, *more = address
    host, zone = _parse(name)
    if not 0 <= port <= 0xFFFF:
        raise ValueError(f"{port} is no port")
    flow, scope = more or (0, 0)
    return host, port, flow, _scope(zone) or scope


def sockaddr(address: Address) -> bytes:
    """A struct sockaddr_in or sockaddr_in6, for socket options."""
    host, port, flow, scope = six(address)
    raw = socket.inet_pton(socket.AF_INET6, host)
    if raw.startswith(_MAPPED):
        return struct.pack("=H2s4s8x", socket.AF_INET, port.to_bytes(2, "big"), raw[12:])
    return struct.pack("=H2s4s16sI", socket.AF_INET6, port.to_bytes(2, "big"),
                       flow.to_bytes(4, "big"), raw, scope)


def port_of(address: Address) -> int:
    """The port, whichever family's tuple it is."""
    return address[1]
