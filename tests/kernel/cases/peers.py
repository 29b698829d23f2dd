# SPDX-License-Identifier: GPL-2.0
"""The table of peers: keys, hosts that are refused, strangers, namespaces. See docs/peers.md."""
from netns_pair import IN_X, IN_Y, X, Y, pair, unpair
import json
import time

import guest
import walk
from suite import test
from traffic import A, B, Flows, counters, exact, helper, paths, ping

C = "10.9.0.3"  # another address of guest b
STRANGER = "10.8.0.1"
NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups"
# A program without a key. Of one that is let in and hung up on, the end is waited for.
CONNECT = """python3 -I -S -c 'import socket
s = socket.create_connection(("{target}", 16385), 4, ("{source}", 0))
assert s.recv(1) == b""'"""

PAGE = guest.TOP / "docs/peers.md"


def peer(t, words, machine=None, prefix=""):
    return (machine or t.a).check(f"{prefix} {t.tool('rdsctl')} peer {words}")


def refusal(t, words, status=1, machine=None, prefix=""):
    rc, said = (machine or t.a).run(f"{prefix} {t.tool('rdsctl')} peer {words}")
    assert rc == status, f"{rc}: {said}"
    return said


def give_key(t, machine, other, key, how="replace", words=""):
    machine.check(f"umask 077 && echo {key} >/run/key")
    peer(t, f"{how} {other} key-file /run/key {words}", machine)
    machine.check("rm /run/key")


def share_key(t, key, words=""):
    give_key(t, t.a, B, key, words=words)
    give_key(t, t.b, A, key, words=words)


def ao(number, other=None):
    """Words for a key of TCP-AO; `other`: the id of what the peer signs, if it is another one."""
    return f"algo tcp-ao sndid {number} rcvid {other or number}"


def resets(t):
    return [sum(path["resets"] for path in paths(t, machine)) for machine in (t.a, t.b)]


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


@test(vms=2, only="ours", extra=True)
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


@test(vms=2, only="ours", extra=True)
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


@test(only="ours")
def many_keys(t):
    """As many keys as a listener has room for; one more is told why not, and with a larger
    net.core.optmem_max it is taken. Each is a command of its own, so there is little room."""
    optmem, room = "/proc/sys/net/core/optmem_max", 4096
    before = t.a.check(f"cat {optmem}; echo {room} >{optmem}").strip()
    t.a.check("umask 077 && echo secret >/run/key")
    for number in range(1, 100):
        rc, said = t.a.run(f"{t.tool('rdsctl')} peer add 10.8.0.{number} key-file /run/key")
        if rc:
            break
    assert "optmem_max" in said, said
    told = json.loads(peer(t, "list --json"))
    assert told["version"] == 1 and told["default"] == "accept", told
    kept = len(told["peers"])
    assert kept == number - 1 and kept * 200 > room, f"{kept} keys, stopped at {number}"
    t.a.check(f"echo 200000 >{optmem}")
    peer(t, f"add 10.8.0.{number} key-file /run/key")
    t.a.check(f"echo {before} >{optmem}; rm /run/key")
    t.note(f"{kept} keys in {room} bytes")


def monitor(t, machine, options=""):
    """Events from now on; with --json there is no line that says when that is."""
    command = machine.spawn(f"exec {t.tool('rdsctl')} peer monitor {options}")
    if "json" not in options:
        command.wait_output("^Peer Cause$")
    return command


@test(vms=2, only="ours")
def events(t):
    """A stranger that calls, a host that is not called and one that does not answer: each is told,
    the first as JSON, too."""
    heard = monitor(t, t.b)
    as_json = monitor(t, t.b, "--json --count 1")
    peer(t, "default refuse", t.b)
    # With an entry that has no key: a stranger whose SYN is not answered is no event.
    peer(t, "add 10.8.0.9 accept", t.b)
    for _ in range(20):
        t.a.run(CONNECT.format(source=A, target=B), 30)
        if as_json.done:
            break
    event = json.loads(as_json.check(20))
    assert event.pop("time") > 0, event
    assert event == {"version": 1, "peer": A, "dev": None, "cause": "called-us"}, event
    heard.wait_output(f"^{A} called-us$")
    t.b.run(f"{t.tool('rds-ping')} -c 1 -w 1 -I {B} {A}")
    heard.wait_output(f"^{A} not-called$")
    peer(t, "default accept", t.b)
    give_key(t, t.b, A, "mine", "add")
    holder = t.b.spawn(f"exec {t.prog('rds_hold')} --bind {B} --to {A} --messages 1", stdin=True)
    holder.wait_output("^ready$")
    heard.wait_output(f"^{A} no-answer$", t.seconds(60))
    let_go(holder)
    let_go(heard)
    assert "CAP_NET_ADMIN" in refusal(t, "monitor", prefix=NOBODY)


