#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""tools/wireshark/rds.lua shows what is in captures, and no bytes make it raise an error.

    dissector_test.py [NAME...]         as unittest has it

All captures of a class are one file, which tshark reads once.
"""
import gzip
import random
import re
import struct
import sys
import unittest

import frames
from frames import GOLDEN, control, header, message
from pcap import Capture, QueuePair, Tcp, records
from roce import (LargeFrames, MainlinesOverRoce, OneOfEachOverRoce, OursOverRoce,  # noqa: F401
                  SentAgainOverRoce)
from shown import DISSECTOR, ROOT, directory, lua_errors, packets, packets_of, tshark


class Story(unittest.TestCase):
    """Hosts of its own for each capture of a class; tell() fills it and notes packets by name."""

    @classmethod
    def setUpClass(cls):
        cls.capture, cls.at, cls.hosts = Capture(), {}, 0
        cls.tell()
        cls.shown = packets(cls.capture)

    @classmethod
    def pair(cls):
        cls.hosts += 2
        return f"10.0.0.{cls.hosts - 1}", f"10.0.0.{cls.hosts}"

    @classmethod
    def stream(cls, **more):
        a, b = cls.pair()
        return Tcp(cls.capture, a, b, **more)

    def frame(self, name, n=0):
        return self.shown[self.at[name]][n]

    def holds(self, shown, **fields):
        got = {name: shown[name] for name in fields}
        self.assertEqual(got, {name: str(value) for name, value in fields.items()})


class Golden(Story):
    """The bytes of GOLDEN, one stream each."""

    @classmethod
    def tell(cls):
        for name, frame in GOLDEN.items():
            cls.at[name] = cls.stream().said(0, frame)

    def test_made_and_written_by_hand_are_the_same(self):
        self.assertEqual(frames.hello(), GOLDEN["hello"])
        self.assertEqual(control(ack=7), GOLDEN["ack"])
        self.assertEqual(frames.refused(9, 0xabcd, 4000, ack=8), GOLDEN["refused"])
        self.assertEqual(frames.resume(0xabcd, 4000), GOLDEN["resume"])
        self.assertEqual(frames.changes({4000: False, 4001: True}), GOLDEN["changes"])
        order = struct.pack(">BII", 15, 100, 99)
        self.assertEqual(message(1, b"hello", flags=2, ext=order), GOLDEN["message"])

    def test_hello(self):
        shown = self.frame("hello")
        self.holds(shown, kind="Hello", seq=0, ack=0, len=0, srcport=0, dstport=0, **{
            "ext.gen": "0x12345678", "ext.npaths": 8, "ext.index": 0, "ext.caps": "0x0000001e",
            "flags.again": 1, "flags.ack": 0, "caps.heartbeat": 0,
            "caps.ack": 1, "caps.order": 1, "caps.refuse": 1, "caps.changes": 1})
        self.assertEqual(shown.all("ext"), ["6", "5", "8", "7"])
        self.assertEqual(shown.experts, set())

    def test_ack(self):
        self.holds(self.frame("ack"), kind="Ack", ack=7)

    def test_refused(self):
        shown = self.frame("refused")
        self.holds(shown, kind="Refused", ack=8, **{
            "ext.refused": 9, "ext.epoch": "0x0000abcd", "ext.port": 4000})
        self.assertEqual(shown.experts, {"refused"})
        self.assertIn("Port=4000", shown.text)

    def test_changes(self):
        shown = self.frame("changes")
        self.holds(shown, kind="Changes", **{"ext.changes": 2, "map.port": 4001, "map.clear": 4000})
        self.assertEqual(shown.experts, {"full"})
        self.assertIn("Changes 4000 clear, 4001 full", shown.text)

    def test_resume(self):
        shown = self.frame("resume")
        self.holds(shown, kind="Resume", **{"ext.epoch": "0x0000abcd", "ext.port": 4000})
        self.assertEqual(shown.experts, {"resumed"})

    def test_message(self):
        shown = self.frame("message")
        self.holds(shown, kind="Message", seq=1, len=5, srcport=777, dstport=4000,
                   payload="68:65:6c:6c:6f", stream=0, path=0, credit=0, csum="0x0000", **{
                       "flags.ack": 1, "ext.order": 100, "ext.order_low": 99})
        self.assertEqual(shown.experts, set())
        self.assertIn("Message 777 > 4000 Seq=1 Len=5", shown.text)

    def test_ping_and_probe(self):
        self.holds(self.frame("ping"), kind="Ping", srcport=7, dstport=0, seq=2)
        self.holds(self.frame("pong"), kind="Pong", srcport=0, dstport=7)
        self.holds(self.frame("probe"), kind="Probe", **{
            "ext.npaths": 8, "ext.gen": "0x12345678", "ext.index": 0, "flags.more": 1})


EXTS = {  # by type: (payload, what is shown)
    1: ("00000063", {"version": 99}),
    2: ("00001234", {"rkey": "0x00001234"}),
    3: ("00001234 00000010", {"dest_rkey": "0x00001234", "dest_offset": "0x00000010"}),
    4: ("00010000 02 000000", {"bytes": 65536, "bytes_flags": 2}),
    5: ("0008", {"npaths": 8}),
    6: ("00000007", {"gen": "0x00000007"}),
    7: ("00000003", {"caps": "0x00000003"}),
    8: ("05", {"index": 5}),
    9: ("deadbeef 01 000000", {"csum": "0xdeadbeef", "csum_on": 1}),
    12: ("02 01 0005 0006 0000 0000 0000 0000", {"changes": 2}),
    13: ("0000000100000000 00000001 0005", {"refused": 2 ** 32, "epoch": "0x00000001", "port": 5}),
    14: ("00000001 0005", {"epoch": "0x00000001", "port": 5}),
    15: ("ffffffff 00000001", {"order": 2 ** 32 - 1, "order_low": 1}),
}


class Extensions(Story):
    @classmethod
    def tell(cls):
        def ext(name, data):
            cls.at[name] = cls.stream().said(0, message(1, b"x", ext=data))

        for number, (payload, _) in EXTS.items():
            ext(number, bytes([number]) + bytes.fromhex(payload))
        for number in (10, 11):
            ext(number, bytes([number, 5, 0, 8]))
        ext("cut", bytes([8, 0] * 7 + [6, 1]))
        ext("16", bytes([16, 5, 0, 8]))
        ext("255", bytes([255]))
        ext("whole", bytes([8, 0] * 8))
        ext("end", bytes([5, 0, 8, 0, 6, 1, 1, 1, 1]))

    def test_values(self):
        for number, (_, wanted) in EXTS.items():
            with self.subTest(number):
                self.holds(self.frame(number), **{f"ext.{k}": v for k, v in wanted.items()})
                bad = {"foreign_ext"} if number in (2, 3, 4) else set()
                self.assertEqual(self.frame(number).experts, bad)

    def test_types_of_nobody_are_one_byte(self):
        for number in (10, 11):
            self.holds(self.frame(number), **{"ext.npaths": 8})
            self.assertEqual(self.frame(number).all("ext"), [str(number), "5"])

    def test_bad_lists(self):
        for name in ("cut", "16", "255"):
            self.assertEqual(self.frame(name).experts, {"bad_ext"}, name)
        self.assertEqual(self.frame("whole").all("ext"), ["8"] * 8)
        self.assertEqual(self.frame("whole").experts, set())
        self.assertEqual(self.frame("end").all("ext"), ["5"])

    def test_the_dissector_knows_every_type_of_the_core(self):
        """A type that net/rds/wire.h gets is in rds.lua's table, with as many bytes."""
        text = (ROOT / "net/rds/wire.h").read_text()
        enum = re.search(r"enum class Ext .*?\{(.*?)\};", text, re.S)
        core = dict(re.findall(r"(k\w+) = (\d+),", enum[1]))
        sizes = re.search(r"kExtPayload.*?\{(.*?)\};", text, re.S)[1]
        sizes = re.findall(r"\d+", sizes)
        table = dict(re.findall(r"^\t\[(\d+)\] = \{ \"\w+\", (\d+),", DISSECTOR.read_text(), re.M))
        self.assertGreater(len(core), 12)
        for name, number in core.items():
            if name not in ("kNone", "kLimit"):
                self.assertEqual(table.get(number), sizes[int(number)], name)


