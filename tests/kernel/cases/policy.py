# SPDX-License-Identifier: GPL-2.0
"""Users of one host: what they learn of each other, and what an administrator lets them do."""
import json

from netns_pair import IN_X, IN_Y, X, Y, pair, unpair
from suite import HERE, test
from traffic import PYTHON, counters, ping

NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups"
# Root of a user namespace of his own, in a network namespace that is not his.
OWN_ROOT = f"{NOBODY} unshare --user --map-root-user"
NUMBERS = ("sent_nxt", "expect_una", "seen_una")


def tables(t, who="", options="-T", prefix=IN_X):
    return json.loads(t.a.check(f"{prefix} {who} {t.tool('rds-info')} {options} --json"))


@test(only="ours")
def sequence_numbers(t):
    """TCP's sequence numbers are told to who administers the namespace, and distances to others."""
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    row, = tables(t)["tcp_sockets"]
    una = row["seen_una"]
    sent, written = ((row[name] - una) % 2**32 for name in NUMBERS[:2])
    assert una and sent <= written < 1 << 16, row
    for who in (NOBODY, OWN_ROOT):
        row, = tables(t, who)["tcp_sockets"]
        assert row["seen_una"] == 0 and row["sent_nxt"] <= row["expect_una"] < 1 << 16, row
    assert len(tables(t, NOBODY, "-aT")["tcp_sockets"]) == 1
    unpair(t)


@test(only="ours")
def nothing_old_comes_out(t):
    """No byte of old memory in options, tables, names and control messages."""
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    t.note(t.a.check(f"{IN_X} {PYTHON} {HERE}/rds_leaks.py {X} {Y}").strip())
    unpair(t)


def refused(t, core, transport):
    """The kernel's log of a transport that is not to be loaded over this core."""
    mark = len(t.a.dmesg())
    t.a.check(f"insmod {core}")  # busybox's does not unpack
    rc, said = t.a.run(f"insmod {transport}")
    assert rc, f"{transport} was loaded over {core}: {said}"
    t.a.unload()
    return "\n".join(t.a.dmesg()[mark:])


@test(only="ours", modules="none", kernels=["6.1", "6.12", "7.2"])
def mixed_modules(t):
    """A transport of mainline's, or of another version, is not loaded, and the log says which version
    it wants."""
    core, tcp = (f"{t.modules_dir}/{name}.ko" for name in ("rds", "rds_tcp"))
    version = t.a.check(f"modinfo -F version {core}").strip().replace(".", "_")
    wanted = f"rds_tcp: Unknown symbol rds_ko_of_version_{version} "
    other = wanted[:-2] + ("8 " if version[-1] == "9" else "9 ")
    t.a.check(f"sed 's/{wanted.split()[-1]}/{other.split()[-1]}/g' {tcp} >/run/rds_tcp.ko")
    log = refused(t, core, "/run/rds_tcp.ko")
    assert other in log, log
    theirs, their_tcp = t.a.check("modinfo -n rds rds_tcp").split()
    log = refused(t, theirs, tcp)
    assert wanted in log, log
    log = refused(t, core, their_tcp)
    assert "rds_tcp: Unknown symbol rds_" in log, log
    t.note(f"mainline's wants {log.split('Unknown symbol ')[1].split()[0]}")


# ---- what others are not shown ----

def shown(t, who):
    """How many rows of each table of namespace x somebody is shown: by both families' codes, and in
    the files. Those of TCP, of which some are just being made, are told or not."""
    rows = {}
    for options in ("-nkrstTpc", "-ankrstTpc"):
        for name, told in tables(t, who, options).items():
            rows[f"{name} {options}"] = len(told or ())
    for name in ("sockets", "connections", "paths"):
        rows[f"{name} in the file"] = int(t.a.check(
            f"{IN_X} {who} sh -c 'wc -l </proc/net/rds/{name}'")) - 1
    assert all(n > 50 for name, n in rows.items() if "counters" in name), rows
    return {name: n > 0 if "tcp" in name else n for name, n in rows.items()
            if "counters" not in name}


