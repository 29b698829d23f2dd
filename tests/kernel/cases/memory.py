# SPDX-License-Identifier: GPL-2.0
"""Whose memory the messages are: the cgroup of who made the socket pays."""
import re

from memcg import GROUP, ROOT, group, hold, objects, reserves, sock_bytes
from suite import test
from traffic import A, B, helper, ping

SLAB = f"awk '$1 == \"slab\" {{print $2}}' {GROUP}/memory.stat"
KERNELS = ["6.1", "6.12", "7.2"]  # the debug kernels have no memory controller
NEW_GUESTS = True  # it measures memory


def ended_only(t):
    """The log has no complaint but the trace of a process that was ended for its cgroup."""
    strange = [line for line in t.a.dmesg_problems()
               if not re.search("Call Trace|Memory cgroup out of memory", line)]
    assert not strange, strange
    t.a.dmesg_mark()


@test(vms=2, only="ours")
def charged_to_a_cgroup(t):
    """Messages queued to send, and those not read, are in memory.stat until they are gone."""
    queued = {"unread": f"--bind {A} --unread 100 --messages 0",
              "unsent": f"--bind {A} --to 10.9.0.77 --messages 100"}
    with group(t):
        for what, options in queued.items():
            holder = hold(t, options)
            holder.wait_output("^ready$")
            charged = sock_bytes(t.a, 100 * 1000)
            t.note(f"{what}: {charged} bytes for 100 messages of 1000")
            assert 100 * 1000 <= charged <= 100 * 2000 + 2 * 16384, charged
            holder.write("", close=True)
            holder.check()
            t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
        assert t.a.check("awk '$1 == \"RDS\" {print $4}' /proc/net/protocols").strip() == "0"


@test(only="ours")
def idle_pages_are_given_back(t):
    """Pages of big messages are kept to be used again, until the kernel wants its memory back."""
    want = "echo 2 >/proc/sys/vm/drop_caches"

    def free():
        return int(t.a.check("awk '$1 == \"MemFree:\" {print $2}' /proc/meminfo")) * 1024
    t.a.check(want)
    holder = t.a.spawn(f"{t.prog('rds_hold')} --bind 127.0.0.1 --count 64 --unread 1 --messages 0"
                       " --length 98304", stdin=True)
    holder.wait_output("^ready$")
    holder.write("", close=True)
    holder.check()
    kept = free()
    t.a.check(want)
    t.note(f"{free() - kept} bytes came back of 64 messages of 96 KiB")
    assert free() - kept >= 5 << 20, (kept, free())


def refuses_to_reserve(t):
    """The kernel takes SO_RESERVE_MEM of TCP alone, and says so of ours as of UDP's."""
    if reserves(t.a):
        return False
    rc, said = hold(t, f"--bind {A} --reserve 10000000 --messages 0").wait()
    assert rc and "SO_RESERVE_MEM: EOPNOTSUPP" in said, (rc, said)
    return True


@test(vms=2, only="ours")
def reserved_and_given_back(t):
    """SO_RESERVE_MEM is the cgroup's, and the kernel's, again when the sockets are closed."""
    with group(t):
        if refuses_to_reserve(t):
            return
        holder = hold(t, f"--bind {A} --count 4 --reserve 10000000 --unread 10 --messages 0")
        holder.wait_output("^ready$")
        charged = sock_bytes(t.a)
        assert 40_000_000 <= charged <= 41_000_000, charged
        holder.write("", close=True)
        holder.check()
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")


@test(vms=2, only="ours")
def reserved_by_too_many(t):
    """Half of the memory at most: then SO_RESERVE_MEM says so, and what is queued still goes."""
    with group(t):
        if refuses_to_reserve(t):
            return
        free = int(t.a.check("awk '$1 == \"MemFree:\" {print $2}' /proc/meminfo")) * 1024
        holder = hold(t, f"--bind {A} --count 100 --reserve {free // 50} --messages 0")
        rc, said = holder.wait()
        assert rc and "SO_RESERVE_MEM" in said and "ENOMEM" in said, (rc, said)
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
    t.a.check(f"{t.tool('rds-ping')} -c 3 {B}")


