# SPDX-License-Identifier: GPL-2.0
"""rdsctl metrics: what it tells agrees with the kernel's tables, a file of it is whole at any time,
and Debian's Prometheus reads it. See docs/metrics.md."""
import json
import re
import shlex

import guest
from netns_pair import IN_X, X, Y, pair, unpair
from suite import test
from traffic import A, B, Flows, counters, ping

MEM = 1024  # Prometheus wants more than usual
FILE = "/run/rds.prom"
NOBODY = "setpriv --reuid nobody --regid nogroup --clear-groups"
RESTRICT = "/proc/sys/net/rds/info_restrict"
BIN = guest.CACHE.resolve() / "prometheus/usr/bin"
SAMPLE = re.compile(r"^([a-z]\w*(?:\{.*\})?) ([0-9.]+)$", re.M)


def samples(text):
    return {name: float(value) for name, value in SAMPLE.findall(text)}


def metrics(t, words="", prefix=""):
    return samples(t.a.check(f"{prefix} {t.tool('rdsctl')} metrics {words}"))


@test(vms=2, only="ours")
def agrees(t):
    """Counters are those of rds-info -c, taken before and after; gauges are what the tables have, of a
    host that all is well on, and once messages wait for one that is not reached."""
    ping(t, t.a, A, B)
    # 40 kB a second: one path has room for as much as a host that stood still for a second catches up.
    flow = Flows(t, t.a, A, t.b, B, "--flows 4 --max-payload 1000", send_options="--rate 100")
    flow.wait_progress()
    busy = metrics(t)
    assert busy["rds_sockets"] > 0 and busy['rds_paths{state="up"}'] == 1, busy
    flow.stop()
    before, told, after = counters(t, t.a), metrics(t), counters(t, t.a)
    assert set(before) == {n[4:-6] for n in told if n.endswith("_total")}, set(before) ^ set(told)
    for name, value in before.items():
        assert value <= told[f"rds_{name}_total"] <= after[name], (name, value, after[name])
    assert told["rds_send_queued_total"] >= busy["rds_send_queued_total"] > 0, told
    for name, value in (("up", 1), ("metrics_complete", 1), ('connections{state="up"}', 1),
                        ('connections{state="down"}', 0), ("paths_waited_for", 0), ("sockets", 0),
                        ("unacknowledged_messages", 0), ('congested_ports{side="local"}', 0),
                        ("oldest_unacknowledged_message_age_seconds", 0)):
        assert told[f"rds_{name}"] == value, (name, told)
    assert any(name.startswith('rds_module_info{module="rds_tcp",version="') for name in told), told
    t.a.check(f"{t.tool('rdsctl')} peer add {B} refuse")
    held = t.a.spawn(f"exec {t.prog('rds_hold')} --bind {A} --to {B} --messages 3 --length 100",
                     stdin=True)
    held.wait_output("^ready$")
    t.a.wait_until(f"{t.tool('rdsctl')} metrics | grep -q '^rds_paths_waited_for 1$'")
    told = metrics(t, "--peers")
    for name, value in (("unacknowledged_messages", 3), ("send_queue_bytes", 300), ("sockets", 1),
                        ("unsent_bytes", 3 * 148), ('connections{state="up"}', 0),
                        (f'peer_unacknowledged_messages{{peer="{B}"}}', 3),
                        (f'peer_paths_up{{peer="{B}"}}', 0)):
        assert told[f"rds_{name}"] == value, (name, told)
    older = metrics(t)["rds_oldest_unacknowledged_message_age_seconds"]
    assert 0 < told["rds_oldest_unacknowledged_message_age_seconds"] < older < t.seconds(120), older
    t.a.check(f"{t.tool('rdsctl')} peer del {B}")
    held.kill()
    held.wait()


@test(vms=2, only="ours")
def file(t):
    """A reader that has the file open has the whole of it, though it is written anew meanwhile; a user
    who may not write it leaves it as it is."""
    ping(t, t.a, A, B)
    write = f"{t.tool('rdsctl')} metrics --output {FILE}"
    t.a.check(f"umask 077; {write}")
    assert t.a.check(f"stat -c '%a %U' {FILE}").split() == ["644", "root"]
    before = t.a.check(f"cat {FILE}")
    ping_once = f"{t.tool('rds-ping')} -c 1 -I {A} {B} >/dev/null"
    assert t.a.check(f"exec 3<{FILE}; {ping_once} && {write} && cat <&3") == before
    after = t.a.check(f"cat {FILE}")
    assert samples(after)["rds_send_queued_total"] > samples(before)["rds_send_queued_total"], after
    rc, said = t.a.run(f"{NOBODY} {write}")
    assert rc == 2 and f"cannot write {FILE}" in said, said
    rc, said = t.a.run(f"{t.tool('rdsctl')} metrics --output /dev/null")
    assert rc == 2 and "no regular file" in said and t.a.run("test -c /dev/null")[0] == 0, said
    assert t.a.check("ls -A /run | grep prom").split() == ["rds.prom"]
    assert t.a.check(f"cat {FILE}") == after
    t.a.check(f"rm {FILE}")


