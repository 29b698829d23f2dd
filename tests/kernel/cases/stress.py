# SPDX-License-Identifier: GPL-2.0
"""rds-stress --serve on three hosts, which are namespaces, and --matrix on a fourth."""
import json
import signal

from suite import test
from traffic import counters

HOSTS = {"x": "10.8.1.1", "y": "10.8.2.1", "z": "10.8.3.1"}
FORWARD = "/proc/sys/net/ipv4/ip_forward"

# Each has a cable to the first namespace, which forwards.
STAR = f"""
host() {{ ip -batch - <<EOF && ip -n $1 -batch - <<EOF2
netns add $1
link add to-$1 type veth peer name cable netns $1
addr add ${{2%.1}}.254/24 dev to-$1
link set to-$1 up
EOF
link set lo up
addr add $2/24 dev cable
link set cable up
route add default via ${{2%.1}}.254
EOF2
}}
"""


def star(t):
    for name, address in HOSTS.items():
        t.a.check(f"{STAR} host {name} {address}")
    return t.a.check(f"cat {FORWARD}; echo 1 >{FORWARD}").strip()


def unstar(t, forward):
    for name in HOSTS:
        t.a.check(f"ip netns del {name}")
    t.a.check(f"echo {forward} >{FORWARD}")


def listen(t, name, options="--serve"):
    """rds-stress that listens in a namespace."""
    server = t.a.spawn(f"exec ip netns exec {name} {t.tool('rds-stress')} {options} -z")
    t.a.wait_until(f"ip netns exec {name} ss -Hltn 'sport = :4000' | grep -q .")
    return server


def command(t, names, options):
    hosts = " ".join(HOSTS[name] for name in names)
    return f"{t.tool('rds-stress')} --matrix {hosts} {options}"


def measured(t, names, options, status=0):
    """The matrix as JSON."""
    rc, said = t.a.run(command(t, names, f"{options} --json"), t.seconds(120))
    assert rc == status, f"{rc}: {said}"
    found = json.loads(said)
    assert (found["type"], found["version"]) == ("matrix", 1), said
    return found


def by_pair(found):
    names = {address: name for name, address in HOSTS.items()}
    return {names[pair["from"]] + names[pair["to"]]: pair for pair in found["pairs"]}


def all_pairs(t):
    """Six pairs, each from the address of its row, requests one way and acks the other."""
    found = measured(t, "xyz", "-T 1 -d 4 -q 1k -a 64 -v")
    pairs = by_pair(found)
    assert sorted(pairs) == ["xy", "xz", "yx", "yz", "zx", "zy"], sorted(pairs)
    for name, pair in pairs.items():
        result = pair["result"]
        counts = result["counts"]
        assert pair["state"] == "measured" and pair["mbytes_rate"] > 0 < pair["rtt_p99_usec"], pair
        assert (result["local"], result["peer"]) == tuple(HOSTS[n] for n in name), result
        assert counts["sent"] == counts["received"] > 0 == result["lost"], counts
        assert counts["sent_bytes"] == 1024 * counts["sent"], counts
        assert counts["received_bytes"] == 64 * counts["received"], counts
    assert len({pair["result"]["plan"]["run"] for pair in pairs.values()}) == 6, pairs
    said = t.a.check(command(t, "xyz", "-T 0.5 -o"), t.seconds(60))
    assert "6 pairs: 6 measured, 0 failed, 0 left" in said and "\033" not in said, said
    assert "throughput, MB/s" in said and "usec" not in said, said
    t.note(" ".join(f"{name} {pair['mbytes_rate']:.1f} MB/s" for name, pair in pairs.items()))


def without_one(t):
    """A host with nobody there: its pairs fail for one reason, the others are measured."""
    found = measured(t, "xyz", "-T 1", status=1)
    pairs = by_pair(found)
    assert {n for n, p in pairs.items() if p["state"] == "measured"} == {"xy", "yx"}, pairs
    for name in ("xz", "zx", "yz", "zy"):
        assert "Connection refused" in pairs[name]["reason"], pairs[name]
    rc, said = t.a.run(command(t, "xyz", "-T 0.5"), t.seconds(60))
    assert rc == 1 and "6 pairs: 2 measured, 4 failed, 0 left" in said, f"{rc}: {said}"
    assert said.count("FAILED") == 8 and said.count("Connection refused") == 1, said


def goes_meanwhile(t, server):
    """The first pair is lost with its host, and the host is asked nothing more."""
    asking = t.a.spawn(command(t, "zx", "-T 30 --json"))
    server.wait_output(f"asks for 30 s towards {HOSTS['x']}", t.seconds(60))
    server.kill()
    server.wait()
    rc, said = asking.wait(t.seconds(60))
    found = json.loads(said)
    zx, xz = found["pairs"]
    assert rc == 1 and zx["state"] == xz["state"] == "failed", f"{rc}: {said}"
    assert "closed the connection" in zx["reason"] or "Connection reset" in zx["reason"], zx


def not_served(t):
    """One that was started as ever takes no requests, and is not ended by being asked."""
    plain = listen(t, "z", "")
    found = measured(t, "xz", "-T 1", status=1)
    assert all("start rds-stress --serve there" in (p["reason"] or "") for p in found["pairs"]), found
    said = t.a.check(f"ip netns exec y {t.tool('rds-stress')} -s {HOSTS['z']} -T 1 -z",
                     t.seconds(60))
    assert "verified:" in said, said
    plain.check(t.seconds(30))


def interrupted(t, server):
    """A signal ends the one who asks: what was measured is printed, and the served test ends."""
    asking = t.a.spawn(command(t, "xy", "-T 60"))
    server.wait_output(f"asks for 60 s towards {HOSTS['y']}", t.seconds(60))
    asking.kill(signal.SIGINT)
    rc, said = asking.wait(t.seconds(30))
    assert rc == 1 and "2 pairs: 0 measured, 0 failed, 2 left" in said, f"{rc}: {said}"
    server.wait_output("rds-stress: the one who asked: ", t.seconds(30))
    assert measured(t, "xy", "-T 1")["measured"] == 2


@test(only="ours", timeout=240)
def matrix(t):
    """All pairs of three hosts are measured; whatever ends meanwhile, the others are measured."""
    forward = star(t)
    servers = {name: listen(t, name) for name in HOSTS}
    # The one who asks needs no RDS, and opens no socket of it.
    all_pairs(t)
    # A look whether they serve is no news.
    said = "".join(server.output for server in servers.values())
    assert said.count(" asks for ") == 12 and "rds-stress:" not in said, said
    assert not any(counters(t, t.a).values()), counters(t, t.a)
    interrupted(t, servers["x"])
    goes_meanwhile(t, servers.pop("z"))
    not_served(t)
    without_one(t)
    for server in servers.values():
        server.kill(signal.SIGTERM)
        rc, said = server.wait(t.seconds(30))
        assert rc == 0, f"{rc}: {said}"
    unstar(t, forward)
