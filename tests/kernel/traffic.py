# SPDX-License-Identifier: GPL-2.0
"""Parts that tests of two hosts share: flows that are accounted for, counters, pings."""
import contextlib
import json
import re
import time

import suite
from judges import GAP_SLACK, LONGEST_GAP, UNREAD, exact, from_first
from tap import tap

A, B = "10.9.0.1", "10.9.0.2"
A6, B6 = "fd00:9::1", "fd00:9::2"
PYTHON = "python3 -I -S"
# Memory is at rest when two looks at it differ by no more; and so many looks are enough.
REST_KB, REST_TRIES = 128, 20


def counters(t, machine, prefix=""):
    """rds-info's counters as a dictionary; prefix is a command in front (ip netns exec X)."""
    out = machine.check(f"{prefix} {t.tool('rds-info')} -c")
    return {name: int(value) for name, value in re.findall(r"^\s*(\w+)\s+(\d+)\s*$", out, re.M)}


def wait_counter(t, machine, name, least, timeout=30):
    """Until a counter is so much: work in the background moves many."""
    machine.wait_until(f"test $({t.tool('rds-info')} -c | awk '$1 == \"{name}\" {{ print $2 }}')"
                       f" -ge {least}", timeout)


def paths(t, machine, prefix=""):
    """rds-info's paths, a dictionary for each."""
    return json.loads(machine.check(f"{prefix} {t.tool('rds-info')} -p --json"))["paths"]


def peers_of(t, machine):
    """Whose RDS the other ends of paths have, as rdsctl names them."""
    out = machine.run(f"{t.tool('rdsctl')} -j path state up")[1]
    return {row["peer"] for row in json.loads(out)["paths"]}


def lends_nothing(t):
    """examples/lend: the server cannot lend memory, and both ends say so."""
    program = t.example("lend")
    serving = t.b.spawn(f"{program} serve {B} 4000")
    serving.wait_output("^ready$", t.seconds(30))
    rc, said = t.a.run(f"{program} ask {A} {B} 4000", timeout=t.seconds(100))
    assert rc == 1 and "the server lends nothing" in said, f"{rc}: {said}"
    serving.wait_output("^lend: lending .no RDMA.*: Operation not supported$")
    serving.kill()
    serving.wait()


def acks_are_timed(t, machine):
    """Every path of it that is up gets to know how long the other end takes to acknowledge."""
    up = f"{t.tool('rdsctl')} path --brief state up"
    machine.wait_until(f"n=$({up} | wc -l); test $n -gt 1 && test $({up} ack-us +1 | wc -l) -eq $n")


def finding(t, check, text, fault=True):
    """A row of doctor's on guest a, of this check and with this text; or None."""
    found = json.loads(t.a.run(f"{t.tool('rdsctl')} -j doctor")[1])["findings"]
    return next((f for f in found if f["check"] == check and text in f["what"] + f["why"]
                 and f["fault"] is fault), None)


def wait_finding(t, check, text, fault=True):
    end_of_wait = time.monotonic() + t.seconds(60)
    while not (found := finding(t, check, text, fault)):
        assert time.monotonic() < end_of_wait, t.a.run(f"{t.tool('rdsctl')} doctor")[1]
    return found


def ping(t, machine, source, target, count=3, prefix="", options=""):
    """Every ping must be answered."""
    out = machine.check(f"{prefix} {t.tool('rds-ping')} -q -c {count} -i 1ms "
                        f"-w {t.seconds(20)} {options} -I {source} {target}")
    assert f"{count} answered" in out, out