@test(only="ours")
def rows_of_others(t):
    """With info_restrict, a user is shown his own sockets and their messages, and nothing else; who
    administers the namespace is shown all. A namespace made afterwards begins with it."""
    silent, other = X.rpartition(".")[0] + ".77", "setpriv --reuid 1000 --regid 1000 --clear-groups"
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    holders = [t.a.spawn(f"exec {IN_X} {who} {t.prog('rds_hold')} --bind {X} --to {silent}"
                         f" --messages {n} --unread {n}", stdin=True)
               for who, n in (("", 2), (NOBODY, 3))]
    for holder in holders:
        holder.wait_output("^ready$")
    everything = shown(t, "")
    wanted = {"sockets": 2, "send_queue": 5, "receive_queue": 5}
    for name, n in everything.items():
        assert n == wanted.get(name.split()[0], n), everything
    assert everything["connections in the file"] > 1 and everything["tcp_sockets -nkrstTpc"]
    for who in (NOBODY, other, OWN_ROOT):
        assert shown(t, who) == everything, who
    t.a.check(f"{IN_X} sh -c 'echo 1 >/proc/sys/net/rds/info_restrict'")
    assert shown(t, "") == everything
    for who, n in ((NOBODY, 1), (OWN_ROOT, 1), (other, 0)):
        wanted = {"sockets": n, "send_queue": 3 * n, "receive_queue": 3 * n}
        rows = shown(t, who)
        assert all(rows[name] == wanted.get(name.split()[0], 0) for name in rows), (who, rows)
    # The file's opener counts, not its reader.
    said = t.a.check(f"{IN_X} sh -c '{other} wc -l </proc/net/rds/sockets'")
    assert int(said) == 3, said
    for holder in holders:
        holder.write("", close=True)
        holder.check()
    unpair(t)
    t.a.check("cd /proc/sys/net/rds && echo 1 >info_restrict &&"
              " unshare -n grep 1 /proc/sys/net/rds/info_restrict && echo 0 >info_restrict")


# ---- what users may do ----

def answer(t, who, what):
    return t.a.check(f"{who} {PYTHON} {HERE}/rds_policy.py {what}").strip()


def groups(t, text):
    t.a.check(f"echo {text} >/proc/sys/net/rds/group_range")


# As root of a network namespace of his own, who has said that everybody may.
OWN_NET = f"{NOBODY} unshare --user --map-root-user --net"


@test(only="ours")
def groups_may_open(t):
    """Only users of the groups in group_range have sockets, here and in a namespace of their own."""
    in_five = "setpriv --reuid 65534 --regid 65534 --groups 5"
    users = ["", NOBODY, in_five, OWN_ROOT, OWN_NET]
    for text, allowed in (("0 4294967294", users), ("0 0", [""]), ("5 5", [in_five]),
                          ("4 6", [in_five]), ("1 0", []), ("6 65533", []),
                          ("65534 4294967294", users[1:])):
        groups(t, text)
        for who in users:
            wanted = "ok" if who in allowed else "EACCES"
            assert answer(t, who, "socket") == wanted, (text, who, wanted)
    groups(t, "0 4294967294")
    file = "/proc/sys/net/rds/group_range"
    script = (f"echo 1 1 >{file} 2>/dev/null && echo taken; echo 1 0 >{file} && cat {file} &&"
              f" {PYTHON} {HERE}/rds_policy.py socket; echo 0 0 >{file} &&"
              f" {PYTHON} {HERE}/rds_policy.py socket")
    said = t.a.check(f"{OWN_NET} sh -c '{script}'").split("\n")[:3]
    assert said[1:] == ["EACCES", "ok"], said  # 1 is nobody's number there
    groups(t, "0 0")
    assert t.a.check(f"{OWN_NET} sh -c '{script}'").split("\n")[1:3] == ["EACCES", "EACCES"]
    groups(t, "0 4294967294")


@test(only="ours")
def ports_are_kept(t):
    """Ports below unprivileged_port_start are for who has CAP_NET_BIND_SERVICE in the namespace."""
    lo = "127.0.0.1"
    assert answer(t, NOBODY, f"bind {lo} 600") == "ok"
    t.a.check("echo 1024 >/proc/sys/net/rds/unprivileged_port_start")
    for who, port, wanted in ((NOBODY, 600, "EACCES"), (NOBODY, 1023, "EACCES"),
                              (NOBODY, 1024, "ok"), (NOBODY, 0, "ok"), (OWN_ROOT, 600, "EACCES"),
                              ("", 600, "ok"), (NOBODY, 1, "EACCES"), ("", 1, "EINVAL")):
        assert answer(t, who, f"bind {lo} {port}") == wanted, (who, port, wanted)
    said = t.a.check(f"{OWN_NET} sh -c 'ip link set lo up && cat /proc/sys/net/rds/unprivileged_port_start"
                     f" && {PYTHON} {HERE}/rds_policy.py bind {lo} 600'").split()
    assert said == ["1024", "ok"], said


# A value that is written, and then the one that a container's root finds there, and the host's.
DELAYS = (("1", "1000", "1"), ("999", "1000", "999"), ("1000", "1000", "1000"),
          ("2000", "2000", "2000"))
BOUNDED = {"reconnect_max_delay_ms": DELAYS, "reconnect_delay_max_ms": DELAYS,
           "idle_timeout_ms": (("0", "0", "0"), ("1", "10000", "1"), ("9999", "10000", "9999"),
                               ("10001", "10001", "10001")),
           "max_passive_connections": (("0", "0", "0"), ("4096", "4096", "4096"),
                                       ("4097", "4096", "4097"),
                                       ("4294967295", "4096", "4294967295"))}


