# SPDX-License-Identifier: GPL-2.0
"""Rows of docs/troubleshooting.md and docs/tuning.md: the fault is made, what the page says that
one sees is seen, and what it says to do mends it. The commands are the page's own. A row that
nobody plays is a failure, and so is one that the page has no more.
"""
import contextlib
import json
import re
import textwrap
import time

import filters
import guest
import memcg
from netns_pair import IN_X, IN_Y, X, Y, pair, unpair
from suite import HERE, test
from traffic import A, B, PYTHON, helper, ping, stress_says

KERNELS = ["6.1", "6.12", "7.2"]  # the debug kernels have no modprobe
TROUBLES, TUNING = (guest.TOP / f"docs/{name}.md" for name in ("troubleshooting", "tuning"))
NOBODY = "setpriv --reuid 65534 --regid 65534 --clear-groups"
NOWHERE = "10.9.0.77"  # nobody's address
HIGH = "10.9.0.30"     # another of guest a's, which may not call guest b
LOW = "10.8.0.1"       # one of guest b's, which calls guest a
STRANGERS, THEIR_NET = ("10.8.1.1", "10.8.1.2"), "10.8.1.0/24"  # of guest a's, which call guest b
MIB = 1 << 20
PLAYS = {}
# Rows that are not played here, and the file that has them.
ELSEWHERE = {"send failed": "tests/unit/ib_link_test.cc"}


# ---- the page ----

def row(head, seen):
    """Marks what plays a row: of the table with this heading, the row that begins so."""
    def mark(function):
        PLAYS.setdefault(head, {})[seen] = function
        return function
    return mark


def table(page, head):
    """The cells of each row of the page's tables with this heading, by the first of them."""
    found = {}
    for rows in re.findall(rf"^\| {head} \|.*\n\|[-|: ]+\n((?:\|.*\n)+)", page.read_text(), re.M):
        for line in rows.splitlines():
            first, *rest = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
            found[first] = rest
    assert found, f"{page.name} has no table of '{head}'"
    return found


def quoted(text, start):
    """The first of the texts in `...` that begins so."""
    found = [one for one in re.findall(r"`([^`]+)`", text) if one.startswith(start)]
    assert found, f"no `{start}...` in: {text}"
    return found[0]


class Row:
    """A row that is being played."""

    def __init__(self, t, seen, because, do):
        self.t, self.seen, self.because, self.do = t, seen, because, do
        self.error = seen.rpartition(": ")[2]

    def command(self, start):
        return quoted(self.do, start)


def play(t, head):
    """Every row of a table of docs/troubleshooting.md. A play that has to wait for long returns
    what is left to do, which comes last."""
    rows, plays = table(TROUBLES, head), PLAYS[head]
    heads = re.findall(r"^\| (.+?) \|.*\| do \|$", TROUBLES.read_text(), re.M)
    assert set(heads) == set(PLAYS), heads
    elsewhere = {seen for seen in ELSEWHERE if seen in rows}
    assert set(rows) == set(plays) | elsewhere, set(rows) ^ (set(plays) | elsewhere)
    assert all((guest.TOP / ELSEWHERE[seen]).exists() for seen in elsewhere)
    left = [function(Row(t, seen, *rows[seen])) for seen, function in plays.items()]
    for finish in filter(None, left):
        finish()
    t.note(f"'{head}': {len(plays)} of {len(rows)} rows")


# ---- what is done in the guests ----

def on(t, machine, command):
    """Exit status and output of a command as the page has it: the tools are in the path."""
    return machine.run(f"PATH={t.tool('rdsctl').parent}:$PATH; {command}", t.seconds(60))


def done(t, machine, command):
    status, said = on(t, machine, command)
    assert not status, f"{machine.name}$ {command}: {status}\n{said}"
    return said


def until(t, look, what, seconds=60):
    """Looks again and again until it finds something, and returns that."""
    end = time.monotonic() + t.seconds(seconds)
    while not (found := look()):
        assert time.monotonic() < end, what()
        time.sleep(0.1)
    return found


def shown(t, machine, command, pattern, seconds=60):
    """Repeats a command until this is in its output, which it returns. Any exit status will do:
    doctor's tells of faults."""
    said = [""]

    def look():
        said[0] = on(t, machine, command)[1]
        return re.search(pattern, said[0], re.M)
    until(t, look, lambda: f"{machine.name}$ {command}\nhas not shown {pattern}, but\n{said[0]}",
          seconds)
    return said[0]


# Plays what it is told, each in a process of its own, as the user that it is told: an emulator
# takes long to start Python once for each.
PROGRAM = f"""
import json, os, socket, sys
sys.path.insert(0, "{HERE}")
import rds_talk
def bound(addr="{A}", port=0):
    return rds_talk.bound(addr, port)
def send(sock, length, addr="{B}", port=4000):
    name = rds_talk.sockaddr(addr, port)
    return rds_talk.checked(rds_talk.libc.sendto(sock.fileno(), bytes(length), length,
                                                 socket.MSG_DONTWAIT, name, len(name)))
def tried(call, *args):
    try:
        call(*args)
    except OSError as error:
        print(error.strerror)
def play(text, ids):
    if ids:
        os.setgroups(ids[2:])
        os.setgid(ids[1])
        os.setuid(ids[0])
    tried(lambda: [exec(text, globals()), print("ok")])
for number, line in enumerate(sys.stdin):
    if not os.fork():
        play(*json.loads(line))
        sys.stdout.flush()
        os._exit(0)
    print(f"status {{os.wait()[1]}} of {{number}}", flush=True)
"""
NOBODY_IDS = [65534, 65534]


class Programs:
    """Those that speak RDS on guest a."""

    def __init__(self, t):
        self.command, self.played = t.a.spawn(f"exec {PYTHON} -c '{PROGRAM}'", stdin=True), 0

    def told(self, text, ids):
        begin = len(self.command.output)
        self.command.write(json.dumps([textwrap.dedent(text).strip(), ids]) + "\n")
        status, = self.command.wait_output(rf"^status (\d+) of {self.played}$").groups()
        self.played += 1
        said = self.command.output[begin:]
        assert status == "0", said
        return said.splitlines()[:-1]


