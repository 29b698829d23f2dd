#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""packaging/install.sh puts every file where it says and takes all of them away again; the settings that
are installed name what the modules have, with its default; and completions offer what programs have.

Modules and tools are empty files here: what is built is not looked at.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("rds", "rds_loop", "rds_tcp", "rds_rdma")
TOOLS = ("rds-ping", "rds-info", "rds-stress", "rdsctl")
KERNEL = "6.1.0-test"
PYTHON = subprocess.run(["/usr/bin/python3", "-c", "import site; print(site.getsitepackages()[0])"],
                        capture_output=True, text=True, check=True).stdout.strip()
WANTED = {
    *(f"lib/modules/{KERNEL}/updates/{m}.ko" for m in MODULES),
    "etc/modprobe.d/pf_rds.conf", "etc/sysctl.d/pf_rds.conf",
    *(f"usr/local/bin/{t}" for t in TOOLS if t != "rdsctl"), "usr/local/sbin/rdsctl",
    *(f"usr/local/share/bash-completion/completions/{t}" for t in TOOLS),
    *(f"usr/local/share/man/man{p.suffix[1:]}/{p.name}" for p in (ROOT / "docs/man").glob("*.[0-9]")),
    "usr/local/include/pf_rds/linux/rds.h", "usr/local/include/pf_rds/linux/rds_peers.h",
    "usr/local/include/pf_rds/linux/rds_state.h",
    *(f"usr/local/share/zsh/site-functions/{p.name}" for p in (ROOT / "packaging/zsh").iterdir()),
    "usr/local/share/pkgconfig/rds.pc",
    *(f"usr/local/include/pf_rds/rds/{p.name}" for p in (ROOT / "include/rds").iterdir()),
    *(f"usr/local/share/pf_rds/examples/{p.name}" for p in (ROOT / "examples").glob("*.[cp]*")),
    *(f"usr/local/share/pf_rds/{p.relative_to(ROOT)}" for p in (ROOT / "examples").glob("*/*.*")),
    *(f"{PYTHON[1:]}/rds/{p.name}" for p in (ROOT / "python/rds").iterdir() if p.is_file()),
    *(f"usr/local/share/pf_rds/metrics/{p.name}" for p in (ROOT / "packaging/metrics").glob("pf_rds.*")),
    *(f"usr/local/lib/systemd/system/pf-rds-metrics.{kind}" for kind in ("service", "timer")),
    *(f"usr/local/share/doc/pf_rds/{page}.md"
      for page in ("limits", "metrics", "migrating", "peers", "policy", "troubleshooting", "tuning")),
    *(f"usr/local/share/doc/pf_rds/netlink/{p.name}" for p in (ROOT / "docs/netlink").iterdir()),
    "usr/local/share/pf_rds/rds.lua", "usr/local/share/pf_rds/pf_rds.nft",
}


# How uninstall knows what it has to take away.
OWN = ("usr/local/share/pf_rds/installed", "usr/local/share/pf_rds/settings/")
SETTINGS = ("etc/modprobe.d/pf_rds.conf", "etc/sysctl.d/pf_rds.conf")


