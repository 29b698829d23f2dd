# SPDX-License-Identifier: GPL-2.0
"""Faults between two hosts: links, connections, hosts, modules."""
import time

import filters
from judges import MAINLINE_GAP, account, exact, from_mainline, to_mainline
from suite import test
from traffic import (A, B, Flows, counters, goes_on, helper, load_again, modules_go, ping,
                     small_windows, soon)
from vm import VMError

SMP = 2  # softirq, worker and process of one host at the same time

LOAD = "--flows 16 --max-payload 8192"
# A stream that is always there, but leaves an emulated host time for other things.
STEADY = "--rate 1000 --drain 15"
ROUNDS, ROUNDS_BY_HAND = 4, 5
MODULES = "tcp_diag nft_reject_inet"  # slow to load, not to be done under load
RDS_TCP = "'( sport = :16385 or dport = :16385 )'"


@test(vms=2)
def link_goes_down(t):
    """Four times the link is down until TCP has sent again in vain: nothing lost, all in order."""
    t.a.check("modprobe tcp_diag")  # slow, not to be done under load
    flows = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
    away = 0
    for machine in (t.a, t.b) * (ROUNDS // 2):
        flows.wait_progress()
        began = time.monotonic()
        machine.check("ip link set eth0 down")
        t.a.wait_until(f"ss -Hnti state established {RDS_TCP} | grep -q backoff:")
        machine.check("ip link set eth0 up")
        away = max(away, time.monotonic() - began)
    flows.wait_progress()
    # TCP's last pause is about as long as the link was down.
    t.note(exact(flows.stop(), gap=soon(t) + 2 * away))


def kill_sockets(t, machine):
    """Ends RDS' TCP connections from outside, as an administrator would."""
    killed = machine.check(f"ss -HtnK {RDS_TCP}")
    assert killed.strip(), "there was no connection to kill"


def inject_resets(t, machine):
    """Segments of the other host are answered by a RST until the other host has noticed."""
    other = t.b if machine is t.a else t.a
    before = counters(t, other)["conn_reset"]
    with filters.incoming(machine, *(f"tcp {port} 16385 reject with tcp reset"
                                     for port in ("dport", "sport"))):
        for _ in range(300):
            if counters(t, other)["conn_reset"] > before:
                break
        else:
            raise AssertionError("no connection was reset")


def broken_stream(t, cut):
    """Traffic goes on however often its connection is cut; returns the account, and for how long
    nothing may have come."""
    away = 0
    with filters.ready(t.a, t.b, modules=MODULES):
        flows = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
        for machine in (t.a, t.b) * (ROUNDS // 2):
            flows.wait_progress()
            began = time.monotonic()
            cut(t, machine)
            away = max(away, time.monotonic() - began)
        flows.wait_progress()
        return flows.stop(), soon(t) + away


@test(vms=2, only="ours", timeout=240, extra=True)
def killed_over_and_over(t):
    """`ss -K` on both hosts as fast as it goes, ROUNDS times: each message once and in order."""
    wanted = t.rounds(100)
    for machine in (t.a, t.b):
        machine.check("modprobe tcp_diag")
    flows = Flows(t, t.a, A, t.b, B, "--flows 64 --max-payload 2048",
                  send_options="--rate 400 --drain 15",
                  timeout=100 + wanted)
    flows.wait_progress()
    killers = [machine.spawn(f"{helper('rds_kill.py')} {wanted // 2}") for machine in (t.a, t.b)]
    killed = sum(int(one.check(60 + wanted)) for one in killers)
    flows.wait_progress()
    t.note(f"{killed} killed; {exact(flows.stop())}")
    t.note(f"{counters(t, t.a)['send_retransmitted']} messages were sent again")


def beside_mainline(t, cut):
    """The same done to mainline's modules, for the record: it loses, and may even stop."""
    try:
        t.note(f"mainline: {account(broken_stream(t, cut)[0])}")
    except (AssertionError, VMError) as error:
        if "rds_flows" not in str(error) and "the traffic has stopped" not in str(error):
            raise  # a fault of the test
        t.note(f"mainline: {str(error).splitlines()[0]}")


@test(vms=2, only="ours", extra=True)
def sockets_are_killed(t):
    """`ss -K` in mid-stream: it reconnects at once, and each message comes once and in order."""
    found, gap = broken_stream(t, kill_sockets)
    t.note(exact(found, gap=gap))


@test(vms=2, modules="mainline", extra=True)
def sockets_are_killed_mainline(t):
    """The same with mainline's modules on both hosts, to compare the figures."""
    beside_mainline(t, kill_sockets)


@test(vms=2, only="ours")
def resets_are_injected(t):
    """RSTs in mid-stream: it reconnects at once, and each message comes once and in order."""
    found, gap = broken_stream(t, inject_resets)
    t.note(exact(found, gap=gap))
    again = counters(t, t.a)["send_retransmitted"]
    assert again > 0
    t.note(f"{again} messages were sent again")


def ended_by_hand(t):
    """An administrator ends the connections of either host, over and over."""
    for machine, own, other in ((t.a, A, B), (t.b, B, A)) * ROUNDS_BY_HAND:
        machine.check(f"{t.tool('rds-stress')} --reset -r {own} -s {other}")


@test(vms=2, only="ours")
def an_administrator_ends_them(t):
    """RDS_CONN_RESET: who may, which connections, what is refused; and in mid-stream nothing is lost."""
    ping(t, t.a, A, B)
    for what in ("answers", "nobody"):
        t.a.check(f"{helper('rds_reset.py')} {what} {A} {B}")
    rc, said = t.a.run(f"{t.tool('rds-stress')} --reset -r {A} -s {B} -Q 7")
    assert rc == 2 and f"no connection from {A} to {B} of type of service 7" in said, said
    before = counters(t, t.a)["conn_reset"]
    flows = [Flows(t, *ends, LOAD, send_options=STEADY)
             for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A))]
    for flow in flows:
        flow.wait_progress()
        ended_by_hand(t)
        flow.wait_progress()
    for flow in flows:
        t.note(exact(flow.stop()))
    ended = counters(t, t.a)["conn_reset"] - before
    t.note(f"{ended} connections ended at the one host")
    assert ended >= ROUNDS_BY_HAND


