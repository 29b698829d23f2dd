# SPDX-License-Identifier: GPL-2.0
"""The TCP transport's own part: who connects, its settings, link-local addresses, strangers at
its port."""
import re
import time

from netns_pair import IN_X, IN_Y, X, X6, Y, Y6, pair, unpair
from suite import test
from traffic import (PYTHON, A, A6, B, B6, Flows, counters, exact, helper, load_again, no_rdma, paths,
                     ping, wait_counter)

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
        told = machine.check(f"{t.tool('rds-info')} -T")
        assert all(end.rpartition(":")[0] in told for end in ends[0]), told
        assert counters(t, machine)["tcp_data_ready_calls"] > 0
    # Another one every 0.5 s (kKnockPauseNs) in which a slow host has not called back.
    sent, refused = counters(t, t.b)["tcp_knock_sent"], counters(t, t.a)["tcp_knock_refused"]
    assert 1 <= sent == refused <= 3, (sent, refused)


@test(vms=2, only="ours")
def a_listener_that_is_killed(t):
    """`ss -K` of the listener: there is another at once, and a host that never called may."""
    assert ":16385" in t.b.check("ss -HKltn 'sport = :16385'")
    t.b.wait_until("ss -Hltn 'sport = :16385' | grep -q .")
    ping(t, t.a, A, B)


def established(machine, how=""):
    """The lines of ss on the established connections of RDS."""
    return f"ss -Hntie{how} state established {RDS_TCP}"


@test(vms=2)
def rdma_is_refused(t):
    """rds-stress -D says that TCP has no RDMA."""
    no_rdma(t, t.a, t.b, B)


@test(vms=2, only="ours", extra=True)
def buffer_sizes(t):
    """A size that is written holds at once, for the connection that there is, and loses nothing."""
    t.b.check(f"echo 9000 >{SETTINGS}rcvbuf")  # accepts, so its window begins small
    flows = Flows(t, t.a, A, t.b, B, "--flows 16 --max-payload 8192",
                  send_options="--rate 300")
    flows.wait_progress()
    before = connections(t.a)
    for size, machine, name in ((20000, t.a, "snd"), (200000, t.b, "rcv"), (9000, t.b, "snd"),
                                (50000, t.a, "rcv"), (9000, t.a, "snd"), (100000, t.a, "snd")):
        machine.check(f"echo {size} >{SETTINGS}{name}buf")
        machine.check(f"{established(machine, 'm')} | grep -q '{name[0].replace('s', 't')}b{size},'")
        flows.wait_progress()
    # The window follows the buffer, as the other host sees it.
    t.a.wait_until(f"{established(t.a)} | grep -qE 'snd_wnd:[5-9][0-9]{{4}}|snd_wnd:[0-9]{{6}}'")
    for machine in (t.a, t.b):
        machine.check(f"cd {SETTINGS[:-8]}; echo 0 >rds_tcp_sndbuf; echo 0 >rds_tcp_rcvbuf")
    flows.wait_progress()
    # Others may have come: a small buffer is often full.
    assert set(before) <= set(connections(t.a)), f"{before} before, {connections(t.a)} now"
    t.note(exact(flows.stop()))
    for machine in (t.a, t.b):
        for name in ("snd", "rcv"):
            assert machine.run(f"echo 1000 >{SETTINGS}{name}buf")[0], "below the minimum"
            assert machine.check(f"cat {SETTINGS}{name}buf") == "0\n"


@test(vms=2, only="ours", extra=True)
def window_beyond_its_scale(t):
    """A receive buffer that needs another window scale makes the connection new, in order."""
    flows = Flows(t, t.a, A, t.b, B, "--flows 16 --max-payload 8192",
                  send_options="--rate 300")
    for machine in (t.a, t.b):
        for size in (1 << 29, 1 << 28):
            flows.wait_progress()
            before = connections(t.a)
            machine.check(f"echo {size} >{SETTINGS}rcvbuf")
            machine.wait_until(f"{established(machine, 'm')} | grep -q 'rb{size},'")
            flows.wait_progress()
            kept = set(before) <= set(connections(t.a))
            assert kept == (size == 1 << 28), f"{size}: {before}"
        # B calls, when it has something to say before A does, and is called back.
        said = paths(t, machine)[0]["last_reason"]
        assert said == "admin" or (said == "knocked" and machine is t.b), paths(t, machine)
    t.note(exact(flows.stop()))
    for machine in (t.a, t.b):
        assert counters(t, machine)["conn_drain_timeout"] == 0


