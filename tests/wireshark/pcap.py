# SPDX-License-Identifier: GPL-2.0
"""Captures that never were: RDS frames in TCP streams, and in sends of queue pairs over UDP (RoCE v2).

Ethernet, IPv4 and IPv6, TCP without options; checksums of IP, TCP and UDP are left 0, which
Wireshark does not look at by default. One capture has any number of streams.
"""
import ipaddress
import struct

RDS_PORT, ROCE_PORT = 16385, 4791
MSS = 1400
FIN, SYN, PSH, ACK = 1, 2, 8, 16
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY, ACKNOWLEDGE = 0, 1, 2, 4, 17


class Capture:
    """Packets 1 ms apart; save() writes a pcap file."""

    def __init__(self):
        self.packets = []

    def packet(self, src, dst, protocol, payload):
        src, dst = ipaddress.ip_address(src), ipaddress.ip_address(dst)
        if src.version == 4:
            ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0)
        else:
            ip = struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64)
        ethernet = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01" + (b"\x08\0" if src.version == 4 else b"\x86\xdd")
        self.packets.append(ethernet + ip + src.packed + dst.packed + payload)
        return len(self.packets)

    def save(self, path, snap=65535):
        with open(path, "wb") as out:
            out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
            for n, packet in enumerate(self.packets):
                cut = packet[:snap]
                out.write(struct.pack("<IIII", 1700000000 + n // 1000, n % 1000 * 1000,
                                      len(cut), len(packet)) + cut)


class Tcp:
    """A connection from a to b's port 16385. Each segment is a packet; numbers of packets, from 1, are
    what said() returns: those in which its last byte is."""

    def __init__(self, capture, a="192.0.2.1", b="192.0.2.2", port=40000, handshake=True):
        self.capture, self.ends = capture, ((a, port), (b, RDS_PORT))
        self.at = [1000, 5000]
        if handshake:
            self._segment(0, SYN)
            self._segment(1, SYN | ACK)
            self.at = [self.at[0] + 1, self.at[1] + 1]

    def _segment(self, end, flags, data=b""):
        (src, sport), (dst, dport) = self.ends[end], self.ends[1 - end]
        tcp = struct.pack(">HHIIBBHHH", sport, dport, self.at[end] & 0xffffffff,
                          self.at[1 - end] & 0xffffffff, 0x50, flags, 65535, 0, 0)
        return self.capture.packet(src, dst, 6, tcp + data)

    def said(self, end, data, sizes=None):
        """data by the end 0 (a) or 1 (b), in segments of these sizes and then of MSS."""
        sizes, number = list(sizes or ()), 0
        while data:
            n = sizes.pop(0) if sizes else MSS
            number = self._segment(end, PSH | ACK, data[:n])
            self.at[end] += len(data[:n])
            data = data[n:]
        return number

    def close(self):
        self._segment(0, FIN | ACK)


class QueuePair:
    """Sends of a reliable connection over RoCE v2; a frame longer than mtu takes several packets."""

    def __init__(self, capture, a="192.0.2.1", b="192.0.2.2", pairs=(0x11, 0x12), mtu=1024):
        self.capture, self.hosts, self.pairs, self.mtu = capture, (a, b), pairs, mtu
        self.psn = [100, 900]

    def _send(self, end, opcode, data):
        padding = -len(data) % 4
        bth = struct.pack(">BBHII", opcode, 0x40 | padding << 4, 0xffff, self.pairs[1 - end], self.psn[end])
        self.psn[end] += 1
        body = bth + data + bytes(padding) + bytes(4)  # the last four: the invariant CRC
        udp = struct.pack(">HHHH", 49152, ROCE_PORT, 8 + len(body), 0)
        return self.capture.packet(self.hosts[end], self.hosts[1 - end], 17, udp + body)

    def sent(self, end, data):
        parts = [data[i:i + self.mtu] for i in range(0, len(data), self.mtu)] or [b""]
        if len(parts) == 1:
            return self._send(end, SEND_ONLY, data)
        numbers = [self._send(end, SEND_FIRST if not i else SEND_LAST if i == len(parts) - 1 else SEND_MIDDLE,
                              part) for i, part in enumerate(parts)]
        return numbers[0]


class Packet:
    """A packet of RoCE v2 in a capture, read without Wireshark's help: src, dst, opcode, pair (its
    receiver's), number, data without the padding."""

    def __init__(self, bytes_):
        if bytes_[12:14] == b"\x08\0":
            self.src, self.dst, udp = bytes_[26:30], bytes_[30:34], bytes_[34:]
        else:
            self.src, self.dst, udp = bytes_[22:38], bytes_[38:54], bytes_[54:]
        port, length = struct.unpack_from(">HH", udp, 2)
        assert port == ROCE_PORT and length == len(udp), (port, length, len(udp))
        self.opcode, flags, self.pair = udp[8], udp[9], int.from_bytes(udp[13:16], "big")
        self.number = int.from_bytes(udp[17:20], "big")
        self.data = udp[20:len(udp) - 4 - (flags >> 4 & 3)]

    @property
    def is_send(self):
        """Of a reliable connection."""
        return self.opcode in (SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY)


def records(data):
    """The packets of a pcap file's bytes."""
    at = 24
    while at < len(data):
        kept, there = struct.unpack_from("<II", data, at + 8)
        assert kept == there, "cut short"
        yield data[at + 16:at + 16 + kept]
        at += 16 + kept
