# SPDX-License-Identifier: GPL-2.0
"""RDS over InfiniBand (soft-RoCE) in network namespaces other than the first."""
import contextlib
import ipaddress

from ib_traffic import LOAD, STEADY, queue_pairs
from netns_pair import IN_X, X, X6, Y, Y6
from suite import test
from traffic import A, B, Flows, counters, exact, goes_on, helper, load_again, ping

IB = "rds_ib_everywhere=Y"
EXTRA = True
KERNELS = ["6.1", "uml", "x86"]
ROUNDS = 3
REMOTE_ERROR = 1  # RDS_RDMA_*

# The namespace x has an interface that stands on the adapter's. Soft-RoCE itself knows the first
# namespace only, and looks there for its way, by the number of x' interface: so there is another one,
# with this number and the same addresses and VLAN, by which its packets go. The two do not disturb each
# other, for their tags are of different kinds. The host called is the one that had the address
# first.
TAG = "type vlan protocol 802.1ad id 7"
RAIL = """
rail() {{ ip netns add x && ip link add link eth0 name rail index 77 netns x {tag} &&
ip link add link eth0 name way index 77 type vlan id 7 && ip -n x link set lo up &&
address rail "-n x" "rail rail" && address way "" "rail rail way way"; }}
address() {{ ip $2 addr add {v4}/24 dev $1 && ip $2 addr add {v6}/64 dev $1 nodad &&
ip $2 link set $1 up && until [ "$(whose)" = "$3" ]; do sleep 0.1; done; }}
whose() {{ grep -lx -e {gid4} -e {gid6} gids/? gids/1? | while read g; do
cat gid_attrs/ndevs/${{g#*/}}; done | xargs; }}
cd /sys/class/infiniband/rxe0/ports/1 && rail
"""


def gid(addr):
    """As the adapter shows it."""
    return ipaddress.ip_address(addr if ":" in addr else f"::ffff:{addr}").exploded


def add_rail(machine):
    v4, v6 = (X, X6) if machine.name == "a" else (Y, Y6)
    machine.check(RAIL.format(tag=TAG, v4=v4, v6=v6, gid4=gid(v4), gid6=gid(v6)))


def del_rail(machine):
    """Returns when the namespace is gone, and has taken its interface along."""
    machine.run("ip netns del x")
    machine.check("ip link del way")
    machine.wait_until(f"ip link add link eth0 name rail {TAG} && ip link del rail")


@contextlib.contextmanager
def rails(t):
    for machine in (t.a, t.b):
        add_rail(machine)
    yield
    for machine in (t.a, t.b):
        del_rail(machine)


def hold(t, machine):
    """A program full of traffic to the other host, until it is killed. Calls that come when x is gone
    are not for the first namespace, though it has the addresses."""
    machine.check("echo 0 >/proc/sys/net/rds/max_passive_connections")
    me, peer = (X, Y) if machine is t.a else (Y, X)
    holder = machine.spawn(f"exec {IN_X} nice -n 15 {t.prog('rds_hold')} --bind {me} --count 3"
                           f" --to {peer} --traffic", stdin=True)
    holder.wait_output("^ready$")
    return holder


def kill(holder):
    holder.kill()
    holder.wait()


def progress(t, machine):
    """Until something has come that was sent after we asked."""
    before = counters(t, machine, IN_X)["recv_delivered"]
    machine.wait_until(f"[ $({IN_X} {t.tool('rds-info')} -c | sed -n 's/.* recv_delivered *//p')"
                       f" -gt {before + 20} ]")


@test(vms=2, only="ours")
def among_themselves(t):
    """Pings and exact flows in a namespace, both families; the first one's goes on beside it."""
    with rails(t):
        sinks = [t.b.spawn(f"{IN_X} {helper('rds_sink.py')} {addr}", stdin=True)
                 for addr in (Y, Y6)]
        for sink in sinks:
            sink.wait_output("^ready$")
        for source, target in ((X, Y), (X6, Y6)):
            ping(t, t.a, source, target, prefix=IN_X)
        ping(t, t.a, A, B)
        found = [(c["local_addr"], c["remote_addr"]) for c in queue_pairs(t, t.b)]
        assert found == [(B, A)], found
        for sink in sinks:
            sink.write("", close=True)
            sink.check()
        for ends in ((t.a, X, t.b, Y), (t.b, Y6, t.a, X6)):
            flow = Flows(t, *ends, "--flows 16 --max-payload 8192", messages=12,
                         prefixes=(IN_X, IN_X))
            t.note(exact(flow.result()))


@test(vms=2, only="ours", timeout=400)
def it_ends_under_load(t):
    """One host's goes under traffic, by name or by program first, then the other's."""
    for by_name, order in ((True, (t.b, t.a)), (False, (t.a, t.b))):
        for machine in order:
            add_rail(machine)
        holders = {machine: hold(t, machine) for machine in order}
        for machine in order:
            progress(t, machine)
        for machine in order:
            if by_name:
                machine.check("ip netns del x")
            kill(holders[machine])
            del_rail(machine)


@test(vms=2, only="ours", timeout=400)
def a_program_comes_back(t):
    """Its namespace has neither listener nor connection in between; what is sent then is not lost."""
    with rails(t):
        flow = Flows(t, t.a, X, t.b, Y, LOAD, send_options=STEADY, prefixes=(IN_X, IN_X))
        for again in range(ROUNDS):
            if again:
                flow.receive("--from-first")
            flow.wait_progress()
            flow.sink.kill()
            flow.sink.wait()
            t.b.wait_until(f"! {IN_X} ss -Htln 'sport = :4100' | grep -q .")
        t.note(goes_on(flow))


@test(vms=2, only="ours", timeout=400)
def modules_go_under_load(t):
    """rmmod is refused while sockets are open; a namespace that is there is served again."""
    with rails(t):
        for _ in range(ROUNDS - 1):
            holders = [hold(t, machine) for machine in (t.a, t.b)]
            progress(t, t.b)
            rc, said = t.b.run("rmmod rds_rdma")
            assert rc and "in use" in said, f"{rc} {said}"
            for holder in holders:
                kill(holder)
            for machine in (t.b, t.a):
                machine.unload()
                load_again(t, machine)
        with_sink = hold(t, t.b)
        ping(t, t.a, X, Y, prefix=IN_X)
        kill(with_sink)


@test(vms=2, only="ours")
def keys_are_its_own(t):
    """A key to memory of a namespace's program is good for its peers, not for the first one's."""
    with rails(t):
        owner = t.b.spawn(f"{IN_X} {helper('rds_keys.py')} own {Y}", stdin=True)
        cookie = owner.wait_output("^cookie (.*)$")[1]
        for prefix, me, peer, status in (("", A, B, REMOTE_ERROR), (IN_X, X, Y, 0)):
            said = t.a.check(f"{prefix} {helper('rds_keys.py')} use {me} {peer} {cookie}",
                             t.seconds(60))
            assert said.strip() == f"status {status}", f"{peer}: {said}"
        owner.write("", close=True)
        assert "is 7" in owner.check()
