# SPDX-License-Identifier: GPL-2.0
"""Many hosts that nobody here has ever spoken to call, and go. The same on mainline's modules."""
import guest
from suite import test
from judges import exact
from traffic import A, B, Flows, counters, ping, soon, unavailable, wait_counter

MANY, MOST = 1000, 5000
NEW_GUESTS = True  # it measures memory
NEW = "10.8.200.1"  # smaller than both: it calls

# The acts of each of them once it has connected.
PING = """
        s.sendall((1).to_bytes(8, "big") + bytes(12) + (5000).to_bytes(2, "big") + bytes(26))
        s.recv(4096)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))"""

CALL = """import socket, struct, sys
refused = 0
for i in range({many}):
    s = socket.socket()
    s.settimeout(60)
    s.bind((f"10.8.{{{first} + i // 250}}.{{i % 250 + 1}}", 0))
    try:
        s.connect(("{target}", 16385)){deed}
    except ConnectionResetError:
        refused += 1
    s.close()
print(refused)
"""


def strangers_call(t, many, first, deed):
    """So many hosts on guest a call guest b; how many were refused."""
    # All of 10.8/16 is guest a's, and no neighbour of guest b's.
    t.a.check("ip route replace local 10.8.0.0/16 dev eth0")
    t.b.check(f"ip route replace 10.8.0.0/16 via {A}")
    script = CALL.format(many=many, first=first, target=B, deed=deed)
    return int(t.a.check(f"python3 -I -S - <<'END'\n{script}END", 300))


def new_host_is_served(t):
    t.a.check(f"ip addr replace {NEW}/32 dev eth0")
    ping(t, t.a, NEW, B, count=5)


def goes_away(t):
    t.a.check("ip route del local 10.8.0.0/16 dev eth0; ip addr flush dev eth0 to 10.8.0.0/16")
    t.b.check("ip route del 10.8.0.0/16")


@test(vms=2, timeout=400)
def pings_and_resets(t):
    """1000 addresses say one ping and reset; a host never heard of is served, and they are forgotten."""
    ping(t, t.a, A, B)
    before = unavailable(t.b)
    refused = strangers_call(t, MANY, 0, PING)
    new_host_is_served(t)
    ping(t, t.a, A, B)
    t.note(f"{refused} of {MANY} refused")
    if t.flavour() == "ours":
        assert not refused
        forgotten(t, MANY, before)
    goes_away(t)


@test(vms=2, timeout=400, only="ours", extra=True)
def scans(t):
    """5000 addresses connect and close."""
    ping(t, t.a, A, B)
    before = unavailable(t.b)
    assert not strangers_call(t, MOST, 20, "")
    new_host_is_served(t)
    forgotten(t, MOST, before)
    goes_away(t)


MUTE = """import socket
s = socket.create_connection(("{target}", 16385), source_address=("10.8.0.1", 0))
s.settimeout(60)
heard = 0
try:
    while chunk := s.recv(4096):
        heard += len(chunk)
except ConnectionResetError:
    pass
print(heard)
"""


@test(vms=2, only="ours")
def mute(t):
    """A stranger that says nothing is told no more than our name, and is hung up on."""
    t.a.check("ip route replace local 10.8.0.0/16 dev eth0")
    t.b.check(f"ip route replace 10.8.0.0/16 via {A}")
    heard = int(t.a.check(f"python3 -I -S - <<'END'\n{MUTE.format(target=B)}END", 90))
    assert heard <= 48, f"{heard} bytes"
    goes_away(t)


CONNECT = "import socket; socket.create_connection((\"{}\", 16385), 5)"
NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups"


@test(vms=2, only="ours")
def own_users(t):
    """With the rules of packaging/pf_rds.nft no program of a host speaks to the RDS of its peers;
    the kernel does."""
    connect = f"{NOBODY} python3 -I -S -c '{CONNECT.format(B)}'"
    t.a.check(connect)
    t.a.check(f"modprobe nf_tables && nft -f {guest.TOP}/packaging/pf_rds.nft")
    status, said = t.a.run(connect)
    assert status and "refused" in said.lower(), said
    ping(t, t.a, A, B)
    t.a.check("modprobe tcp_diag && ss -HtnK dport = :16385")
    ping(t, t.a, A, B)
    assert "packets 1 " in t.a.check("nft list table inet pf_rds")
    t.a.check("nft delete table inet pf_rds")


def forgotten(t, many, before):
    """Within a minute nothing is left of them."""
    wait_counter(t, t.b, "conn_stranger_gone", many, 60)
    t.b.wait_until("test $(wc -l </proc/net/rds/connections) -lt 10", 60)
    t.b.wait_until("echo 2 >/proc/sys/vm/drop_caches; test $(awk '/^MemTotal/ { t = $2 }"
                   " /^MemAvailable/ { print t - $2 }' /proc/meminfo)"
                   f" -lt {before + 6000}", 60)
    now = counters(t, t.b)
    t.note(f"{unavailable(t.b) - before} kB more, {now['conn_stranger_gone']} forgotten, "
           f"{now['conn_evicted']} evicted")
    assert now["conn_passive_refused"] == 0 and now["conn_tombstone"] == 0