class Streams(Story):
    """Facts that only the frames before and after tell."""

    @classmethod
    def tell(cls):
        cls.deliveries()
        cls.numbers()
        cls.pings()
        cls.maps()
        cls.paths()

    @classmethod
    def deliveries(cls):
        s = cls.stream()
        s.said(0, GOLDEN["hello"])
        s.said(1, frames.hello(gen=1))
        cls.at["one"] = s.said(0, message(1, b"one"))
        cls.at["two"] = s.said(0, message(2, b"two") + message(3, b"three"))
        cls.at["ack"] = s.said(1, control(ack=2))
        cls.at["far"] = s.said(1, control(ack=9))
        cls.at["back"] = s.said(1, message(1, b"an answer", sport=4000, dport=777, ack=3))

    @classmethod
    def numbers(cls):
        s = cls.stream()
        s.said(0, frames.hello(gen=5) + message(1, b"a"))
        cls.at["gap"] = s.said(0, message(5, b"b"))
        cls.at["again"] = s.said(0, message(5, b"b", flags=frames.AGAIN))
        cls.at["next"] = s.said(0, message(6, b"c"))
        cls.at["lower"] = s.said(0, message(2, b"d"))
        later = Tcp(cls.capture, s.ends[0][0], s.ends[1][0], port=40008)
        cls.at["same life"] = later.said(0, frames.hello(gen=5) + message(2, b"d", flags=frames.AGAIN))
        cls.at["new life"] = later.said(0, frames.hello(gen=6) + message(1, b"e"))

    @classmethod
    def pings(cls):
        s = cls.stream()
        cls.at["ping"] = s.said(0, message(1, sport=7, dport=0))
        cls.at["ping 2"] = s.said(0, message(2, sport=7, dport=0))
        cls.at["pong"] = s.said(1, message(1, sport=0, dport=7))
        cls.at["pong 2"] = s.said(1, message(2, sport=0, dport=7))
        cls.at["probe"] = s.said(0, message(3, sport=1, dport=0, ext=b"\5\0\10"))
        cls.at["probed"] = s.said(1, message(3, sport=0, dport=1, ext=b"\5\0\1"))
        cls.at["stray"] = s.said(1, message(4, sport=0, dport=9))

    @classmethod
    def maps(cls):
        s = cls.stream()
        cls.at["no port"] = s.said(0, frames.cong_map())
        cls.at["two ports"] = s.said(0, frames.cong_map(4000, 65535))
        cls.at["another"] = s.said(0, frames.cong_map(2, 4000))
        cls.at["all"] = s.said(0, frames.cong_map(*range(65536)))
        cls.at["some clear"] = s.said(0, frames.changes({5: False, 6: False, 7: True}))
        cls.at["some full"] = s.said(0, frames.changes({6: True, 7: True, 65535: False}))
        cls.at["no change"] = s.said(0, frames.changes({}))
        cls.at["too many"] = s.said(0, frames.changes({6: True}, count=7))
        cls.at["short map"] = s.said(0, frames.cong_map(length=100))
        cls.at["flags"] = s.said(0, frames.cong_map(7, flags=frames.CONG | frames.ACK_REQUIRED))

    @classmethod
    def paths(cls):
        a, b = cls.pair()
        for index, port in ((0, 41000), (3, 41003)):
            s = Tcp(cls.capture, a, b, port=port)
            s.said(0, frames.hello(index=index))
            cls.at[f"path {index}"] = s.said(0, message(1, b"x"))
            cls.at[f"answer {index}"] = s.said(1, message(1, b"y", sport=4000, dport=777))

    def test_delivery(self):
        self.holds(self.frame("one"), delivered_in=self.at["ack"], delivered_after="0.002000000")
        self.holds(self.frame("two"), delivered_in=self.at["ack"])
        self.holds(self.frame("two", 1), delivered_in=self.at["back"])
        self.assertEqual(self.frame("ack").experts, set())
        self.assertEqual(self.frame("far").experts, {"bad_ack"})

    def test_a_flow_has_both_directions(self):
        self.assertEqual(self.frame("one")["stream"], self.frame("back")["stream"])
        self.assertNotEqual(self.frame("one")["stream"], self.frame("gap")["stream"])
        self.assertIsNone(self.frame("ack")["stream"])

    def test_numbers(self):
        self.assertEqual(self.frame("gap").experts, {"gap"})
        self.assertEqual(self.frame("again").experts, {"again"})
        self.assertIn("[sent again]", self.frame("again").text)
        self.assertEqual(self.frame("next").experts, set())
        self.assertEqual(self.frame("lower").experts, {"back"})

    def test_numbers_outlive_a_connection(self):
        self.assertEqual(self.frame("same life").experts, set())
        self.assertEqual(self.frame("same life", 1).experts, {"again"})
        self.assertEqual(self.frame("new life").experts, {"generation"})
        self.assertEqual(self.frame("new life", 1).experts, set())

    def test_pings_find_their_answers(self):
        self.holds(self.frame("ping"), answer_in=self.at["pong"])
        self.holds(self.frame("ping 2"), answer_in=self.at["pong 2"])
        self.holds(self.frame("pong"), answer_to=self.at["ping"], answer_after="0.002000000")
        self.holds(self.frame("probe"), kind="Probe", answer_in=self.at["probed"])
        self.holds(self.frame("probed"), kind="Probe answer", answer_to=self.at["probe"])
        self.assertIsNone(self.frame("stray")["answer_to"])

    def test_maps(self):
        self.holds(self.frame("no port"), kind="Congestion map", **{"map.count": 0})
        self.assertEqual(self.frame("no port").experts, set())
        self.assertEqual(self.frame("two ports").all("map.port"), ["4000", "65535"])
        self.assertEqual(self.frame("two ports").experts, {"full"})
        self.assertEqual(self.frame("another").all("map.port"), ["2", "4000"])
        self.holds(self.frame("all"), **{"map.count": 65536})
        self.assertEqual(len(self.frame("all").all("map.port")), 1024)

    def test_changes_of_a_map(self):
        some = self.frame("some clear")
        self.assertEqual(some.all("map.clear"), ["5", "6"])
        self.assertEqual(some.experts, set(), "7 was full before")
        more = self.frame("some full")
        self.assertEqual(more.all("map.port"), ["6", "7"])
        self.assertEqual(more.experts, {"full"})
        for name in ("no change", "too many"):
            self.assertEqual(self.frame(name).experts, {"bad_map"})
            self.assertEqual(self.frame(name).all("map.port"), [])
        self.assertEqual(self.frame("short map").experts, {"bad_map"})
        self.assertNotEqual(self.frame("flags")["kind"], "Congestion map")

    def test_paths_have_numbers_of_their_own(self):
        for index in (0, 3):
            for name in (f"path {index}", f"answer {index}"):
                self.holds(self.frame(name), path=index)
                self.assertEqual(self.frame(name).experts, set())