@test(vms=2, only="ours")
def outlives_the_transport(t):
    """The table is there while rds_tcp is not, can be changed, and holds when it comes back."""
    share_key(t, "known")
    peer(t, "default refuse", t.b)
    t.b.check("/run/busybox rmmod rds_tcp")
    peer(t, f"add {STRANGER} refuse", t.b)
    listed = peer(t, "list", t.b)
    assert A in listed and STRANGER in listed and "default refuse" in listed, listed
    load = f"/run/busybox insmod {t.modules_dir.resolve()}/rds_tcp.ko"
    t.b.check(load)
    assert peer(t, "list", t.b) == listed
    ping(t, t.a, A, B)
    ping(t, t.b, B, A)
    silent(t.a, A, B)


@test(vms=2, only="ours")
def takeovers_are_told(t):
    """A user of a peer's host who calls while its connection is up and answers is refused, and an
    administrator is told of the peer; of many, ten a second."""
    ping(t, t.a, A, B)
    heard = monitor(t, t.b)
    began = time.monotonic()
    said = t.a.check(f"{NOBODY} {helper('rds_takeover.py')} {A} {B} 4", 60)
    heard.wait_output(f"^{A} takeover$")
    let_go(heard)
    lasted = time.monotonic() - began
    refused = counters(t, t.b)["conn_takeover_refused"]
    told = heard.output.count(" takeover\n")
    t.note(f"{said.splitlines()[0]}, {refused} refused, {told} told in {lasted:.0f} s")
    assert told <= refused and told <= 10 * (lasted + 1), heard.output
    ping(t, t.a, A, B)


@test(vms=2, only="ours", timeout=240)
def the_walk(t):
    """docs/peers.md, step by step: two hosts get a key, refuse all others, get another key."""
    walk.play(t, PAGE, "peers")
    t.b.check(f"{t.tool('rdsctl')} peer default accept && {t.tool('rdsctl')} peer del {A}")
    remove_keys(t)


def remove_keys(t):
    for machine in (t.a, t.b):
        machine.check("rm /etc/rds.key*")


NO_AO, HAS_AO = ["6.1", "6.12", "uml", "x86"], ["7.2"]


@test(only="ours", kernels=NO_AO)
def no_ao_here(t):
    """A kernel without TCP-AO: refused with words, and the entry that was there holds on."""
    t.a.check("umask 077 && echo secret >/run/key")
    peer(t, "add 10.8.0.1 key-file /run/key")
    before = peer(t, "list")
    for words in (f"add 10.8.0.2 key-file /run/key {ao(1)}",
                  f"replace 10.8.0.1 key-file /run/key {ao(1)}"):
        said = refusal(t, words)
        assert "no TCP-AO" in said and "use TCP-MD5" in said, said
    assert peer(t, "list") == before and "tcp-md5" in before
    for prefix in ("10.8.0.1", "10.8.0.3"):  # a key without ids; no entry
        assert "other ids" in refusal(t, f"forget {prefix}")
    t.a.check("rm /run/key")


