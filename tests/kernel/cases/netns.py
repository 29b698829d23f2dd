# SPDX-License-Identifier: GPL-2.0
"""Network namespaces: each has RDS of its own, and takes it along when it goes."""
from suite import test
from traffic import helper, ping


@test()
def same_address_twice(t):
    """Two namespaces bind the same address and port, each for itself."""
    t.a.check("for n in x y; do ip netns add $n && ip -n $n link set lo up || exit 1; done")
    holders = [t.a.spawn(f"ip netns exec {n} {helper('rds_talk.py')} open 127.0.0.1", stdin=True)
               for n in "xy"]
    for holder in holders:
        holder.wait_output("^open$")
    for n in "xy":
        ping(t, t.a, "127.0.0.1", "127.0.0.1", prefix=f"ip netns exec {n}")
    for holder in holders:
        holder.write("", close=True)
        holder.check()
    t.a.check("ip netns del x; ip netns del y")
