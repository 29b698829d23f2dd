# SPDX-License-Identifier: GPL-2.0
"""Messages that two hosts of the VM suite exchange while their wire is captured: the hosts send
them (tests/kernel/rds_told.py), and the tests of the dissector look for them in the capture.

Only what Python's library has: guests run it, too.
"""
ASKS, ANSWERS, SLOW = 4100, 4101, 4102  # ports
# Nothing; one packet of RoCE (1024 bytes with the header's 48), one byte more; one send (4096), one
# byte more; two; several.
LENGTHS = (0, 1, 100, 975, 976, 977, 3000, 4095, 4096, 4097, 8192, 8193, 20000)
REGION = 3000  # bytes that are read by RDMA
FILL = 900  # bytes of each message for the port that fills


def text(number, length):
    """No two of the messages begin alike."""
    return bytes((number * 37 + at * (number + 1)) % 251 for at in range(length))


def messages():
    return [text(number, length) for number, length in enumerate(LENGTHS)]