@test(only="ours", extra=True)
def settings_of_connections(t):
    """DSCP and congestion control: IPv4 and IPv6, callers and called, open ones and new ones."""
    pair(t)
    for mine, peer in ((X, Y), (X6, Y6)):
        ping(t, t.a, mine, peer, prefix=IN_X)

    def shown(algorithm, tos):
        for prefix in (IN_X, IN_Y):
            out = t.a.check(f"{prefix} {established(t.a, ' --tos')}")
            assert out.count(f" {algorithm} ") == out.count("16385") == 2, out
            marks = re.findall(r"(tos|tclass):(\w+)", out)
            assert len(marks) >= 3 and all(int(mark, 16) == tos for _, mark in marks), out

    def write(name, value):
        for prefix in (IN_X, IN_Y):
            t.a.check(f"{prefix} sh -c 'echo {value} >{SETTINGS}{name}'")

    shown("cubic", 0)
    write("dscp", 46)
    write("congestion_control", "reno")
    shown("reno", 46 << 2)
    t.a.check(f"{IN_X} ss -HtnK {RDS_TCP}")
    for mine, peer in ((X, Y), (X6, Y6)):
        ping(t, t.a, mine, peer, prefix=IN_X)
    shown("reno", 46 << 2)
    # No name is the namespace's choice, for new connections; the open ones keep what they have.
    write("congestion_control", "")
    write("dscp", 0)
    shown("reno", 0)
    t.a.check(f"{IN_X} ss -HtnK {RDS_TCP}")
    for mine, peer in ((X, Y), (X6, Y6)):
        ping(t, t.a, mine, peer, prefix=IN_X)
    shown("cubic", 0)
    for value in ("nonesuch", "a-name-that-is-much-too-long"):
        rc, said = t.a.run(f"{IN_X} {PYTHON} -c 'open(\"{SETTINGS}congestion_control\", \"wb\", 0)"
                           f".write(b\"{value}\")'")
        assert rc and "[Errno 2]" in said, said
    # The other namespaces have their own.
    assert t.a.check(f"cat {SETTINGS}dscp {SETTINGS}congestion_control") == "0\n\n"
    unpair(t)


@test(only="ours", extra=True)
def dead_peer(t):
    """While data waits a peer that is silent is given up after rds_tcp_user_timeout_ms."""
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    t.a.check(f"{IN_X} sh -c 'echo 2000 >{SETTINGS}user_timeout_ms'")
    for end in "xy":
        t.a.check(f"tc -n {end} qdisc add dev cable root netem loss 100%")
    holder = t.a.spawn(f"exec {IN_X} {t.prog('rds_hold')} --bind {X} --to {Y}", stdin=True)
    holder.wait_output("^ready$")
    t.a.wait_until(f"{IN_X} grep -E ' 1 error$' /proc/net/rds/paths")
    # It was not the other one's doing, whose time is longer and who has nothing to say.
    assert paths(t, t.a, IN_Y)[0]["resets"] == 0
    for end in "xy":
        t.a.check(f"tc -n {end} qdisc del dev cable root")
    t.a.wait_until(f"{IN_X} grep -E ' up ' /proc/net/rds/paths")
    holder.kill()
    holder.wait()
    unpair(t)


@test(vms=2, only="ours", extra=True)
def zero_copy(t):
    """Messages are a program's own pages, wherever in them they begin and end, on their way to the
    other host; who reads on this host gets a copy, for the pages may change.  TCP tells of its
    acknowledgements: lent pages are given back by them."""
    before = counters(t, t.a)["tcp_write_space_calls"]
    for taker, addr in ((t.b, B), (t.a, A)):
        taking = taker.spawn(f"{helper('rds_zerocopy.py')} take {addr}")
        taking.wait_output("^ready$")
        sending = t.a.spawn(f"{helper('rds_zerocopy.py')} send {A} {addr}", stdin=True)
        sending.wait_output("^sent$")
        taken = taking.check().splitlines()[1:]
        sending.write("", close=True)
        assert taken == sending.check().splitlines()[:-1], f"{addr}: {sending.output}\n{taken}"
    assert counters(t, t.a)["tcp_write_space_calls"] > before