@test(vms=2, only="ours", kernels=HAS_AO)
def ao_right_key(t):
    """TCP-AO with different ids each way and each algorithm; a program without the key gets no
    answer, and strangers none either."""
    for at, alg in enumerate(("hmac(sha256)", "hmac(sha1)", "cmac(aes128)")):
        give_key(t, t.a, B, "the-same", words=f"{ao(2 * at + 1, 100)} alg '{alg}'")
        give_key(t, t.b, A, "the-same", words=f"{ao(100, 2 * at + 1)} alg '{alg}'")
        assert alg in peer(t, "list") and "the-same" not in peer(t, "list")
        ping(t, t.a, A, B)
        ping(t, t.b, B, A)
    t.note(exact(Flows(t, t.a, A, t.b, B, "--flows 8 --max-payload 8192", messages=50).result()))
    silent(t.a, A, B)
    t.a.check(f"ip addr add {STRANGER}/32 dev eth0")
    t.b.check(f"ip route add {STRANGER}/32 via {A}")
    peer(t, "default refuse", t.b)
    silent(t.a, STRANGER, B)
    # A peer by the other method opens it again: the stranger is refused where it is accepted.
    t.b.check("umask 077 && echo secret >/run/key")
    peer(t, "add 10.7.0.1 key-file /run/key", t.b)
    t.a.run(CONNECT.format(source=STRANGER, target=B), 30)
    assert counters(t, t.b)["tcp_peer_refused"] >= 1, counters(t, t.b)
    peer(t, "del 10.7.0.1", t.b)
    silent(t.a, STRANGER, B)
    ping(t, t.a, A, B)
    assert STRANGER not in t.b.check("cat /proc/net/rds/connections")
    t.a.check(f"ip addr del {STRANGER}/32 dev eth0")
    t.b.check(f"ip route del {STRANGER}/32 via {A}; rm /run/key")


@test(vms=2, only="ours", kernels=HAS_AO)
def ao_wrong_key(t):
    """Another key, another id, none, or one of the other method: no connection, and the reason
    tells; with the right one the message that waited arrives."""
    give_key(t, t.a, B, "mine", words=ao(1))
    holder = hold(t)
    for key, words in (("another", ao(1)), ("mine", ao(2)), ("mine", "algo tcp-md5")):
        give_key(t, t.b, A, key, words=words)
        attempts = max(path["attempts"] for path in paths(t, t.a))
        t.a.wait_until("test $(awk '/no answer; key.$/ { print $(NF - 4) }' /proc/net/rds/paths |"
                       f" sort -n | tail -n 1) -gt {attempts + 1}", t.seconds(60))
        said_last(t, t.a, "no answer; key?")
        assert " up " not in t.a.check("cat /proc/net/rds/paths")
    give_key(t, t.b, A, "mine", words=ao(1))
    t.a.wait_until("grep -q ' up ' /proc/net/rds/paths", t.seconds(40))
    let_go(holder)


def roll(t, flows, number, interlude=None):
    """Both hosts get key `number` after the one before it, and forget that one."""
    first, second = ((t.a, B), (t.b, A))[::1 if number % 2 else -1]
    give_key(t, *first, f"key{number}", words=ao(number))
    flows.wait_progress()
    if interlude:
        interlude()
        flows.wait_progress(timeout=60)
    give_key(t, *second, f"key{number}", words=ao(number))
    flows.wait_progress(300)
    for machine, other in (first, second):
        peer(t, f"forget {other}", machine)
    flows.wait_progress()


@test(vms=2, timeout=240, only="ours", kernels=HAS_AO)
def ao_rolls_under_load(t):
    """Both hosts get other keys, one after the other, again and again: nothing is lost, and not one
    connection ends. Where connections are killed in between they come back."""
    share_key(t, "key0", ao(100))
    flows = Flows(t, t.a, A, t.b, B, "--flows 16 --max-payload 2048", send_options="--rate 300")
    flows.wait_progress()
    before = resets(t)
    for number in range(1, 5):
        roll(t, flows, number)
    assert resets(t) == before, f"{before}, then {resets(t)}"
    table = json.loads(peer(t, "list --json"))["peers"]
    assert [(p["snd_id"], p["old_snd_id"]) for p in table] == [(4, None)], table
    for number in (5, 6):
        roll(t, flows, number, lambda: t.a.check("ss -K dst 10.9.0.2 >/dev/null"))
    found = flows.stop()
    assert found["lost"] == found["duplicates"] == 0, found
    t.note(f"{exact(found)}; resets {before} before, {resets(t)} with connections killed")


