# SPDX-License-Identifier: GPL-2.0
"""Two hosts: ours with ours and with mainline, whoever has the smaller address, IPv4 and IPv6."""
import filters
from suite import test
from traffic import (A, A6, B, B6, Flows, exact, helper, large_buffers, load_again, mebibytes,
                     paths, peers_of, ping, soon, stress)

SMP = 2  # softirq, worker and process of one host at the same time

MIXED = "--flows 16"  # lengths from 0 to 64 KiB
FIRSTS = 50


def pings(t):
    for source, target in ((A, B), (A6, B6)):
        ping(t, t.a, source, target)
        ping(t, t.b, target, source)


def flows(t, messages=12):
    """Mixed sizes both ways, IPv4 and IPv6; exactly once and in order. Our ends wait without a time
    limit: in poll(), or with IPv6 a thread for each flow in sendmsg()."""
    for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A), (t.a, A6, t.b, B6), (t.b, B6, t.a, A6)):
        blocking = "--blocking" if ":" in ends[1] and ends[0].modules == "ours" else ""
        exact(Flows(t, *ends, MIXED, messages=messages, send_options=blocking).result())
    t.note(f"4 times {16 * messages} messages, each exactly once and in order")


def together(t):
    pings(t)
    flows(t)


@test(vms=2, timeout=180)
def ours_with_ours(t):
    """Ours and ours: pings and exact flows of mixed sizes, both ways, both families."""
    together(t)
    assert peers_of(t, t.a) == peers_of(t, t.b) == {"pf-rds"}


@test(vms=2, modules=("ours", "mainline"), timeout=180)
def ours_is_the_smaller(t):
    """The same with mainline's modules on the host with the larger address; ours tells which it is."""
    together(t)
    assert peers_of(t, t.a) == {"other"}
    assert not t.a.check(f"{t.tool('rdsctl')} path ack-us +1"), "mainline's sends none over TCP"


@test(vms=2, modules=("mainline", "ours"), timeout=180, extra=True)
def mainline_is_the_smaller(t):
    """The same with mainline's modules on the host with the smaller address."""
    together(t)


@test(vms=2, extra=True)
def a_mebibyte(t):
    """Messages of up to exactly 1 MiB, as flows and in rds-stress."""
    mebibytes(t)


def bulk(t):
    with large_buffers(t):
        for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A)):
            t.note(exact(Flows(t, *ends, "--flows 4 --max-payload 524288", messages=16).result()))


@test(vms=2, modules=("ours", "mainline"), extra=True)
def bulk_with_mainline_larger(t):
    """Messages of up to 512 KiB both ways, mainline has the larger address."""
    bulk(t)


@test(vms=2, modules=("mainline", "ours"), extra=True)
def bulk_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    bulk(t)


@test(vms=2)
def stress_ours(t):
    """rds-stress checks address, port, sequence and payload of everything, IPv4 and IPv6."""
    for active, passive, target in ((t.a, t.b, B), (t.b, t.a, A6)):
        seen = stress(t, active, passive, target, "-T 2 -t 2 -d 4 -q 8k -a 256")
        t.note(f"rds-stress to {target}: {seen} messages verified")


@test(vms=2, modules=("none", "ours"), only="ours")
def one_path_is_offered(t):
    """A peer that offers eight paths is told one; a ping is answered."""
    said = t.a.check(f"{t.prog('rds_peer')} --connect {B} --frame map_zero --frame probe8"
                     " --expect NPATHS=1")
    answers = [line for line in said.splitlines() if '"NPATHS":' in line
               and "CAP_BITS" not in line]  # hello is for those who know it
    assert answers and all('"NPATHS":1' in line for line in answers), said


def add_addresses(machine, net):
    """Addresses that have never met: a pair of them is a connection that never was."""
    lines = "".join(f"addr add 10.9.{net}.{i}/16 dev eth0\n"
                    f"addr add fd00:a::{net}:{i:x}/64 dev eth0\n"
                    for i in range(1, 1 + 3 * FIRSTS))
    machine.check(f"ip -batch - <<'EOF'\n{lines}EOF")


def remove_addresses(machine, net):
    machine.check(f"ip addr flush dev eth0 to 10.9.{net}.0/24 &&"
                  " ip addr flush dev eth0 to fd00:a::/64")