@test(only="ours")
def memory_that_was_given_back(t):
    """Between two namespaces of one host no network card copies: what a program writes to memory that
    is its own again is in no message that lies unread on the other side."""
    pair(t)
    keeping = t.a.spawn(f"exec {IN_Y} {helper('rds_zerocopy.py')} keep {Y}", stdin=True)
    keeping.wait_output("^ready$")
    sending = t.a.spawn(f"exec {IN_X} {helper('rds_zerocopy.py')} reuse {X} {Y}", stdin=True)
    sending.wait_output("^sent$")
    keeping.write("\n")
    kept = keeping.check().splitlines()[1:]
    sending.write("", close=True)
    sent = sending.check().splitlines()[:-1]
    assert len(kept) == len(sent), f"{len(kept)} of {len(sent)}"
    changed = [f"{n}: {one}" for n, (one, other) in enumerate(zip(sent, kept)) if one != other]
    assert not changed, changed
    unpair(t)


# Takes a connection and never reads.
DEAF = f"{PYTHON} -c 'import socket\ns = socket.socket()\n" + (
    f"s.bind((\"{B}\", 16385))\ns.listen()\nc = s.accept()\nprint(\"accepted\", flush=True)\n"
    "input()'")


@test(vms=2, modules=("ours", "none"), only="ours", extra=True)
def full_peer_is_alive(t):
    """A peer that says again and again that it has no room is not given up."""
    t.a.check(f"echo 2000 >{SETTINGS}user_timeout_ms")
    deaf = t.b.spawn(DEAF, stdin=True)
    t.b.wait_until("ss -Hltn 'sport = :16385' | grep -q .")
    holder = t.a.spawn(f"exec {t.prog('rds_hold')} --bind {A} --to {B} --count 4"
                       " --messages 90", stdin=True)
    holder.wait_output("^ready$")
    deaf.wait_output("^accepted$")
    # Probes come after 0.2, 0.4, ... s: without an answer the fifth would have been too late.
    t.a.wait_until(f"{established(t.a)} | grep -q 'backoff:[5-9]'")
    path, = paths(t, t.a)
    assert path["resets"] == 0 and path["attempts"] == 1, path
    for one in (holder, deaf):
        one.kill()
        one.wait()


@test(vms=2, modules=("ours", "none"), only="ours")
def full_peer_that_tells_is_alive(t):
    """The same of one that acknowledges by itself, so that TCP's acks are not heard of otherwise."""
    t.a.check(f"echo 2000 >{SETTINGS}user_timeout_ms")
    deaf = t.b.spawn(f"{helper('rds_deaf.py')} {B} 1000", stdin=True)
    t.b.wait_until("ss -Hltn 'sport = :16385' | grep -q .")
    hold = f"exec {t.prog('rds_hold')} --bind {A} --to {B} --messages"
    holders = [t.a.spawn(f"{hold} 1", stdin=True)]
    deaf.wait_output("^heard$")
    t.a.wait_until(f"! {established(t.a)} | grep -q unacked:")
    holders.append(t.a.spawn(f"{hold} 20", stdin=True))
    t.a.wait_until(f"{established(t.a)} | grep -q 'backoff:[5-9]'")
    path, = paths(t, t.a)
    assert path["resets"] == 0 and path["attempts"] == 1, path
    for one in (*holders, deaf):
        one.kill()
        one.wait()


READ, ALL = 500, 600  # messages of 1000 bytes: more than a socket may have under way; and in all


@test(vms=2, modules=("ours", "none"), only="ours", extra=True)
def its_tcp_acknowledges(t):
    """Of a peer that never says what it got, as mainline's, TCP's word counts: there is room again;
    and when a connection ends, what that had is not sent again, and everything else is."""
    peer = t.b.spawn(f"{helper('rds_plain.py')} peer {B} {READ} {ALL}", stdin=True)
    peer.wait_output("^ready$")
    sender = t.a.spawn(f"{helper('rds_plain.py')} send {A} {B} {ALL}", stdin=True)
    peer.wait_output("^read$")
    sender.wait_output("^sent$")
    t.a.wait_until(f"{established(t.a, 'o')} | grep -q 'timer:(persist'")  # all else is acknowledged
    peer.write("\n")
    peer.wait_output("^again ")
    whole, = re.search(r"^whole (\d+)$", peer.output, re.M).groups()
    first, last = re.search(r"^again (\d+) (\d+)$", peer.output, re.M).groups()
    assert READ < int(whole) < ALL and (first, last) == (whole, str(ALL - 1)), peer.output
    for one in (sender, peer):
        one.write("", close=True)
        one.check()


