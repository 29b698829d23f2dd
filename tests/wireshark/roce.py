# SPDX-License-Identifier: GPL-2.0
"""Captures that case capture_ib of the VM suite has made over soft-RoCE (told.py): tshark shows
what was sent, and what Packet reads in the same bytes. Part of dissector_test.py."""
import gzip
import ipaddress
import unittest

import told
from frames import header, message, with_csum
from pcap import Capture, Packet, QueuePair, records
from shown import ROOT, directory, packets, packets_of

READ_REQUEST = 12
MANAGER = 1  # the queue pair of rdma_cm's messages
MAP_BYTES = 8192
FIELDS = {"seq": (0, 8), "ack": (8, 8), "len": (16, 4), "srcport": (20, 2), "dstport": (22, 2),
          "credit": (25, 1)}  # where they are in a header, and their bytes
FAMILIES = (("10.9.0.1", "10.9.0.2"), ("fd00:9::1", "fd00:9::2"))

# Ports of the flows that are told, in either direction, and of the one that fills a port.
THERE, BACK = (told.ASKS, told.ANSWERS), (told.ANSWERS, told.ASKS)
SLOW = (told.SLOW, told.SLOW)


def plain(payload):
    return bytes.fromhex((payload or "").replace(":", ""))


def capture_of(name):
    """The bytes of a capture, and tshark's view of it."""
    data = gzip.decompress((ROOT / f"tests/wireshark/corpus/{name}.pcap.gz").read_bytes())
    with directory() as where:
        path = where / "capture.pcap"
        path.write_bytes(data)
        return data, packets_of(path)


