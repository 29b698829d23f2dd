#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make picture`: docs/rdsctl.svg, which README.md shows: what rdsctl says of a program that hangs.

It is played in the cluster of `make lab` (lab.py): a reader is stopped, and a sender goes on.
"""
import sys

import lab
import terminal_svg
import vm
import walk

PICTURE = lab.TOP / "docs/rdsctl.svg"
BEFORE = """
host3 congestion recv 10.9.0.3 4000 300 >read 2>&1 & echo $! >reader
host3 rdsctl -j socket local-port 4000 | grep -q '"local-port": 4000'
kill -STOP $(cat reader)
host1 congestion send 10.9.0.1 10.9.0.3 4000 300 >sent 2>&1 &
host1 rds-ping -q -c 200 -i 10ms 10.9.0.2 >/dev/null
"""
# Each with a line that it is repeated for.
SHOWN = {"host1 rds-ping -c 2 10.9.0.2": "2 sent, 2 answered, …",
         "host1 rdsctl show": "paths …",
         "host1 rdsctl path remote 10.9.0.3": "…peer's full ports…4000, for 1…s",
         "host3 rdsctl show": "…slowest reader…",
         "host1 rdsctl doctor": "…a message has waited…"}
AFTER = "kill -CONT $(cat reader); wait; grep delivered sent"


def scene(host):
    """Lines of a terminal: each command and what it shows."""
    def run(command):
        said.clear()
        rc, text = host.run(f". {lab.ENVIRONMENT}; {command}", 60)
        said.extend(line.rstrip() for line in text.rstrip().splitlines())
        return 0 if "doctor" in command else rc, text

    lines, said = [], []
    for command in BEFORE.strip().splitlines():
        walk.repeat(60, run, command, [])
    for command, line in SHOWN.items():
        coloured = command.replace("rdsctl", "rdsctl --color always")
        walk.repeat(60, run, coloured, [line])
        lines += [f"$ {command}", *said, ""]
    walk.repeat(60, run, AFTER, ["300 messages delivered…"])
    return lines[:-1]


def main():
    with vm.VM("picture", mem=1024, smp=2, logdir=vm.LOGS / "picture") as host:
        host.start()
        host.ready().load("ours")
        lab.cluster_up(host)
        PICTURE.write_text(terminal_svg.svg(scene(host), "A program that hangs, as rdsctl shows it"))
    print(f"written: {PICTURE.relative_to(lab.TOP)}")


if __name__ == "__main__":
    sys.exit(main())