@test(timeout=240, only="ours", extra=True)
def settings_under_load(t):
    """Every setting changes all the time, while connections are killed and namespaces go."""
    values = {"sndbuf": "0 9000 200000", "rcvbuf": "9000 0 200000 500000000", "dscp": "0 8 46",
              "user_timeout_ms": "0 30000 60000", "congestion_control": "reno cubic"}
    loop = "".join(f"for v in {those}; do echo $v >{SETTINGS}{name} || exit; done;"
                   for name, those in values.items())
    for _ in range(2):
        pair(t)
        users = [t.a.spawn(f"exec {prefix} {t.prog('rds_hold')} --bind {me} --count 3"
                           f" --to {peer} --traffic", stdin=True)
                 for prefix, me, peer in ((IN_X, X, Y), (IN_Y, Y, X))]
        for user in users:
            user.wait_output("^ready$")
        users += [t.a.spawn(f"exec nice -n 15 {prefix} sh -c 'while :; do {loop} done'")
                  for prefix in (IN_X, IN_Y)]
        users += [t.a.spawn(f"exec nice -n 19 {IN_X} sh -c 'while :; do"
                            " cat /proc/net/rds/* >/dev/null; done'")]
        for number in range(6):
            t.a.check(f"{(IN_X, IN_Y)[number % 2]} ss -HtnK {RDS_TCP}")
            before = paths(t, t.a, IN_X)[0]["next_rx"]
            t.a.wait_until(f"{IN_X} awk '$8 > {before} {{ ok = 1 }} END {{ exit !ok }}'"
                           " /proc/net/rds/paths")
        unpair(t)  # with everything still running in them
        for user in users:
            user.kill()
        for user in users:
            user.wait()


@test(vms=2)
def link_local(t):
    """Between link-local addresses, whose interface is part of them, and between one and a global
    one, whoever calls."""
    names = [machine.check(LINK_LOCAL).split()[0] + "%eth0" for machine in (t.a, t.b)]
    ping(t, t.a, *names)
    ping(t, t.b, *names[::-1])
    assert len(connections(t.a)) == 1
    ping(t, t.a, names[0], B6)
    ping(t, t.b, B6, names[0])
    ping(t, t.b, names[1], A6)
    assert len(connections(t.a)) == 3


@test(vms=2)
def strangers(t):
    """A program that connects to our port from this host itself is refused at once, and makes
    nothing."""
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


# Eight threads call from a thousand addresses without a pause, for so long at most, and reset each
# connection as soon as it is there.
FLOOD = f"""exec {PYTHON} - <<'END'
import os, socket, struct, threading, time
end = time.monotonic() + float(os.environ["SECONDS"])
def flood(net):
    n = 0
    while time.monotonic() < end:
        n = n % 120 + 1
        s = socket.socket()
        s.settimeout(0.2)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            s.bind((f"10.8.{{net}}.{{n}}", 0))
            s.connect(("{A}", 16385))
        except OSError:
            pass
        s.close()
for net in range(8):
    threading.Thread(target=flood, args=(net,)).start()
print("flooding", flush=True)
END
"""
ENOUGH = 200  # of them are forgotten: the flood has begun
FLOOD_S, SOON = 180, 30  # s; one that has to wait for the strangers' end waits for FLOOD_S


@test(vms=2, modules=("ours", "none"), only="ours", timeout=200)
def flood_of_connects(t):
    """Strangers that connect without a pause keep neither a namespace from being made nor the
    module from going."""
    t.b.check("ip route replace local 10.8.0.0/16 dev eth0")
    t.a.check(f"ip route replace 10.8.0.0/16 via {B}")
    flood = t.b.spawn(f"export SECONDS={t.seconds(FLOOD_S)}; {FLOOD}")
    flood.wait_output("^flooding$")
    for _ in range(2):
        wait_counter(t, t.a, "conn_stranger_gone", ENOUGH, 60)
        # A connection that is just being made holds the module for that moment.
        for command in ("unshare -n true", "until rmmod rds_tcp 2>/dev/null; do sleep 0.02; done"):
            began = time.monotonic()
            t.a.check(command)
            took = time.monotonic() - began
            assert took < t.seconds(SOON), f"{command} took {took:.1f} s"
            t.note(f"{command}: {took:.1f} s")
        t.a.unload()
        load_again(t, t.a)
    assert not flood.done, "the flood has ended by itself"
    flood.kill()
    flood.wait()
    t.a.check("ip route del 10.8.0.0/16")
    t.b.check("ip route del local 10.8.0.0/16 dev eth0")