class Bytes(Story):
    """Streams cut anywhere, captures that begin or end in the midst, and what is no RDS."""

    @classmethod
    def tell(cls):
        cls.long = bytes(i % 251 for i in range(5000))
        cls.at["long"] = cls.stream().said(0, message(1, cls.long) + message(2, b"next"),
                                           sizes=(1, 20, 26, 1, 4000, 3))
        s = Tcp(cls.capture, "2001:db8::1", "2001:db8::2")
        cls.at["v6"] = s.said(1, message(1, b"six"))
        s = cls.stream()
        cls.at["length"] = s.said(0, message(1, b"fine") + header(2, length=1048577, sport=1, dport=2))
        cls.at["mib"] = cls.stream().said(0, message(1, bytes(1048576)))
        s = cls.stream(handshake=False)
        s.said(0, bytes(16) + bytes(range(200)) * 3)
        cls.at["in step"] = s.said(0, message(7, b"in step again"))
        s = cls.stream()
        cls.at["flags"] = s.said(0, message(1, b"x", flags=0xc0))
        cls.at["nobody"] = s.said(0, header(flags=0))
        cls.at["nobody's data"] = s.said(0, header(length=3) + b"abc")
        cls.at["heartbeat"] = s.said(0, header(flags=frames.HB_PING | 2, ext=b"\7\0\0\0\1"))
        cls.at["bad refusal"] = s.said(0, frames.refused(1, 0, 4000) + frames.resume(1, 1))
        cls.at["max"] = s.said(0, message(2 ** 64 - 1, b"m", ack=2 ** 64 - 1))
        cls.at["csum"] = s.said(0, message(1, b"x", csum=0x1234))
        cls.at["http"] = cls.stream().said(0, b"GET / HTTP/1.1\r\nHost: example\r\n\r\n" * 4)

    def test_a_message_in_many_segments(self):
        self.holds(self.frame("long"), seq=1, len=5000, payload=":".join(f"{b:02x}" for b in self.long))
        self.holds(self.frame("long", 1), seq=2, payload="6e:65:78:74")
        self.holds(self.frame("mib"), len=1048576)
        self.assertEqual(self.frame("mib").experts, set())

    def test_ipv6(self):
        self.holds(self.frame("v6"), kind="Message", payload="73:69:78")

    def test_bad_length(self):
        self.assertEqual(self.frame("length", 0).experts, set())
        self.assertEqual(self.frame("length", 1).experts, {"bad_length"})
        self.holds(self.frame("length", 1), len=1048577)

    def test_a_capture_that_begins_in_the_midst(self):
        self.holds(self.frame("in step"), seq=7, kind="Message")
        before = self.shown[self.at["in step"] - 1][0]
        self.assertEqual(before.experts, {"bad_header"})
        self.assertIsNotNone(before["undecoded"])

    def test_odd_frames(self):
        self.assertEqual(self.frame("flags").experts, {"bad_flags"})
        self.holds(self.frame("nobody"), kind="Nothing")
        self.assertEqual(self.frame("nobody").experts, {"bad_port"})
        self.assertEqual(self.frame("nobody's data").experts, {"bad_port"})
        self.holds(self.frame("heartbeat"), kind="Heartbeat")
        self.assertEqual([f.experts for f in self.shown[self.at["bad refusal"]]], [{"bad_refusal"}] * 2)
        self.holds(self.frame("max"), seq=2 ** 64 - 1, ack=2 ** 64 - 1)
        self.holds(self.frame("csum"), **{"csum.good": 0})
        self.assertNotIn("bad_csum", self.frame("csum").experts)  # TCP's receivers do not look at it
        self.assertLessEqual(self.frame("http").experts, {"bad_header", "bad_length"})
        self.assertTrue(self.frame("http").experts)

    def test_cut_by_the_snapshot_length(self):
        capture = Capture()
        s = Tcp(capture, handshake=False)
        s.said(0, message(1, bytes(1000)))
        s.said(0, frames.cong_map(5)[:1400])
        for snap in (60, 80, 101, 102, 103, 200):
            for shown in packets(capture, snap=snap).values():
                self.assertLessEqual(shown[0].experts, {"cut"})