@test(vms=2, timeout=300, only="ours", kernels=HAS_AO)
def ao_forgets_many(t):
    """A key that more connections have than one change takes it from: the others end, all come
    back, and a call of the old key alone is not answered."""
    most, hosts = 64, 80
    sources = [f"10.8.0.{n}" for n in range(1, hosts + 1)]
    t.a.check("set -e; " + "; ".join(f"ip addr add {s}/32 dev eth0" for s in sources))
    t.b.check(f"ip route add 10.8.0.0/24 via {A}")

    def all_ping():
        said = t.a.check("for i in $(seq %d); do %s -c 1 -w 30 -I 10.8.0.$i %s >/dev/null || echo"
                         " no answer to $i; done" % (hosts, t.tool("rds-ping"), B), t.seconds(120))
        assert not said, said

    give_key(t, t.a, B, "old", "add", ao(1))
    give_key(t, t.b, "10.8.0.0/24", "old", "add", ao(1))
    all_ping()
    give_key(t, t.a, B, "new", words=ao(2))
    give_key(t, t.b, "10.8.0.0/24", "new", words=ao(2))
    all_ping()
    before = sum(path["resets"] for path in paths(t, t.b))
    began = time.monotonic()
    peer(t, "forget 10.8.0.0/24", t.b)
    lasted = time.monotonic() - began
    ended = sum(path["resets"] for path in paths(t, t.b)) - before
    t.note(f"{ended} of {hosts} connections ended in {lasted:.1f} s")
    assert hosts - most <= ended < hosts, f"{ended} of {hosts}"
    peer(t, f"forget {B}")
    all_ping()
    give_key(t, t.a, B, "old", words=ao(1))
    silent(t.a, sources[0], B)
    t.a.check("; ".join(f"ip addr del {s}/32 dev eth0" for s in sources))
    t.b.check(f"ip route del 10.8.0.0/24 via {A}")


@test(only="ours", kernels=HAS_AO)
def ao_what_is_refused(t):
    """Entries with keys of TCP-AO that cannot be; the list while a key is replaced."""
    t.a.check("umask 077 && echo secret >/run/key && echo other >/run/other")
    peer(t, f"add 10.8.0.0/16 key-file /run/key {ao(1)}")
    for words, why in (
            (f"add 10.8.1.0/24 key-file /run/key {ao(2)}", "no other key in it"),
            (f"add 10.0.0.0/8 key-file /run/key {ao(2)}", "no other key in it"),
            ("add 10.8.1.1 key-file /run/key", "no other key in it"),
            ("add 10.8.1.1 accept", "cannot except hosts"),
            ("forget 10.8.0.0/16", "other ids"),
            ("forget 10.9.0.0/16", "other ids")):
        said = refusal(t, words)
        assert why in said, said
    peer(t, f"replace 10.8.0.0/16 key-file /run/other {ao(2)}")
    row = json.loads(peer(t, "list --json"))["peers"][0]
    assert (row["snd_id"], row["old_snd_id"], row["old_rcv_id"]) == (2, 1, 1), row
    # The same once more changes nothing; with the ids of the one before, that one has to go.
    peer(t, f"replace 10.8.0.0/16 key-file /run/other {ao(2)}")
    peer(t, f"replace 10.8.0.0/16 key-file /run/key {ao(1)}")
    row = json.loads(peer(t, "list --json"))["peers"][0]
    assert (row["snd_id"], row["old_snd_id"]) == (1, 2), row
    peer(t, "forget 10.8.0.0/16")
    # Both methods take turns, with strangers kept out the whole time.
    peer(t, "default refuse")
    for words in ("", ao(1), "", ao(7)):
        peer(t, f"replace 10.8.0.0/16 key-file /run/key {words}")
    peer(t, "del 10.8.0.0/16")
    peer(t, "add 10.8.0.0/16 key-file /run/key")
    t.a.check("rm /run/key /run/other")


@test(vms=2, only="ours", kernels=HAS_AO, timeout=240)
def the_walk_with_ao(t):
    """docs/peers.md on TCP-AO, step by step: a key changes without a pause."""
    for name in ("rds.key", "rds.key2"):
        key = t.a.check("head -c 32 /dev/urandom | base64").strip()
        for machine in (t.a, t.b):
            machine.check(f"umask 077 && echo {key} >/etc/{name}")
    walk.play(t, PAGE, "peers-ao")
    for machine, other in ((t.a, B), (t.b, A)):
        peer(t, f"del {other}", machine)
    remove_keys(t)
