# SPDX-License-Identifier: GPL-2.0
"""The parts of cases/users.py: where the witness is, what is played, what is there afterwards."""
import contextlib
import json
import os

from hostile import KEPT, seeds  # noqa: F401  (for the cases)
from memcg import GROUP
from traffic import Flows

SEEDS, TURNS = int(os.environ.get("SEEDS") or 2), int(os.environ.get("TURNS") or 1500)
# Freed memory is filled with 0x6b, and so is what is allocated until it is written. Free pages are
# not: that would be another kernel.
POISON = "slub_debug=P"

# The witness of rds_flows, and that of rds_users.
HERE, THERE, IN_W = "10.9.4.1", "10.9.4.2", "ip netns exec w"
OURS, THEIRS = "10.9.4.11", "10.9.4.12"
NETWORK = f"""set -e
ip -batch - <<EOF
netns add w
link add tow type veth peer name cable netns w
addr add {HERE}/24 dev tow
addr add {OURS}/24 dev tow
link set tow up
EOF
ip -n w -batch - <<EOF
link set lo up
addr add {THERE}/24 dev cable
addr add {THEIRS}/24 dev cable
link set cable up
EOF
"""


@contextlib.contextmanager
def network(t):
    t.a.check(NETWORK)
    yield
    t.a.check("ip netns del w")


def play(t, first, count, turns=TURNS, group=None):
    """Users play so many seeds, in a cgroup; what they did. A failure says seed and turn."""
    faults = "" if t.a.kernel.debug else "--no-faults"
    joined = f"echo $$ >{group}/cgroup.procs && exec" if group else "exec"
    command = t.a.spawn(
        f"{joined} {t.prog('rds_users')} --here {OURS} --there {THEIRS} --netns /run/netns/w"
        f" --seed {first} --seeds {count} --turns {turns} --limit {int(t.seconds(20))} {faults}")
    rc, said = command.wait(60 + 0.1 * count * turns)
    assert rc == 0, said.strip()[-1500:]
    return json.loads(said.splitlines()[-1])


def flows(t):
    """Messages between two hosts, both ways, by programs that nobody wants harm."""
    ends = ((HERE, THERE, ("", IN_W), ""),
            (THERE, HERE, (IN_W, ""), " --control 4200 --base-port 5100"))
    return [Flows(t, t.a, here, t.a, there, f"--flows 3 --max-payload 20000{more}",
                  send_options="--rate 30", prefixes=prefixes, timeout=1000)
            for here, there, prefixes, more in ends]


# The third word is how many sockets there are, the fourth how many pages they have. A processor
# tells of pages when it has changed them by a MiB: up to that is told and not there, or the other
# way round (SK_MEMORY_PCPU_RESERVE of net/sock.h). A socket that goes with pages warns (af_rds.c).
COUNTED = ("awk -v n=$(nproc) '$1 == \"RDS\" && ($3 || $4 >= 256 * n || $4 <= -256 * n)"
           " {bad = 1} END {exit bad}' /proc/net/protocols ||"
           " { grep RDS /proc/net/protocols; false; }")
PINNED = ("awk '/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 }"
          " END { print a - r; exit a != r }' /proc/vmstat")


def nothing_is_counted(t):
    """No socket, no page of theirs, no page that is pinned."""
    for what in (COUNTED, PINNED):
        t.a.wait_until(what, 60)


# Bytes of dentries, sockets of other families and the like that a cgroup keeps for a while.
SLAB_SLACK = 1 << 20


def charged(t):
    """Bytes of slabs, once what can be given back is."""
    t.a.check(f"echo 2 >/proc/sys/vm/drop_caches; echo 100M >{GROUP}/memory.reclaim || true")
    return int(t.a.check(f"awk '$1 == \"slab\" {{print $2}}' {GROUP}/memory.stat"))
