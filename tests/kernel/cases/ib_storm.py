# SPDX-License-Identifier: GPL-2.0
"""Hundreds of connections over InfiniBand, all of which break at once and are to be back at once."""
import json
import re

import filters
from suite import test
from traffic import B, counters, helper

SMP = 2
MEM = 1024
IB = True
EXTRA = True
KERNELS = ["6.1", "6.12", "7.2"]

HOSTS = 250  # the kernel names a GID by 8 bits where it sends a datagram (ib_global_route.sgid_index)
# One of management's datagrams in five is lost.
LOSSY = "udp dport 4791 @th,64,8 0x64 numgen random mod 5 0 counter drop"
REQUESTS = "udp dport 4791 @th,64,8 0x64 @th,352,16 0x10 counter accept"
SMALL = "cd /proc/sys/net/rds/ib && echo 64 >max_send_wr && echo 32 >max_recv_wr"


def requests(machine):
    return int(re.search(r"packets (\d+)", machine.check("nft list table inet counted"))[1])


@test(vms=2, only="ours", timeout=400)
def all_are_back(t):
    """250 hosts send, the link is dead until every connection is given up, and comes back, on which a
    fifth of rdma_cm's datagrams is lost: each message comes once, in order; the time that it took."""
    for machine in t.vms:
        machine.check(SMALL)
    t.a.check(f"for i in $(seq 0 {HOSTS - 1}); do echo addr add 10.8.$((i / 250)).$((i % 250 + 1))/32"
              " dev eth0; done | ip -batch -")
    t.b.check("ip route add 10.8.0.0/16 dev eth0")
    with filters.ready(t.a, t.b):
        t.b.check(f"nft 'add table inet counted; add chain inet counted in {filters.CHAIN};"
                  f" add rule inet counted in {REQUESTS}'")
        there = t.b.spawn(f"{helper('rds_storm.py')} receive {HOSTS} {B}", stdin=True)
        there.wait_output("^ready$")
        here = t.a.spawn(f"{helper('rds_storm.py')} send {HOSTS} {B}", stdin=True)
        there.wait_output("^all (.*)$", t.seconds(100))
        with filters.incoming(t.a, "udp dport 4791 drop"), filters.incoming(t.b, "udp dport 4791 drop"):
            t.a.wait_until(f"[ $({t.tool('rds-info')} -c | awk '$1 == \"conn_reset\" {{ print $2 }}')"
                           f" -ge {HOSTS} ]", t.seconds(100))
        asked = requests(t.b)
        with filters.incoming(t.b, LOSSY):
            there.write("mark\n")
            for machine in t.vms:
                machine.check("ip link set eth0 dynamic on")  # its port is active, says soft-RoCE
            there.wait_output("^all .*\n(.|\n)*^all (.*)$", t.seconds(100))
        asked = requests(t.b) - asked
        here.write("\n")
        sent = json.loads(here.wait_output("^{.*}$")[0])
        t.a.wait_until(f"! {t.tool('rds-info')} -st | grep -q ' {B} '", t.seconds(60))
        for command in (here, there):
            command.write("", close=True)
        said = there.check().splitlines()
        here.check()
        t.b.check("nft delete table inet counted")
    found = json.loads(said[-1])
    assert found["came"] == sent and not found["wrong"], f"{found['wrong']} came out of turn"
    p50, p99, last = map(int, said[-2].split()[1:])
    t.note(f"{sum(sent.values())} messages; after the cut p50 {p50} ms, p99 {p99} ms, the last of"
           f" {HOSTS} after {last} ms, by {asked} requests")
    assert counters(t, t.a)["ib_call_renewed"], "each waited for rdma_cm"
    assert asked <= 4 * HOSTS, f"{asked} requests"
    t.a.check("ip addr flush dev eth0 to 10.8.0.0/16")
    t.b.check("ip route del 10.8.0.0/16 dev eth0")