class QueuePairs(Story):
    @classmethod
    def tell(cls):
        a, b = cls.pair()
        q = QueuePair(cls.capture, a, b)
        full = frames.with_csum
        cls.at["hello"] = q.sent(0, full(frames.hello(caps=6)))
        cls.at["message"] = q.sent(0, full(message(1, b"hello", credit=9)))
        cls.at["part 1"] = q.sent(0, full(header(2, length=5000, sport=777, dport=4000)) + bytes(4096))
        cls.at["part 2"] = q.sent(0, full(header(2, length=5000, sport=777, dport=4000)) + bytes(904))
        cls.at["ack"] = q.sent(1, full(header(ack=2, credit=16)))
        for name, mark in ("asks", 2), ("answers", 3), ("other mark", 4):
            cls.at[name] = q.sent(1, full(header(ack=2, pad=mark << 24)))
        cls.at["rdma"] = q.sent(0, full(message(3, b"x", ext=b"\2\0\0\1\0")))
        cls.at["wrong"] = q.sent(0, message(4, b"x", csum=0x1234))
        cls.at["ends"] = q.sent(1, full(header(ack=2, pad=1 << 24)))
        plain = QueuePair(cls.capture, *cls.pair())
        cls.at["whole"] = plain.sent(0, header(1, length=4000, sport=777, dport=4000) + bytes(4000))
        cls.at["after"] = plain.sent(0, header(2, length=900, sport=777, dport=4000) + bytes(900))
        cls.odd_lengths(QueuePair(cls.capture, *cls.pair()))
        cls.sent_again(QueuePair(cls.capture, *cls.pair()))
        cls.full_map(QueuePair(cls.capture, *cls.pair()))
        cls.at["none"] = QueuePair(cls.capture, *cls.pair()).sent(0, message(1, b"no checksum"))
        stranger = QueuePair(cls.capture, *cls.pair(), pairs=(5, 6))
        cls.at["stranger"] = stranger.sent(0, bytes(range(48)) * 60)
        cls.at["their bytes"] = stranger.sent(0, b"\0\0\0\0\0\0\0\1" + b"\xff" * 40)

    @classmethod
    def frame_of(cls, seq, length, part, **more):
        """A send of a message of so many bytes, with so many of them."""
        head = header(seq, length=length, sport=777, dport=4000, **more)
        return frames.with_csum(head) + bytes(b % 251 for b in range(part))

    @classmethod
    def odd_lengths(cls, q):
        """The last packet of a send is padded, and empty frames come between sends of a message."""
        cls.at["977"] = q.sent(0, cls.frame_of(1, 977, 977))
        cls.at["4097"] = q.sent(0, cls.frame_of(2, 4097, 4096))
        cls.at["between"] = q.sent(0, frames.with_csum(header(ack=4, credit=1)))
        cls.at["4097's last"] = q.sent(0, cls.frame_of(2, 4097, 1, ack=4))
        cls.at["next"] = q.sent(0, cls.frame_of(3, 2, 2))

    @classmethod
    def sent_again(cls, q):
        cls.at["first"] = q.sent(0, cls.frame_of(1, 3, 3, ack=5))
        q.sent(0, cls.frame_of(2, 3, 3, ack=5))
        cls.at["repeated"] = q.sent(0, cls.frame_of(1, 3, 3, ack=5))
        cls.at["after it"] = q.sent(0, cls.frame_of(3, 3, 3, ack=5))
        cls.at["lower"] = q.sent(0, cls.frame_of(2, 3, 3, ack=6))

    @classmethod
    def full_map(cls, q):
        """Two sends of five packets each."""
        def say(name, *ports):
            whole = frames.cong_map(*ports)
            head, bits = frames.with_csum(whole[:48]), whole[48:]
            cls.at[name] = q.sent(0, head + bits[:4096])
            q.sent(0, head + bits[4096:])
        say("map", 5, 40000, 65535)
        say("second map", 5, 65535)

    def test_padding_is_no_payload(self):
        first = self.at["977"]
        self.holds(self.shown[first + 1][0], begins_in=first, payload="df")
        self.holds(self.frame("4097's last"), len=4097, payload="00")
        self.holds(self.frame("next"), seq=3, payload="00:01")
        for name in ("977", "4097", "between", "4097's last", "next"):
            self.assertEqual(self.frame(name).experts, set(), name)

    def test_an_adapter_sends_again(self):
        self.assertEqual(self.frame("repeated").experts, {"repeated"})
        self.assertEqual(self.frame("after it").experts, set())
        self.assertEqual(self.frame("lower").experts, {"back"})

    def test_a_map_in_several_packets(self):
        for name, ports, experts in (("map", ["5", "40000", "65535"], {"full"}),
                                     ("second map", ["5", "65535"], set())):
            begin = self.at[name]
            self.holds(self.shown[begin][0], kind="Congestion map")
            last = self.shown[begin + 9][0]
            self.holds(last, begins_in=begin + 5, **{"map.count": len(ports)})
            self.assertEqual(last.all("map.port"), ports)
            self.assertEqual(last.experts, experts)
            for n in range(begin, begin + 9):
                self.assertIsNone(self.shown[n][0]["map.count"])

    def test_frames(self):
        self.holds(self.frame("hello"), kind="Hello", **{"ext.index": 0, "csum.good": 1})
        self.holds(self.frame("message"), kind="Message", payload="68:65:6c:6c:6f", credit=9)
        self.holds(self.frame("ack"), kind="Ack", ack=2, credit=16)
        self.holds(self.frame("message"), delivered_in=self.at["ack"])
        for name, kind in (("asks", "Heartbeat"), ("answers", "Heartbeat answer"),
                           ("other mark", "Ack"), ("ends", "End")):
            self.holds(self.frame(name), kind=kind, ack=2)
            self.assertEqual(self.frame(name).experts, set())
        self.assertEqual(self.frame("rdma").experts, set())
        self.holds(self.frame("none"), kind="Message", seq=1)
        self.assertEqual(self.frame("wrong").experts, {"bad_csum"})

    def test_a_frame_in_several_packets(self):
        first = self.at["part 1"]
        self.holds(self.shown[first][0], len=5000)
        for number in range(first + 1, first + 5):
            self.holds(self.shown[number][0], begins_in=first)
        self.assertEqual(self.frame("part 2")["seq"], "2")
        self.assertEqual(self.frame("part 2").experts, set())
        self.holds(self.frame("after"), seq=2)  # counted, for there is no checksum to tell it by
        self.holds(self.frame("part 1"), delivered_in=self.at["ack"])

    def test_sends_of_others_are_left_alone(self):
        self.assertFalse(set(range(self.at["stranger"], self.at["their bytes"] + 1)) & set(self.shown))


