# SPDX-License-Identifier: GPL-2.0
"""A program on RDS's port that is none, run in a guest with `python3 -I -S`.

    rds_silent.py ADDR    takes every call, prints "called" at the first, reads what is said, says nothing
"""
import selectors
import socket
import sys


def main(addr):
    wait = selectors.DefaultSelector()
    listener = socket.create_server((addr, 16385))
    wait.register(listener, selectors.EVENT_READ)
    wait.register(sys.stdin, selectors.EVENT_READ)
    called = False
    while True:
        for key, _ in wait.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is not listener:
                if not key.fileobj.recv(65536):
                    wait.unregister(key.fileobj)
                continue
            wait.register(listener.accept()[0], selectors.EVENT_READ)
            if not called:
                print("called", flush=True)
            called = True


if __name__ == "__main__":
    main(sys.argv[1])