class Flows:
    """rds_flows from one host (or namespace) to another. `options` are for both ends.

    Without `messages` it goes on until stop(). wait_progress() waits for deliveries. An end with
    our modules waits for ever: what is not woken stands still, and wait_progress() or result()
    tells. With forever=False its waits end by themselves, as mainline's do always.
    """

    def __init__(self, t, sender, source, receiver, target, options="", messages=0,
                 send_options="", prefixes=("", ""), start=True, timeout=100, forever=True,
                 receive_options=""):
        self.t, self.sender, self.receiver = t, sender, receiver
        self.source, self.target, self.forever = source, target, forever
        self.options = f"--timeout {int(t.seconds(timeout))} {options}"
        # Nice, or a guest with one CPU has none left for the test's own commands.
        self.prefixes, self.nice = prefixes, "nice -n 15"
        how = f"--messages {messages}" if messages else "--messages 0 --until-eof"
        self.send_options = f"{how} {send_options}"
        self.receive(receive_options)
        if start:
            self.send()

    def patience(self, machine):
        return "--forever" if self.forever and machine.modules == "ours" else ""

    def receive(self, extra=""):
        """Starts the receiving end (anew)."""
        self.sink = self.receiver.spawn(
            f"{self.prefixes[1]} {self.nice} {self.t.prog('rds_flows')} receive"
            f" --bind {self.target} --report-only {self.patience(self.receiver)} {self.options}"
            f" {extra}")
        self.sink.wait_output("^ready$")

    def send(self):
        self.source_end = self.sender.spawn(
            f"{self.prefixes[0]} {self.nice} {self.t.prog('rds_flows')} send --bind {self.source}"
            f" --to {self.target} --report-only {self.patience(self.sender)} {self.options}"
            f" {self.send_options}", stdin=True)
        self.source_end.wait_output("^sending$")

    def delivered(self):
        return counters(self.t, self.receiver, self.prefixes[1])["recv_delivered"]

    def wait_progress(self, messages=50, timeout=None):
        """Until so many more messages were delivered, within `timeout` seconds."""
        # rdma_cm may take a minute to end a connection before the next can be made.
        limit = self.t.seconds(timeout or (100 if self.receiver.ib else 30))
        wanted, end = self.delivered() + messages, time.monotonic() + limit
        while (now := self.delivered()) < wanted:
            if self.source_end.done or time.monotonic() > end:
                raise AssertionError(f"the traffic has stopped, {wanted - now} messages short:\n"
                                     + self.source_end.output)

    def stop(self):
        self.source_end.write("", close=True)
        return self.result()

    def result(self, timeout=90):
        """The receiver's account when everything sent has arrived or is known to be lost, and for
        a while nothing has come for the second time."""
        said = self.source_end.check(timeout)
        found = json.loads([line for line in said.splitlines() if line.startswith("{")][-1])
        self.sink.check(30)
        return {**found, "ends": [self.sender.modules, self.receiver.modules]}


def soon(t, gap=LONGEST_GAP):
    """For how long a receiver may have seen nothing when connections were cut."""
    return t.seconds(gap * GAP_SLACK)


@contextlib.contextmanager
def small_windows(t):
    """TCP holds no more than UNREAD bytes that nobody has read, on either host."""
    rmem = "/proc/sys/net/ipv4/tcp_rmem"
    before = [machine.check(f"cat {rmem}; echo 4096 {UNREAD} {UNREAD} >{rmem}").strip()
              for machine in (t.a, t.b)]
    yield
    for machine, values in zip((t.a, t.b), before):
        machine.check(f"echo {values} >{rmem}")


def stress_says(t, active, passive, target, options, prefixes=("", "")):
    """rds-stress between two hosts; both ends must be content. Returns the active one's output."""
    tool = t.tool("rds-stress")
    waiting = passive.spawn(f"{prefixes[1]} {tool} -r {target} -p 4000")
    passive.wait_until(f"{prefixes[1]} ss -Hltn 'sport = :4000' | grep -q .")
    said = active.check(f"{prefixes[0]} {tool} -s {target} -p 4000 -z -v {options}")
    waiting.check(30)
    return said


def stress(t, active, passive, target, options, prefixes=("", "")):
    """The same; returns the messages verified."""
    said = stress_says(t, active, passive, target, options, prefixes)
    verified = re.search(r"^verified: (\d+) messages", said, re.M)
    assert verified and int(verified[1]) > 0, said
    return int(verified[1])


def no_rdma(t, active, passive, target):
    """Between these two rds-stress finds no RDMA: both ends say so, with status 2."""
    tool = t.tool("rds-stress")
    waiting = passive.spawn(f"{tool} -r {target} -p 4000")
    passive.wait_until("ss -Hltn 'sport = :4000' | grep -q .")
    for rc, said in (active.run(f"{tool} -s {target} -p 4000 -T 2 -D 4096"), waiting.wait(30)):
        assert rc == 2 and "no RDMA on this transport" in said, f"{rc}: {said}"


