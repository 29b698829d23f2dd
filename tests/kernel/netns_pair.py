# SPDX-License-Identifier: GPL-2.0
"""Two network namespaces of one guest, x and y, joined by a cable."""

X, Y = "10.8.0.1", "10.8.0.2"
X6, Y6 = "fd00:8::1", "fd00:8::2"
IN_X, IN_Y = "ip netns exec x", "ip netns exec y"
LISTEN = "/proc/sys/net/rds/tcp/listen"

# Batches, because every process takes its time here.
PAIR = f"""
batch() {{ ip -n "$1" -batch - <<EOF
link set lo up
addr add $2/24 dev cable
addr add $3/64 dev cable nodad
link set cable up
EOF
}}
pair() {{ ip -batch - <<EOF && batch x {X} {X6} && batch y {Y} {Y6}
netns add x
netns add y
link add cable netns x type veth peer name cable netns y
EOF
}}
unpair() {{ ip -batch - <<EOF
netns del x
netns del y
EOF
}}
"""



def may_be_called(t, *names):
    """Their administrator wants these namespaces to be called, and pinged, though nobody has a socket
    there. With mainline's modules they always are."""
    t.a.check(f"for n in {' '.join(names)}; do ip netns exec $n sh -c"
              f" '[ ! -e {LISTEN} ] || echo 1 >{LISTEN}' || exit; done")


def pair(t, always=True):
    t.a.check(f"{PAIR} pair")
    if always:
        may_be_called(t, "x", "y")


def unpair(t):
    t.a.check(f"{PAIR} unpair")