class RealTraffic(unittest.TestCase):
    """Captures by tcpdump in the VM suite, `capture`: pings, rds-stress, connections that were killed."""

    def shown(self, name):
        """Frames in the order of the capture."""
        data = gzip.decompress((ROOT / f"tests/wireshark/corpus/{name}.pcap.gz").read_bytes())
        with directory() as where:
            path = where / "capture.pcap"
            path.write_bytes(data)
            found = packets_of(path)
        return [frame for number in sorted(found) for frame in found[number]]

    def kinds(self, frames_shown):
        return {frame["kind"] for frame in frames_shown}

    def bad(self, frames_shown):
        """Of each stage the capture has the beginning, so acks may be of what went by between them."""
        return [frame.text for frame in frames_shown
                if any(expert.startswith("bad_") for expert in frame.experts - {"bad_ack"})]

    def test_ours(self):
        frames_shown = self.shown("ours")
        self.assertGreater(len(frames_shown), 300)
        self.assertEqual(self.bad(frames_shown), [])
        self.assertLessEqual({"Hello", "Ack", "Message", "Ping", "Pong", "Congestion map",
                              "Changes"}, self.kinds(frames_shown))
        told = [float(frame["delivered_after"]) for frame in frames_shown if frame["delivered_after"]]
        self.assertGreater(len(told), 100)
        self.assertTrue(all(0 <= after < 60 for after in told), told)

    def test_mainlines(self):
        frames_shown = self.shown("mainlines")
        self.assertGreater(len(frames_shown), 100)
        self.assertEqual(self.bad(frames_shown), [])
        kinds = self.kinds(frames_shown)
        self.assertLessEqual({"Message", "Ping", "Pong", "Congestion map"}, kinds)
        self.assertFalse({"Hello", "Ack", "Changes", "Refused"} & kinds, "frames of ours")

    def test_one_of_each(self):
        frames_shown = self.shown("one_of_each")
        self.assertGreater(len(frames_shown), 100)
        self.assertEqual(self.bad(frames_shown), [])
        kinds = self.kinds(frames_shown)
        self.assertLessEqual({"Hello", "Message", "Ping", "Pong", "Congestion map"}, kinds)
        self.assertFalse({"Changes", "Refused"} & kinds, "frames that mainline does not know")