def slow_reader(t, sender, source, reader, target, flavour):
    """rds_cong from one host to another; the flavour is the sender's."""
    waiting = reader.spawn(f"{t.prog('rds_cong')} read --bind {target} --timeout 60")
    waiting.wait_output("^ready$")
    tap(t, sender, f"{t.prog('rds_cong')} send --bind {source} --to {target} --flavour {flavour}",
        100)
    waiting.check(30)


def crowded_ports(t, sender, source, reader, target):
    """Sockets that a single message fills are congested all the time. A sender that waits for them,
    in poll() or in sendmsg(), waits without a time limit where it has our modules: each is
    woken."""
    for how in ("", "--blocking") if sender.modules == "ours" else ("",):
        found = Flows(t, sender, source, reader, target, "--flows 8 --length 12000", messages=60,
                      send_options=how, receive_options="--receive-buffer 4096").result()
        said = exact(found)
        assert how or found["congested"] > 0, f"no port was ever congested: {found}"
        t.note(f"{how or 'poll'}: {said}, {found['congested']} refused")


@contextlib.contextmanager
def large_buffers(t):
    """A socket may hold 8 MiB for the time being."""
    for machine in (t.a, t.b):
        machine.check("cd /proc/sys/net/core && for f in [rw]mem_default [rw]mem_max; do"
                      " cat $f; echo 8388608 >$f || exit 1; done >/run/mem")
    yield
    for machine in (t.a, t.b):
        machine.check("cd /proc/sys/net/core && for f in [rw]mem_default [rw]mem_max; do"
                      " read v && echo $v >$f || exit 1; done </run/mem")


def load_again(t, machine):
    """Our modules, on a machine that has none."""
    machine.check(machine.load_command(suite.where(t.options, "ours")))


def mebibytes(t):
    """Messages of up to exactly 1 MiB, as flows and in rds-stress."""
    with large_buffers(t):
        t.note(exact(Flows(t, t.a, A, t.b, B, "--flows 4 --max-payload 1048544",
                           messages=8).result()))
        t.note(f"1 MiB both ways: {stress(t, t.a, t.b, B, '-T 2 -t 1 -d 2 -q 1m -a 1m')} messages")


# s. A host that was away is called again after TCP's last pause, which is about as long as it was
# away; ours gives up and calls anew after rds_tcp_user_timeout_ms, 30 s.
AWAY = 60


def goes_on(flows):
    """A new receiver comes, and misses nothing."""
    flows.receive("--from-first")
    flows.wait_progress(timeout=AWAY if not flows.receiver.ib else None)
    return from_first(flows.stop())


def modules_go(t, transport, load, steady):
    """The modules of either host go while the other sends or receives; `transport` is theirs."""
    flows = Flows(t, t.a, A, t.b, B, load, send_options=steady)
    flows.wait_progress()
    for module in (transport, "rds"):
        rc, said = t.b.run(f"rmmod {module}")
        assert rc and "in use" in said, f"rmmod {module}: {rc} {said}"
    flows.sink.kill()
    flows.sink.wait()
    t.b.unload()
    load_again(t, t.b)
    t.note(goes_on(flows))
    # And the host that sends: its queues are full when the sockets and the modules go.
    flows = Flows(t, t.a, A, t.b, B, load)
    flows.wait_progress()
    flows.source_end.kill()
    flows.source_end.wait()
    t.a.unload()
    flows.sink.kill()
    flows.sink.wait()
    t.b.unload()


def helper(name):
    return f"{PYTHON} {suite.HERE}/{name}"


def unavailable(machine):
    """kB of memory that are in use and cannot be taken back, as soon as they are the same twice: a
    kernel gives back later what grace periods, caches and each processor's lists still have."""
    last = 0
    for _ in range(REST_TRIES):
        text = machine.check("echo 2 >/proc/sys/vm/drop_caches; sleep 0.1; cat /proc/meminfo")
        size = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()}
        now = size["MemTotal"] - size["MemAvailable"]
        if abs(now - last) <= REST_KB:
            break
        last = now
    return now