class SoftRoce:
    """`hosts` says who the first and the second one are."""
    hosts: tuple
    name: str

    @classmethod
    def setUpClass(cls):
        cls.data, cls.shown = capture_of(cls.name)
        cls.packets = dict(enumerate(map(Packet, records(cls.data)), 1))
        cls.frames = {n: frames[0] for n, frames in cls.shown.items()}

    def whose(self, number):
        """The host that has sent this packet: 0 or 1."""
        return self.packets[number].src[-1] - 1

    def kind(self, *kinds):
        return [(n, frame) for n, frame in sorted(self.frames.items()) if frame["kind"] in kinds]

    def headers(self, sport, dport):
        """{number of a message: [packets with its header]}"""
        found = {}
        for n, frame in self.kind("Message"):
            if (frame["srcport"], frame["dstport"]) == (str(sport), str(dport)):
                found.setdefault(int(frame["seq"]), []).append(n)
        return found

    def payloads(self, sport, dport):
        """All that tshark has of each message, from all its packets."""
        rest = {}
        for n, frame in sorted(self.frames.items()):
            if frame["begins_in"]:
                rest.setdefault(int(frame["begins_in"]), []).append(plain(frame["payload"]))
        return {seq: b"".join(plain(self.frames[n]["payload"]) + b"".join(rest.get(n, ()))
                              for n in numbers)
                for seq, numbers in self.headers(sport, dport).items()}

    def test_each_packet_of_a_send_is_shown_once(self):
        sends = {n for n, packet in self.packets.items() if packet.is_send}
        self.assertGreater(len(sends), 150)
        offers = {n for n, _ in self.kind("Offer")}
        self.assertEqual(set(self.shown), sends | offers)
        self.assertEqual({len(frames) for frames in self.shown.values()}, {1})

    def test_headers_are_what_is_in_the_packet(self):
        for n, frame in self.frames.items():
            if frame["seq"] is None:
                continue
            data = self.packets[n].data
            for name, (at, size) in FIELDS.items():
                value = int.from_bytes(data[at:at + size], "big")
                self.assertEqual(int(frame[name]), value, (n, name))
            self.assertEqual(frame["csum.good"], "1", n)

    def test_nothing_is_odd(self):
        odd = [(n, frame.experts) for n, frame in sorted(self.frames.items()) if frame.experts]
        self.assertEqual([experts for _, experts in odd], [{"full"}])
        shown = self.frames[odd[0][0]]
        self.assertEqual(shown.all("map.port"), [str(told.SLOW)])
        self.assertEqual(self.whose(odd[0][0]), 1)

    def test_messages_are_what_was_told(self):
        asked = self.payloads(*THERE)
        answered = self.payloads(*BACK)
        slow = self.payloads(*SLOW)
        all_told = told.messages()
        self.assertEqual(list(asked.values()), all_told + [b"read this", b"%d" % len(slow)])
        self.assertEqual(list(answered.values()), all_told + [b"have it", b"read"])
        self.assertGreater(len(slow), 1)
        self.assertEqual(list(slow.values()), [told.text(n, told.FILL) for n in range(len(slow))])
        for ports, payloads in ((THERE, asked), (BACK, answered)):
            for seq, numbers in self.headers(*ports).items():
                lengths = {int(self.frames[n]["len"]) for n in numbers}
                self.assertEqual(lengths, {len(payloads[seq])})

    def test_a_flow_is_one_stream(self):
        """Both directions, with all packets of a send, and nothing else."""
        def heads_of(*flows):
            return {n for ports in flows for numbers in self.headers(*ports).values()
                    for n in numbers}
        there = heads_of(THERE, BACK)
        slow = heads_of(SLOW)
        for heads in (there, slow):
            stream, = {self.frames[n]["stream"] for n in heads}
            of_stream = {n for n, frame in self.frames.items() if frame["stream"] == stream}
            rest = {n for n, frame in self.frames.items() if int(frame["begins_in"] or 0) in heads}
            self.assertEqual(of_stream, heads | rest)

    def test_deliveries(self):
        """The capture ends before the last acknowledgement of either host, perhaps."""
        waiting = [(ports, seq) for ports in (THERE, BACK, SLOW)
                   for seq, numbers in self.headers(*ports).items()
                   if not self.frames[numbers[0]]["delivered_in"]]
        self.assertLessEqual(len(waiting), 1, waiting)

    def test_pings_are_answered(self):
        pings = self.kind("Ping")
        self.assertEqual(len(pings), 12)
        for n, ping in pings:
            pong = self.frames[int(ping["answer_in"])]
            self.assertEqual((pong["kind"], int(pong["answer_to"])), ("Pong", n))

    def test_keys_are_those_of_the_operation(self):
        read, = [packet for packet in self.packets.values() if packet.opcode == READ_REQUEST]
        key = int.from_bytes(read.data[8:12], "big")
        lent = [frame for _, frame in self.kind("Message") if frame["ext.dest_rkey"]]
        used = [frame for _, frame in self.kind("Message") if frame["ext.rkey"]]
        self.assertEqual([int(frame["ext.dest_rkey"], 16) for frame in lent], [key])
        self.assertEqual([int(frame["ext.rkey"], 16) for frame in used], [key])
        self.assertEqual([plain(frame["payload"]) for frame in lent + used],
                         [b"read this", b"have it"])

    def test_maps(self):
        """The one that fills is told full, then clear, by a map or by what has changed of it."""
        told_of = []
        for n, frame in sorted(self.frames.items()):
            if self.packets[n].src == ipaddress.ip_address("10.9.0.2").packed:
                if frame["map.count"] or frame["kind"] == "Changes":
                    told_of.append(frame.all("map.port"))
        while told_of and not told_of[0]:
            told_of.pop(0)
        self.assertEqual(told_of, [[str(told.SLOW)], []])
        maps = self.kind("Congestion map")
        ends = [frame for frame in self.frames.values() if frame["map.count"]]
        self.assertEqual(len(maps), 2 * len(ends))
        self.assertEqual({frame["len"] for _, frame in maps}, {str(MAP_BYTES)})

    def test_what_is_offered(self):
        """A request and its answer by each family; without one of mainline's, of our version."""
        offers = self.kind("Offer")
        ours = self.hosts == ("ours", "ours")
        found = [tuple(frame[f"offer.{end}"] or frame[f"offer.{end}6"] for end in ("from", "to"))
                 for _, frame in offers]
        self.assertEqual(found, [ends for a, b in FAMILIES for ends in ((a, b), (b, a))])
        for n, offer in offers:
            self.assertEqual((offer["offer.tos"], offer["offer.ack"]), ("0", "0"))
            self.assertEqual(int(offer["offer.credits"]) > 0, ours)
            self.assertIn((offer["offer.major"], offer["offer.minor"]), (("3", "1"), ("4", "1")))
            for what in "ends", "beats":
                can = str(int(self.hosts[self.whose(n)] == "ours"))
                self.assertEqual(offer[f"offer.{what}"], can)
            if ours:
                self.assertEqual(offer["offer.major"], "4")

    def test_credits_are_given_back(self):
        """By both hosts, in headers of whatever goes, where both count buffers."""
        gave = {self.whose(n) for n, frame in self.frames.items() if int(frame["credit"] or 0)}
        self.assertEqual(gave, {0, 1} if self.hosts == ("ours", "ours") else set())

    def test_who_says_hello(self):
        said = {self.whose(n) for n, _ in self.kind("Hello")}
        self.assertEqual(said, {n for n, host in enumerate(self.hosts) if host == "ours"})


