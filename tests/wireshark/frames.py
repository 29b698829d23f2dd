# SPDX-License-Identifier: GPL-2.0
"""Frames of docs/wire.md. The golden ones are bytes, written down by hand from its tables, so that a
mistake in header() shows in the tests; header() makes the others."""
import struct

CONG, ACK_REQUIRED, AGAIN, HB_PING, MORE = 0x01, 0x02, 0x04, 0x08, 0x20
MAP_BYTES = 8192


def header(seq=0, ack=0, length=0, sport=0, dport=0, flags=0, credit=0, pad=0, csum=0, ext=b""):
    return struct.pack(">QQIHHBBIH", seq, ack, length, sport, dport, flags, credit, pad, csum) + \
        ext.ljust(16, b"\0")[:16]


def message(seq, text=b"", sport=777, dport=4000, **more):
    return header(seq, length=len(text), sport=sport, dport=dport, **more) + text


def control(ext=b"", ack=0):
    return header(ack=ack, flags=AGAIN, ext=ext)


def hello(gen=0x12345678, paths=8, index=0, caps=0x1e, ack=0):
    return control(struct.pack(">BIBHBBBI", 6, gen, 5, paths, 8, index, 7, caps), ack)


def changes(ports, count=None):
    """{port: is it full}"""
    full = sum(1 << i for i, is_full in enumerate(ports.values()) if is_full)
    return control(struct.pack(f">BBB{len(ports)}H", 12, len(ports) if count is None else count, full,
                               *ports))


def refused(number, epoch, port, ack=0):
    return control(struct.pack(">BQIH", 13, number, epoch, port), ack)


def resume(epoch, port, ack=0):
    return control(struct.pack(">BIH", 14, epoch, port), ack)


def cong_map(*ports, flags=CONG, length=MAP_BYTES):
    bits = bytearray(length)
    for port in ports:
        bits[port // 8] |= 1 << port % 8
    return header(length=length, flags=flags) + bytes(bits)


def with_csum(frame):
    """The header's Internet checksum, as over queue pairs."""
    total = sum(struct.unpack(">24H", frame[:30] + b"\0\0" + frame[32:48]))
    while total > 0xffff:
        total = (total & 0xffff) + (total >> 16)
    return frame[:30] + struct.pack(">H", 0xffff - total) + frame[32:]


ZERO8 = "00000000 00000000 "
# 48 bytes: sequence, ack; length, ports, flags, credit, padding, checksum; extension headers.
GOLDEN = {name: bytes.fromhex(text) for name, text in {
    "hello": ZERO8 + ZERO8 + "00000000 0000 0000 04 00 00000000 0000"
             "06 12345678 05 0008 08 00 07 0000001e 00",
    "ack": ZERO8 + "00000000 00000007" "00000000 0000 0000 04 00 00000000 0000" + ZERO8 + ZERO8,
    "refused": ZERO8 + "00000000 00000008" "00000000 0000 0000 04 00 00000000 0000"
               "0d 0000000000000009 0000abcd 0fa0 00",
    "changes": ZERO8 + ZERO8 + "00000000 0000 0000 04 00 00000000 0000"
               "0c 02 02 0fa0 0fa1 00 00000000 00000000",
    "resume": ZERO8 + ZERO8 + "00000000 0000 0000 04 00 00000000 0000"
              "0e 0000abcd 0fa0 00 00000000 00000000",
    "message": "00000000 00000001" + ZERO8 + "00000005 0309 0fa0 02 00 00000000 0000"
               "0f 00000064 00000063 00 00000000 0000" "68656c6c6f",
    "ping": "00000000 00000002" + ZERO8 + "00000000 0007 0000 00 00 00000000 0000" + ZERO8 + ZERO8,
    "pong": "00000000 00000001" + ZERO8 + "00000000 0000 0007 00 00 00000000 0000" + ZERO8 + ZERO8,
    "probe": "00000000 00000001" + ZERO8 + "00000000 0001 0000 20 00 00000000 0000"
             "05 0008 06 12345678 08 00 00 00000000 00",
}.items()}