@test(only="ours")
def floors_of_containers(t):
    """Root of a container, which is nobody on the host, writes times, numbers and sizes that would
    cost the host: those hold that it allows, and are read back. The host's own root is obeyed."""
    def written(who, name, values):
        script = "cd /proc/sys/net/rds; " + "; ".join(f"echo {v} >{name}; cat {name}" for v in values)
        return t.a.check(f"{who} sh -c '{script}'").split()

    for name, rows in BOUNDED.items():
        values = [row[0] for row in rows]
        assert written(OWN_NET, name, values) == [row[1] for row in rows], name
        assert written("unshare -n", name, values) == [row[2] for row in rows], name
    for name, limit in (("sndbuf", "wmem_max"), ("rcvbuf", "rmem_max")):
        most = 2 * int(t.a.check(f"cat /proc/sys/net/core/{limit}"))
        values = ["0", "8192", str(most), str(most + 1), str(1 << 30)]
        said = written(OWN_NET, f"tcp/rds_tcp_{name}", values)
        assert said == [*values[:3], str(most), str(most)], (name, said)
        assert written("unshare -n", f"tcp/rds_tcp_{name}", values) == values


def loaded(t):
    """Which transports are there, and whether the port is open."""
    names = t.a.check("cut -d' ' -f1 /proc/modules").split()
    return {n for n in ("rds_loop", "rds_tcp", "rds_rdma") if n in names}, \
        ":16385" in t.a.check("ss -Hltn")


@test(only="ours", modules="none")
def nobody_loads(t):
    """SO_RDS_TRANSPORT of a user opens no port of the host; loopback is there for all, and
    whatever an administrator asks for, or allows by the module's parameter."""
    t.a.modprobe_ours(t.modules_dir, "rds")
    for who in (NOBODY, OWN_ROOT, OWN_NET):
        for transport in (0, 2):
            assert answer(t, who, f"transport {transport}") == "ENOPROTOOPT", (who, transport)
    assert loaded(t) == (set(), False), loaded(t)
    assert answer(t, NOBODY, "bind 127.0.0.1 4000") == "ok"
    assert loaded(t) == ({"rds_loop"}, False), loaded(t)
    assert answer(t, "", "transport 2") == "ok"
    assert loaded(t) == ({"rds_loop", "rds_tcp"}, True), loaded(t)
    assert answer(t, NOBODY, "transport 2") == "ok", "what is loaded is everybody's"
    t.a.unload()
    t.a.check("modprobe rds autoload=1")
    t.a.modules = "ours"
    assert answer(t, NOBODY, "transport 2") == "ok"
    assert loaded(t) == ({"rds_tcp"}, True), loaded(t)


@test(only="ours", modules="none", kernels=["6.1", "6.12", "7.2"])
def locked_down(t):
    """A kernel that is locked down takes none of the modules unsigned, and says so."""
    t.a.check("mount -t securityfs securityfs /sys/kernel/security &&"
              " echo integrity >/sys/kernel/security/lockdown")
    rc, said = t.a.run(f"insmod {t.modules_dir}/rds.ko")
    assert rc and "not permitted" in said, f"{rc} {said}"
    assert [line for line in t.a.dmesg() if "unsigned module loading is restricted" in line]
    t.a.power_cycle()  # there is no way back


@test(only="ours")
def shares_of_users(t):
    """One user cannot have all connections of a namespace, nor all sockets, by any number of users
    of his own; another still sends to one host more, and binds. Who administers it may have more."""
    other = "setpriv --reuid 1000 --regid 1000 --clear-groups"
    shares = f"{IN_X} %s {PYTHON} {HERE}/rds_shares.py {X} 10.10.%d.1 %d %d"
    pair(t)
    t.a.check(f"{IN_X} sh -c 'ip route add 10.10.0.0/16 dev cable; cd /proc/sys/net/rds &&"
              f" echo 40 >max_user_connections && echo 60 >max_user_sockets'")
    taker = t.a.spawn(f"exec {shares % (NOBODY, 0, 100, 100)}", stdin=True)
    taker.wait_output("^40 EDQUOT 59 EDQUOT$")
    said = t.a.check(f"{shares % (OWN_ROOT, 1, 0, 0)} </dev/null; true")
    assert "Disk quota exceeded" in said, said
    assert t.a.check(f"{shares % (other, 2, 5, 5)} </dev/null") == "5 - 5 -\n"
    assert t.a.check(f"{shares % ('', 3, 100, 100)} </dev/null") == "100 - 100 -\n"
    refused = counters(t, t.a, IN_X)["user_refused"]
    assert refused == 3, refused
    taker.write("", close=True)
    taker.check()
    # Its messages are gone, and what it has made is idle: some of that makes room at once.
    t.a.wait_until(f"{shares % (NOBODY, 4, 1, 59)} </dev/null | grep -x '1 - 59 -'")
    unpair(t)
