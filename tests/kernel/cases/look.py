# SPDX-License-Identifier: GPL-2.0
"""rdsctl's views over netlink: paths, sockets, counters, news and what is wrong. See rdsctl(8)."""
import json
import re
import time
from xml.etree import ElementTree

import filters
import guest
from judges import exact
from netns_pair import IN_X, X, Y, pair, unpair
from suite import test
from traffic import (A, A6, B, B6, PYTHON, Flows, acks_are_timed, finding, helper, load_again, ping,
                     wait_counter, wait_finding)
from traffic import counters as counters_of

NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups"
RESTRICT = "/proc/sys/net/rds/info_restrict"
FAR, MANY = "10.7.0.1", 300


def ctl(t, words, machine=None, prefix="", status=0):
    rc, said = (machine or t.a).run(f"{prefix} {t.tool('rdsctl')} {words}")
    assert rc == status, f"{rc}: {said}"
    return said


def rows(t, what, words="", machine=None, prefix=""):
    found = json.loads(ctl(t, f"-j {what} {words}", machine, prefix))
    assert found["version"] == 1, found
    return found[f"{what}s"]


def counted(t, words=""):
    return json.loads(ctl(t, f"-j stats {words}"))["counters"]


def hold(t, words, prefix=""):
    held = t.a.spawn(f"exec {prefix} {t.prog('rds_hold')} {words}", stdin=True)
    held.wait_output("^ready$")
    return held


def end(*commands):
    for command in commands:
        command.kill()
        command.wait()


@test(vms=2, only="ours")
def a_path(t):
    """All that is known of a path that is up, on either host; words choose among paths."""
    ping(t, t.a, A, B)
    ping(t, t.a, A, B, count=1)  # no ack is asked for before the peer has said that it sends some
    for machine, mine, other in ((t.a, A, B), (t.b, B, A)):
        acks_are_timed(t, machine)
        path, = rows(t, "path", machine=machine)
        assert (path["local"], path["remote"], path["state"]) == (mine, other, "up"), path
        assert path["transport"] == "tcp" and path["index"] == 0 and path["signed"] == "none", path
        assert path["tx-bytes"] > 0 and path["rx-bytes"] > 0, path
        assert path["rtt-us"] > 0 and path["ack-us"] > 0, path
        assert path["state-ms"] < 1000 * t.seconds(600) and path["last-reason"] == "-", path
        assert path["peer"] == "pf-rds", path
        assert path["congested"] == path["refused"] == 0, path
        assert path["congested-ports"] is path["refused-ports"] is None, path
    said = ctl(t, "path")
    assert f"{A} > {B} tos 0 path 0 tcp  up " in said and "\033" not in said, said
    assert "\033[32mup\033[0m" in ctl(t, "--color always path show state up")
    assert len(ctl(t, "path --brief").splitlines()) == 2
    for words, n in (("remote 10.9.0.0/24", 1), ("remote 10.8.0.0/24", 0), ("tx-bytes +1", 1),
                     ("state down", 0), ("show transport tcp index 0", 1)):
        assert len(rows(t, "path", words)) == n, words
    assert "is none of local, remote" in ctl(t, "path colour red", status=2)


@test(vms=2, only="ours")
def a_message_waits(t):
    """A message that nobody takes: how many wait, why, and whose socket has them."""
    ctl(t, f"peer add {B} refuse")
    held = hold(t, f"--bind {A} --to {B} --messages 3 --length 100")
    path, = rows(t, "path", f"remote {B}")
    assert path["state"] != "up" and path["unacked"] == 3 and path["rtt-us"] is None, path
    assert path["unsent-bytes"] == 3 * (100 + 48), path
    t.a.wait_until(f"{t.tool('rdsctl')} path show last-reason 'refused here' | grep -q {B}")
    sock, = rows(t, "socket", f"local {A}")
    assert sock["unacked"] == 300 and sock["unread"] == 0 and not sock["congested"], sock
    assert sock["transport"] == "tcp" and sock["uid"] == 0, sock
    summary = json.loads(ctl(t, "-j show"))["summary"]
    assert summary["longest-without-connection"]["remote"] == B and summary["unacked"] == 3, summary
    assert f"longest without connection: {A} > {B}" in ctl(t, "show")
    # doctor says what to look at.
    t.a.wait_until(f"{t.tool('rdsctl')} doctor | grep -q '{B} has not been reached'", t.seconds(40))
    said = ctl(t, "doctor", status=1)
    assert "refused here" in said and "rdsctl peer list" in said, said
    later, = rows(t, "path", f"remote {B}")
    assert 0 < path["waits-ms"] < later["waits-ms"] < 1000 * t.seconds(120), (path, later)
    assert "  oldest " in ctl(t, f"path show remote {B}")
    ctl(t, f"peer del {B}")
    t.a.wait_until(f"{t.tool('rdsctl')} path show state up unacked 0 | grep -q {B}", t.seconds(20))
    assert rows(t, "path", f"remote {B}")[0]["waits-ms"] is None
    end(held)