@test(vms=2, only="ours")
def refused_under_a_tracepoint(t):
    """sock_exceed_buf_limit reads the limits of the family when a charge is refused."""
    events = "/sys/kernel/tracing/events/sock/sock_exceed_buf_limit/enable"
    t.a.run("mountpoint -q /sys/kernel/tracing || mount -t tracefs none /sys/kernel/tracing")
    with group(t):
        t.a.check(f"echo 1 >{events}; echo 12M >{GROUP}/memory.max")
        t.a.dmesg_mark()
        holder = hold(t, f"--bind {A} --to 10.9.0.77 --count 300 --messages 0 --traffic"
                         " --when-told")
        holder.wait_output("^ready$")
        # The sockets stay in the group, and there is nobody in it to be ended: charges are refused.
        t.a.check(f"for p in $(cat {GROUP}/cgroup.procs); do echo $p >{ROOT}/cgroup.procs; done")
        holder.write("go\n")
        t.a.wait_until("grep -q 'sock_exceed_buf_limit: proto:RDS' /sys/kernel/tracing/trace")
        t.a.check(f"echo 0 >{events}; echo >/sys/kernel/tracing/trace")
        holder.write("", close=True)
        holder.check()
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
        strange = [line for line in t.a.dmesg_problems()
                   if not re.search("Call Trace|out of memory", line, re.I)]
        assert not strange, strange
        t.a.dmesg_mark()
    t.a.check(f"{t.tool('rds-ping')} -c 3 {B}")


@test(vms=2, only="ours")
def at_the_cgroups_limit(t):
    """A program that queues more than its cgroup may have is stopped, as with TCP; others do not
    feel it."""
    with group(t):
        t.a.check(f"echo 12M >{GROUP}/memory.max")
        t.a.dmesg_mark()
        # 300 sockets with 100 kB each.  The kernel lets the charge fail, or ends who charges.
        holder = hold(t, f"--bind {A} --to 10.9.0.77 --count 300 --messages 100")
        rc, said = holder.wait()
        assert rc == 137 or rc and "Cannot allocate memory" in said, (rc, said)
        assert int(t.a.check(f"awk '$1 == \"max\" {{print $2}}' {GROUP}/memory.events")) > 0
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
        ended_only(t)
        t.note(f"exit status {rc}")
    t.a.check(f"{t.tool('rds-ping')} -c 3 {B}")


@test(vms=2, only="ours")
def connections_are_charged(t):
    """Connections are the cgroup's whose program sends over them, until they are collected; at its
    limit no more are made, and others go on."""
    count, each = 1000, 1400  # bytes of a connection and its path, at least
    slab = SLAB
    t.a.check("ip route add 10.10.0.0/16 dev eth0 && echo 1000 >/proc/sys/net/rds/idle_timeout_ms")
    with group(t):
        callers = t.a.spawn(f"{helper('rds_callers.py')} {GROUP} {A} {count}", stdin=True)
        taken = int(callers.wait_output(r"^(\d+)$")[1])
        charged = int(t.a.check(slab))
        t.note(f"{taken} hosts: {charged} bytes of slab")
        assert taken == count and charged >= count * each, (taken, charged)
        callers.write("", close=True)
        callers.check()
        t.a.wait_until(f"[ $({slab}) -lt {charged // 10} ]", 60)
        limit = 4 << 20
        t.a.check(f"echo {limit} >{GROUP}/memory.max")
        rc, said = t.a.spawn(f"{helper('rds_callers.py')} {GROUP} {A} 20000 </dev/null").wait(100)
        assert rc == 137 or int(said) * each < limit, (rc, said)
        t.note(f"at {limit} bytes: exit status {rc}, {said.strip() or 'ended'}")
        ended_only(t)
        ping(t, t.b, B, A)
        t.a.wait_until(f"[ $({slab}) -lt {charged // 10} ]", 60)
    t.a.check("ip route del 10.10.0.0/16 && echo 300000 >/proc/sys/net/rds/idle_timeout_ms")