@test(vms=2, modules="mainline", extra=True)
def resets_are_injected_mainline(t):
    """The same with mainline's modules on both hosts, to compare the figures."""
    beside_mainline(t, inject_resets)


def both_ways_cut(t, cut):
    """Traffic both ways between ours and mainline while the connection is cut from either side; the
    account of each way, and how many connections ended by it."""
    ours = t.vms[t.test.modules.index("ours")]
    before = counters(t, ours)["conn_reset"]
    with filters.ready(t.a, t.b, modules=MODULES):
        flows = [Flows(t, *ends, LOAD, send_options="--rate 300 --drain 15")
                 for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A))]
        for machine in (t.a, t.b) * (ROUNDS // 2):
            for one in flows:
                one.wait_progress()
            cut(t, machine)
        for one in flows:
            one.wait_progress()
        deaths = max(ROUNDS, counters(t, ours)["conn_reset"] - before)
        return [one.stop() for one in flows], deaths


def with_mainline(t, cut):
    """Each way has its judge: it matters who reads what TCP has acknowledged (docs/wire.md). Where
    sockets are killed we read what our TCP had; since 7.0 mainline reads it, too."""
    with small_windows(t):
        accounts, deaths = both_ways_cut(t, cut)
    mainline = t.vms[t.test.modules.index("mainline")].kernel.version
    unread = deaths if mainline.startswith("6.") else 0
    gap = soon(t, MAINLINE_GAP)
    for found in accounts:
        if found["ends"][0] == "ours":
            t.note(f"to mainline: {to_mainline(found, unread, gap)}")
        else:
            resets = unread if cut is inject_resets else 0
            t.note(f"from mainline: {from_mainline(found, resets, gap)}")


@test(vms=2, modules=("ours", "mainline"), only="ours", timeout=240, extra=True)
def killed_with_mainline_larger(t):
    """`ss -K` on either host, the one with the larger address has mainline's modules."""
    with_mainline(t, kill_sockets)


@test(vms=2, modules=("mainline", "ours"), only="ours", timeout=240)
def killed_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    with_mainline(t, kill_sockets)


@test(vms=2, modules=("ours", "mainline"), only="ours", timeout=240, extra=True)
def reset_with_mainline_larger(t):
    """RSTs on either host, the one with the larger address has mainline's modules."""
    with_mainline(t, inject_resets)


@test(vms=2, modules=("mainline", "ours"), only="ours", timeout=240, extra=True)
def reset_with_mainline_smaller(t):
    """The same, and mainline has the smaller address."""
    with_mainline(t, inject_resets)


@test(vms=2, only="ours", timeout=300)
def peer_is_switched_off(t):
    """One host loses power under traffic and boots again: the flows go on to its new self."""
    flows = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY, timeout=400)
    flows.wait_progress()
    assert not t.b.dmesg_problems()
    t.b.power_cycle()
    load_again(t, t.b)
    t.note(goes_on(flows))


@test(vms=2, only="ours")
def modules_go_under_load(t):
    """rmmod is refused while sockets are open, clean after; the other host finds the new ones."""
    modules_go(t, "rds_tcp", LOAD, STEADY)