STOPS = f"""
import socket, sys
s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
s.bind(("{A}", 4000))
print("ready", flush=True)
sys.stdin.readline()
while True:
    s.recv(2000)
"""
FLOODS = f"""
import errno, socket
s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
s.bind(("{B}", 0))
try:
    while True:
        s.sendto(bytes(1000), socket.MSG_DONTWAIT, ("{A}", 4000))
except OSError as error:
    assert error.errno == errno.ENOBUFS, error
"""


@test(vms=2, only="ours")
def a_reader_stops(t):
    """Its port fills: since when, for whom, and which program it is; both hosts tell of it."""
    heard = [machine.spawn(f"exec {t.tool('rdsctl')} monitor") for machine in (t.a, t.b)]
    for listener in heard:
        listener.wait_output("^Time Path Event$")
    reader = t.a.spawn(f"exec {PYTHON} -c '{STOPS}'", stdin=True)
    reader.wait_output("^ready$")
    ping(t, t.b, B, A)
    t.b.wait_until(f"{PYTHON} -c '{FLOODS}'", t.seconds(30))
    t.b.wait_until(f"{t.tool('rdsctl')} path show congested 1 | grep -q 'full ports 1: 4000, for '")
    first, = rows(t, "path", machine=t.b)
    t.a.wait_until(f"{t.tool('rdsctl')} show | grep -q"
                   f" 'slowest reader {A}: port 4000, [0-9.]*s, python3.*([0-9]*)$'", t.seconds(20))
    then, = rows(t, "path", machine=t.b)
    assert 0 <= first["congested-ms"] < then["congested-ms"] < 1000 * t.seconds(60), (first, then)
    sock, = rows(t, "socket", "local-port 4000")
    path, = rows(t, "path")
    assert sock["congested"] and sock["unread"] > 2048, sock
    assert 1000 <= sock["congested-ms"] <= sock["unread-ms"] < 1000 * t.seconds(60), sock
    assert path["slowest-reader"]["local-port"] == 4000, path
    assert path["slowest-reader"]["program"].startswith("python3"), path
    for listener in heard:
        listener.wait_output(f" {A} port 4000  full$")
    reader.write("go on\n")
    for listener in heard:
        listener.wait_output(f" {A} port 4000  clear$", t.seconds(20))
    t.b.wait_until(f"{t.tool('rdsctl')} path show congested 0 | grep -q up", t.seconds(20))
    t.a.wait_until(f"{t.tool('rdsctl')} socket show local-port 4000 unread 0 | grep -q 4000")
    sock, = rows(t, "socket", "local-port 4000")
    assert sock["congested-ms"] is None and sock["unread-ms"] is None, sock
    assert rows(t, "path")[0]["slowest-reader"] is None
    assert rows(t, "path", machine=t.b)[0]["congested-ms"] is None
    end(reader, *heard)