# So many hosts call, ping again before a second is over, and call again when they are hung up on.
PINGERS, ROOM = 500, 200
PING_ON = f"""exec python3 -I -S - <<'END'
import errno, socket, time
def call(n):
    s = socket.socket()
    s.setblocking(False)
    s.bind((f"10.8.{{n // 250}}.{{n % 250 + 1}}", 0))
    assert s.connect_ex(("{B}", 16385)) in (0, errno.EINPROGRESS)
    return s
def say(s, seq):
    try:
        s.send(seq.to_bytes(8, "big") + bytes(12) + (5000).to_bytes(2, "big") + bytes(26))
        return s.recv(1 << 16)
    except BlockingIOError:
        return True
    except OSError:
        return False
socks = [call(n) for n in range({PINGERS})]
print("calling", flush=True)
for seq in range(1, 200):
    time.sleep(0.5)
    for n, s in enumerate(socks):
        if not say(s, seq):
            s.close()
            socks[n] = call(n)
END
"""


@test(vms=2, timeout=120, only="ours")
def who_ping_all_the_time(t):
    """More hosts than there may be ping without end: one never heard of is served all the same."""
    t.b.check(f"echo {ROOM} >/proc/sys/net/rds/max_passive_connections")
    t.a.check("ip route replace local 10.8.0.0/16 dev eth0")
    t.b.check(f"ip route replace 10.8.0.0/16 via {A}")
    pingers = t.a.spawn(PING_ON)
    pingers.wait_output("^calling$")
    t.b.wait_until(f"test $(wc -l </proc/net/rds/connections) -gt {ROOM}")
    t.a.check(f"ip addr replace {NEW}/32 dev eth0")
    t.a.wait_until(f"{t.tool('rds-ping')} -q -c 1 -w {t.seconds(5)} -I {NEW} {B}", 30)
    now = counters(t, t.b)
    t.note(f"{now['conn_evicted']} evicted, {now['conn_passive_refused']} refused")
    assert now["conn_evicted"] > 0
    pingers.kill()
    pingers.wait()
    goes_away(t)


# STORM addresses of 256 prefixes call, 100 under way at a time, and reset as soon as they are in.
STORM = 3000
SAME, SAME_AT_MOST = 4000, 20000  # of one prefix: the more, the slower they are
AT_ONCE, BACK_A_SECOND = 2048, 125  # kPrefixCalls, and by kPrefixCallTicks, in limits.h


def rush(t, count, prefixes, how=""):
    """So many strangers call guest b as fast as they can: when they began and were through, in
    seconds of guest a's clock."""
    return map(float, t.a.check(f"{t.prog('rds_rush')} --to {B} --count {count}"
                                f" --prefixes {prefixes} {how}", 300).split())


def least_refused(calls, seconds):
    """Of so many calls of one prefix: all but those that may come at once, and those that may come
    back while they last and for 2 s before (limits.h)."""
    return calls - AT_ONCE - int(BACK_A_SECOND * (seconds + 2))


def rush_of_one_prefix(t):
    """As many calls as it takes at this pace for some to be refused: their number, and seconds.
    Each has its answer by then: one that is gone before RDS accepts it is refused by nobody."""
    calls, begun = 0, None
    while calls < SAME_AT_MOST:
        first, ended = rush(t, SAME, 1, "--heard")
        begun, calls = begun or first, calls + SAME
        if least_refused(calls, ended - begun) > 0:
            return calls, ended - begun
    raise AssertionError(f"too slow to tell: {calls} in {ended - begun:.1f} s")


def beside_flows(t, deed, send_options=""):
    """Flows meanwhile, which are exact and go on: the result of @deed, and their account."""
    flows = Flows(t, t.a, A, t.b, B, send_options=send_options, timeout=400)
    flows.wait_progress()
    said = deed()
    flows.wait_progress()
    return said, exact(flows.stop(), soon(t))


@test(vms=2, timeout=500, only="ours")
def beside_a_stream(t):
    """As many strangers as two guests can play, beside a stream: it loses nothing and goes on, a
    prefix that calls too often is refused, and nothing is left of any."""
    t.a.check("ip route replace local 10.8.0.0/16 dev eth0")
    t.b.check(f"ip route replace 10.8.0.0/16 via {A}")
    ping(t, t.a, A, B)
    before = unavailable(t.b)
    (begun, ended), stream = beside_flows(t, lambda: rush(t, STORM, 256))
    wide = counters(t, t.b)
    # Few messages, for calls of one prefix that are slow are rightly not refused.
    (calls, seconds), thin = beside_flows(t, lambda: rush_of_one_prefix(t), "--rate 20")
    now = counters(t, t.b)
    t.note(f"{stream}; {STORM / (ended - begun) * 60:.0f} a minute of 256 prefixes, "
           f"{wide['conn_call_refused']} refused")
    t.note(f"{thin}; {calls / seconds * 60:.0f} a minute of one prefix, "
           f"{now['conn_call_refused'] - wide['conn_call_refused']} refused")
    assert not wide["conn_call_refused"], wide["conn_call_refused"]
    refused = now["conn_call_refused"] - wide["conn_call_refused"]
    least = least_refused(calls, seconds)
    assert refused >= least, f"{refused} of one prefix were refused, {least} had to be"
    new_host_is_served(t)
    t.b.wait_until("test $(wc -l </proc/net/rds/connections) -lt 10", 60)
    t.b.wait_until("echo 2 >/proc/sys/vm/drop_caches; test $(awk '/^MemTotal/ { t = $2 }"
                   " /^MemAvailable/ { print t - $2 }' /proc/meminfo)"
                   f" -lt {before + 6000}", 60)
    goes_away(t)