@test(vms=2, only="ours")
def receiving_at_the_limit(t):
    """Sockets that nobody reads, filled by another host: their cgroup's limit holds for them too,
    and two others go on."""
    count, limit, over = 150, 8 << 20, 1 << 20
    t.a.check("ip addr add 10.9.0.31/24 dev eth0")
    t.b.check("ip addr add 10.9.0.32/24 dev eth0")
    with group(t):
        holder = t.a.spawn(f"{helper('rds_unpaid.py')} hold {GROUP} {A} {count}", stdin=True)
        holder.wait_output("^ready$")
        t.a.check(f"echo {limit} >{GROUP}/memory.max")
        taken = int(t.b.check(f"{helper('rds_unpaid.py')} flood {B} {A} {count}", 100))
        charged = sock_bytes(t.a)
        t.note(f"{taken} messages of 8000 bytes taken, {charged} bytes charged")
        assert limit // 2 <= charged <= limit + over + (256 << 10), charged
        ping(t, t.b, "10.9.0.32", "10.9.0.31")
        holder.write("", close=True)
        holder.check()
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")
    ping(t, t.b, B, A)
    t.a.check("ip addr del 10.9.0.31/24 dev eth0")
    t.b.check("ip addr del 10.9.0.32/24 dev eth0")


@test(vms=2, only="ours")
def waiting_senders_have_no_message(t):
    """Threads that wait for room in a send queue, each with 100 kB to send: no message of any is
    made. The bytes of those that have room are the cgroup's."""
    threads, length = 300, 100_000
    with group(t):
        before = objects(t.a)
        waiter = t.a.spawn(f"{helper('rds_nobody.py')} wait {GROUP} {A} 10.9.0.77 {threads} {length}",
                           stdin=True)
        pid = waiter.wait_output(r"^(\d+)$")[1]
        t.a.wait_until(f"[ $(grep -l '^44 ' /proc/{pid}/task/*/syscall | wc -l) -eq {threads} ]", 60)
        more = sum(objects(t.a).values()) - sum(before.values())
        t.note(f"{more} objects more, {sock_bytes(t.a)} bytes are charged")
        assert more < threads // 2, more
        # Two messages, in steps, and what two that pay at once have paid too much.
        assert length <= sock_bytes(t.a) < 4 * length
        waiter.write("", close=True)
        waiter.check()
        t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat")


SLACK = 128 << 10  # of slab: what the kernel keeps of a process that has just gone
SLABS = 200  # objects in those slabs that a processor has at hand; there are some 500 in use


def at_rest(t):
    """The state of the moment: bytes that the cgroup pays for, objects, rows."""
    stat = dict(row.split() for row in t.a.check(f"cat {GROUP}/memory.stat").splitlines())
    rows = t.a.check("cat /proc/net/rds/sockets /proc/net/rds/connections | wc -l")
    return {"sock": int(stat["sock"]), "slab": int(stat["slab"]), "rows": int(rows) - 2,
            "objects": sum(objects(t.a).values())}


@test(vms=2, only="ours")
def everything_as_nobody(t):
    """All that a user can have of RDS, as nobody in a cgroup with a small limit: loopback, many
    hosts, unread messages, full ports, threads that wait, lent pages, flows, monitors. After close,
    and when connections are collected, everything is where it was."""
    t.a.check("ip route add 10.10.0.0/16 dev eth0 && echo 1000 >/proc/sys/net/rds/idle_timeout_ms")
    with group(t):
        t.a.check(f"echo 48M >{GROUP}/memory.max")
        seen = []
        for _ in range(3):
            user = t.a.spawn(f"{helper('rds_nobody.py')} all {GROUP} {A} {B} 400", stdin=True)
            t.note(user.wait_output("^has (.*)$", 60)[1])
            busy = at_rest(t)
            assert busy["sock"] > 300_000 and busy["rows"] > 450, busy
            assert seen == [] or busy["slab"] > seen[0]["slab"] + 400 * 1400, (busy, seen)
            user.write("", close=True)
            user.check()
            t.a.wait_until(f"grep -qx 'sock 0' {GROUP}/memory.stat &&"
                           " [ $(wc -l </proc/net/rds/connections) -eq 1 ]", 60)
            if seen:
                t.a.wait_until(f"[ $({SLAB}) -lt {seen[0]['slab'] + SLACK} ]", 30)
            seen.append(at_rest(t))
        first, *later = seen
        t.note(f"{busy} while it lasts, {seen[-1]} afterwards")
        for one in later:
            assert one["rows"] == 0 and one["sock"] == 0, seen
            assert one["objects"] <= first["objects"] + SLABS, seen
    t.a.check("ip route del 10.10.0.0/16 && echo 300000 >/proc/sys/net/rds/idle_timeout_ms")