@test(only="ours")
def users(t):
    """Where tables are restricted, a user sees no path, of sockets his own, and all counters, and
    is told so by what shows the rest; only an administrator hears events."""
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    own, others = hold(t, f"--bind {X}", f"{IN_X} {NOBODY}"), hold(t, f"--bind {X}", IN_X)
    user = f"{IN_X} {NOBODY}"

    def owners(prefix):
        return {s["uid"] for s in rows(t, "socket", prefix=prefix)}

    assert owners(user) == owners(IN_X) == {0, 65534}
    assert rows(t, "path", prefix=user)
    t.a.check(f"{IN_X} sh -c 'echo 1 >{RESTRICT}'")
    assert owners(user) == {65534} and owners(IN_X) == {0, 65534}
    assert "info_restrict is set" in ctl(t, "path", prefix=user, status=1)
    assert "info_restrict is set" in ctl(t, "path", prefix=f"{user} unshare -Ur", status=1)
    assert rows(t, "path", prefix=IN_X)
    assert "send_queued" in ctl(t, "stats", prefix=user)
    hidden = "paths are not shown, and of sockets your own: net.rds.info_restrict is set"
    for words, member in (("show", "summary"), ("top --interval 0.1 --count 1", "top")):
        assert hidden in ctl(t, words, prefix=user) and hidden not in ctl(t, words, prefix=IN_X)
        for prefix, sees in ((user, False), (IN_X, True)):
            told = json.loads(ctl(t, f"-j {words}", prefix=prefix))[member]
            assert (told["paths"] is None, told["paths-refused"] is None) == (not sees, sees), told
    for prefix, sees in ((user, False), (IN_X, True)):
        assert (hidden in ctl(t, "report --interval 0.1 -", prefix=prefix)) != sees
        told = json.loads(ctl(t, "-j report --interval 0.1", prefix=prefix))["report"]
        assert (told["paths"] is None, told["paths-refused"] is None) == (not sees, sees), told
        assert {s["uid"] for s in told["sockets"]} == ({0, 65534} if sees else {65534}), told
    assert "CAP_NET_ADMIN" in ctl(t, "monitor", prefix=user, status=1)
    end(own, others)
    unpair(t)


@test(only="ours", timeout=240)
def many(t):
    """Hundreds of paths take several messages, each is told once; and a listener that does not read
    is told that events were lost, and goes on."""
    pair(t)
    slow = t.a.spawn(f"exec {IN_X} {t.tool('rdsctl')} monitor show event failed")
    slow.wait_output("^Time Path Event$")
    t.a.check("kill -STOP $(pidof rdsctl)")
    lost = t.a.spawn(f"exec {IN_X} {helper('rds_lost_hosts.py')} {X} {FAR} {MANY}", stdin=True)
    lost.wait_output(f"^sent {MANY}$")
    told = [path["remote"] for path in rows(t, "path", prefix=IN_X)]
    assert len(told) == len(set(told)) == MANY, f"{len(told)}, {len(set(told))}"
    assert set(told) == {f"10.7.{n // 256}.{n % 256}" for n in range(1, MANY + 1)}
    # Each is called, in vain, again and again: three events of each are more than fit.
    t.a.wait_until(f"test $({IN_X} {t.tool('rdsctl')} path show attempts +4 --brief | wc -l)"
                   f" -gt {MANY}", t.seconds(100))
    t.a.check("kill -CONT $(pidof rdsctl)")
    slow.wait_output("events were lost$", t.seconds(20))
    slow.wait_output(r"failed \(connect failed\)$", t.seconds(20))
    end(slow, lost)
    unpair(t)


@test(vms=2, only="ours")
def news(t):
    """A path that comes up, is ended, is refused, and is back: each is told, with the reason, as a
    line and as JSON."""
    heard = t.a.spawn(f"exec {t.tool('rdsctl')} monitor")
    heard.wait_output("^Time Path Event$")
    as_json = t.a.spawn(f"exec {t.tool('rdsctl')} -j monitor show event down --count 1")
    ping(t, t.a, A, B)
    name = rf"{A} > {B} tos 0 path 0 tcp  "
    heard.wait_output(name + "up$")
    # One that hears nothing yet is told by the next end.
    for _ in range(20):
        ctl(t, f"peer add {B} refuse")
        held = hold(t, f"--bind {A} --to {B} --messages 1")
        heard.wait_output(name + r"down \(admin\)$")
        heard.wait_output(name + r"refused \(refused here\)$", t.seconds(20))
        ctl(t, f"peer del {B}")
        t.a.wait_until(f"{t.tool('rdsctl')} path show state up | grep -q {B}", t.seconds(20))
        end(held)
        if as_json.done:
            break
    event = json.loads(as_json.check(20))
    assert event["version"] == 1 and event["event"]["remote"] == B, event
    assert event["event"]["last-reason"] == "admin" and event["time"] > 0, event
    end(heard)