def told(t, text, ids=()):
    """The lines that a program of guest a prints: the last is "ok", or the error that ended it.
    @ids: of user and group, and of further groups; root's without."""
    if not hasattr(t, "programs"):
        t.programs = Programs(t)
    return t.programs.told(text, ids)


def says(t, text, *lines, ids=()):
    """Those lines, and no others."""
    said = told(t, text, ids)
    assert said == [*lines], f"{text}\nsays {said}"


def spawned(machine, command, ready):
    """A program that has said so much."""
    program = machine.spawn(f"exec {command}", stdin=True)
    program.wait_output(ready)
    return program


def end(*programs):
    for program in programs:
        program.kill()
        program.wait()


def holder(t, to, options="--messages 1"):
    return spawned(t.a, f"{t.prog('rds_hold')} --bind {A} --to {to} {options}", "^ready$")


def monitor(t, machine, command="rdsctl monitor", first="^Time Path Event$"):
    return spawned(machine, f"{t.tool('rdsctl').parent}/{command}", first)


@contextlib.contextmanager
def setting(machine, name, value):
    """A sysctl has this value for the time being."""
    usual = machine.check(f"sysctl -n {name}").strip()
    machine.check(f"sysctl -qw {name}='{value}'")
    yield
    machine.check(f"sysctl -qw {name}='{usual}'")


def path(t, remote=B):
    """The path of guest a to a host, as rdsctl has it in JSON."""
    said = done(t, t.a, f"rdsctl -j path local {A} remote {remote} index 0 transport tcp")
    return json.loads(said)["paths"][0]


def arrives(t, to=B):
    """A message that has waited has arrived: nothing waits any more."""
    shown(t, t.a, f"rdsctl path local {A} remote {to} state up unacked 0", rf"{to} .* up ")


@contextlib.contextmanager
def a_message_under(t, fault):
    """Guest a has a message for guest b while there is a fault. When that has ended it arrives."""
    with fault:
        held = holder(t, B)
        yield
    arrives(t)
    end(held)


def last_reason(t, reason, machine=None, remote=B):
    return shown(t, machine or t.a, f"rdsctl path remote {remote}",
                 rf"last reason {re.escape(reason)}  ")


def doctor_says(t, remote, words):
    """Guest a's, why this host is not reached."""
    return shown(t, t.a, "rdsctl doctor", rf"^fault: {remote} has not been .*\n.*: {words}")


def load_tcp(t, machine, words=""):
    machine.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_tcp.ko {words}")


@contextlib.contextmanager
def no_tcp(t):
    """Guest b is without rds_tcp."""
    t.b.check("/run/busybox rmmod rds_tcp")
    yield
    load_tcp(t, t.b)


@contextlib.contextmanager
def refuses(t, machine, peer):
    done(t, machine, f"rdsctl peer add {peer} refuse")
    yield
    done(t, machine, f"rdsctl peer del {peer}")


def kill_calls(machine, whose):
    """Ends TCP connections that were called from here (dport) or from there (sport)."""
    killed = machine.check(f"modprobe tcp_diag && ss -HtnK '{whose} = :16385'")
    assert killed.strip(), "there was no connection to kill"


@contextlib.contextmanager
def cut(t, kill=False):
    """Nothing of guest a's calls comes to guest b."""
    with filters.incoming(t.b, "tcp dport 16385 drop"):
        if kill:
            kill_calls(t.b, "sport")
        yield


READER = f"""{PYTHON} -c '
import socket, sys
sock = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
sock.bind(("{B}", 4000))
print("ready", flush=True)
sys.stdin.readline()
while True:
    sock.recv(2000)
'"""


@contextlib.contextmanager
def full_port(t, error="No buffer space available"):
    """A program of guest b does not read, so its port is full. In the end it reads."""
    flood = "sock = bound()\nwhile True:\n    send(sock, 1000)"
    reader = spawned(t.b, READER, "^ready$")
    until(t, lambda: told(t, flood) == [error], lambda: "the port is never full")
    yield
    reader.write("go on\n")
    until(t, lambda: told(t, "send(bound(), 1)") == ["ok"], lambda: "the port stays full")
    end(reader)


def names_the_reader(t):
    """As the page's row of a full port says."""
    (_, do), = (cells for seen, cells in table(TROUBLES, "the path says").items()
                if seen.startswith("peer's full ports"))
    shown(t, t.b, quoted(do, "rdsctl show"),
          rf"slowest reader {B}: port 4000, [0-9.]*s, python3\S*\(\d+\)$")


# ---- Programs are refused ----

LOADER = "/usr/lib/systemd/systemd-modules-load"


def our_tree(t):
    """Ours are installed, over the kernel's own."""
    t.a.check(t.a.tree_command(guest.module_tree(t.a.kernel, t.modules_dir)))


@row("seen", "socket: Address family not supported by protocol")
def not_loaded(row):
    t, load, file = row.t, row.command("modprobe"), row.command("/etc/")
    our_tree(t)
    says(t, "rds_talk.bound()", row.error)
    status, said = on(t, t.a, f"rds-ping -c 1 {B}")
    assert status and load in said, said
    shown(t, t.a, "rdsctl doctor", "^fault: rds is not loaded$")
    done(t, t.a, load)
    says(t, "bound()", "ok")
    t.a.check(f"modprobe -r rds_tcp && echo {load.split()[-1]} >{file}")
    t.a.check(f"if [ -x {LOADER} ]; then {LOADER} {file}; else modprobe -a $(cat {file}); fi")
    says(t, "bound()", "ok")
    t.a.check(f"rm {file}")
    t.a.modules = "ours"


@row("seen", "socket: Permission denied")
def no_group(row):
    t = row.t
    with setting(t.a, quoted(row.because, "net.rds."), "5 5"):
        says(t, "rds_talk.bound()", row.error, ids=NOBODY_IDS)
        assert row.error in on(t, t.a, f"{NOBODY} rds-ping -c 1 {B}")[1]
        assert "`group_range`" in (guest.TOP / row.do).read_text()
        says(t, "bound()", "ok", ids=[*NOBODY_IDS, 5])
    says(t, "bound()", "ok", ids=NOBODY_IDS)


