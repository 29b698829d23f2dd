#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The use of ordering hints: one sender, eight paths, one of which is bad.

    ordering.py            the table on stdout
    ordering.py --write    and into docs/ordering.md, with a plot (needs gnuplot: make ordering)

One task of rds-stress sends to one other in another network namespace; of the eight connections
one loses 1 % of its packets, or has 10 ms more delay (netem). Every path has 20 Mbit/s, so that
one is full. The guest has one processor and virtual time, as in resets.py: a second is the same
amount of work everywhere.
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest  # noqa: E402
import suite  # noqa: E402
import vm  # noqa: E402
from netns_pair import IN_X, IN_Y, Y, pair  # noqa: E402

PAGE = guest.TOP / "docs/ordering.md"
PLOT = guest.TOP / "docs/ordering.svg"
BEGIN, END = "<!-- ordering:begin (written by `make ordering`) -->", "<!-- ordering:end -->"
ORDERS = {"ordered": "ordered", "half-ordered every 64th": "half:64", "un-ordered": "unordered"}
BAD = {"none": "", "1 % loss": "loss 1%", "10 ms more": "delay 10ms"}
LOAD = "-t 1 -d 64 -q 8k --send-buffer 4m --recv-buffer 4m"
RATE = "rate 20mbit limit 10000"


def shape(t, bad):
    """Each path of its own rate, either way; path 3 is bad."""
    lines = ["qdisc add dev cable root handle 1: prio bands 9 priomap" + " 8" * 16]
    for i in range(8):
        how = f"{bad if i == 3 else ''} {RATE}"
        lines.append(f"qdisc add dev cable parent 1:{i + 1} netem {how}")
        # The caller's port says which path: the other one is 16385.
        for own, peer in (("20", "dport"), ("22", "sport")):
            lines.append(f"filter add dev cable parent 1: protocol ip u32 match u16 {i} 7 at {own}"
                         f" match ip {peer} 16385 0xffff flowid 1:{i + 1}")
    batch = "\n".join(lines)
    for ns in "xy":
        t.a.check(f"tc -n {ns} -batch - <<'END'\n{batch}\nEND", timeout=600)


def measure(order, bad, options):
    """[messages/s, p50, p99, p99.9 of a round trip in ms]"""
    with vm.VM("a", kernel="6.1", smp=1, mem=1024, icount=2, logdir=vm.LOGS / "ordering") as host:
        host.load("ours")
        host.check("modprobe -a veth sch_netem sch_prio cls_u32")
        t = suite.Context(argparse.Namespace(modules_dir=None), None, [host])
        pair(t)
        shape(t, bad)
        host.check(f"{IN_X} sysctl -qw net.rds.tcp.rds_tcp_sndbuf=16384;"
                   f"{IN_Y} sysctl -qw net.rds.tcp.rds_tcp_sndbuf=16384")
        tool = t.tool("rds-stress")
        waiting = host.spawn(f"{IN_Y} {tool} -r {Y} -p 4000")
        host.wait_until(f"{IN_Y} ss -Hltn 'sport = :4000' | grep -q .")
        said = host.check(f"{IN_X} {tool} -s {Y} -p 4000 -z --json -T {options.seconds} {LOAD}"
                          f" --order {order}", timeout=1800)
        waiting.check(300)
    total = next(r for r in map(json.loads, said.splitlines()) if r["type"] == "result")["total"]
    return [round(total["tx_rate"])] + [round(total[f"rtt_{p}_usec"] / 1000, 1)
                                        for p in ("p50", "p99", "p999")]


def plot(rows):
    """Throughput and p50 side by side, a group of bars for each kind of path."""
    data = "\n".join(" ".join([f'"{bad}"'] + [str(rows[bad, name][i]) for name in ORDERS])
                     for i in (0, 1) for bad in [*BAD, None] if bad)
    blocks = data.splitlines()
    n = len(BAD)
    script = ["set terminal svg size 900,380 font 'sans,12' background rgb 'white'",
              f"set output '{PLOT}'", "set style data histogram", "set style fill solid 0.8",
              "set multiplot layout 1,2", "set key below", "set yrange [0:*]",
              "set xlabel 'one path of eight'"]
    for title, block in (("messages/s", blocks[:n]), ("p50 of a round trip, ms", blocks[n:])):
        script += [f"$data << E\n" + "\n".join(block) + "\nE", f"set title '{title}'",
                   "plot " + ", ".join(f"$data using {i + 2}:xtic(1) title '{name}'"
                                       for i, name in enumerate(ORDERS))]
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)
    # SVG has no place for the licence but a comment.
    lines = PLOT.read_text().splitlines(keepends=True)
    PLOT.write_text("".join([lines[0], "<!-- SPDX-License-Identifier: GPL-2.0 -->\n", *lines[1:]]))


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--seconds", type=float, default=4, help="of each measurement")
    ap.add_argument("--write", action="store_true")
    options = ap.parse_args(argv)
    lines = ["| one path of eight | messages | messages/s | p50 ms | p99 ms | p99.9 ms |",
             "|---|---|--:|--:|--:|--:|"]
    print("\n".join(lines))
    rows = {}
    for bad, how in BAD.items():
        for name, order in ORDERS.items():
            rows[bad, name] = measure(order, how, options)
            lines.append(f"| {bad} | {name} | {' | '.join(map(str, rows[bad, name]))} |")
            print(lines[-1], flush=True)
    if options.write:
        plot(rows)
        head, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN + "\n", *lines, "\n" + END]) + rest.split(END)[1])


if __name__ == "__main__":
    main()
