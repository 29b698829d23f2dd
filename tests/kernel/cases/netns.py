# SPDX-License-Identifier: GPL-2.0
"""Network namespaces: each has RDS of its own, and takes it along when it goes."""
import re

from netns_pair import IN_X, IN_Y, LISTEN, X, X6, Y, Y6, may_be_called, pair, unpair
from suite import test
from traffic import PYTHON, Flows, counters, exact, helper, load_again, paths, ping


NEW_GUESTS = True  # it measures memory
PARTS = 2  # of the rounds of exit_under_load
LOOKS = 4  # at memory: the least counts
LOST = 4   # kB: a page in each round, of two namespaces with six sockets and full queues


@test(only="ours")
def same_address_twice(t):
    """Two namespaces bind the same address and port; each gets its own messages only."""
    pair(t)
    t.a.check(f"ip -n y addr add {X}/32 dev lo")
    sinks = [t.a.spawn(f"{prefix} {helper('rds_sink.py')} {X}", stdin=True)
             for prefix in (IN_X, IN_Y)]
    for sink in sinks:
        sink.wait_output("^ready$")
    rc, said = t.a.run(f"{IN_X} {helper('rds_talk.py')} open {X}")
    assert rc and "Errno 98" in said, f"a second bind in the same namespace: {rc} {said}"
    for prefix, sink, length in zip((IN_X, IN_Y), sinks, (3, 7)):
        # Closing drops what has not left yet, so the sender stays until everything arrived.
        sender = t.a.spawn(f"exec {prefix} {t.prog('rds_hold')} --bind {X} --to {X}"
                           f" --messages {length} --length {length}", stdin=True)
        sink.wait_output(rf"ready\n({length}\n){{{length}}}")
        sender.write("", close=True)
        sender.check()
    for sink, length in zip(sinks, (3, 7)):
        sink.write("", close=True)
        assert set(sink.check().split()) == {"ready", str(length)}, sink.output
    unpair(t)


@test(only="ours")
def settings_and_counters(t):
    """A setting made, and a message counted, in one namespace is not seen in another."""
    pair(t)
    t.a.check(f"{IN_X} sh -c 'cd /proc/sys/net/rds && echo 77 >reconnect_min_delay_ms &&"
              " echo 7 >max_unacked_packets && echo 50000 >tcp/rds_tcp_sndbuf'")
    values = ("cat /proc/sys/net/rds/reconnect_min_delay_ms"
              " /proc/sys/net/rds/max_unacked_packets /proc/sys/net/rds/tcp/rds_tcp_sndbuf")
    assert t.a.check(f"{IN_X} {values}").split() == ["77", "7", "50000"]
    assert t.a.check(f"{IN_Y} {values}") == t.a.check(values) != t.a.check(f"{IN_X} {values}")
    ping(t, t.a, X, Y, prefix=IN_X)
    # Each side probes the other when they meet; the three pings were answered by one.
    assert counters(t, t.a, IN_X)["send_pong"] <= 1 < 3 <= counters(t, t.a, IN_Y)["send_pong"]
    assert not any(counters(t, t.a).values()), counters(t, t.a)
    for prefix, mine in ((IN_X, X), (IN_Y, Y)):
        said = t.a.check(f"{prefix} {t.tool('rds-info')} -n")
        assert re.search(rf"^\s*{re.escape(mine)}\s", said, re.M), said
    assert X not in t.a.check(f"{t.tool('rds-info')} -n")
    # Nobody answers pings where it is switched off, and only there.
    t.a.check(f"{IN_Y} sh -c 'echo 0 >/proc/sys/net/rds/ping_enable'")
    rc, said = t.a.run(f"{IN_X} {t.tool('rds-ping')} -c 1 -w 500ms -I {X} {Y}")
    assert rc == 1, said
    ping(t, t.a, Y, X, prefix=IN_Y)
    unpair(t)


# ---- the port ----

IS_OPEN = "ss -Hltn 'sport = :16385' | grep -q ."


def holder(t, prefix, addr):
    """A program with a socket that is bound, until it is let go."""
    program = t.a.spawn(f"exec {prefix} {helper('rds_talk.py')} open {addr}", stdin=True)
    program.wait_output("^open$")
    return program


def let_go(*programs):
    for program in programs:
        program.write("", close=True)
        program.check()


def is_open(t, prefix):
    return t.a.run(f"{prefix} {IS_OPEN}")[0] == 0