@test(vms=2, only="ours")
def modules_go_under_a_monitor(t):
    """Monitors, in a namespace too, and looks that are taken again and again hold no module: they
    say that rds was unloaded, and end. A monitor that begins after a reload hears of the path."""
    def begin(words, first, prefix=""):
        command = t.a.spawn(f"exec {prefix} {t.tool('rdsctl')} {words}")
        command.wait_output(first)
        return command

    open_ones = [begin("monitor", "^Time Path Event$"),
                 begin("monitor", "^Time Path Event$", "unshare -n"),
                 begin("peer monitor", "^Peer Cause$"),
                 begin("-j top --interval 0.5", '"time":'),
                 begin("-j stats -z --watch 0.5", '"time":')]
    up = rf" {A} > {B} tos 0 path 0 tcp  up$"
    ping(t, t.a, A, B)
    open_ones[0].wait_output(up)
    t.a.unload()
    for command in open_ones:
        rc, said = command.wait()
        assert rc == 2 and said.endswith("\nrdsctl: rds was unloaded\n"), f"{rc}: {said[-500:]}"
    load_again(t, t.a)
    again = begin("monitor", "^Time Path Event$")
    ping(t, t.a, A, B)
    again.wait_output(up)
    end(again)


@test(vms=2, only="ours")
def top(t):
    """Of two paths the one with a flow is the first, with what it sends; of two with messages the
    one that is not reached waits longest, and its sender is told by name."""
    ping(t, t.a, A6, B6)
    flow = Flows(t, t.a, A, t.b, B)
    flow.wait_progress()
    looks = []

    def is_sending():
        """Within an interval a queue that is full may take no message, and an emulated link no byte."""
        looks[:] = [json.loads(line) for line in
                    ctl(t, "-j top --interval 0.5 --count 2 remote 10.0.0.0/8").splitlines()]
        assert len(looks) == 2 and all(look["version"] == 1 for look in looks), looks
        paths = [path for look in looks for path in look["top"]["paths"]]
        assert {path["remote"] for path in paths} == {B}, looks
        return any(p["tx-messages-rate"] and p["tx-bytes-rate"] for p in paths)

    deadline = time.monotonic() + t.seconds(20)
    while not is_sending():
        assert time.monotonic() < deadline, looks

    def says_so():
        """The same in words. False: within one of the intervals no byte moved."""
        said = ctl(t, "top --interval 1 --count 2")
        blocks = [b.splitlines() for b in said.split("\n\n") if b.startswith("20")]
        assert len(blocks) == 2 and "\033" not in said, said
        for lines in blocks:
            idle, = (line.split() for line in lines if line.split()[:2] == [B6, A6])
            assert " paths, " in lines[0] and lines[2].split()[:2] == ["Remote", "Local"], said
            assert idle[6:8] == ["0", "0"], said
        if any(lines[3].split()[6] in ("-", "0") for lines in blocks):
            return False
        assert all(lines[3].split()[:2] == [B, A] for lines in blocks), said
        return True

    deadline = time.monotonic() + t.seconds(40)
    while not says_so():
        assert time.monotonic() < deadline, "no byte moves"
    t.note(exact(flow.stop()))
    ctl(t, f"peer add {B6} refuse")
    held = hold(t, f"--bind {A6} --to {B6} --messages 3 --length 100")
    look = json.loads(ctl(t, "-j top --interval 0.5 --count 2 --sort waits").splitlines()[1])["top"]
    assert look["paths"][0]["remote"] == B6 and look["paths"][0]["waits-ms"] >= 500, look
    sock = next(s for s in look["sockets"] if s["unacked"] == 300)
    assert sock["program"].startswith("rds_hold("), sock
    # A terminal is drawn anew, in colours, and keeps its cursor.
    drawn = t.a.check(f"script -qec '{t.tool('rdsctl')} top --count 2 --interval 0.2' /dev/null")
    assert drawn.count("\033[H") == 3 and "\033[31m" in drawn and "\033[?25h" in drawn, drawn
    ctl(t, f"peer del {B6}")
    t.a.wait_until(f"{t.tool('rdsctl')} path show state up unacked 0 | grep -q {B6}", t.seconds(20))
    end(held)