class OursOverRoce(SoftRoce, unittest.TestCase):
    hosts, name = ("ours", "ours"), "ours_ib"

    def test_hosts_ask_each_other_and_end_in_order(self):
        for kind in "Heartbeat", "Heartbeat answer", "End":
            self.assertEqual({self.whose(n) for n, _ in self.kind(kind)}, {0, 1}, kind)

    def test_without_the_messages_of_rdma_cm(self):
        """A capture that began after the connections were made: sends are known by their looks."""
        capture = Capture()
        capture.packets = [one for one in records(self.data) if Packet(one).pair != MANAGER]
        found = [frame for _, (frame,) in sorted(packets(capture).items())]
        wanted = [frame for _, frame in sorted(self.frames.items()) if frame["kind"] != "Offer"]
        self.assertEqual([(frame["seq"], frame["payload"]) for frame in found],
                         [(frame["seq"], frame["payload"]) for frame in wanted])


class MainlinesOverRoce(SoftRoce, unittest.TestCase):
    hosts, name = ("mainline", "mainline"), "mainlines_ib"


class OneOfEachOverRoce(SoftRoce, unittest.TestCase):
    hosts, name = ("ours", "mainline"), "one_of_each_ib"


class SentAgainOverRoce(unittest.TestCase):
    """Packets that adapters sent again, and a connection that ended in the midst of a message."""

    @classmethod
    def setUpClass(cls):
        data, cls.shown = capture_of("sent_again_ib")
        cls.packets = dict(enumerate(map(Packet, records(data)), 1))

    def test_it_is_told(self):
        experts = [expert for frames in self.shown.values() for expert in frames[0].experts]
        self.assertEqual(set(experts), {"repeated", "again", "full"})
        self.assertEqual((experts.count("again"), experts.count("full")), (1, 1))
        self.assertGreater(experts.count("repeated"), 3)

    def test_what_came_once_more_is_shown_too(self):
        sends = {n for n, packet in self.packets.items() if packet.is_send}
        numbers = {(self.packets[n].pair, self.packets[n].number) for n in sends}
        self.assertGreater(len(sends) - len(numbers), 20)
        offers = {n for n, frames in self.shown.items() if frames[0]["kind"] == "Offer"}
        self.assertEqual(set(self.shown) - offers, sends)

    def test_older_versions_are_offered(self):
        """4.1, refused, and 3.1 at last."""
        said = [frames[0]["offer.major"] for _, frames in sorted(self.shown.items())]
        self.assertEqual("".join(filter(None, said)), "4444433")


class LargeFrames(unittest.TestCase):
    """A send has as many bytes as both hosts have offered buffers for; who answers says no more than
    was asked."""
    LENGTH = 20000

    @staticmethod
    def offers(*orders):
        """Request and reply of two hosts of ours, whose buffers are others."""
        data, _ = capture_of("ours_ib")
        hosts = [ipaddress.ip_address(host).packed for host in FAMILIES[0]]
        for said, order in zip((b"".join(hosts), b"".join(hosts[::-1])), orders):
            packet = next(bytearray(one) for one in records(data)
                          if len(one) == 322 and one[26:34] == said and said in one[42:])
            packet[packet.rindex(said) + len(said) + 23] = order << 2
            yield bytes(packet)

    def look(self, orders, most):
        capture = Capture()
        capture.packets += self.offers(*orders)
        q, head = QueuePair(capture, *FAMILIES[0]), header(1, length=self.LENGTH, sport=777, dport=4000)
        begins = [q.sent(0, with_csum(head) + bytes(b % 251 for b in range(min(most, self.LENGTH - at))))
                  for at in range(0, self.LENGTH, most)]
        after = q.sent(0, with_csum(message(2, b"after")))
        shown = packets(capture)
        for first, end in zip(begins, [*begins[1:], after]):
            self.assertEqual(shown[first][0]["seq"], "1")
            self.assertEqual({shown[n][0]["begins_in"] for n in range(first + 1, end)}, {str(first)})
        self.assertEqual((shown[after][0]["seq"], shown[after][0].experts), ("2", set()))

    def test_the_smaller_of_two(self):
        for orders, most in (((2, 2), 16384), ((2, 1), 8192), ((1, 1), 8192), ((2, 0), 4096), ((3, 3), 4096)):
            with self.subTest(orders=orders):
                self.look(orders, most)
