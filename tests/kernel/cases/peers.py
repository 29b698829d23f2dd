# SPDX-License-Identifier: GPL-2.0
"""The table of peers: keys, hosts that are refused, strangers, namespaces. See docs/peers.md."""
from netns_pair import IN_X, IN_Y, X, Y, pair, unpair
from suite import test
from traffic import A, B, Flows, counters, exact, helper, ping

C = "10.9.0.3"  # another address of guest b
STRANGER = "10.8.0.1"
NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups"
# A program without a key. Of one that is let in and hung up on, the end is waited for.
CONNECT = """python3 -I -S -c 'import socket
s = socket.create_connection(("{target}", 16385), 4, ("{source}", 0))
assert s.recv(1) == b""'"""


def peer(t, words, machine=None, prefix=""):
    return (machine or t.a).check(f"{prefix} {t.tool('rdsctl')} peer {words}")


def refusal(t, words, status=1, machine=None, prefix=""):
    rc, said = (machine or t.a).run(f"{prefix} {t.tool('rdsctl')} peer {words}")
    assert rc == status, f"{rc}: {said}"
    return said


def give_key(t, machine, other, key, how="replace"):
    machine.check(f"umask 077 && echo {key} >/run/key")
    peer(t, f"{how} {other} key-file /run/key", machine)
    machine.check("rm /run/key")


def share_key(t, key):
    give_key(t, t.a, B, key)
    give_key(t, t.b, A, key)


def silent(machine, source, target):
    """Nothing answers a SYN without a signature."""
    rc, said = machine.run(CONNECT.format(source=source, target=target), 30)
    assert rc and "timed out" in said, f"{rc}: {said}"


def said_last(t, machine, reason):
    machine.wait_until(f"grep -q '{reason}$' /proc/net/rds/paths", t.seconds(20))


def hold(t):
    """Guest a has a message for guest b."""
    holder = t.a.spawn(f"exec {t.prog('rds_hold')} --bind {A} --to {B} --messages 1", stdin=True)
    holder.wait_output("^ready$")
    return holder


def let_go(holder):
    holder.kill()
    holder.wait()


@test(vms=2, only="ours")
def right_key(t):
    """With a key on both hosts messages flow, and a program without it gets no answer."""
    ping(t, t.a, A, B)
    share_key(t, "the-same")
    ping(t, t.a, A, B)
    ping(t, t.b, B, A)
    t.note(exact(Flows(t, t.a, A, t.b, B, "--flows 8 --max-payload 8192", messages=50).result()))
    silent(t.a, A, B)
    assert counters(t, t.b)["tcp_key_refused"] == 0
    table = peer(t, "list")
    assert "tcp-md5" in table and " 8\n" in table and "the-same" not in table, table


@test(vms=2, only="ours")
def wrong_key(t):
    """With different keys there is no connection, and the reason tells; with the right one the
    message that waited arrives."""
    give_key(t, t.a, B, "mine", "add")
    give_key(t, t.b, A, "another", "add")
    holder = hold(t)
    said_last(t, t.a, "no answer; key?")
    give_key(t, t.a, B, "another")
    t.a.wait_until("grep -q ' up ' /proc/net/rds/paths", t.seconds(20))
    let_go(holder)


@test(vms=2, timeout=240, only="ours", extra=True)
def key_changes_under_load(t):
    """Both hosts get another key, one after the other, again and again: nothing is lost."""
    share_key(t, "key0")
    flows = Flows(t, t.a, A, t.b, B, "--flows 16 --max-payload 2048", send_options="--rate 300")
    flows.wait_progress()
    for number in range(1, 5):
        first, second = ((t.a, B), (t.b, A))[::1 if number % 2 else -1]
        give_key(t, *first, f"key{number}")
        t.a.check("sleep 0.5")
        give_key(t, *second, f"key{number}")
        flows.wait_progress(timeout=60)
    found = flows.stop()
    assert found["lost"] == found["duplicates"] == 0, found
    t.note(exact(found))


@test(vms=2, only="ours")
def refused_host(t):
    """A host that is refused neither calls nor is called, another one goes on, and it is back when
    it may."""
    t.b.check(f"ip addr add {C}/32 dev eth0")
    ping(t, t.a, A, B)
    ping(t, t.a, A, C)
    peer(t, f"add {B} refuse")
    holder = hold(t)
    said_last(t, t.a, "refused here")
    for machine, mine, other in ((t.a, A, B), (t.b, B, A)):
        rc, said = machine.run(f"{t.tool('rds-ping')} -c 1 -w 1 -I {mine} {other}")
        assert rc == 1, said
    assert counters(t, t.a)["tcp_peer_refused"] >= 2, counters(t, t.a)
    ping(t, t.a, A, C)
    ping(t, t.b, C, A)
    peer(t, f"replace {B} accept")
    t.a.wait_until("test $(grep -c ' up ' /proc/net/rds/paths) -ge 2", t.seconds(20))
    let_go(holder)
    ping(t, t.b, B, A)
    t.b.check(f"ip addr del {C}/32 dev eth0")


