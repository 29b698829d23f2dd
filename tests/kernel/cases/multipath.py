# SPDX-License-Identifier: GPL-2.0
"""Several TCP connections between two hosts that both have our modules."""
import re

from suite import test
from traffic import A, B, Flows, counters, exact, from_first, paths, ping, soon

SMP = 2  # workers of several paths at the same time

# Ports are random, and choose the path: so many that none of eight stays without (1 in 3 million).
LOAD = "--flows 128 --max-payload 4096"
STEADY = "--rate 1000 --drain 15"
RDS_TCP = "'( sport = :16385 or dport = :16385 )'"


def connections(machine):
    """(port that called, does it ask whether the peer is alive) of every established one."""
    out = machine.check(f"ss -Htno state established {RDS_TCP}")
    found = []
    for line in out.splitlines():
        ports = re.findall(r":(\d+)(?=\s|$)", line)[:2]
        assert "16385" in ports, line
        ports.remove("16385")
        found.append((int(ports[0]), "timer:(keepalive" in line))
    return sorted(found)


def crowded(t):
    """Flows of the first host that one connection has no room for."""
    t.a.check("sysctl -qw net.rds.tcp.rds_tcp_sndbuf=5000")
    flows = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
    for _ in range(100):
        flows.wait_progress()
        if counters(t, t.a)["conn_fan_out"]:
            return flows
    raise AssertionError("one connection was enough")


def load_with(t, machine, max_paths):
    machine.check(f"{machine.load_command(f'ours:{t.modules_dir}')} max_paths={max_paths}")


def reload_with(t, flows, load):
    """The receiving host gets other modules under traffic, and a new receiver."""
    flows.sink.kill()
    flows.sink.wait()
    flows.receiver.unload()
    load(flows.receiver)
    flows.receive("--from-first")
    flows.wait_progress()


@test(vms=2, only="ours")
def eight_paths(t):
    """Many flows use eight connections; the port says which; one of them is kept alive."""
    flows = crowded(t)
    for _ in range(100):
        flows.wait_progress()
        if sum(p["state"] == "up" and p["next_tx"] > 10 for p in paths(t, t.a)) == 8:
            break
    t.note(exact(flows.stop()))
    for machine in (t.a, t.b):
        found = connections(machine)
        assert sorted(port % 8 for port, _ in found) == list(range(8)), found
        assert [port % 8 for port, asks in found if asks] == [0], found
    told = paths(t, t.a)
    assert sorted(p["path"] for p in told) == list(range(8)), told
    assert all(p["next_tx"] > 10 for p in told), told
    assert counters(t, t.a)["conn_fan_out"] == 1


@test(vms=2, only="ours", timeout=240, extra=True)
def paths_die_one_by_one(t):
    """Each of the eight connections is killed in mid-stream, at either end: nothing is lost."""
    for machine in (t.a, t.b):
        machine.check("modprobe tcp_diag")
    flows = crowded(t)
    killed = set()
    for turn in range(40):
        flows.wait_progress()
        machine = (t.a, t.b)[turn % 2]
        for port, _ in connections(machine):
            if port % 8 == turn % 8 or len(killed) == 8:
                machine.check(f"ss -HtnK '( sport = :{port} or dport = :{port} )'")
                killed.add(port % 8)
                break
        if turn >= 16 and len(killed) == 8:
            break
    assert len(killed) == 8, killed
    flows.wait_progress()
    t.note(exact(flows.stop(), gap=soon(t)))
    t.note(f"{sum(p['resets'] for p in paths(t, t.a))} resets")


@test(vms=2, only="ours", extra=True)
def fewer_by_parameter(t):
    """max_paths of the one host holds for both: two connections, and with 1 a single one."""
    t.b.unload()
    load_with(t, t.b, 2)
    t.note(exact(crowded(t).stop()))
    assert len(connections(t.b)) == 2, connections(t.b)
    t.b.unload()
    load_with(t, t.b, 1)
    t.note(exact(Flows(t, t.a, A, t.b, B, LOAD, messages=20).result()))
    assert len(connections(t.b)) == 1, connections(t.b)
    assert t.b.check("cat /sys/module/rds_tcp/parameters/max_paths").strip() == "1"


@test(vms=2, only="ours")
def the_peer_comes_back_with_fewer(t):
    """From eight paths to two, to one, to eight, under traffic: all that was accepted arrives, and
    each time `rdsctl monitor` tells which paths are folded."""
    heard = t.a.spawn(f"exec {t.tool('rdsctl')} monitor show event folded")
    heard.wait_output("^Time Path Event$")
    flows = crowded(t)
    for most in (2, 1, 8):
        reload_with(t, flows, lambda machine, most=most: load_with(t, machine, most))
        flows.wait_progress(200)
    t.note(from_first(flows.stop()))
    folds = counters(t, t.a)["conn_fold"]
    assert folds >= 2, folds
    for path in range(1, 8):
        heard.wait_output(f" {A} > {B} tos 0 path {path} tcp  folded$")
    heard.kill()
    heard.wait()
    ping(t, t.b, B, A)


@test(vms=2, only="ours", extra=True)
def the_peer_comes_back_with_mainline(t):
    """The host that had eight paths with us boots mainline's modules: one path, and it goes on."""
    flows = crowded(t)
    reload_with(t, flows, lambda machine: machine.load("mainline"))
    flows.wait_progress(200)
    t.note(from_first(flows.stop()))
    assert len(connections(t.a)) == 1, connections(t.a)
    ping(t, t.b, B, A)
    t.b.check("rmmod rds_tcp rds")
