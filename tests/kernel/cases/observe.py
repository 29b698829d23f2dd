# SPDX-License-Identifier: GPL-2.0
"""An administrator's view: the tables of /proc/net/rds, beside rds-info's, and tracepoints."""
import json

from netns_pair import IN_X, IN_Y, X, X6, Y, Y6, pair, unpair
from suite import test
from traffic import paths, ping

TRACED = ["6.1", "6.12", "7.2"]  # the others have no tracing
TRACING = "/sys/kernel/tracing"
QUEUES = 60  # sockets with 100 kB each: 1500 pages
UNREAD = 107  # messages of 1000 bytes that fill a receive buffer of the default size


def table(t, name, prefix=""):
    """A file of /proc/net/rds: a dictionary for each row."""
    head, *rows = t.a.check(f"{prefix} cat /proc/net/rds/{name}").splitlines()
    names = head.split()
    return [dict(zip(names, row.split(None, len(names) - 1))) for row in rows]


def hold(t, prefix, options):
    holder = t.a.spawn(f"exec {prefix} {t.prog('rds_hold')} {options}", stdin=True)
    holder.wait_output("^ready$")
    return holder


def release(holder):
    holder.write("", close=True)
    holder.check()


@test(only="ours")
def tables(t):
    """Sockets, connections and paths, IPv4 and IPv6, each namespace its own; rds-info agrees."""
    pair(t)
    holder = hold(t, IN_X, f"--bind {X} --bind {X6} --unbound 1 --to {Y} --messages 1")
    for mine, peer in ((X, Y), (X6, Y6)):
        ping(t, t.a, mine, peer, prefix=IN_X)
    assert {row["BoundAddr"] for row in table(t, "sockets", IN_X)} == {X, X6, "-"}
    for name in ("connections", "paths"):
        ends = {(row["LocalAddr"], row["RemoteAddr"]) for row in table(t, name, IN_X)}
        assert ends == {(X, Y), (X6, Y6)}, f"{name}: {ends}"
        assert len(table(t, name, IN_Y)) == 2 and table(t, name) == []
    assert all(row["Flg"] == "--C" for row in table(t, "connections", IN_X))
    assert table(t, "sockets", IN_Y) == table(t, "sockets") == []
    t.a.check(f"{IN_X} ss -HtnK 'dport = :16385'")
    t.a.wait_until(f"{IN_X} sh -c '! grep -qv -e \" 1 error$\" -e ^LocalAddr /proc/net/rds/paths'")
    ping(t, t.a, X, Y, prefix=IN_X)
    told = json.loads(t.a.check(f"{IN_X} {t.tool('rds-info')} --json"))
    path, = (p for p in told["paths"] if p["local_addr"] == X)
    row, = (r for r in table(t, "paths", IN_X) if r["LocalAddr"] == X)
    assert list(map(str, path.values())) == [v for k, v in row.items() if k != "Transport"], path
    assert path["attempts"] == 2 and path["resets"] == 1, path
    assert {p["local_addr"] for p in paths(t, t.a, IN_X)} == {X}, "IPv6 without -a"
    agree(t)
    release(holder)
    unread(t)
    unpair(t)


def agree(t):
    """rds-info tells of both families' sockets and connections what the files tell, to the letter."""
    told = json.loads(t.a.check(f"{IN_X} {t.tool('rds-info')} -ankv --json"))
    for name, last in (("connections", "Transport"), ("sockets", None)):
        rows = [[*(v for k, v in row.items() if k != last), *([row[last]] if last else [])]
                for row in table(t, name, IN_X)]
        # An IPv6 connection's record has no type of service; nobody's address is "::", port 0.
        cells = [["0" if v is None else str(v) for v in row.values()] for row in told[name]]
        rows = [["::" if v == "-" and at in (0, 2) else "0" if v == "-" else v
                 for at, v in enumerate(row)] for row in rows]
        assert sorted(cells) == sorted(rows), f"{name}: {cells}, in the file {rows}"