def first_contacts(t, starts, at, family=4, flags=""):
    """FIRSTS cold connections, the hosts named in `starts` send first."""
    first = {4: "10.9.{}.{}", 6: "fd00:a::{}:{:x}"}[family]
    ends = {name: first.format(net, at) for name, net in (("a", 1), ("b", 2))}
    role = "burst" if len(starts) == 2 else "ask"
    running = {}
    for name in "ab":
        me, peer = ends[name], ends["b" if name == "a" else "a"]
        machine = t.a if name == "a" else t.b
        running[name] = machine.spawn(
            f"{helper('rds_first.py')} {role if name in starts else 'answer'} {me} {peer} {FIRSTS}"
            f" {flags}", stdin=True)
    for one in running.values():
        one.wait_output("^ready$")
    for one in running.values():
        one.write("go\n")
    slowest = []
    for name in starts:
        said = running[name].wait_output(r"^answered (\d+) of .* (\d+) ms, missing (.*)$", 60)
        assert int(said[1]) == FIRSTS, f"{starts} first, {flags or 'blocking'}: {said[0]}"
        slowest.append(int(said[2]))
    for one in running.values():
        one.write("", close=True)
        one.check()
    return max(slowest)


@test(vms=2, only="ours", timeout=300)
def first_contact(t):
    """50 cold connections for each: blocking, non-blocking, either host first, both at once."""
    add_addresses(t.a, 1)
    add_addresses(t.b, 2)
    rounds = (("a", 4, ""), ("b", 4, "dontwait"), ("ab", 4, "dontwait"),
              ("a", 6, "dontwait"), ("b", 6, ""), ("ab", 6, ""))
    slow = {}
    for number, (starts, family, flags) in enumerate(rounds):
        at = 1 + number % 3 * FIRSTS
        slow[f"{starts}/{family}"] = first_contacts(t, starts, at, family, flags)
    remove_addresses(t.a, 1)
    remove_addresses(t.b, 2)
    t.note(f"{FIRSTS * len(rounds)} first messages arrived; the slowest answers: "
           + ", ".join(f"{name} {ms} ms" for name, ms in slow.items()))
    # Nobody was away: a first message may have to wait for one call more, as after a cut.
    late = {name: ms for name, ms in slow.items() if ms > 1000 * soon(t)}
    assert not late, f"more than {soon(t)} s to an answer: {late}"


def asked_too_early(t, at, comes):
    """FIRSTS hosts are asked before they can answer; `comes` makes them able to."""
    me, peer = f"10.9.1.{at}", f"10.9.2.{at}"
    asker = t.a.spawn(f"{helper('rds_first.py')} burst {me} {peer} {FIRSTS}", stdin=True)
    asker.wait_output("^ready$")
    asker.write("go\n")
    for _ in range(300):
        if sum(p["attempts"] > 1 for p in paths(t, t.a)) >= FIRSTS:
            break
    else:
        raise AssertionError("nobody calls")
    # A host that is there, but has no such port, would take the messages and drop them.
    with filters.incoming(t.b, "tcp dport 16385 drop"):
        comes()
        answerer = t.b.spawn(f"{helper('rds_first.py')} answer {peer} {me} {FIRSTS}", stdin=True)
        answerer.wait_output("^ready$")
    answerer.write("go\n")
    said = asker.wait_output(r"^answered (\d+) of .* (\d+) ms, missing (.*)$", 60)
    assert int(said[1]) == FIRSTS, said[0]
    for one in (asker, answerer):
        one.write("", close=True)
        one.check()


@test(vms=2, only="ours", extra=True)
def asked_before_it_is_there(t):
    """50 cold connections for each: to a host without the modules, to addresses that come later."""
    add_addresses(t.a, 1)
    add_addresses(t.b, 2)
    t.b.check("modprobe -a nf_tables nft_reject_inet")
    t.b.unload()
    asked_too_early(t, 1, lambda: load_again(t, t.b))
    remove_addresses(t.b, 2)
    asked_too_early(t, 1 + FIRSTS, lambda: add_addresses(t.b, 2))
    remove_addresses(t.a, 1)
    remove_addresses(t.b, 2)
    t.note(f"{2 * FIRSTS} first messages, sent before anybody could hear them, arrived")