@test(vms=2, only="ours")
def strangers(t):
    """default refuse: a stranger costs no object, a host without a key that has an entry is served;
    once all entries have keys, a stranger's SYN is not answered."""
    t.a.check(f"ip addr add {STRANGER}/32 dev eth0")
    t.b.check(f"ip route add {STRANGER}/32 via {A}")
    peer(t, "default refuse", t.b)
    peer(t, f"add {A} accept", t.b)
    ping(t, t.a, A, B)
    before = counters(t, t.b)
    t.a.run(CONNECT.format(source=STRANGER, target=B), 30)
    now = counters(t, t.b)
    assert now["tcp_peer_refused"] == before["tcp_peer_refused"] + 1, now
    assert STRANGER not in t.b.check("cat /proc/net/rds/connections")
    share_key(t, "known")
    silent(t.a, STRANGER, B)
    ping(t, t.a, A, B)
    ping(t, t.b, B, A)
    assert counters(t, t.b)["tcp_peer_refused"] == now["tcp_peer_refused"]
    assert STRANGER not in t.b.check("cat /proc/net/rds/connections")
    # A default that accepts opens it again, and so does an entry without a key.
    for words in ("default accept", "default refuse", f"add {STRANGER} accept"):
        peer(t, words, t.b)
    peer(t, f"del {B}")  # a host signs its calls to a peer, whichever of its addresses they are from
    ping(t, t.a, STRANGER, B)
    t.a.check(f"ip addr del {STRANGER}/32 dev eth0")
    t.b.check(f"ip route del {STRANGER}/32 via {A}")


@test(only="ours")
def namespaces(t):
    """Each namespace has a table of its own, which its own root writes, and nobody else."""
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    peer(t, "default refuse", prefix=IN_X)
    for prefix in ("", IN_Y):
        assert peer(t, "default", prefix=prefix) == "accept\n"
        assert peer(t, "list", prefix=prefix).endswith("default accept\n")
    rc, said = t.a.run(f"{IN_Y} {t.tool('rds-ping')} -c 1 -w 1 -I {Y} {X}")
    assert rc == 1, said
    peer(t, f"add {Y} accept", prefix=IN_X)
    ping(t, t.a, Y, X, prefix=IN_Y)
    # Root of a user namespace, with a network of its own and without.
    t.a.check(f"{NOBODY} unshare -Urn sh -c '{t.tool('rdsctl')} peer default refuse &&"
              f" {t.tool('rdsctl')} peer list | grep -q \"default refuse\"'")
    for prefix in (NOBODY, f"{NOBODY} unshare -Ur"):
        for words in ("default refuse", "list", f"add {X} refuse"):
            assert "CAP_NET_ADMIN" in refusal(t, words, prefix=prefix)
    assert peer(t, "default") == "accept\n"
    unpair(t)


@test(only="ours")
def what_is_refused(t):
    """Entries that cannot be, and the kernel's own words for it."""
    t.a.check("umask 077 && echo secret >/run/key")
    peer(t, "add 10.8.0.0/16 key-file /run/key")
    for words, why in (
            ("add 10.8.0.0/16", "there is an entry"),
            ("del 10.7.0.0/16", "there is no entry"),
            ("add 10.8.1.0/24 accept", "cannot except hosts"),
            ("add 10.7.0.1 key-file /run/key algo tcp-ao", "no TCP-AO"),
            ("add fe80::1 dev lo key-file /run/key", "for all interfaces")):
        said = refusal(t, words)
        assert why in said, said
    peer(t, "add 10.8.1.0/24 refuse")
    peer(t, "add fe80::1 dev lo")
    peer(t, "replace 10.8.0.0/16 refuse")
    listed = peer(t, "list").splitlines()
    assert [line.split()[0] for line in listed[1:-1]] == ["fe80::1", "10.8.1.0/24", "10.8.0.0/16"]
    t.a.check("rm /run/key")


@test(only="ours")
def keys_stay_inside(t):
    """No answer of the kernel has a key in it, nor has its log."""
    key = "A-key-that-nobody-sees"
    said = t.a.check(f"{helper('rds_peers.py')} {key}")
    assert said.endswith("key 0 times\n") and not said.startswith("0 "), said
    assert " 22\n" in peer(t, "list")
    assert key not in t.a.check("dmesg; cat /proc/net/rds/*")


@test(only="ours", extra=True)
def many_keys(t):
    """As many keys as a listener has room for; one more is told why not, and with a larger
    net.core.optmem_max it is taken."""
    optmem = "/proc/sys/net/core/optmem_max"
    before = t.a.check(f"cat {optmem}; echo 20480 >{optmem}").strip()
    said = t.a.check("umask 077 && echo secret >/run/key && for i in $(seq 250); do"
                     f" {t.tool('rdsctl')} peer add 10.8.0.$i key-file /run/key 2>&1 ||"
                     " { echo stopped at $i; break; }; done")
    assert "optmem_max" in said and "stopped at" in said, said
    number = int(said.split()[-1])
    assert number > 100, said
    t.a.check(f"echo 200000 >{optmem}")
    peer(t, f"add 10.8.0.{number} key-file /run/key")
    t.a.check(f"echo {before} >{optmem}; rm /run/key")
    t.note(f"{number - 1} keys in 20480 bytes")