def unread(t):
    """How many messages wait to be read, as the file and rds-info say."""
    holder = hold(t, IN_Y, f"--bind {Y} --unbound 1 --unread 5")
    t.a.wait_until(f"{IN_Y} grep -q ' 5 *5$' /proc/net/rds/sockets")
    rows = {row["Inode"]: (row["NBufs"], row["Span"]) for row in table(t, "sockets", IN_Y)}
    assert sorted(rows.values()) == [("0", "0"), ("5", "5")], rows
    told, = json.loads(t.a.check(f"{IN_Y} {t.tool('rds-info')} -kv --json"))["sockets"]
    assert told["nbufs_allocated"] == told["bufs_alloc_span"] == 5, told
    told, = json.loads(t.a.check(f"{IN_Y} {t.tool('rds-info')} -k --json"))["sockets"]
    assert "nbufs_allocated" not in told, told
    release(holder)


@test(only="ours", extra=True)
def memory_is_counted(t):
    """Queued messages are the family's memory in /proc/net/protocols, until they are read."""
    pages = "awk '$1 == \"RDS\" { n = $4 } END { exit !(n SIZE) }' /proc/net/protocols"
    pair(t)
    nobody = X.rpartition(".")[0] + ".77"
    holder = hold(t, IN_X, f"--bind {X} --to {nobody} --count {QUEUES} --messages 100")
    t.a.wait_until(pages.replace("SIZE", "> 1000"))
    holder.kill()
    holder.wait()
    # Each processor keeps the account of up to 1 MiB for itself.
    t.a.wait_until(pages.replace("SIZE", "<= 256"))
    unpair(t)


def traced(t, event, text):
    """Waits for a line of the trace."""
    t.a.wait_until(f"grep -E '{event}: .*{text}' {TRACING}/trace")


@test(only="ours", kernels=TRACED)
def tracepoints(t):
    """States with reasons, drops by the name of their counter, and congestion are traced."""
    t.a.check(f"mount -t tracefs tracefs {TRACING} && echo 1 >{TRACING}/events/rds/enable")
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    traced(t, "rds_path_state", f"tcp ::ffff:{X} - ::ffff:{Y} path 0: down -> connecting, -")
    traced(t, "rds_path_state", f"tcp ::ffff:{X} - ::ffff:{Y} path 0: connecting -> up, -")
    traced(t, "rds_path_event", f"::ffff:{X} - ::ffff:{Y} path 0: want in down -> connecting")
    traced(t, "rds_path_event", f"::ffff:{X} - ::ffff:{Y} path 0: connected in connecting -> up")
    release(hold(t, IN_X, f"--bind {X} --to {Y} --port 4711 --messages 1 --length 77"))
    traced(t, "rds_drop", rf"-> \[::ffff:{Y}\]:4711 number [0-9]+, 77 bytes: recv_drop_no_sock")
    holder = hold(t, IN_Y, f"--bind {Y} --unread {UNREAD}")
    traced(t, "rds_cong", rf"\[::ffff:{Y}\]:[0-9]+ full")
    traced(t, "rds_cong", rf"\[::ffff:{Y}\]:0 map received")
    t.a.check(f"{IN_X} ss -HtnK 'dport = :16385'")
    traced(t, "rds_path_state", f"::ffff:{X} - ::ffff:{Y} path 0: up -> down, error")
    traced(t, "rds_cong", rf"\[::ffff:{Y}\]:0 forgotten")
    release(holder)
    traced(t, "rds_cong", rf"\[::ffff:{Y}\]:[0-9]+ clear")
    # The kernel's format of an event names the reasons by number, for tools.
    assert '{ 2, "error" }' in t.a.check(f"cat {TRACING}/events/rds/rds_path_state/format")
    t.a.check(f"echo 0 >{TRACING}/events/rds/enable; umount {TRACING}")
    unpair(t)
