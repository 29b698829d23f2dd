#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rds.abi and rds.addresses: their numbers are the header's, structures have its layout, and what was
packed comes back. No socket is made."""
import pathlib
import re
import socket
import struct
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from rds import abi, addresses  # noqa: E402

HEADER = (ROOT / "include/uapi/linux/rds.h").read_text()
MANY = b"\xff" * 8


def header_number(name):
    text = re.search(rf"^#define {name}\s+\(?(.+?)\)?(?:\s*/\*.*)?$", HEADER, re.M)[1]
    text = text.replace("SIOCPROTOPRIVATE", "0x89E0").rstrip("U")
    return {"~0": -1}.get(text) or sum(int(part, 0) for part in text.split("+"))


class Numbers(unittest.TestCase):
    def test_all_are_the_headers(self):
        ours = {name: value for name, value in vars(abi).items()
                if re.match("(SO_|SIOC)?RDS_|SIOCRDS", name)}
        self.assertGreater(len(ours), 18)
        for name, value in ours.items():
            with self.subTest(name):
                self.assertEqual(value, header_number(name))
        self.assertEqual(abi.SOL_RDS, header_number("SOL_RDS"))

    def test_so_are_those_of_enums(self):
        for prefix, enum in (("RDS_ORDER_", abi.Order), ("RDS_TRANS_", abi.Transport)):
            for one in enum:
                self.assertEqual(one, header_number(prefix + one.name), one)
        self.assertEqual(len(abi.Span), len(re.findall(r"^\tRDS_MSG_RX_\w+[ ,]", HEADER, re.M)))


class Batches(unittest.TestCase):
    HERE = ("192.0.2.1", 7)

    def many(self, data, *lengths, more=(), flags=0):
        told = [*more, (abi.SOL_RDS, abi.RDS_CMSG_RECV_BATCH, struct.pack(f"={len(lengths)}I", *lengths))]
        return abi.received_many(data, told, flags, self.HERE)

    def test_are_cut_by_their_lengths(self):
        self.assertEqual([one.data for one in self.many(b"abcdef", 1, 0, 5)], [b"a", b"", b"bcdef"])
        self.assertEqual(self.many(b"abc", 3), [abi.Message(b"abc", self.HERE)])
        self.assertEqual(self.many(b"abc", 9, flags=socket.MSG_TRUNC),
                         [abi.Message(b"abc", self.HERE, True)])
        self.assertEqual(abi.received_many(b"", [], 0, None), [abi.Notice(())])

    def test_each_has_its_latency_and_the_first_the_rest(self):
        spent = [(abi.SOL_RDS, abi.RDS_CMSG_RXPATH_LATENCY, struct.pack("=B3B4x3Q", 1, 2, 0, 0, n, 0, 0))
                 for n in (5, 6)]
        cookie = (abi.SOL_RDS, abi.RDS_CMSG_RDMA_DEST, struct.pack("=Q", 77))
        first, second = self.many(b"ab", 1, 1, more=[cookie, *spent])
        self.assertEqual(first.events, (abi.RdmaCookie(77), abi.Latency(((abi.Span.QUEUED, 5),))))
        self.assertEqual(second.events, (abi.Latency(((abi.Span.QUEUED, 6),)),))

    def test_lengths_to_send(self):
        self.assertEqual(abi.segments_message([1, 2]),
                         (abi.SOL_RDS, abi.RDS_CMSG_SEGMENT, struct.pack("=2I", 1, 2)))


class Addresses(unittest.TestCase):
    def test_both_families(self):
        self.assertEqual(addresses.six(("192.0.2.1", 7)), ("::ffff:192.0.2.1", 7, 0, 0))
        self.assertEqual(addresses.six(("2001:db8::1", 65535)), ("2001:db8::1", 65535, 0, 0))

    def test_scopes(self):
        lo = socket.if_nametoindex("lo")
        for name in (("fe80::1%lo", 7), (f"fe80::1%{lo}", 7), ("fe80::1", 7, 0, lo)):
            self.assertEqual(addresses.six(name), ("fe80::1", 7, 0, lo))

    def test_an_interface_that_came_back_has_another_number(self):
        with mock.patch.object(socket, "if_nametoindex", side_effect=(7, 8)):
            self.assertEqual([addresses.six(("fe80::1%eth9", 1))[3] for _ in range(2)], [7, 8])

    def test_what_recvmsg_says_can_be_sent_to(self):
        for name in (("192.0.2.1", 7), ("2001:db8::1", 7, 0, 0), ("::ffff:192.0.2.1", 7, 0, 0)):
            self.assertEqual(addresses.six(addresses.six(name)), addresses.six(name))

    def test_wrong_ones(self):
        for name in (("a-name", 1), ("192.0.2.1", 65536), ("192.0.2.1", -1), ("", 1)):
            with self.assertRaises(ValueError, msg=name):
                addresses.six(name)

    def test_sockaddr(self):
        self.assertEqual(addresses.sockaddr(("192.0.2.1", 0x1234)),
                         struct.pack("=H", socket.AF_INET) + b"\x12\x34\xc0\0\x02\x01" + bytes(8))
        self.assertEqual(addresses.sockaddr(("::ffff:c000:201", 0x1234)),
                         addresses.sockaddr(("192.0.2.1", 0x1234)))
        self.assertEqual(len(addresses.sockaddr(("::ffff:1:2:3", 1))), 28)
        six = addresses.sockaddr(("fe80::2", 0x1234, 0, 5))
        self.assertEqual(six, struct.pack("=H", socket.AF_INET6) + b"\x12\x34" + bytes(4) + b"\xfe\x80"
                         + bytes(13) + b"\2" + struct.pack("=I", 5))


class Packed(unittest.TestCase):
    def test_order(self):
        self.assertEqual(abi.order_message(abi.Order.HALF), (276, 128, struct.pack("=I", 1)))
        with self.assertRaises(ValueError):
            abi.order_message(3)

    def test_query(self):
        everybody = abi.pack_query()
        self.assertEqual(everybody, bytes(128) + struct.pack("=IIII", 3, 0, 0, 0))
        one = abi.pack_query(("192.0.2.1", 0))
        self.assertEqual(one[:16], addresses.sockaddr(("192.0.2.1", 0)))
        self.assertEqual((len(one), one[16:128]), (144, bytes(112)))

    def test_answer_to_a_query(self):
        def answer(span):
            return bytes(128) + struct.pack("=IIII", 3, 7, span, 0)
        self.assertEqual(abi.unpack_query(answer(9)), abi.Unread(7, 9))
        self.assertEqual(abi.unpack_query(answer(0xFFFFFFFF)), abi.Unread(7, None))
        self.assertEqual(abi.unpack_query(answer(9) + b"later kernels"), abi.Unread(7, 9))

    def test_congestion_mask(self):
        self.assertEqual(abi.congestion_mask(()), 0)
        self.assertEqual(abi.congestion_mask((0, 63, 64, 4000)), 1 | 1 << 63 | 1 << 4000 % 64)
        ended = abi.CongestionEnded(1 << 32)
        self.assertEqual([p for p in (31, 32, 33, 96, 160) if ended.includes(p)], [32, 96, 160])

    def test_spans(self):
        self.assertEqual(abi.pack_spans((abi.Span.QUEUED, abi.Span.REASSEMBLY)), b"\2\2\1\0")
        self.assertEqual(abi.pack_spans(()), b"\0\0\0\0")
        with self.assertRaises(ValueError):
            abi.pack_spans((3,))


class Events(unittest.TestCase):
    def told(self, number, payload, level=abi.SOL_RDS):
        return list(abi.events([(level, number, payload)]))

    def test_each(self):
        for number, payload, wanted in (
                (abi.RDS_CMSG_CONG_UPDATE, struct.pack("=Q", 5), abi.CongestionEnded(5)),
                (abi.RDS_CMSG_ZCOPY_COMPLETION, struct.pack("=9I", 2, 40, 50, *range(6)),
                 abi.ZeroCopyDone((40, 50))),
                (abi.RDS_CMSG_RDMA_STATUS, struct.pack("=Qi4x", 77, -1), abi.RdmaDone(77, -1)),
                (abi.RDS_CMSG_RDMA_DEST, MANY, abi.RdmaCookie(2**64 - 1)),
                (abi.RDS_CMSG_RXPATH_LATENCY, struct.pack("=4B4x3Q", 2, 2, 0, 0, 900, 10, 0),
                 abi.Latency(((abi.Span.QUEUED, 900), (abi.Span.HEADER_TO_DATA, 10))))):
            with self.subTest(wanted):
                self.assertEqual(self.told(number, payload), [wanted])

    def test_what_is_not_known_is_passed_over(self):
        self.assertEqual(self.told(999, MANY), [])
        self.assertEqual(self.told(abi.RDS_CMSG_CONG_UPDATE, MANY, socket.SOL_SOCKET), [])

    def test_what_is_cut_short_is_not_made_up(self):
        for number in (abi.RDS_CMSG_CONG_UPDATE, abi.RDS_CMSG_RDMA_STATUS, abi.RDS_CMSG_RXPATH_LATENCY):
            with self.assertRaises(struct.error):
                self.told(number, b"abc")
        with self.assertRaises(struct.error):
            self.told(abi.RDS_CMSG_ZCOPY_COMPLETION, struct.pack("=2I", 2, 40))


class Received(unittest.TestCase):
    WHO = ("192.0.2.1", 4000)

    def test_messages_and_notices(self):
        self.assertEqual(abi.received(b"x", [], 0, self.WHO), abi.Message(b"x", self.WHO))
        self.assertEqual(abi.received(b"", [], 0, self.WHO), abi.Message(b"", self.WHO))
        self.assertTrue(abi.received(b"x", [], socket.MSG_TRUNC, self.WHO).truncated)
        ended = (abi.SOL_RDS, abi.RDS_CMSG_CONG_UPDATE, struct.pack("=Q", 1))
        self.assertEqual(abi.received(b"", [ended], 0, None), abi.Notice((abi.CongestionEnded(1),)))
        cookie = (abi.SOL_RDS, abi.RDS_CMSG_RDMA_DEST, struct.pack("=Q", 9))
        self.assertEqual(abi.received(b"x", [cookie], 0, self.WHO).events, (abi.RdmaCookie(9),))


if __name__ == "__main__":
    unittest.main()
