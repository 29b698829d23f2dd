# SPDX-License-Identifier: GPL-2.0
"""Hosts with two adapters, addresses that move between them, and link-local addresses."""
import contextlib

from ib_traffic import LOAD, STEADY, queue_pairs
from suite import test
from traffic import A, A6, B, B6, Flows, exact, ping

IB = True
EXTRA = True
KERNELS = ["6.1", "6.12", "7.2"]

A2, B2 = "10.99.0.1", "10.99.0.2"  # on the second adapters
SECOND = "eth1"


@contextlib.contextmanager
def second_adapters(t):
    """An interface of its own, with an adapter of its own: a tunnel, for what stands on eth0 (VLAN,
    macvlan) is served by the first one, too."""
    for machine, me, peer, addr in ((t.a, A, B, A2), (t.b, B, A, B2)):
        machine.check(f"ip link add {SECOND} type gretap local {me} remote {peer} && "
                      f"ip addr add {addr}/24 dev {SECOND} && ip link set {SECOND} up && "
                      f"rdma link add rxe1 type rxe netdev {SECOND}")
    yield
    for machine in (t.a, t.b):
        machine.check(f"rdma link del rxe1 && ip link del {SECOND}")


@test(vms=2, only="ours", timeout=240)
def two_adapters(t):
    """Each address is served by its own adapter; one goes, and the other's traffic goes on."""
    with second_adapters(t):
        first = Flows(t, t.a, A, t.b, B, LOAD, send_options=STEADY)
        second = Flows(t, t.a, A2, t.b, B2, LOAD, send_options=STEADY)
        for flow in (first, second):
            flow.wait_progress()
        assert {c["local_addr"] for c in queue_pairs(t, t.b)} == {B, B2}
        for machine in (t.a, t.b):
            machine.check("rdma link del rxe1")
            left = {c["local_addr"] for c in queue_pairs(t, machine)}
            assert left == {A if machine is t.a else B}, left
            first.wait_progress()
            machine.check(f"rdma link add rxe1 type rxe netdev {SECOND}")
            second.wait_progress()
        for flow in (first, second):
            t.note(exact(flow.stop()))


@test(vms=2, only="ours", timeout=240)
def addresses_move(t):
    """Addresses go over to the other adapters under traffic, and their old ones are taken away."""
    with second_adapters(t):
        flow = Flows(t, t.a, A2, t.b, B2, LOAD, send_options=STEADY)
        flow.wait_progress()
        for machine, addr in ((t.a, A2), (t.b, B2)):
            machine.check(f"ip addr del {addr}/24 dev {SECOND} && "
                          f"ip addr add {addr}/24 dev eth0 && rdma link del rxe1")
        flow.wait_progress()
        t.note(exact(flow.stop()))
        for machine, addr in ((t.a, A2), (t.b, B2)):
            machine.check(f"rdma link add rxe1 type rxe netdev {SECOND} && "
                          f"ip addr del {addr}/24 dev eth0")


@test(vms=2, only="ours")
def link_local(t):
    """Link-local addresses: the interface belongs to the address, at both ends."""
    addrs = [machine.check("ip -6 -o addr show dev eth0 scope link").split()[3].split("/")[0]
             for machine in (t.a, t.b)]
    here, there = (f"{addr}%eth0" for addr in addrs)
    ping(t, t.a, here, there)
    ping(t, t.b, there, here)
    found = [(c["local_addr"], c["remote_addr"]) for c in queue_pairs(t, t.a, "-a")]
    assert found == [tuple(addrs)], found
    t.note(exact(Flows(t, t.a, here, t.b, there, "--flows 4", messages=12).result()))
    ping(t, t.a, A6, B6)
