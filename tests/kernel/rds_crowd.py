# SPDX-License-Identifier: GPL-2.0
"""Many processes register memory with an adapter that is slow, and are killed at it.

    rds_crowd.py ADDR COUNT LEAVE    `python3 -I -S` runs it in a guest

Each of COUNT processes registers a page. When all of them wait they are killed. Prints how many are
there still, as soon as that is LEAVE or fewer, or after PATIENCE seconds; then waits for the rest.
"""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rds_regions  # noqa: E402

PATIENCE, PAUSE = 5, 0.05  # s


def state(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def main(addr, count, leave):
    children, gate = [], os.pipe()
    for n in range(int(count)):
        child = os.fork()
        if not child:
            owner = rds_regions.Owner(addr, port=5000 + n)
            os.close(gate[1])
            os.read(gate[0], 1)  # until the parent opens it, for all at once
            owner.get(1, 4096)
            os._exit(0)
        children.append(child)
    while any(state(child) != "S" for child in children):
        time.sleep(PAUSE)
    os.close(gate[1])
    while any(state(child) != "D" for child in children):
        assert all(state(child) != "Z" for child in children), "some are through already"
        time.sleep(PAUSE)
    for child in children:
        os.kill(child, signal.SIGKILL)
    end = time.monotonic() + PATIENCE
    while True:
        alive = [child for child in children if state(child) != "Z"]
        if len(alive) <= int(leave) or time.monotonic() > end:
            break
        time.sleep(PAUSE)
    print(f"left {len(alive)}", flush=True)
    for child in children:
        os.waitpid(child, 0)


main(*sys.argv[1:])
