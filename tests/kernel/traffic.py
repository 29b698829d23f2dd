# SPDX-License-Identifier: GPL-2.0
"""What tests of two hosts have in common: flows that are accounted for, counters, pings."""
import contextlib
import json
import re

import suite
from tap import tap

A, B = "10.9.0.1", "10.9.0.2"
A6, B6 = "fd00:9::1", "fd00:9::2"
PYTHON = "python3 -I -S"


def counters(t, machine, prefix=""):
    """rds-info's counters as a dictionary; prefix is a command in front (ip netns exec X)."""
    out = machine.check(f"{prefix} {t.tool('rds-info')} -c")
    return {name: int(value) for name, value in re.findall(r"^\s*(\w+)\s+(\d+)\s*$", out, re.M)}


def paths(t, machine, prefix=""):
    """rds-info's paths, a dictionary for each."""
    return json.loads(machine.check(f"{prefix} {t.tool('rds-info')} -p --json"))["paths"]


def ping(t, machine, source, target, count=3, prefix="", options=""):
    """Every ping must be answered."""
    out = machine.check(f"{prefix} {t.tool('rds-ping')} -q -c {count} -i 1ms "
                        f"-w {t.seconds(20)} {options} -I {source} {target}")
    assert f"{count} answered" in out, out


class Flows:
    """rds_flows from one host (or namespace) to another. `options` are for both ends.

    Without `messages` it goes on until stop(). wait_progress() waits for deliveries.
    """

    def __init__(self, t, sender, source, receiver, target, options="", messages=0,
                 send_options="", prefixes=("", ""), start=True, timeout=100):
        self.t, self.sender, self.receiver = t, sender, receiver
        self.source, self.target = source, target
        self.options = f"--timeout {int(t.seconds(timeout))} {options}"
        # Nice, or a guest with one CPU has none left for the test's own commands.
        self.prefixes, self.nice = prefixes, "nice -n 15"
        how = f"--messages {messages}" if messages else "--messages 0 --until-eof"
        self.send_options = f"{how} {send_options}"
        self.receive()
        if start:
            self.send()

    def receive(self, extra=""):
        """Starts the receiving end (anew)."""
        self.sink = self.receiver.spawn(
            f"{self.prefixes[1]} {self.nice} {self.t.prog('rds_flows')} receive"
            f" --bind {self.target} --report-only {self.options} {extra}")
        self.sink.wait_output("^ready$")

    def send(self):
        self.source_end = self.sender.spawn(
            f"{self.prefixes[0]} {self.nice} {self.t.prog('rds_flows')} send --bind {self.source}"
            f" --to {self.target} --report-only {self.options} {self.send_options}",
            stdin=True)
        self.source_end.wait_output("^sending$")

    def delivered(self):
        return counters(self.t, self.receiver, self.prefixes[1])["recv_delivered"]

    def wait_progress(self, messages=50, timeout=30):
        """Until so many more messages were delivered."""
        wanted = self.delivered() + messages
        for _ in range(1000):
            now = self.delivered()
            if now >= wanted:
                return
            if self.source_end.done:
                break
        raise AssertionError(f"the traffic has stopped, {wanted - now} messages short:\n"
                             + self.source_end.output)

    def stop(self):
        self.source_end.write("", close=True)
        return self.result()

    def result(self, timeout=90):
        """The receiver's account when everything sent has arrived or is known to be lost."""
        said = self.source_end.check(timeout)
        found = json.loads([line for line in said.splitlines() if line.startswith("{")][-1])
        self.sink.check(30)
        return found


def tell(found):
    """The account in a few words."""
    return (f"{found['sent']} sent: {found['lost']} lost, {found['duplicates']} duplicates, "
            f"{found['reordered']} out of order, {found['corrupted']} corrupted")


def exact(found):
    """Every message exactly once, in order, unchanged, and acknowledged."""
    assert found["clean"] and found["delivered"] == found["sent"] > 0, found
    return tell(found)


def ordered(found):
    """Nothing out of order or changed; losses are told, not judged."""
    assert found["delivered"] > 0, found
    assert found["reordered"] == found["corrupted"] == found["strangers"] == 0, found
    return tell(found)


def from_first(found):
    """The same, to a receiver that came later: from its first message on nothing is missing."""
    ordered(found)
    assert found["lost"] == found["duplicates"] == 0, found
    return f"{tell(found)}, {found['before_first']} before the first that came"


def stress_says(t, active, passive, target, options, prefixes=("", "")):
    """rds-stress between two hosts; both ends must be content. What the active one printed."""
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


@contextlib.contextmanager
def large_buffers(t):
    """What a socket may hold is 8 MiB for the time being."""
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


def goes_on(flows):
    """A new receiver comes, and misses nothing."""
    flows.receive("--from-first")
    flows.wait_progress()
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
    """kB of memory that are in use and cannot be taken back."""
    text = machine.check("cat /proc/meminfo")
    size = {line.split(":")[0]: int(line.split()[1]) for line in text.splitlines()}
    return size["MemTotal"] - size["MemAvailable"]