@test(vms=2, only="ours")
def report(t):
    """One page of a live host, well-formed, with its paths, rates, sockets and settings, and without
    the key that it has; of a host without rds it says so."""
    name, key = "/run/rds-report.html", "no-page-may-have-this"
    t.a.check(f"umask 077 && echo {key} >/run/key")
    ctl(t, f"peer add {B6} key-file /run/key")
    flow = Flows(t, t.a, A, t.b, B)
    flow.wait_progress()
    assert ctl(t, f"report --interval 0.5 {name}").strip() == name
    assert t.a.check(f"stat -c %a {name}").strip() == "600"
    page = t.a.check(f"cat {name}")
    words = " ".join(ElementTree.fromstring(page.partition("\n")[2]).itertext())
    for part in (f"RDS of {t.a.check('hostname').strip()}", B, "rds_tcp", "rds_flows(", "B/s",
                 "net.rds.ping_enable", "send_queued", "Topology"):
        assert part in words, f"{part} is not in {words}"
    for bad in (key, "<script", "http:", "https:"):
        assert bad not in re.sub(r'xmlns="[^"]*"', "", page), bad
    found, moved, deadline = None, False, time.monotonic() + t.seconds(40)
    while not moved:
        assert time.monotonic() < deadline, found
        found = json.loads(ctl(t, "-j report --interval 0.5"))
        assert found["version"] == 1 and key not in json.dumps(found), found
        moved = any(p["remote"] == B and p["tx-bytes-rate"] for p in found["report"]["paths"])
    t.note(exact(flow.stop()))
    found = json.loads(ctl(t, "-j report --interval 0.1 --ping 5"))["report"]["pings"]
    assert [(p["remote"], p["answered"]) for p in found] == [(B, 5)], found
    assert sum(step["count"] for step in found[0]["histogram"]) == 5, found
    ctl(t, f"peer del {B6}")
    assert "cannot write /no/such" in ctl(t, "report --interval 0.1 /no/such/file", status=2)


@test(vms=2, only="ours")
def a_pause(t):
    """Pings that were due in a pause of the network, and were not sent because eight others were under
    way, are in the corrected percentiles; the others say little of it."""
    ping(t, t.a, A, B)
    with filters.ready(t.b):  # the pings are through within four seconds
        before = counters_of(t, t.b)["recv_ping"]
        asked = t.a.spawn(f"exec {t.tool('rds-ping')} -i 2ms -c 2000 -w 60 --json -I {A} {B}")
        wait_counter(t, t.b, "recv_ping", before + 50, 40)
        with filters.incoming(t.b, "tcp dport 16385 drop", "tcp sport 16385 drop"):
            waits, deadline = 0, time.monotonic() + t.seconds(40)
            while waits < 500:
                assert time.monotonic() < deadline, f"nothing waits: {waits}"
                look = ctl(t, f"-j top --interval 0.6 --count 2 remote {B}").splitlines()[1]
                waits = max(path["waits-ms"] or 0 for path in json.loads(look)["top"]["paths"])
        said = json.loads(asked.check(t.seconds(60)))
    assert said["answered"] == 2000 and said["lost"] == 0, said
    assert sum(step["count"] for step in said["histogram"]) == 2000, said
    plain, corrected = said["rtt_usec"], said["corrected_usec"]
    assert plain["max"] > 500000 and corrected["p9999"] > 400000, said
    # 250 pings and more were due meanwhile, and waited for a half of it on average: 31 ms for each of the 2000.
    # A busy host adds to both.
    assert corrected["avg"] > plain["avg"] + 25000 and corrected["p95"] > plain["p95"], said
    t.note(f"p95 {plain['p95'] / 1000:.1f} ms, corrected {corrected['p95'] / 1000:.1f} ms")


