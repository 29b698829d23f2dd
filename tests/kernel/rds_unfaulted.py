# SPDX-License-Identifier: GPL-2.0
"""A program that asks for a table into memory that it never provides.

    rds_unfaulted.py CODE    getsockopt(SOL_RDS, CODE) into a page of userfaultfd's

`python3 -I -S` runs it in a guest. Prints "stuck" when the kernel wants the page, and ends with its
input; the call never does.
"""
import ctypes
import mmap
import os
import socket
import struct
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
SYS_USERFAULTFD, PF_RDS, SOL_RDS, PAGE = 323, 21, 276, 4096
UFFDIO_API, UFFDIO_REGISTER, API, MISSING = 0xc018aa3f, 0xc020aa00, 0xaa, 1


def ioctl(fd, request, layout, *values):
    buf = ctypes.create_string_buffer(struct.pack(layout, *values))
    if libc.ioctl(fd, ctypes.c_ulong(request), buf) < 0:
        raise OSError(ctypes.get_errno(), f"ioctl {request:#x}")


def main(code):
    faults = libc.syscall(SYS_USERFAULTFD, os.O_CLOEXEC)
    if faults < 0:
        raise OSError(ctypes.get_errno(), "userfaultfd")
    ioctl(faults, UFFDIO_API, "QQQ", API, 0, 0)
    page = mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ioctl(faults, UFFDIO_REGISTER, "QQQQ", at, PAGE, MISSING, 0)
    sock = socket.socket(PF_RDS, socket.SOCK_SEQPACKET)
    size = ctypes.c_int(PAGE * 16)
    threading.Thread(target=libc.getsockopt, daemon=True, args=(
        sock.fileno(), SOL_RDS, code, ctypes.c_void_p(at), ctypes.byref(size))).start()
    os.read(faults, 32)
    print("stuck", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
