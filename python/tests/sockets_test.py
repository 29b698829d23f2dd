#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""rds.Socket as far as it is any kernel's socket: a pair of AF_UNIX stands for it."""
import pathlib
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rds import Socket  # noqa: E402


class Duplicates(unittest.TestCase):
    def setUp(self):
        ours, self.other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock = Socket(fileno=ours.detach())
        self.addCleanup(self.sock.close)
        self.addCleanup(self.other.close)

    def test_a_timeout_is_kept(self):
        for timeout in (None, 0, 5):
            self.sock.settimeout(timeout)
            with self.sock.dup() as again:
                self.assertEqual(again.gettimeout(), timeout)
                self.assertEqual(again.getblocking(), timeout != 0)
                self.assertNotEqual(again.fileno(), self.sock.fileno())

    def test_it_is_waited_for(self):
        self.sock.settimeout(0.01)
        with self.sock.dup() as again, self.assertRaises(TimeoutError):
            again.receive()


if __name__ == "__main__":
    unittest.main()