@test(vms=2, only="ours")
def counters(t):
    """Counters by name and by pattern, as they are and as they grow."""
    ping(t, t.a, A, B)
    found = {c["name"]: c["value"] for c in counted(t)}
    assert found["send_queued"] > 0 and 0 not in found.values(), found
    names = {c["name"] for c in counted(t, "-z")}
    assert names > set(found) and "tcp_peer_refused" in names, names
    info = t.a.check(f"{t.tool('rds-info')} -c").split()
    assert names <= set(info), names - set(info)
    assert {c["name"] for c in counted(t, "-z 'tcp_*' recv_ping")} == \
        {n for n in names if n.startswith("tcp_")} | {"recv_ping"}
    said = ctl(t, "-j stats -z send_queued --watch 0.1 --rates --samples 3").splitlines()
    assert len(said) == 3, said
    assert [c["rate"] for c in json.loads(said[2])["counters"]] == [0.0], said


OTHER = "9.9"


def installed(t, *sets):
    """A command after which modprobe finds only modules of another version, in each of these
    directories; and the one that undoes it."""
    version = t.a.check(f"modinfo -F version {t.modules_dir}/rds.ko").strip()
    other = OTHER + "9" * (len(version) - len(OTHER))  # the file keeps its length
    version = version.replace(".", r"\.")
    into = f"/run/other/lib/modules/{t.a.kernel.version}"
    change = f"s/version={version}/version={other}/"
    make = [f"mkdir -p {into}/{where} && for m in rds rds_tcp; do"
            f" sed '{change}' {t.modules_dir}/$m.ko >{into}/{where}/$m.ko || exit 1; done"
            for where in sets]
    return (" && ".join([*make, f"depmod -b /run/other {t.a.kernel.version}",
                         "/run/busybox mount -o bind /run/other/lib/modules /lib/modules"]),
            "/run/busybox umount /lib/modules && rm -r /run/other")


@test(vms=2, only="ours", timeout=240)
def doctor(t):
    """A host on which all is well; then with each fault that can be made in a guest, one by one."""
    ping(t, t.a, A, B)
    mtu = t.a.check("cat /sys/class/net/eth0/mtu").strip()
    clean = ctl(t, "doctor")
    upgraded, reset = installed(t, "updates/dkms")
    twice, _ = installed(t, "updates", "updates/dkms")
    faults = (
        (upgraded, " is loaded, and modprobe would take 9.9: updates/dkms/rds.ko", reset, 0),
        (twice, "2 sets of modules are installed: updates, updates/dkms", reset, 0),
        ("echo 0 >/proc/sys/net/rds/tcp/listen", "nobody listens on TCP port 16385",
         "echo 1 >/proc/sys/net/rds/tcp/listen", 1),
        ("echo 0 >/proc/sys/net/rds/ping_enable", "ping_enable is 0: pings are not answered",
         "echo 1 >/proc/sys/net/rds/ping_enable", 0),
        ("echo 0 >/proc/sys/net/rds/max_passive_connections", "max_passive_connections is 0",
         "echo 4096 >/proc/sys/net/rds/max_passive_connections", 1),
        ("ip link set eth0 mtu 1000", "the MTU of eth0 is 1000",
         f"ip link set eth0 mtu {mtu}", 1))
    for break_it, what, mend_it, status in faults:
        assert what not in clean, clean
        t.a.check(break_it)
        said = ctl(t, "doctor", status=status)
        assert what in said, said
        t.a.check(mend_it)
        assert ctl(t, "doctor") == clean
    found = json.loads(ctl(t, "-j doctor"))
    assert found["version"] == 1 and not any(f["fault"] for f in found["findings"]), found
    t.a.check("/run/busybox rmmod rds_tcp")
    assert "rds_tcp" not in ctl(t, "show").splitlines()[0]
    t.a.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_tcp.ko")
    assert ctl(t, "doctor") == clean


