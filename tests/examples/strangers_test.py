#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Examples that receive, and messages that their own senders would not send: shorter, longer, or with
lengths that are not so. Sanitizers and a made-up kernel (made_up_peer.c) are in the programs; in
the one in Python a class stands for the socket.

    strangers_test.py DIR      DIR: the programs
"""
import contextlib
import io
import os
import pathlib
import runpy
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import rds  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv.pop(1))
OWN = "192.0.2.1"


def block(offset, said, data=b""):
    """As examples/bulk.c has it."""
    return struct.pack("=QI4x", offset, said) + data


# Two blocks, "done", and between them none that is one.
BLOCKS = [b"", b"abc", block(0, 2**32 - 1, b"far"), block(0, 4, b"few"), block(0, 2, b"too many"),
          block(0, 0, b"not done"), block(0, 3, b"one"), block(3, 3)[:15], block(3, 3, b"two"), block(6, 0)]


COOKIE, CUT = 1 << 31, 1 << 30  # in a message's length, as made_up_peer.c has it


class Programs(unittest.TestCase):
    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.top = pathlib.Path(where.name)

    def run_it(self, name, messages, *words, role="recv"):
        """Its output, its complaints and its status. A message may be (what comes with it, its bytes)."""
        pairs = [one if isinstance(one, tuple) else (0, one) for one in messages]
        (self.top / "peer").write_bytes(b"".join(struct.pack("=I", how | len(one)) + one for how, one in pairs))
        done = subprocess.run([PROGRAMS / f"received_by_{name}", role, *words], stdin=subprocess.DEVNULL,
                              env={**os.environ, "MADE_UP_PEER": str(self.top / "peer")},
                              capture_output=True, check=False)
        self.assertNotRegex(done.stderr, b"Sanitizer|runtime error")
        return done.stdout, done.stderr.decode(), done.returncode

    def test_bulk_writes_what_is_a_block(self):
        out = self.top / "out"
        larger = block(0, 2**17, bytes(2**17))
        said, why, status = self.run_it("bulk", [larger, *BLOCKS], OWN, "1", str(out))
        self.assertEqual((said, why, status), (b"6 bytes received, 0 blocks were overtaken\n", "", 0))
        self.assertEqual(out.read_bytes(), b"onetwo")

    def test_a_line_that_is_cut_ends_where_it_was_cut(self):
        long = b"x" * (65536 + 16)  # write(2) of 1 MiB would end where memory does, unseen
        self.assertEqual(self.run_it("lines", [long, b"line\n", b""], OWN, "1"),
                         (long[:65536] + b"line\n", "", 0))

    def test_congestion_takes_no_number_from_where_none_is(self):
        first = struct.pack("=I", 0).ljust(4096)
        for wrong in b"", b"\1\0\0", bytes(4):
            self.assertEqual(self.run_it("congestion", [first, wrong], OWN, "1", "9")[1:],
                             (f"congestion: a message of {len(wrong)} bytes\n", 1))
        self.assertEqual(self.run_it("congestion", [first], OWN, "1", "1")[2], 0)

    def test_zerocopy_tells_what_was_not_sent(self):
        first = struct.pack("=I", 0).ljust(131072, b"\0")
        for wrong in b"", b"\1\0\0", bytes(4):
            self.assertEqual(self.run_it("zerocopy", [first, wrong], OWN, "1", "9")[1:],
                             (f"zerocopy: a message of {len(wrong)} bytes\n", 1))
        self.assertEqual(self.run_it("zerocopy", [first, first], OWN, "1", "9")[1:],
                         ("zerocopy: message 1 is not what was sent\n", 1))
        self.assertEqual(self.run_it("zerocopy", [first], OWN, "1", "1"),
                         (b"1 messages, each as it was sent\n", "", 0))

    def test_lend_lends_to_who_asks(self):
        strangers = [b"", b"w", b"\0", b"??", bytes(70000), (COOKIE, b"x")]
        ends = "received_by_lend: recvmsg: Resource temporarily unavailable\n"
        self.assertEqual(self.run_it("lend", [*strangers, b"?", *strangers, b"?"], OWN, "1", role="serve"),
                         (b"ready\n", ends, 1))

    def test_lend_takes_a_cookie_that_is_one(self):
        ask = (OWN, "192.0.2.2", "4000")  # from there all messages come
        strangers = [b"", b"?", b"!!", (COOKIE, b""), (COOKIE, b"!" * 70000), (CUT, b"x")]
        none = "received_by_lend: the server lends nothing, and says why\n"
        for answer in b"!", (CUT, b"!"):
            self.assertEqual(self.run_it("lend", [*strangers, answer], *ask, role="ask"), (b"", none, 1))
        # Without an answer it waits for one; with a cookie for a notification, which is no message.
        ends = "received_by_lend: recvmsg: Resource temporarily unavailable\n"
        for messages, address in ((strangers, "192.0.2.2"), ([b"!"], "192.0.2.3"),
                                  ([(COOKIE, b"!"), b"w", b"", *strangers], "192.0.2.2")):
            self.assertEqual(self.run_it("lend", messages, OWN, address, "4000", role="ask"), (b"", ends, 1))

    def test_nor_does_flood(self):
        first = struct.pack("=I", 0).ljust(1024)
        for wrong in b"", b"\1\0\0", bytes(2000):
            self.assertEqual(self.run_it("flood", [first, wrong], f"{OWN}:1", "9")[1:],
                             (f"flood: a message of {len(wrong)} bytes\n", 1))
        self.assertEqual(self.run_it("flood", [first], f"{OWN}:1", "1")[2], 0)


class Python(unittest.TestCase):
    def test_bulk_writes_what_is_a_block(self):
        sock = mock.MagicMock()
        sock.__enter__.return_value = sock
        sock.receive.side_effect = [rds.Message(data, (OWN, 2)) for data in BLOCKS]
        said = io.StringIO()
        with tempfile.NamedTemporaryFile() as out:
            with mock.patch.object(rds, "Socket", return_value=sock), contextlib.redirect_stdout(said), \
                    mock.patch.object(sys, "argv", ["bulk.py", "recv", OWN, "1", out.name]), \
                    mock.patch.object(sys, "stdin", io.StringIO()):
                runpy.run_path(str(ROOT / "examples/bulk.py"))
            self.assertEqual(pathlib.Path(out.name).read_bytes(), b"onetwo")
        self.assertEqual(said.getvalue(), "6 bytes received, 0 blocks were overtaken\n")


if __name__ == "__main__":
    unittest.main()
