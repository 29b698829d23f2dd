# SPDX-License-Identifier: GPL-2.0
"""What only the TCP transport does: who connects, buffer sizes, link-local addresses, strangers at
its port."""
from suite import test
from traffic import A, B, Flows, counters, exact, ping

SMP = 2  # softirq and process of one host at the same time

RDS_TCP = "'( sport = :16385 or dport = :16385 )'"
SETTINGS = "/proc/sys/net/rds/tcp/rds_tcp_"
LINK_LOCAL = "ip -o -6 addr show dev eth0 scope link | sed 's,.*inet6 \\(.*\\)/.*,\\1,'"


def connections(machine):
    """Local and peer address of every established connection of RDS."""
    out = machine.check(f"ss -Htn state established {RDS_TCP}")
    return [tuple(end.replace("[::ffff:", "").replace("]", "") for end in line.split()[2:4])
            for line in out.splitlines()]


@test(vms=2)
def the_smaller_address_calls(t):
    """The larger one speaks first: it knocks, is refused, is called back; one connection is left."""
    ping(t, t.b, B, A)
    ping(t, t.a, A, B)
    for machine, port_of in ((t.a, 1), (t.b, 0)):
        ends = connections(machine)
        assert len(ends) == 1 and ends[0][port_of].endswith(":16385"), ends
    assert counters(t, t.b)["tcp_knock_sent"] == counters(t, t.a)["tcp_knock_refused"] == 1


@test(vms=2)
def buffer_sizes(t):
    """A size that is written makes all connections new; they end in order and lose nothing."""
    flows = Flows(t, t.a, A, t.b, B, "--flows 16 --max-payload 8192",
                  send_options="--rate 300")
    for size, machine, name in ((20000, t.a, "snd"), (30000, t.b, "rcv"), (9000, t.b, "snd"),
                                (50000, t.a, "rcv")):
        flows.wait_progress()
        before = connections(t.a)
        machine.check(f"echo {size} >{SETTINGS}{name}buf")
        machine.wait_until(f"ss -Htnm state established {RDS_TCP} | grep -q"
                           f" '{'t' if name == 'snd' else 'r'}b{size},'")
        assert connections(t.a) != before
    flows.wait_progress()
    t.note(exact(flows.stop()))
    for machine in (t.a, t.b):
        assert counters(t, machine)["conn_drain_timeout"] == 0
        for name in ("snd", "rcv"):
            assert machine.run(f"echo 1000 >{SETTINGS}{name}buf")[0], "below the minimum"


@test(vms=2)
def link_local(t):
    """Between link-local addresses, whose interface is part of them."""
    names = [machine.check(LINK_LOCAL).split()[0] + "%eth0" for machine in (t.a, t.b)]
    ping(t, t.a, *names)
    ping(t, t.b, *names[::-1])
    assert len(connections(t.a)) == 1


@test(vms=2)
def strangers(t):
    """Whoever connects to our port from this host itself is refused at once, and makes nothing."""
    t.a.check("python3 -I -S -c '"
              "import socket\n"
              f"for addr in \"127.0.0.1\", \"{A}\", \"::1\":\n"
              "    try:\n"
              "        s = socket.create_connection((addr, 16385), 20)\n"
              "        assert s.recv(1) == b\"\"\n"
              "    except ConnectionResetError:\n"
              "        pass\n'")
    assert counters(t, t.a)["tcp_accept_refused"] == 3
    assert t.a.check(f"{t.tool('rds-info')} -n").count("tcp") == 0