@test(only="ours")
def port_is_open_where_it_is_used(t):
    """A namespace has the port open from its first socket that is bound to TCP to its last, and
    always if its administrator says so; the first namespace, unless he says otherwise. Connections
    outlive the listener."""
    pair(t, always=False)
    assert is_open(t, "") and not is_open(t, IN_X) and not is_open(t, IN_Y)
    looped = holder(t, IN_X, "127.0.0.1")
    assert not is_open(t, IN_X), "loopback needs no port"
    first, second = (holder(t, IN_X, addr) for addr in (X, X6))
    assert is_open(t, IN_X) and not is_open(t, IN_Y)
    let_go(first)
    assert is_open(t, IN_X)
    ping(t, t.a, Y, X, count=1, prefix=IN_Y)  # the smaller address has to take its calls
    let_go(second, looped)
    t.a.wait_until(f"! {IN_X} {IS_OPEN}")
    ping(t, t.a, Y, X, count=1, prefix=IN_Y)
    assert not any(p["resets"] for p in paths(t, t.a, IN_X)), "it has gone with the listener"
    chosen = t.a.spawn(f"exec {IN_X} {PYTHON} -c 'import socket\ns = socket.socket(21, 5)\n"
                       "s.setsockopt(276, 8, 2)\nprint(\"open\", flush=True)\ninput()'", stdin=True)
    chosen.wait_output("^open$")
    assert is_open(t, IN_X), "SO_RDS_TRANSPORT chooses TCP, too"
    chosen.kill()
    chosen.wait()
    t.a.wait_until(f"! {IN_X} {IS_OPEN}")
    for prefix, usual in (("", 1), (IN_X, 0)):
        assert t.a.check(f"{prefix} cat {LISTEN}").strip() == str(usual)
        for value in (0, 1, 1, 0, 0, usual):
            t.a.check(f"{prefix} sh -c 'echo {value} >{LISTEN}'")
            assert is_open(t, prefix) == bool(value), (prefix, value)
    unpair(t)


@test(only="ours")
def a_listener_comes_late(t):
    """Messages for a namespace where nobody listens wait for its first socket; and programs that come
    and go as fast as they can find the port open."""
    pair(t, always=False)
    sender = t.a.spawn(f"exec {IN_X} {t.prog('rds_hold')} --bind {X} --to {Y} --messages 3"
                       " --length 5", stdin=True)
    sender.wait_output("^ready$")
    t.a.wait_until(f"{IN_X} grep -q 'connect failed' /proc/net/rds/paths")
    sink = t.a.spawn(f"{IN_Y} {helper('rds_sink.py')} {Y}", stdin=True)
    sink.wait_output(r"ready\n(5\n){3}")
    let_go(sender, sink)
    for _ in range(t.rounds(10)):
        short = holder(t, IN_Y, Y)
        assert is_open(t, IN_Y)
        let_go(short)
    t.note(exact(Flows(t, t.a, X, t.a, Y, "--flows 4", messages=25, prefixes=(IN_X, IN_Y)).result()))
    unpair(t)


# Somebody has the port of a third namespace.
IN_Z, Z = "ip netns exec z", "10.8.7.1"
TAKER = ("exec {} {} -c 'import socket\ns = socket.socket(socket.AF_INET6)\n"
         "s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, {})\n"
         "s.bind((\"::\", 16385))\ns.listen()\nprint(\"taken\", flush=True)\ninput()'")


def taken(t, ns, v6only):
    taker = t.a.spawn(TAKER.format(ns, PYTHON, int(v6only)), stdin=True)
    taker.wait_output("^taken$")
    return taker


@test(modules="none", only="ours")
def port_is_taken(t):
    """A program that listens on the port in one namespace keeps rds_tcp neither from being loaded
    and serving the others, nor from going. The log has it once; when the program ends, that
    namespace is served, too: by the next socket, or after a while."""
    pair(t, always=False)
    t.a.check(f"ip netns add z && ip -n z link set lo up && ip -n z addr add {Z}/32 dev lo")
    for again in (False, True):
        taker = taken(t, IN_Z, v6only=False)
        t.a.unload()
        load_again(t, t.a)
        may_be_called(t, "y")
        ping(t, t.a, X, Y, prefix=IN_X)
        assert counters(t, t.a, IN_Z)["tcp_listen_failed"] == 0, "nobody wants it to listen"
        sockets = [holder(t, IN_Z, Z)]
        # It is tried again after a while.
        assert counters(t, t.a, IN_Z)["tcp_listen_failed"] >= 1
        assert counters(t, t.a, IN_X)["tcp_listen_failed"] == 0
        taker.kill()
        taker.wait()
        if again:
            t.a.check(f"ip -n z addr add {Z}0/32 dev lo")
            sockets.append(holder(t, IN_Z, f"{Z}0"))
            assert is_open(t, IN_Z), "the next socket tries again"
        else:
            t.a.wait_until(f"{IN_Z} {IS_OPEN}")
        let_go(*sockets)
    said = [line for line in t.a.dmesg() if "16385" in line]
    assert len(said) == 2, f"once each time that it was loaded: {said}"
    t.a.check("ip netns del z")
    unpair(t)


@test(modules="none", only="ours")
def port_of_ipv6_is_taken(t):
    """The same of a program that listens for IPv6 alone: IPv4 is served meanwhile, and IPv6 when it
    has ended."""
    pair(t, always=False)
    t.a.unload()
    taker = taken(t, IN_Y, v6only=True)
    load_again(t, t.a)
    held = [holder(t, IN_Y, Y), holder(t, IN_Y, Y6)]
    ping(t, t.a, X, Y, prefix=IN_X)
    assert counters(t, t.a, IN_Y)["tcp_listen_failed"] >= 1
    taker.kill()
    taker.wait()
    t.a.wait_until(f"{IN_X} {t.tool('rds-ping')} -q -c 1 -w 3 -I {X6} {Y6}", 60)
    ping(t, t.a, X, Y, prefix=IN_X)
    let_go(*held)
    assert sum("for IPv6" in line for line in t.a.dmesg()) == 1
    unpair(t)


