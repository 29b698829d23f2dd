#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""promtool.py METRICS_PAGES PROMETHEUS: rdsctl metrics of made-up hosts, read by those that they are
written for, and the alert rules tried (make test-metrics). PROMETHEUS is where scripts/deps.sh
--metrics has unpacked Debian's Prometheus and node exporter.

Python is Debian's own, for which Debian has the reference parser of OpenMetrics.
"""
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as plain

SHIPPED = pathlib.Path(__file__).resolve().parents[2] / "packaging/metrics"
PATIENCE = 120  # seconds that a server may take to begin, and a scrape to come


def samples(families):
    return {(s.name, *sorted(s.labels.items())): s.value for f in families for s in f.samples}


def asked(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def wait_for(what, answer):
    """The first answer that is not empty."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if said := answer():
                return said
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def server(log, *command):
    with open(log, "w", encoding="utf-8") as out, \
            subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


class Tests:
    def __init__(self, bin_dir, where):
        self.bin, self.where = bin_dir, where

    def promtool(self, *words, text=None):
        ran = subprocess.run([self.bin / "promtool", *words], input=text, text=True, cwd=SHIPPED,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    def test_text_is_without_fault(self):
        for page in sorted(self.where.glob("*.prom")):
            said = self.promtool("check", "metrics", text=page.read_text(encoding="utf-8"))
            assert not said, f"{page.name}: {said}"

    def test_both_formats_say_the_same(self):
        for page in sorted(self.where.glob("*.openmetrics")):
            with open(page, newline="", encoding="utf-8") as a, \
                    open(page.with_suffix(".prom"), newline="", encoding="utf-8") as b:
                one, other = samples(openmetrics(a.read())), samples(plain(b.read()))
            assert one == other and one, f"{page.name}: {set(one.items()) ^ set(other.items())}"

    def test_rules_are_rules(self):
        assert "SUCCESS" in self.promtool("check", "rules", "pf_rds.rules.yml")

    def test_rules_fire_and_are_silent(self):
        assert "SUCCESS" in self.promtool("test", "rules", "pf_rds.rules.test.yml")

    def test_the_dashboard_asks_what_prometheus_understands(self):
        """As rules of a file: promtool has no other way to look at an expression."""
        board = json.loads((SHIPPED / "pf_rds.dashboard.json").read_text())
        exprs = [t["expr"] for p in board["panels"] for t in p.get("targets", ())]
        rules = [{"record": f"panel:{n}", "expr": e.replace("$__rate_interval", "1m")}
                 for n, e in enumerate(exprs)]
        file = self.where / "dashboard.yml"
        file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
        assert f"{len(exprs)} rules found" in self.promtool("check", "rules", file)

    @contextlib.contextmanager
    def node_exporter(self, page):
        textfiles = self.where / "textfiles"
        textfiles.mkdir(exist_ok=True)
        (textfiles / "rds.prom").write_bytes((self.where / page).read_bytes())
        port = free_port()
        with server(self.where / "exporter.log", self.bin / "prometheus-node-exporter",
                    "--collector.disable-defaults", "--collector.textfile",
                    f"--collector.textfile.directory={textfiles}",
                    f"--web.listen-address=127.0.0.1:{port}"):
            yield port

    def test_the_node_exporter_takes_the_file(self):
        for page in ("none.prom", "all.prom", "hostile.prom"):
            with self.node_exporter(page) as port:
                told = samples(plain(wait_for("node exporter",
                                              lambda: asked(f"http://127.0.0.1:{port}/metrics"))))
            with open(self.where / page, newline="", encoding="utf-8") as f:
                ours = samples(plain(f.read()))
            assert told[("node_textfile_scrape_error",)] == 0, page
            assert {k: told.get(k) for k in ours} == ours, page

    def test_prometheus_scrapes_it_and_an_alert_fires(self):
        port = free_port()

        def query(expr):
            said = asked(f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expr}))
            return json.loads(said)["data"]["result"]

        with self.node_exporter("all.prom") as exporter:
            config = self.where / "prometheus.yml"
            config.write_text(json.dumps({
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(SHIPPED / "pf_rds.rules.yml")],
                "scrape_configs": [{"job_name": "node",
                                    "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}]}]}))
            with server(self.where / "prometheus.log", self.bin / "prometheus",
                        f"--config.file={config}", f"--storage.tsdb.path={self.where}/tsdb",
                        f"--web.listen-address=127.0.0.1:{port}"):
                wait_for("a scrape", lambda: query("rds_up == 1"))
                found = wait_for("an alert", lambda: query('ALERTS{alertname="RdsNotReached"}'))
                assert found[0]["metric"]["alertstate"] == "pending", found
                assert len(query('{__name__=~"rds_.*"}')) > 1000


def main():
    pages, bin_dir = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]) / "usr/bin"
    passed = failed = 0
    with tempfile.TemporaryDirectory() as where:
        subprocess.run([pages, where], check=True, stdout=subprocess.DEVNULL)
        tests = Tests(bin_dir, pathlib.Path(where))
        for name in [n for n in vars(Tests) if n.startswith("test_")]:
            try:
                getattr(tests, name)()
                passed += 1
                print(f"ok    {name}")
            except (AssertionError, KeyError, ValueError, OSError) as fault:
                failed += 1
                print(f"FAIL  {name}: {fault}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed or not passed


if __name__ == "__main__":
    sys.exit(main())
