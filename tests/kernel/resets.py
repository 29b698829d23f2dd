#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""How much gets through while connections die all the time: ours beside mainline's.

    resets.py                       the table: ours on 6.1, mainline's on 6.1 and on 7.2
    resets.py --write               and into docs/performance.md
    resets.py --rows 7.2:ours       others
    resets.py --seconds 60 --every 1

64 blocking senders in one network namespace, 64 readers in another; every 2.5 s the connections are
killed by `ss -K`, or RSTs answer what comes on them, on either side in turn. A send may take
2 s. The buffers are small: with nothing cut no send waits as long for those before it. The guest
has one processor that does an instruction in 4 ns, and its clock stands still when the host does
something else: a second is the same amount of work everywhere.
"""
import argparse
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest  # noqa: E402
import suite  # noqa: E402
import vm  # noqa: E402
from netns_pair import IN_X, IN_Y, X, Y, pair  # noqa: E402
from traffic import Flows  # noqa: E402

PAGE = guest.TOP / "docs/performance.md"
BEGIN, END = "<!-- resets:begin (written by `make resets`) -->", "<!-- resets:end -->"
LOAD = "--flows 64 --max-payload 8192"
KILL = "ss -HtnK '( sport = :16385 or dport = :16385 )' | grep -c ."
# For half a second packets of the connections there are are answered by a RST; new connections are
# left in peace, if they have new ports. RSTs pass, or the other end would not notice.
RESET = """p=$(ss -Htn '( sport = :16385 or dport = :16385 )' | awk '{ print $4 "\\n" $5 }' |
sed 's/.*://' | grep -vx 16385 | sort -u | paste -sd,)
[ -n "$p" ] || { echo 0; exit; }
nft -f - <<X
table inet cut {
chain in {
type filter hook input priority 0
tcp flags & rst != 0 accept
tcp dport 16385 tcp sport { $p } reject with tcp reset
tcp sport 16385 tcp dport { $p } reject with tcp reset
}
}
X
sleep 0.5
nft delete table inet cut
echo $p | tr , '\\n' | wc -l"""
CUTS = {"nothing": "echo 0", "`ss -K`": KILL, "RST": RESET}


def disturber(cut, options):
    """A command that cuts on either side in turn, and prints how many connections it cut."""
    return (f"""all=0; for turn in $(seq {int(options.seconds / options.every) - 1}); do
sleep {options.every}
[ $((turn % 2)) = 0 ] && ns=x || ns=y
all=$((all + $(ip netns exec $ns sh <<'END'
{cut}
END
) )); done; echo cuts $all""")


def measure(t, cut, options):
    """One row's figures."""
    flows = Flows(t, t.a, X, t.a, Y, options.load, prefixes=(IN_X, IN_Y), timeout=10000,
                  forever=False, send_options=f"--blocking --drain 30 --seconds {options.seconds}")
    cutting = t.a.spawn(disturber(cut, options))
    found = flows.result(timeout=1800)
    cuts = cutting.wait_output(r"^cuts (\d+)$", 300)[1]
    return [cuts, round(found["delivered"] / found["seconds"]), found["lost"],
            found["duplicates"], found["reordered"], found["timed_out"]]


def measure_in_a_new_guest(kernel, kind, cut, options):
    with vm.VM("a", kernel=kernel, smp=1, mem=1024, icount=2, logdir=vm.LOGS / "resets") as host:
        host.load(kind)
        host.check("modprobe -a veth tcp_diag nft_reject_inet && cd /proc/sys/net/core &&"
                   f" for f in [rw]mem_default; do echo {options.buffers} >$f; done")
        t = suite.Context(argparse.Namespace(modules_dir=None), None, [host])
        pair(t)
        # Once beforehand: the programs come from the host, and the clock does not wait for that.
        host.check(f"for ns in x y; do ip netns exec $ns sh <<'END'\n{RESET}\nEND\ndone")
        return measure(t, cut, options)


def row(kernel, kind, options):
    """A line of the table for each way of cutting."""
    for name, cut in CUTS.items():
        try:
            cells = measure_in_a_new_guest(kernel, kind, cut, options)
        except vm.VMError as error:
            if kind == "ours":
                raise
            cells = [str(error).splitlines()[0], *5 * "-"]
        version = guest.kernel(kernel).version
        yield f"| {kind} {version} | {name} | {' | '.join(map(str, cells))} |"


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", nargs="+", default=["6.1:ours", "6.1:mainline", "7.2:mainline"])
    ap.add_argument("--seconds", type=float, default=40, help="of each measurement")
    ap.add_argument("--every", type=float, default=2.5, help="seconds between two cuts")
    ap.add_argument("--load", default=LOAD, help="of rds_flows, both ends (%(default)s)")
    ap.add_argument("--buffers", type=int, default=32768, help="of a socket, each way (%(default)s)")
    ap.add_argument("--write", action="store_true")
    options = ap.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    lines = ["| modules | cut by | cuts | messages/s | lost | duplicates | out of order |"
             " sends timed out |", "|---|---|--:|--:|--:|--:|--:|--:|"]
    print("\n".join(lines))
    for one in options.rows:
        for line in row(*one.split(":"), options):
            print(line, flush=True)
            lines.append(line)
    if options.write:
        text = PAGE.read_text()
        head, rest = text.split(BEGIN)
        PAGE.write_text("\n".join([head + BEGIN + "\n", *lines, "\n" + END])
                        + rest.split(END)[1])


if __name__ == "__main__":
    main()
