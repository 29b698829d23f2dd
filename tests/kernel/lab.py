#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""`make lab`: a cluster of three hosts on a virtual machine of one's own, and a shell there.

The hosts are network namespaces of one guest, host1 to host3, on one switch; `host1 COMMAND` runs a
command on the first. What there is to be seen: docs/lab.md. On a terminal it is a terminal of the
guest's, else a shell that reads its commands from the standard input. It ends with the shell, and
leaves nothing. --kernel 6.1 (default), 6.12 or 7.2.
"""
import argparse
import codecs
import os
import pathlib
import re
import select
import signal
import sys
import termios
import time
import tty

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import guest  # noqa: E402
import vm  # noqa: E402

TOP = guest.TOP
PAGE = TOP / "docs/lab.md"
PROGRAMS = ["build/tools", "build/examples", "examples"]
HOSTS = (1, 2, 3)
ENVIRONMENT = "/run/lab/environment"
PROMPT = "lab# "

# Batches, because every process takes its time here.
UP = r"""
mkdir -p /run/lab
cat >ENVIRONMENT <<'END'
PATH=/run/lab:PROGRAMS:$PATH
PS1='PROMPT'
cd /run/lab
END
for n in HOSTS; do
	printf '#!/bin/sh\nexec ip netns exec host%s "$@"\n' $n >/run/lab/host$n
	chmod +x /run/lab/host$n
done
ip -batch - <<END || exit
link add switch type bridge
link set switch up
$(for n in HOSTS; do echo "netns add host$n"
	echo "link add port$n type veth peer name eth0 netns host$n"
	echo "link set port$n master switch up"; done)
END
for n in HOSTS; do
	ip -n host$n -batch - <<END || exit
link set lo up
addr add 10.9.0.$n/24 dev eth0
addr add fd00:9::$n/64 dev eth0 nodad
link set eth0 up
END
	/run/lab/host$n sh -c 'echo 1 >/proc/sys/net/rds/tcp/listen' || exit
done
"""
DOWN = f"for n in {' '.join(map(str, HOSTS))}; do ip netns del host$n; done; ip link del switch"


def cluster_up(host):
    """The three hosts. Each can be called, though none has a socket yet."""
    words = {"PROGRAMS": ":".join(str(TOP / d) for d in PROGRAMS), "PROMPT": PROMPT,
             "HOSTS": " ".join(map(str, HOSTS)), "ENVIRONMENT": ENVIRONMENT}
    host.check(re.sub("|".join(words), lambda found: words[found[0]], UP))


def cluster_down(host):
    host.check(DOWN)


class Terminal:
    """Our terminal, while the guest's shell has it: what is typed goes there as it is."""

    def __init__(self, stdin):
        self.stdin = stdin

    def __enter__(self):
        self.before = termios.tcgetattr(self.stdin)
        tty.setraw(self.stdin)
        return self

    def __exit__(self, *_):
        termios.tcsetattr(self.stdin, termios.TCSADRAIN, self.before)


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def feed(stdin, shell):
    """Our standard input goes to the shell, until either ends."""
    text, closed = codecs.getincrementaldecoder("utf-8")("ignore"), False
    while not shell.done:
        if not closed and select.select([stdin], [], [], 0.1)[0]:
            data = os.read(stdin, 4096)
            closed = not data
            shell.write(text.decode(data), close=closed)
        elif closed:
            time.sleep(0.1)
        shell.vm.alive()
    return shell.rc


def shell_of(host, stdin):
    start = f"cd /; . {ENVIRONMENT}; export PATH PS1"
    if not os.isatty(stdin):
        return feed(stdin, host.spawn(f"{start}; exec sh 2>&1", stdin=True, echo=show))
    columns, lines = os.get_terminal_size(stdin)
    inner = f"stty cols {columns} rows {lines}; exec bash --norc"
    text = f"{start} TERM={os.environ.get('TERM', 'linux')}; exec script -qec '{inner}' /dev/null"
    with Terminal(stdin):
        return feed(stdin, host.spawn(text, stdin=True, echo=show))


def play(options):
    print("booting (emulated, no root needed) ... ", end="", flush=True)
    with vm.VM("lab", kernel=options.kernel, mem=1024, smp=2, logdir=vm.LOGS / "lab") as host:
        host.start()
        host.ready().load("ours")
        cluster_up(host)
        print("done: host1 to host3 are 10.9.0.1 to .3 and fd00:9::1 to ::3\n"
              "  host1 rds-ping -c 3 10.9.0.2\n  host1 rdsctl show\n"
              f"and what {PAGE.relative_to(TOP)} has; exit ends it", flush=True)
        return shell_of(host, sys.stdin.fileno())


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--kernel", default=os.environ.get("KERNEL"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return play(ap.parse_args(argv))
    except (vm.VMError, vm.SetupError, OSError) as error:
        print(f"\nlab: FAILED: {error}\nlogs: {vm.LOGS / 'lab'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