class Install(unittest.TestCase):
    def setUp(self):
        self.where = tempfile.TemporaryDirectory()
        self.addCleanup(self.where.cleanup)
        self.top = pathlib.Path(self.where.name) / "root"
        built = pathlib.Path(self.where.name) / "built"
        built.mkdir()
        for name in (*(f"{m}.ko" for m in MODULES), *TOOLS):
            (built / name).touch()
        self.env = {
            **os.environ, "KVER": KERNEL, "DESTDIR": str(self.top), "PREFIX": "/usr/local", "AUTOLOAD": "",
            "MODULES": " ".join(str(built / f"{m}.ko") for m in MODULES),
            "TOOLS": " ".join(str(built / t) for t in TOOLS)}

    def run_it(self, what, **more):
        done = subprocess.run([ROOT / "packaging/install.sh", what], env={**self.env, **more},
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def files(self):
        return {str(p.relative_to(self.top)) for p in self.top.rglob("*") if p.is_file()}

    def test_every_file_comes_and_goes(self):
        self.run_it("install")
        self.assertEqual({f for f in self.files() if not f.startswith(OWN)}, WANTED)
        self.run_it("install")  # again, over itself
        other = self.top / "usr/local/bin/somebody-elses"
        other.touch()
        compiled = self.top / PYTHON[1:] / "rds/__pycache__"
        compiled.mkdir()
        (compiled / "abi.pyc").touch()
        self.run_it("uninstall")
        self.assertEqual(self.files(), {str(other.relative_to(self.top))})
        self.assertFalse((self.top / "usr/local/include/pf_rds").exists())
        self.assertFalse((self.top / "usr/local/share/pf_rds").exists())
        self.assertFalse((self.top / "usr/local/share/doc/pf_rds").exists())
        self.assertFalse(compiled.parent.exists())

    def test_metrics_that_were_written_go(self):
        self.run_it("install")
        node = self.top / "var/lib/prometheus/node-exporter"
        node.mkdir(parents=True)
        for name in ("rds.prom", "apt.prom"):
            (node / name).touch()
        # The machine's own timer has nothing to do with what is below DESTDIR.
        systemctl = pathlib.Path(self.where.name) / "bin/systemctl"
        systemctl.parent.mkdir()
        systemctl.write_text('#!/bin/sh\ntouch "$0.called"\n')
        systemctl.chmod(0o755)
        self.run_it("uninstall", PATH=f"{systemctl.parent}:{os.environ['PATH']}")
        self.assertEqual(self.files(), {str((node / "apt.prom").relative_to(self.top))})
        self.assertEqual(list(systemctl.parent.iterdir()), [systemctl])

    def test_autoload_is_asked_for(self):
        for asked, lines in (("", 0), ("1", 1)):
            self.run_it("install", AUTOLOAD=asked)
            text = (self.top / "etc/modprobe.d/pf_rds.conf").read_text()
            self.assertEqual(len(re.findall("^alias", text, re.M)), lines)

    def test_settings_that_were_changed_are_kept(self):
        self.run_it("install")
        changed, older = (self.top / name for name in SETTINGS)
        changed.write_text("alias net-pf-21 rds\noptions rds_tcp max_paths=1\n")
        # As an older version has installed it: nobody has changed this one.
        for file in older, self.top / "usr/local/share/pf_rds/settings" / SETTINGS[1]:
            file.write_text("# an older text\n")
        said = self.run_it("install", AUTOLOAD="1")
        self.assertIn(f"/{SETTINGS[0]} was changed and is kept; see /{SETTINGS[0]}.new\n", said)
        self.assertNotIn("sysctl", said)
        self.assertEqual(changed.read_text(), "alias net-pf-21 rds\noptions rds_tcp max_paths=1\n")
        self.assertRegex((changed.parent / "pf_rds.conf.new").read_text(), "(?m)^alias net-pf-21 rds$")
        self.assertEqual(older.read_text(), (ROOT / "packaging/pf_rds.sysctl").read_text())
        self.assertIn(f"/{SETTINGS[0]} was changed and is kept\n", self.run_it("uninstall"))
        self.assertEqual(self.files(), {SETTINGS[0]})
        # The alias would load the kernel's own modules from now on.
        self.assertEqual(changed.read_text(), "#alias net-pf-21 rds\noptions rds_tcp max_paths=1\n")

    def test_settings_of_which_nothing_is_known_are_kept(self):
        modprobe, sysctl = (self.top / name for name in SETTINGS)
        for file in modprobe, sysctl:
            file.parent.mkdir(parents=True)
            file.symlink_to("/dev/null")
        self.run_it("install")
        self.assertEqual({f for f in self.files() if f.startswith("etc")}, {f"{f}.new" for f in SETTINGS})
        sysctl.unlink()  # so ours may be there
        self.assertNotIn("sysctl", self.run_it("install"))
        self.assertEqual({f for f in self.files() if f.startswith("etc")}, {f"{SETTINGS[0]}.new", SETTINGS[1]})
        self.run_it("uninstall")
        self.assertEqual(self.files(), set())
        self.assertEqual(modprobe.readlink(), pathlib.Path("/dev/null"))

    def test_the_pkg_config_file_says_where_the_header_is(self):
        self.run_it("install")
        text = (self.top / "usr/local/share/pkgconfig/rds.pc").read_text()
        self.assertIn("prefix=/usr/local\n", text)
        self.assertRegex(text, r"\nVersion: \d+\.\d+")
        self.assertNotIn("@", text)


    def test_the_unit_runs_the_program_where_it_is(self):
        self.run_it("install")
        text = (self.top / "usr/local/lib/systemd/system/pf-rds-metrics.service").read_text()
        self.assertIn("\nExecStart=/usr/local/sbin/rdsctl metrics --output /var/lib/prometheus/", text)
        self.assertNotIn("@", text.replace("=@system-service", "").replace("~@privileged @resources", ""))


class Settings(unittest.TestCase):
    """Lines of packaging/pf_rds.sysctl against rds(7), which names every file of /proc/sys/net/rds."""

    def test_names_and_that_all_are_comments(self):
        page = (ROOT / "docs/man/rds.7").read_text()
        known = {p.replace("/", ".") for p in re.findall(r"Pa /proc/sys/(net/rds/\S+)", page)}
        lines = (ROOT / "packaging/pf_rds.sysctl").read_text().splitlines()
        self.assertEqual([line for line in lines if line and not line.startswith("#")], [])
        named = [m[1] for m in (re.match(r"#(net\.\S+) =", line) for line in lines) if m]
        self.assertGreater(len(named), 15)
        self.assertEqual(set(named) - known, set())


if __name__ == "__main__":
    unittest.main()