@row("seen", "socket, sendmsg: Disk quota exceeded")
def quota(row):
    t, two_hosts = row.t, f"sock = bound(); send(sock, 1); send(sock, 1, '{NOWHERE}')"
    for name, few, text in (
            ("max_user_sockets", 2, "more = [rds_talk.bound() for _ in range(3)]"),
            ("max_user_connections", 1, two_hosts)):
        with setting(t.a, f"net.rds.{quoted(row.because, name)}", few):
            says(t, text, row.error, ids=NOBODY_IDS)
            shown(t, t.a, "rdsctl doctor", "^fault: user_refused is ")
        says(t, text, "ok", ids=NOBODY_IDS)
    with setting(t.a, "net.rds.max_user_sockets", 2):
        says(t, """
            had = [bound(), bound()]
            tried(rds_talk.bound)
            had.pop().close()
            bound()""", row.error, "ok", ids=NOBODY_IDS)


@row("seen", "bind: Cannot assign requested address")
def no_address(row):
    t, ask, addresses = row.t, f"bound('{NOWHERE}')", row.command("ip address")
    says(t, ask, row.error)
    assert NOWHERE not in done(t, t.a, addresses)
    t.a.check(f"ip address add {NOWHERE}/32 dev eth0")
    assert NOWHERE in done(t, t.a, addresses)
    says(t, ask, "ok")
    t.a.check(f"ip address del {NOWHERE}/32 dev eth0")
    # And one of an adapter.
    t.a.check("rmmod rds_tcp && modprobe -a rdma_rxe rdma_cm")
    t.a.plug()
    says(t, "bound()", row.error)
    done(t, t.a, row.command("modprobe"))
    says(t, "print(bound().getsockopt(276, 8))", "0", "ok")  # RDS_TRANS_IB
    t.a.unplug()
    t.a.check("rmmod rds_rdma && modprobe rds_tcp")


@row("seen", "bind: Address already in use")
def taken(row):
    t = row.t
    other = spawned(t.a, f"{helper('rds_talk.py')} open {A}", "^open$")
    says(t, "bound(port=4000)", row.error)
    command = row.command("rdsctl socket local-port").replace("PORT", "4000")
    assert re.search(rf"^ *{A} +4000 ", done(t, t.a, command), re.M)
    end(other)
    says(t, "bound(port=4000)", "ok")


@row("seen", "sendmsg: Network is unreachable")
def no_loopback(row):
    t, ask = row.t, f"send(bound(), 1, '{A}')"
    t.a.check("rmmod rds_loop 2>/dev/null; mkdir -p /run/modprobe.d &&"
              " echo 'install rds_loop /bin/false' >/run/modprobe.d/rds.conf")
    says(t, ask, row.error)
    status, why = on(t, t.a, row.command("modprobe"))
    assert status and "install command '/bin/false'" in why, why
    t.a.check("rm -r /run/modprobe.d")
    done(t, t.a, row.command("modprobe"))
    says(t, ask, "ok")