@test(only="ours")
def restricted(t):
    """Where tables are restricted, a user is told counters alone, and that it is not all."""
    pair(t)
    ping(t, t.a, X, Y, prefix=IN_X)
    user = f"{IN_X} {NOBODY}"
    assert metrics(t, prefix=user)["rds_metrics_complete"] == 1
    t.a.check(f"{IN_X} sh -c 'echo 1 >{RESTRICT}'")
    told, whole = metrics(t, "--peers", user), metrics(t, "--peers", IN_X)
    assert told["rds_metrics_complete"] == 0 and whole["rds_metrics_complete"] == 1, told
    assert told["rds_recv_ping_total"] == whole["rds_recv_ping_total"], told
    gone = {n.split("{")[0] for n in set(whole) - set(told)}
    assert {"rds_paths", "rds_sockets", "rds_peer_paths_up", "rds_congested_ports"} <= gone, gone
    # The unit's: root without any capability but this one.
    unit = f"{IN_X} setpriv --bounding-set -all,+net_admin"
    assert metrics(t, prefix=unit)["rds_metrics_complete"] == 1
    assert metrics(t, prefix=f"{IN_X} setpriv --bounding-set -all")["rds_metrics_complete"] == 0
    unpair(t)


@test(modules="none")
def without_rds(t):
    """That there is no RDS is told as metrics, and is no failure."""
    said = t.a.check(f"{t.tool('rdsctl')} metrics")
    assert samples(said) == {"rds_up": 0, "rds_metrics_complete": 0}, said
    assert t.a.check(f"{t.tool('rdsctl')} metrics --openmetrics").endswith("# EOF\n")


@test(vms=2, only="ours", extra=True, timeout=300)
def prometheus(t):
    """Debian's Prometheus on one host scrapes its node exporter on the other, which has the file: what
    it has is what rds-info says, and an alert of the package is raised once messages wait."""
    assert (BIN / "prometheus").exists(), "not there, run: scripts/deps.sh --metrics"
    ping(t, t.a, A, B)
    config = {"global": {"scrape_interval": "2s", "evaluation_interval": "2s"},
              "rule_files": [f"{guest.TOP}/packaging/metrics/pf_rds.rules.yml"],
              "scrape_configs": [{"job_name": "node",
                                  "static_configs": [{"targets": [f"{A}:9100"]}]}]}
    write = f"{t.tool('rdsctl')} metrics --peers --output /run/textfiles/rds.prom"
    t.a.check(f"mkdir /run/textfiles && {write}")
    exporter = t.a.spawn(f"exec {BIN}/prometheus-node-exporter --collector.disable-defaults"
                         " --collector.textfile --collector.textfile.directory=/run/textfiles"
                         f" --web.listen-address={A}:9100")
    t.b.check(f"echo {shlex.quote(json.dumps(config))} >/run/prometheus.yml")
    server = t.b.spawn(f"exec {BIN}/prometheus --config.file=/run/prometheus.yml"
                       " --storage.tsdb.path=/run/tsdb --web.listen-address=127.0.0.1:9090")

    def query(expr, pattern):
        """Waits until the answer is like that."""
        ask = f"{BIN}/promtool query instant http://127.0.0.1:9090 {shlex.quote(expr)}"
        t.b.wait_until(f"{ask} | grep -E {shlex.quote(pattern)}", t.seconds(120), 1)
        return t.b.check(ask)

    query("rds_up", "=> 1 @")
    assert "=> 0 @" in query("node_textfile_scrape_error", "=>")
    t.a.check(write)
    wanted = counters(t, t.a)["recv_ping"]
    query("rds_recv_ping_total", f"=> {wanted} @")
    t.a.check(f"{t.tool('rdsctl')} peer add {B} refuse")
    held = t.a.spawn(f"exec {t.prog('rds_hold')} --bind {A} --to {B} --messages 3", stdin=True)
    held.wait_output("^ready$")
    t.a.wait_until(f"{write}; grep -q '^rds_paths_waited_for 1$' /run/textfiles/rds.prom")
    said = query('ALERTS{alertname="RdsNotReached"}', "=> 1 @")
    assert 'alertstate="pending"' in said and f'instance="{A}:9100"' in said, said
    assert "=> 3 @" in query(f'rds_peer_unacknowledged_messages{{peer="{B}"}}', "=> 3 @")
    t.a.check(f"{t.tool('rdsctl')} peer del {B}")
    for command in (held, exporter, server):
        command.kill()
        command.wait()
    t.a.check("rm -r /run/textfiles")
    t.b.check("rm -r /run/tsdb /run/prometheus.yml")