@test(timeout=180)
def bad_cable(t):
    """Over a cable that loses, corrupts, doubles and delays: exactly once, in order."""
    pair(t)
    for n in "xy":
        t.a.check(f"tc -n {n} qdisc add dev cable root netem loss 2% corrupt 1% duplicate 2%"
                  " delay 2ms 1ms limit 10000")
    for ends in ((X, Y, IN_X, IN_Y), (Y6, X6, IN_Y, IN_X)):
        flows = Flows(t, t.a, ends[0], t.a, ends[1], "--flows 16 --max-payload 8192",
                      messages=25, prefixes=ends[2:])
        t.note(exact(flows.result()))
    said = "".join(t.a.check(f"tc -n {n} -s qdisc show dev cable") for n in "xy")
    assert sum(map(int, re.findall(r"dropped (\d+)", said))) > 0, said
    unpair(t)


def loaded_pair(t):
    """Two namespaces full of traffic between them, over TCP and over loopback."""
    pair(t)
    holders = [t.a.spawn(f"exec {prefix} {t.prog('rds_hold')} --bind {me} --bind 127.0.0.1"
                         f" --count 3 --to {peer} --traffic", stdin=True)
               for prefix, me, peer in ((IN_X, X, Y), (IN_Y, Y, X))]
    for holder in holders:
        holder.wait_output("^ready$")
    return holders


def kill(holders):
    for holder in holders:
        holder.kill()
    for holder in holders:
        holder.wait()


def kept(t):
    """The objects that the kernel still keeps: namespaces, sockets, references of our modules; and
    memory."""
    said = t.a.check("cd /sys; grep . kernel/slab/net_namespace/objects module/rds*/refcnt;"
                     " cat /proc/net/sockstat /proc/meminfo")

    def number(pattern):
        return int(re.search(pattern, said, re.M)[1])
    things = {"namespaces": number(r"net_namespace/objects:(\d+)"),
              "sockets": number(r"^sockets: used (\d+)"),
              "TCP sockets": number(r"^TCP: .* alloc (\d+)")}
    for module, count in re.findall(r"^module/(\w+)/refcnt:(\d+)", said, re.M):
        things[f"references of {module}"] = int(count)
    memory = sum(number(rf"^{field}: *(\d+)") for field in ("SUnreclaim", "Percpu", "KernelStack"))
    return things, memory


def memory_of_few_slabs(t):
    """Slabs with few objects left, or none, are no loss, nor is what a grace period still keeps."""
    t.a.check("sleep 0.1; for f in /sys/kernel/slab/*/shrink; do echo 1 >$f; done")
    return kept(t)[1]


def settled(t, before):
    """Waits until nothing more is kept than before; namespaces die in the background."""
    # The slab counts the free objects that a CPU has at hand: a few more are none of ours.
    room = {"namespaces": 8}
    for _ in range(200):
        things, _ = kept(t)
        more = {name: f"{before[name]} before, {count} now" for name, count in things.items()
                if count > before[name] + room.get(name, 0)}
        if not more:
            return min(memory_of_few_slabs(t) for _ in range(LOOKS))
        t.a.check("sleep 0.1")
    raise AssertionError(f"still kept: {more}")


@test(timeout=600, extra=True)
def exit_under_load(t):
    """Often two namespaces go under traffic, by name or by process first: nothing is kept."""
    def one_round(number):
        holders = loaded_pair(t)
        if number % 2:
            unpair(t)
            kill(holders)
        else:
            kill(holders)
            unpair(t)
    before, _ = kept(t)
    for number in range(4):
        one_round(number)
    rounds, sizes = max(1, t.rounds(20) // PARTS), [settled(t, before)]
    for _ in range(PARTS):
        for number in range(rounds):
            one_round(number)
        sizes.append(settled(t, before))
    grown = [after - size for size, after in zip(sizes, sizes[1:])]
    t.note(f"kernel memory after each {rounds} rounds: {', '.join(f'{n:+d}' for n in grown)} kB")
    # Memory set aside comes once, lost memory in every part. A debug kernel keeps freed memory for
    # a while, and kmemleak tells of lost memory.
    assert t.a.kernel.debug or min(grown) < LOST * rounds, f"kernel memory grew by {grown} kB"


@test(timeout=600)
def rmmod_under_load(t):
    """The modules go while two namespaces have connections and full queues, and come again."""
    for number in range(t.rounds(4)):
        holders = loaded_pair(t)
        rc, said = t.a.run("rmmod rds_tcp")
        assert rc and "in use" in said, f"{rc} {said}"
        kill(holders)
        t.a.unload()
        if number % 2:  # namespaces that were there before the modules are served, too
            load_again(t, t.a)
            may_be_called(t, "y")
            ping(t, t.a, X, Y, prefix=IN_X)
            unpair(t)
        else:
            unpair(t)
            load_again(t, t.a)