class NoBytesRaiseAnError(unittest.TestCase):
    """The fuzzers' corpora and golden frames with damage, each as a stream and as sends."""

    @staticmethod
    def inputs():
        rng = random.Random(1)
        for path in sorted((ROOT / "tests/fuzz/corpus").glob("*/*")):
            yield path.read_bytes()[:20000]
        good = [*GOLDEN.values(), frames.cong_map(1, 9), message(1, bytes(100), flags=4)]
        for _ in range(300):
            data = bytearray(b"".join(rng.choice(good) for _ in range(rng.randint(1, 6))))
            for _ in range(rng.randint(1, 4)):
                data[rng.randrange(len(data))] = rng.choice((0, 1, 5, 12, 13, 14, 15, 16, 0x80, 0xff))
            yield bytes(data[:rng.randint(1, len(data))])

    @staticmethod
    def offers():
        """Requests and replies of rdma_cm, their private data damaged."""
        rng = random.Random(3)
        data = gzip.decompress((ROOT / "tests/wireshark/corpus/ours_ib.pcap.gz").read_bytes())
        good = [one for one in records(data) if len(one) in (322, 342)]  # of IPv4 and IPv6
        for _ in range(300):
            packet = bytearray(rng.choice(good))
            for _ in range(rng.randint(1, 4)):
                packet[-4 - rng.randint(1, 196)] = rng.choice((0, 1, 3, 4, 10, 0xff))
            yield bytes(packet)

    def test_anything(self):
        rng, capture, count = random.Random(2), Capture(), 0
        for count, data in enumerate(self.inputs(), 1):
            hosts = f"10.1.{count // 250}.{count % 250 + 1}", "10.2.0.1"
            s = Tcp(capture, *hosts, handshake=False)
            s.said(count % 2, data, sizes=[rng.randint(1, 200) for _ in range(4)])
            QueuePair(capture, *hosts).sent(0, data)
        self.assertGreater(count, 1000)
        capture.packets += self.offers()
        with directory() as where:
            path = where / "any.pcap"
            capture.save(path)
            out, said = tshark("-r", path, "-V")
        self.assertEqual(said, [])
        self.assertEqual(lua_errors(out)[:3], [])
        self.assertGreater(out.count(b"Reliable Datagram Sockets"), 1000)

    def test_that_an_error_would_be_seen(self):
        with directory() as where:
            broken = where / "rds.lua"
            text = DISSECTOR.read_text().replace("local function summary(h, kind, tvb, list)\n",
                                                 "local function summary(h, kind, tvb, list)\n\tkind = nil .. 1\n")
            broken.write_text(text)
            capture = Capture()
            Tcp(capture).said(0, GOLDEN["message"])
            with self.assertRaisesRegex(AssertionError, "Lua Error"):
                packets(capture, dissector=broken)


if __name__ == "__main__":
    sys.exit(unittest.main())
