# SPDX-License-Identifier: GPL-2.0
"""A shell on another guest, as ssh would be on another host; no ssh runs in guests.

    rds_shell.py PORT                    serves, one process a connection
    rds_shell.py --to HOST PORT COMMAND  runs a command there, with this one's input and output
"""
import os
import socket
import subprocess
import sys
import threading


def serve(port):
    with socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        print("ready", flush=True)
        while True:
            one, _ = listener.accept()
            length = int.from_bytes(one.recv(4, socket.MSG_WAITALL), "big")
            command = one.recv(length, socket.MSG_WAITALL).decode()
            subprocess.Popen(["sh", "-c", command], stdin=one, stdout=one)
            one.close()


def pour(sock):
    while data := os.read(0, 1 << 16):
        sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)


def run(host, port, command):
    with socket.create_connection((host, port)) as sock:
        text = command.encode()
        sock.sendall(len(text).to_bytes(4, "big") + text)
        threading.Thread(target=pour, args=(sock,), daemon=True).start()
        while data := sock.recv(1 << 16):
            while data:
                data = data[os.write(1, data):]


if __name__ == "__main__":
    if sys.argv[1] == "--to":
        run(sys.argv[2], int(sys.argv[3]), " ".join(sys.argv[4:]))
    else:
        serve(int(sys.argv[1]))