@row("seen", "sendmsg: Message too long")
def too_long(row):
    t, text = row.t, f"""
        sock = bound()
        room = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) // 2
        tried(send, sock, room + 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, {2 * MIB})
        tried(send, sock, {MIB} + 1)
        send(sock, {MIB})"""
    assert "1 MiB" in row.because and "SO_SNDBUF" in row.do
    # Kernels differ in what it is: 208 KiB, or 4 MiB in newer ones.
    with setting(t.a, row.command("net.core."), MIB // 4):
        says(t, text, *[row.error] * 3)
    with setting(t.a, row.command("net.core."), 4 * MIB):
        says(t, text, *[row.error] * 2, "ok")


@row("seen", "sendmsg: No buffer space available")
def no_room_there(row):
    t = row.t
    with full_port(t, row.error):
        names_the_reader(t)
    says(t, "send(bound(), 1)", "ok")


@row("seen", "sendmsg: Resource temporarily unavailable")
def no_room_here(row):
    assert "a larger SO_SNDBUF" in row.do
    says(row.t, f"""
        sock = bound()
        def fill():
            while True:
                send(sock, 1000, "{NOWHERE}")
        for size in 10000, 20000:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            tried(fill)
            print(sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))""",
         row.error, "20000", row.error, "40000", "ok")
    assert path(row.t, NOWHERE)["state"] != "up"


@row("seen", "modprobe fails, and the log says `Unknown symbol rds_ko_of_version_…`")
def two_versions(row):
    t, unload = row.t, row.command("modprobe -r")
    done(t, t.a, unload)
    t.a.check(t.a.tree_command(t.a.kernel.modules))
    t.a.check("modprobe rds")
    our_tree(t)
    mark = len(t.a.dmesg())
    status, said = on(t, t.a, "modprobe rds_tcp")
    assert status, said
    log, words = t.a.dmesg()[mark:], quoted(row.seen, "Unknown symbol").rstrip("…")
    assert any(words in line for line in log), log
    done(t, t.a, unload)
    done(t, t.a, "modprobe rds_tcp")
    says(t, "bound()", "ok")


@row("seen", "modprobe: Key was rejected by service")
def not_signed(row):
    """Nothing is mended: there is no key here that the kernel trusts."""
    t = row.t
    done(t, t.a, "rmmod rds_loop 2>/dev/null; modprobe -r rds_tcp &&"
                 " echo Y >/sys/module/module/parameters/sig_enforce")
    status, said = on(t, t.a, "modprobe rds_tcp")
    assert status and row.error in said, said
    assert re.search('^## Modules$', (guest.TOP / "docs/packages.md").read_text(), re.M)
    t.a.power_cycle()  # there is no way back


@test(vms=2, modules=("none", "ours"), only="ours", timeout=240)
def programs_are_refused(t):
    """The table of that name: each error by a call, and by a tool where one says it."""
    play(t, "seen")


# ---- Another host is not reached ----

HALF = f"""{PYTHON} -c '
import socket, sys
s = socket.create_connection(("{A}", 16385), source_address=("{LOW}", 0))
s.sendall((1).to_bytes(8, "big") + bytes(8) + (1000).to_bytes(4, "big") + (5000).to_bytes(2, "big")
          + (4000).to_bytes(2, "big") + bytes(24) + b"half of it")
print("begun", flush=True)
sys.stdin.read()
'"""
MUTE = f"""{PYTHON} -c '
import socket, sys
s = socket.create_connection(("{B}", 16385), source_address=("{STRANGERS[0]}", 0))
print("called", flush=True)
sys.stdin.read()
'"""
# Says something else than RDS, or only hello and that it goes.
NO_RDS = f"""{PYTHON} -c '
import socket, sys, threading
listener = socket.create_server(("{B}", 16385))
def answer(caller):
    try:
        said = caller.recv(48, socket.MSG_WAITALL)
        caller.sendall({{answer}})
        caller.shutdown(socket.SHUT_WR)
        while caller.recv(4096):
            pass
    except OSError:
        pass
def serve():
    while True:
        threading.Thread(target=answer, args=listener.accept()[:1], daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
print("listening", flush=True)
sys.stdin.read()
'"""
WEB, HELLO = 'b"HTTP/1.0 400 Bad Request" + bytes(99)', "said"


@contextlib.contextmanager
def no_rds(t, answer=WEB):
    """Guest b's port is a program's."""
    with setting(t.b, "net.rds.tcp.listen", 0):
        program = spawned(t.b, NO_RDS.format(answer=answer), "^listening$")
        kill_calls(t.b, "sport")
        yield
        end(program)


@row("last reason", "stalled")
def half_a_message(row):
    t, heard = row.t, monitor(row.t, row.t.a, f"rdsctl monitor remote {LOW}")
    reader = spawned(t.a, f"{helper('rds_talk.py')} open {A}", "^open$")
    peer = spawned(t.b, HALF, "^begun$")
    assert "for 30 s" in row.because

    def finish():
        heard.wait_output(r"down \(stalled\)$", t.seconds(90))
        end(heard, reader, peer)
    return finish


@row("last reason", "connect failed")
def nobody_answers(row):
    """No module, a filter, no host: doctor says which of them it is."""
    t, absent = row.t, holder(row.t, NOWHERE)
    assert "TCP port 16385" in row.do
    for fault, words in ((no_tcp(t), "the host is up, and refuses TCP port 16385"),
                         (cut(t, kill=True), "a call of TCP port 16385 is not answered")):
        with a_message_under(t, fault):
            last_reason(t, row.seen)
            doctor_says(t, B, words)
    last_reason(t, row.seen, remote=NOWHERE)
    doctor_says(t, NOWHERE, "there is no way to it")
    t.b.check(f"ip address add {NOWHERE}/24 dev eth0")
    arrives(t, NOWHERE)
    end(absent)
    t.b.check(f"ip address del {NOWHERE}/24 dev eth0")


@row("last reason", "refused here")
def refused_here(row):
    t = row.t
    with a_message_under(t, refuses(t, t.a, B)):
        last_reason(t, row.seen)
        assert re.search(rf"^ *{B} .* refuse ", done(t, t.a, row.command("rdsctl peer list")), re.M)
        doctor_says(t, B, "the table of peers of this host refuses it")


@contextlib.contextmanager
def one_key(t):
    """Guest a signs, and guest b does not until the end."""
    for machine, peer in ((t.a, B), (t.b, A)):
        done(t, machine, f"umask 077 && echo secret >/run/key &&"
                         f" rdsctl peer add {peer} key-file /run/key && rm /run/key")
        if machine is t.a:
            yield


@row("last reason", "no answer; key?")
def no_key_there(row):
    t = row.t
    assert (guest.TOP / row.do).exists()
    with a_message_under(t, one_key(t)):
        last_reason(t, row.seen)
    for machine, peer in ((t.a, B), (t.b, A)):
        done(t, machine, f"rdsctl peer del {peer}")


@row("last reason", "any, again and again, and doctor says that its port is open")
def refused_there(row):
    t, reasons = row.t, ", ".join(table(TROUBLES, "last reason")).split(", ")
    heard = monitor(t, t.b, row.command("rdsctl peer monitor"), "^Peer Cause$")
    before = path(t)["attempts"]
    with a_message_under(t, refuses(t, t.b, A)):
        doctor_says(t, B, "its TCP port 16385 is open")
        until(t, lambda: path(t)["attempts"] > before + 3, lambda: f"not again: {path(t)}")
        assert path(t)["last-reason"] in reasons, path(t)
        # It resets the call, sometimes before doctor looks: that is an answer, too.
        said = [on(t, t.a, "rdsctl doctor")[1] for _ in range(10)]
        assert all("its TCP port 16385 is open" in one for one in said), said
        heard.wait_output(f"^{A} called-us$")
        assert f"{A} " in done(t, t.b, row.command("rdsctl peer list"))
    end(heard)


@row("last reason", "peer closed, error")
def ended(row):
    """The causes that the row names, and a peer that ends it. Soon the path has another last
    reason, that it is not reached: monitor has both."""
    t, reasons = row.t, row.seen.split(", ")
    timeout = f"net.rds.tcp.{quoted(row.because, 'rds_tcp_user')}"
    for fault, reason in ((no_tcp(t), "|".join(reasons)), (cut(t), reasons[1]),
                          (no_rds(t, HELLO), reasons[0])):
        ping(t, t.a, A, B)
        heard = monitor(t, t.a)
        with setting(t.a, timeout, 1000), a_message_under(t, fault):
            heard.wait_output(rf"{B} .* down \(({reason})\)$", t.seconds(60))
        end(heard)
    ping(t, t.a, A, B)
    before = path(t)["resets"]
    kill_calls(t.b, "sport")
    ping(t, t.a, A, B)
    now = path(t)
    assert now["resets"] > before and now["last-reason"] in reasons, now


@row("last reason", "protocol")
def not_rds(row):
    t, look = row.t, row.command("ss -tlnp")
    with a_message_under(t, no_rds(t)):
        last_reason(t, row.seen)
        assert "python3" in done(t, t.b, look)
    assert "python3" not in done(t, t.b, look)


@contextlib.contextmanager
def no_resets_of(machine):
    """Nobody hears that its connections are gone."""
    machine.check("nft 'add table ip mute; add chain ip mute o { type filter hook output priority"
                  " 0; }; add rule ip mute o tcp flags & rst == rst drop'")
    yield
    machine.check("nft delete table ip mute")


@row("last reason", "replaced, knocked, paths changed, admin")
def made_anew(row):
    """Each is seen on one of the hosts, monitor tells it, and the connection is up."""
    t, reasons = row.t, set()
    ping(t, t.a, A, B)
    heard = {machine: monitor(t, machine, row.command("rdsctl monitor")) for machine in (t.a, t.b)}

    def seen(machine, reason, ends):
        shown(t, machine, f"rdsctl path {ends} state up last-reason '{reason}'", " up ")
        heard[machine].wait_output(rf"\({reason}\)$")
        reasons.add(reason)

    ping(t, t.a, HIGH, B)
    seen(t.a, "knocked", f"local {HIGH}")
    with setting(t.b, "net.rds.tcp.rds_tcp_rcvbuf", 500000000):
        seen(t.b, "admin", f"remote {A}")
    with no_resets_of(t.a):
        kill_calls(t.a, "dport")
        ping(t, t.a, A, B)
        seen(t.b, "replaced", f"remote {A}")
    with no_tcp(t):
        load_tcp(t, t.b, "max_paths=1")
        ping(t, t.a, A, B)
        seen(t.a, "paths changed", f"local {A}")
        t.b.check("/run/busybox rmmod rds_tcp")
    assert reasons == set(row.seen.split(", ")), reasons
    end(*heard.values())


@row("last reason", "destroy")
def transport_goes(row):
    t = row.t
    ping(t, t.a, A, B)
    heard = monitor(t, t.b)
    with no_tcp(t):
        heard.wait_output(rf"{A} .* down \({row.seen}\)$")
    end(heard)


@row("last reason", "evicted, idle")
def makes_room(row):
    t = row.t
    heard = monitor(t, t.b)
    with setting(t.b, "net.rds.max_passive_connections", 1):
        ping(t, t.a, A, B)
        mute = spawned(t.a, MUTE, "^called$")
        ping(t, t.a, STRANGERS[1], B)
        heard.wait_output(r"down \(evicted\)$", t.seconds(60))
        end(mute, heard)
        for address in (A, STRANGERS[1]):
            ping(t, t.a, address, B)
    # And in a namespace: what it is told before its first connection holds at once.
    (_, do), name = table(TROUBLES, "of")["connections"], "idle_timeout_ms"
    pair(t)
    t.a.check(f"{IN_X} sysctl -qw net.rds.{quoted(do, name)}=200")
    heard = spawned(t.a, f"{IN_X} {t.tool('rdsctl')} monitor", "^Time Path Event$")
    ping(t, t.a, X, Y, prefix=IN_X)
    heard.wait_output(r"down \(idle\)$", t.seconds(60))
    shown(t, t.a, f"{IN_X} rdsctl show", "^paths 0:")
    ping(t, t.a, X, Y, prefix=IN_X)
    end(heard)
    unpair(t)


def pings_not_answered(t):
    """The two causes that the page names below that table."""
    text = TROUBLES.read_text()
    assert "`rds-ping` not answered, and all else goes: `net.rds.ping_enable` is 0 there." in text
    reader = spawned(t.b, f"{helper('rds_sink.py')} {B}", "^ready$")
    ask = f"rds-ping -c 1 -w {{}} -I {A} {B}"
    with setting(t.b, "net.rds.ping_enable", 0):
        assert on(t, t.a, ask.format("500ms"))[0] == 1
        with a_message_under(t, contextlib.nullcontext()):
            reader.wait_output("^1000$")
        shown(t, t.b, "rdsctl doctor", "^note: net.rds.ping_enable is 0: pings are not answered$")
    done(t, t.a, ask.format(t.seconds(20)))
    end(reader)
    assert "In a container `net.rds.tcp.listen` is 0 while no socket\nof it is bound" in text
    pair(t, always=False)
    ask = f"{IN_X} rds-ping -c 1 -w {{}} -I {X} {Y}"
    assert t.a.check(f"{IN_Y} sysctl -n net.rds.tcp.listen") == "0\n"
    assert on(t, t.a, ask.format("500ms"))[0] == 1
    shown(t, t.a, f"{IN_X} rdsctl path", "last reason connect failed ")
    user = spawned(t.a, f"{IN_Y} {helper('rds_talk.py')} open {Y}", "^open$")
    done(t, t.a, ask.format(t.seconds(20)))
    end(user)
    unpair(t)


@contextlib.contextmanager
def more_addresses(t):
    t.a.check("".join(f"ip address add {one} dev eth0;"
                      for one in (f"{HIGH}/24", *(f"{s}/32" for s in STRANGERS)))
              + f"ip route add {LOW}/32 via {B}")
    t.b.check(f"ip address add {LOW}/32 dev eth0; ip route add {THEIR_NET} via {A}")
    yield
    t.a.check(f"ip address del {HIGH}/24 dev eth0; ip address flush dev eth0 to {THEIR_NET};"
              f" ip route del {LOW}/32")
    t.b.check(f"ip address del {LOW}/32 dev eth0; ip route del {THEIR_NET}")


@test(vms=2, only="ours", timeout=600, extra=True)
def another_host_is_not_reached(t):
    """The table of that name: each last reason, what doctor says of it, and that a message that has
    waited arrives; and pings that nobody answers."""
    with more_addresses(t), filters.ready(t.a, t.b):
        ping(t, t.a, A, B)
        play(t, "last reason")
        pings_not_answered(t)


# ---- Messages are late, or missing ----

@row("the path says", "peer's full ports 1: 4000")
def full_port_there(row):
    t = row.t
    with full_port(t):
        shown(t, t.a, f"rdsctl path remote {B}", rf"^    {row.seen}, for ")
        names_the_reader(t)
    assert "full ports" not in done(t, t.a, f"rdsctl path remote {B}")


@row("the path says", "not up")
def not_up(row):
    """Top shows for whom messages wait longest."""
    t, look = row.t, quoted(TROUBLES.read_text(), "rdsctl top")
    held = holder(t, NOWHERE)
    shown(t, t.a, f"{look} --count 1 --interval 0.5", rf"longest wait [0-9.ms]+ for {NOWHERE}$")
    assert path(t, NOWHERE)["state"] != "up"
    end(held)


@contextlib.contextmanager
def silent(t):
    """Nothing that guest b sends arrives."""
    t.b.check("tc qdisc add dev eth0 root netem loss 100%")
    yield
    t.b.check("tc qdisc del dev eth0 root")


def grows(t, field, over):
    """Until this number of the path to guest b is larger, while that is up."""
    until(t, lambda: (path(t)[field] or 0) > over, lambda: f"{field} does not grow: {path(t)}")
    assert path(t)["state"] == "up", path(t)


@row("the path says", "up, unacked grows, heard … ago is long")
def nothing_comes_back(row):
    """The network is cut one way; then only large packets are lost."""
    t, ping_it = row.t, f"{row.command('ping')} -c 1 -W 1"
    with a_message_under(t, silent(t)):
        grows(t, "unacked", 0)
        more = holder(t, B)
        grows(t, "unacked", 1)
        grows(t, "heard-ms", 1500)
        assert re.search("heard [0-9.]+s ago", done(t, t.a, f"rdsctl path remote {B}"))
        assert on(t, t.a, f"{ping_it} {B}")[0] == 1
        end(more)
    with filters.incoming(t.b, "meta length > 1000 drop"):
        large = holder(t, B, "--messages 1 --length 8000")
        grows(t, "heard-ms", 1500)
        done(t, t.a, f"{ping_it} {B}")
        assert on(t, t.a, f"{ping_it} -s 1400 {B}")[0] == 1
        t.a.check("ip link set eth0 mtu 9000")
        said = shown(t, t.a, "rdsctl doctor",
                     f"^note: {B} acknowledges nothing, and the MTU of eth0 is 9000$")
        assert f"{B} has acknowledged nothing for" in said, said
        t.a.check(f"ip link set eth0 mtu 1500; ip route add {B}/32 dev eth0 mtu lock 900")
        said = shown(t, t.a, "rdsctl doctor", f"^fault: the way to {B} has an MTU of 900")
        assert row.command("tracepath").replace("ADDRESS", B) in said, said
        arrives(t)
    t.a.check(f"ip route del {B}/32")
    end(large)


@row("the path says", "resets grows")
def resets_grow(row):
    t, times = row.t, 3
    ping(t, t.a, A, B)
    before = path(t)["resets"]
    heard = monitor(t, t.a, row.command("rdsctl monitor"))
    for _ in range(times):
        kill_calls(t.b, "sport")
        ping(t, t.a, A, B)
    assert path(t)["resets"] >= before + times, path(t)
    heard.wait_output(rf"(^[-0-9]+ [:0-9]+ {A} > {B} .* down \(error\)$(.|\n)*){{{times}}}")
    end(heard)
    assert re.search(r"^TcpRetransSegs +[0-9]", done(t, t.a, row.command("nstat")), re.M)


@row("the path says", "rtt is large, all else well")
def slow_queue(row):
    """A network with a slow queue, and another for a DSCP, the expedited one."""
    t, dscp, late = row.t, row.command("net.rds."), 1_000_000
    look = f"{row.command('rds-ping').replace('ADDRESS', B)} -q -c 5 -i 20ms -w {t.seconds(20)}"
    assert dscp in row.do.partition("DSCP")[2]
    t.a.check("modprobe -a nf_tables sch_prio && tc qdisc add dev eth0 root handle 1: prio &&"
              f" tc qdisc add dev eth0 parent 1:2 netem delay {late}us &&"
              " nft 'add table ip queue1; add chain ip queue1 o { type filter hook postrouting"
              " priority 0; }; add rule ip queue1 o ip dscp ef meta priority set 1:1'")
    said = done(t, t.a, look)
    assert re.search(r"to +[0-9] s .* 100.0000% #", said), said
    grows(t, "rtt-us", late // 10)  # smoothed: an eighth of each new one
    with setting(t.a, dscp, 46):
        said = json.loads(done(t, t.a, f"{look} --json"))
        assert said["rtt_usec"]["min"] < late, said
    t.a.check("tc qdisc del dev eth0 root; nft delete table ip queue1")


@row("the path says", "a dead host is noticed after 30 s only")
def noticed_sooner(row):
    t, name = row.t, quoted(row.because, "rds_tcp_user")
    usual, = re.search(r"is (\d+)$", row.because).groups()
    assert t.a.check(f"sysctl -n net.rds.tcp.{name}").strip() == usual
    assert any(name in change for change, _ in table(TUNING, "end").values())
    ping(t, t.a, A, B)
    with setting(t.a, f"net.rds.tcp.{name}", 1000), a_message_under(t, cut(t)):
        shown(t, t.a, f"rdsctl path remote {B} state connecting", rf"{B} ", int(usual) // 1000 - 5)


def missing(t):
    """The counters at the end of `rdsctl show`, each of which has its meaning. (python.package asks
    RDS_RECV_QUERY, migrate.the_walk has peers of mainline's.)"""
    text = TROUBLES.read_text().partition("\n## Messages are missing\n")[2].partition("\n## ")[0]
    with a_message_under(t, contextlib.nullcontext()):
        said = shown(t, t.b, quoted(text, "rdsctl show"), f"^    {quoted(text, 'recv_drop')} [1-9]")
    said, told_of = said.splitlines(), done(t, t.b, quoted(text, "rdsctl metrics"))
    assert re.fullmatch(r"    \w+ \d+", said[-1]), said
    for name in re.findall(r"^    (\w+) \d+$", "\n".join(said), re.M):
        meaning = rf"^# HELP rds_{name}_total Counter {name} of rds-info -c: \w+"
        assert re.search(meaning, told_of, re.M), name
    assert "recv_drop_no_sock of rds-info -c: nobody is bound" in told_of
    assert not done(t, t.a, quoted(text, "rdsctl path peer other")), "both are ours"


# ---- It takes too much ----

@row("of", "connections")
def connections(row):
    """Of hosts that only ever spoke to this one: there may be one, and two are there when a third
    calls. (Connections that nobody uses: makes_room().)"""
    t, look = row.t, quoted(row.because, "rdsctl show")
    for address in (A, STRANGERS[0]):
        ping(t, t.a, address, B)
    shown(t, t.b, look, "^paths 2: 2 up;")
    with setting(t.b, f"net.rds.{row.command('max_passive_connections')}", 1):
        ping(t, t.a, STRANGERS[1], B)
        shown(t, t.b, quoted(row.because, "rdsctl stats"), "^ *conn_evicted +[1-9]")
        shown(t, t.b, look, "^paths [12]: ")
    ping(t, t.a, A, B)


@row("of", "memory")
def memory(row):
    """A receive queue that nobody reads holds no more than SO_RCVBUF, and one message."""
    t, length, sockets = row.t, 1000, 40
    files = {one: quoted(row.because, one) for one in ("sock", "slab", "memory.stat", "RDS")}
    assert "SO_RCVBUF" in row.do and f"{files['RDS']}` in /proc/net/protocols" in row.because
    with memcg.group(t):
        held = memcg.hold(t, f"--bind {A} --count {sockets} --unread 200")
        held.wait_output("^ready$")
        rows = json.loads(done(t, t.a, f"{quoted(row.because, 'rdsctl socket')} -j"))["sockets"]
        full = [one["unread"] for one in rows if one["rcvbuf"] < one["unread"] + length]
        assert len(full) == sockets and max(full) <= rows[0]["rcvbuf"] + length, rows
        stat = dict(line.split() for line in
                    t.a.check(f"cat {memcg.GROUP}/{files['memory.stat']}").splitlines())
        assert int(stat[files["sock"]]) > sum(full) and int(stat[files["slab"]]), stat
        t.a.wait_until(f"awk '$1 == \"{files['RDS']}\" {{ n = $4 }} END {{ exit !n }}'"
                       " /proc/net/protocols")
        end(held)
        t.a.wait_until(f"grep -qx 'sock 0' {memcg.GROUP}/memory.stat")


SENDS = r"^ *send_queued +\d+ +[0-9]*[1-9][0-9]*\."  # more than nothing a second


def busy(t):
    """A program of guest a that sends to guest b all the time."""
    return spawned(t.a, f"nice -n 15 {t.prog('rds_hold')} --bind {A} --to {B} --traffic", "^ready$")


@row("of", "processor")
def processor(row):
    t = row.t
    load = busy(t)
    shown(t, t.a, f"{quoted(row.because, 'rdsctl top')} --count 1", r" rds_hold\(\d+\)$")
    shown(t, t.a, f"{quoted(row.because, 'rdsctl stats')} --samples 2", SENDS)
    end(load)


@row("of", "the kernel's log")
def log(row):
    """A host that says nonsense again and again."""
    t, mark, began = row.t, len(row.t.a.dmesg()), time.monotonic()
    ping(t, t.a, A, B)
    with a_message_under(t, no_rds(t)):
        shown(t, t.a, "rdsctl stats recv_drop_bad_length", " ([2-9]|[0-9]{2,})$")
    lines = [line for line in t.a.dmesg()[mark:] if line.startswith("rds: ")]
    assert row.do == "the host that it names" and "one line a minute" in row.because
    assert lines and all(f"::ffff:{B})" in line for line in lines), lines
    assert len(lines) <= 1 + (time.monotonic() - began) // 60, lines


@test(vms=2, only="ours", timeout=600, extra=True)
def messages_are_late_or_missing(t):
    """The tables of what is late and of what takes too much, and what counters say of messages that
    are missing."""
    with more_addresses(t), filters.ready(t.a, t.b):
        play(t, "of")
        play(t, "the path says")
        missing(t)


# ---- docs/tuning.md, and adapters ----

# Each setting that a row of the page says to change, and a value; parameters of modules.
TUNED = {"net.core.wmem_max": "4194304", "net.core.rmem_max": "4194304",
         "rds_tcp_user_timeout_ms": "1000", "reconnect_max_delay_ms": "500",
         "idle_timeout_ms": "10000", "rds_tcp_congestion_control": "reno", "rds_tcp_dscp": "46",
         "rds_tcp_sndbuf": "100000", "rds_tcp_rcvbuf": "200000", "max_unacked_packets": "64",
         "max_unacked_bytes": "33554432", "net.rds.ib.max_send_wr": "512", "max_recv_wr": "2048",
         "net.rds.ib.max_recv_allocation": "10000", "net.rds.ib.flow_control": "1",
         "net.rds.ib.frame_bytes": "4096"}
GIVEN = {"max_paths": ("rds_tcp", "4"), "rds_ib_retry_count": ("rds_rdma", "3")}
PLACES = ("net/rds", "net/rds/tcp", "net/rds/ib")


def changes():
    """The second cells of the tables: names of what to change."""
    return [change for change, _ in table(TUNING, "end").values()]


def sysctl_of(t, name):
    """Its whole name, which there is one of."""
    names = [name] if name.startswith("net.") else [f"{p.replace('/', '.')}.{name}" for p in PLACES]
    found = [one for one in names
             if not t.a.run(f"test -e /proc/sys/{one.replace('.', '/')}")[0]]
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


def settings_are_taken(t):
    """Each is there, has the value that the page says it has, and takes another; in this namespace
    alone."""
    said = " | ".join(changes())
    names = set(re.findall(r"`([\w.]+)`", said))
    assert names == set(TUNED) | set(GIVEN), names ^ (set(TUNED) | set(GIVEN))
    whole = {name: sysctl_of(t, name) for name in TUNED}
    usual = {name: t.a.check(f"sysctl -n {whole[name]}").strip() for name in TUNED}
    for name, value in re.findall(r"`([\w.]+)`, (\d+)", said):
        assert name in GIVEN or usual[name] == value, (name, value, usual[name])
    for name, value in re.findall(r"`([\w.]+)` (\d+)", said):
        assert TUNED[name] == value, (name, value)
    least, = re.findall(r"`rds_tcp_user_timeout_ms`, \d+: as low as (\d+)", said)
    assert t.a.run(f"sysctl -w {whole['rds_tcp_user_timeout_ms']}={int(least) - 1}")[0]
    assert least == TUNED["rds_tcp_user_timeout_ms"]
    text = TUNING.read_text()
    file, take_it = quoted(text, "/etc/sysctl.d/"), quoted(text, "sysctl -p")
    lines = "".join(f"{whole[name]} = {value}\\n" for name, value in TUNED.items())
    t.a.check(f"printf '{lines}' >{file}")
    done(t, t.a, take_it)
    t.a.check(f"rm {file}")
    now = {name: t.a.check(f"sysctl -n {whole[name]}").strip() for name in TUNED}
    assert now == TUNED, now
    for name in ("rds_tcp_user_timeout_ms", "max_unacked_packets"):
        assert t.a.check(f"unshare -n sysctl -n {whole[name]}").strip() == usual[name]
    ping(t, t.a, A, B)
    for name, value in usual.items():
        t.a.check(f"sysctl -qw {whole[name]}='{value}'")


def parameters_are_taken(t):
    """Those of the modules, as they are loaded."""
    usual, = re.findall(r"`max_paths`, (\d+) by default", " | ".join(changes()))
    file = "/sys/module/{}/parameters/{}"
    assert t.a.check(f"cat {file.format('rds_tcp', 'max_paths')}").strip() == usual
    for name, (module, value) in GIVEN.items():
        t.a.check(f"/run/busybox rmmod {module} && /run/busybox insmod"
                  f" {t.modules_dir.resolve()}/{module}.ko {name}={value}")
        assert t.a.check(f"cat {file.format(module, name)}").strip() == value, name


def measures(t):
    """The commands of the page's block, with two hosts in place of three and shorter."""
    block = re.search(r"^```\n(.*?)^```$", TUNING.read_text(), re.M | re.S)[1]
    for words, ours in (("192.0.2.1", A), ("192.0.2.2", B), (" 192.0.2.3", ""), ("-T 5", "-T 0.5"),
                        ("-c 1000", "-c 200")):
        assert words in block, f"{words} is not in\n{block}"
        block = block.replace(words, ours)
    serve, matrix, pings = (line.partition("#")[0].strip() for line in block.splitlines())
    tools = t.tool("rds-stress").parent
    servers = [spawned(machine, f"{tools}/{serve}", "^waiting for tests") for machine in (t.a, t.b)]
    said = done(t, t.a, matrix)
    assert "2 pairs: 2 measured, 0 failed, 0 left" in said, said
    assert len(re.findall(rf"^ \d ({A}|{B}) .*\d", said, re.M)) == 4, said
    end(*servers)
    for machine, line in ((t.a, pings), (t.b, pings.replace(B, A))):
        said = done(t, machine, f"{line} -w {t.seconds(20)}")
        assert "200 sent, 200 answered, 0 lost" in said and " 100.0000% #" in said, said


def better(t):
    """The commands that show whether it is better, beside a load."""
    text = TUNING.read_text().partition("\n## Is it better?\n")[2]
    assert "`rds-stress` with `--histogram`, and its row \"corrected\"" in text
    load = busy(t)
    said = shown(t, t.a, f"{quoted(text, 'rdsctl stats')} --samples 2", SENDS)
    names = set(re.findall(r"^ +([a-z]\w+) +\d", said, re.M))
    assert names and all(name.startswith(("send_", "recv_")) for name in names), said
    shown(t, t.a, f"{quoted(text, 'rdsctl top')} --count 1", rf"^ *{B} +{A} .* tcp +up +[1-9]")
    end(load)
    said = stress_says(t, t.a, t.b, B, "-T 1 --histogram")
    assert re.search(r"^corrected .* [0-9.]+ ", said, re.M) and " 100.0000% #" in said, said


def transport_of(t, addr, port):
    rows = json.loads(done(t, t.a, f"rdsctl -j socket local {addr} local-port {port}"))["sockets"]
    return [one["transport"] for one in rows]


def adapter(t):
    """A program that was there first keeps TCP; doctor names an adapter that is not used."""
    text = TROUBLES.read_text().partition("\n## It goes over TCP")[2]
    tcp, ib = quoted(text, "tcp"), quoted(text, "infiniband")
    ping(t, t.a, A, B)
    assert path(t)["transport"] == tcp
    first = spawned(t.a, f"{helper('rds_talk.py')} open {A}", "^open$")
    for machine in (t.a, t.b):
        machine.check("modprobe -a rdma_rxe rdma_cm")
        machine.plug()
    shown(t, t.a, "rdsctl doctor",
          "^note: the RDMA device rxe0 port 1 is active, and rds_rdma is not loaded")
    for machine in (t.a, t.b):
        machine.check(f"/run/busybox insmod {t.modules_dir.resolve()}/rds_rdma.ko")
    ping(t, t.a, A, B)
    done(t, t.a, f"rdsctl path transport {ib} state up | grep -q {B}")
    says(t, "print(bound(port=5000).getsockopt(276, 8))", "0", "ok")  # RDS_TRANS_IB
    assert transport_of(t, A, 4000) == [tcp]
    end(first)
    assert "rdma" not in done(t, t.a, "rdsctl doctor")
    for machine in (t.a, t.b):
        machine.unplug()


@test(vms=2, only="ours", timeout=300)
def tuning(t):
    """docs/tuning.md: the commands that measure and that show whether it helps, and each setting;
    and the last section of docs/troubleshooting.md."""
    measures(t)
    better(t)
    adapter(t)
    settings_are_taken(t)
    parameters_are_taken(t)