@test(vms=2, only="ours")
def a_transport_goes_meanwhile(t):
    """A dump of counters in whose midst a transport goes or comes says that it was interrupted."""
    ping(t, t.a, A, B)

    def dump(*commands):
        asked = t.a.spawn(helper("rds_dump.py"), stdin=True)
        asked.wait_output("^asked$")
        for command in commands:
            t.a.check(f"/run/busybox {command}")
        asked.write("\n")
        found = json.loads(asked.check().splitlines()[-1])
        assert found["messages"] > 1, found
        assert found["interrupted"] or len(found["names"]) == len(set(found["names"])), found
        return found

    before = dump()
    assert not before["interrupted"] and "tcp_peer_refused" in before["names"], before
    assert dump("rmmod rds_tcp")["interrupted"]
    assert dump(f"insmod {t.modules_dir.resolve()}/rds_tcp.ko")["interrupted"]
    assert dump() == before


@test(vms=2, only="ours", timeout=240)
def doctor_network(t):
    """Faults between two hosts, one by one: a narrow way, filters, a port that is refused, a host that
    is not there, a port behind which nobody speaks RDS or handles what it is sent, an RDMA device
    that is not used."""
    ping(t, t.a, A, B)
    clean = ctl(t, "doctor")
    old_tables = "modprobe iptable_filter forward=0", "rmmod iptable_filter"
    # Tables that nft does not list, and that newer kernels are built without.
    there = t.a.run(" && ".join(old_tables))[0] == 0
    for break_it, mend_it, check, what, fault in (
            *[(*old_tables, "firewall", "old tables of iptables", False)] * there,
            (f"ip route add {B} dev eth0 mtu 1300", f"ip route del {B}",
             "mtu", f"the way to {B} has an MTU of 1300", False),
            ("modprobe nf_tables && nft 'add table inet f; add chain inet f i { type filter hook input"
             " priority 0; }; add rule inet f i tcp dport { 22, 16385 } drop'",
             "nft delete table inet f", "firewall", "inet f i drops port 16385", True),
            ("nft 'add table ip f; add chain ip f i { type filter hook input priority 0; policy drop;"
             " }; add rule ip f i ip saddr 10.9.0.0/24 accept'",
             "nft delete table ip f", "firewall", "none names port 16385", False),
            ("modprobe -a rdma_rxe && rdma link add rxe0 type rxe netdev eth0",
             "rdma link delete rxe0", "rdma", "rxe0 port 1 is active, and rds_rdma is not", False)):
        t.a.check(break_it)
        found = finding(t, check, what, fault)
        t.a.check(mend_it)
        assert found, f"not found: {what}"
        assert ctl(t, "doctor") == clean, what
    # Rules for programs only are those that the project ships, and do not make peers unreachable.
    t.a.check(f"nft -f {guest.TOP}/packaging/pf_rds.nft")
    assert ctl(t, "doctor") == clean
    t.a.check("nft delete table inet pf_rds")
    t.b.check("echo 0 >/proc/sys/net/rds/tcp/listen")
    ctl(t, f"peer add {B} refuse")
    ctl(t, f"peer del {B}")
    held = hold(t, f"--bind {A} --to {B} --messages 3")
    assert B in wait_finding(t, "paths", "refuses TCP port 16385")["what"]
    # A program that takes calls there, and whatever is said, and never says a thing.
    silent = t.b.spawn(f"exec {helper('rds_silent.py')} {B}", stdin=True)
    silent.wait_output("^called$", t.seconds(40))
    assert B in wait_finding(t, "paths", "nothing has ever come back")["what"]
    end(silent, held)
    # One that says hello, reads the message, and never that it has it.
    deaf = t.b.spawn(f"exec {helper('rds_deaf.py')} {B} 77", stdin=True)
    held = hold(t, f"--bind {A} --to {B} --messages 1 --length 77")
    deaf.wait_output("^heard$", t.seconds(40))
    found = wait_finding(t, "paths", "a message has waited")
    assert f"to get to {B}" in found["what"] and "its RDS does not" in found["why"], found
    end(deaf, held)
    t.b.check("echo 1 >/proc/sys/net/rds/tcp/listen")
    nobody = "10.9.0.77"
    held = hold(t, f"--bind {A} --to {nobody} --messages 1")
    found = wait_finding(t, "paths", f"{nobody} has not been reached")
    assert "not answered" in found["why"] or "no way to it" in found["why"], found
    end(held)
