#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The maintainer scripts of pf-rds-dkms, called as dpkg and debconf call them: the file that lets socket(2)
load rds.ko is there while the package is, and was wanted. Debconf is a file of answers here, and
/etc/modprobe.d a directory of the test's. `make packages-test` has the real ones.
"""
import pathlib
import subprocess
import tempfile
import unittest

DEBIAN = pathlib.Path(__file__).resolve().parents[2] / "packaging/debian"
DEBCONF = """
db_get() { RET=$(cat "$ANSWER"); }
db_set() { echo "$2" >"$ANSWER"; }
db_input() { :; }
db_go() { :; }
db_stop() { :; }
"""


class Autoload(unittest.TestCase):
    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.top = pathlib.Path(where.name)
        self.etc = self.top / "modprobe.d"
        self.etc.mkdir()
        self.answer = self.top / "answer"
        self.answer.write_text("false\n")
        (self.top / "confmodule").write_text(DEBCONF)
        for part in ("config", "postinst", "postrm"):
            text = (DEBIAN / f"pf-rds-dkms.{part}").read_text()
            text = text.replace("#REFUSED#", (DEBIAN / "refused.sh").read_text())
            text = text.replace("/usr/share/debconf/confmodule", str(self.top / "confmodule"))
            (self.top / part).write_text(text.replace("/etc/modprobe.d", str(self.etc)))

    def call(self, part, *words):
        done = subprocess.run(["sh", self.top / part, *words], capture_output=True, text=True, check=False,
                              env={"ANSWER": str(self.answer), "PATH": "/usr/bin:/bin"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def install(self, last=""):
        """The version that was configured last, if any: dpkg says it after a removal, too."""
        for part in ("config", "postinst"):
            self.call(part, "configure", last)

    def autoloads(self):
        """Lines that modprobe reads."""
        return [line for file in self.etc.glob("*.conf") for line in file.read_text().splitlines()
                if line.startswith("alias")]

    def test_no_alias_outlives_the_modules(self):
        self.answer.write_text("true\n")
        self.install()
        self.assertEqual(self.autoloads(), ["alias net-pf-21 rds"])
        self.call("postrm", "upgrade", "2.0")
        self.install("1.0")
        self.assertEqual(self.autoloads(), ["alias net-pf-21 rds"])
        self.call("postrm", "remove")
        self.assertEqual(self.autoloads(), [])

    def test_what_was_answered_holds_when_it_is_installed_again(self):
        for answer, wanted in (("true", ["alias net-pf-21 rds"]), ("false", [])):
            self.call("postrm", "purge")
            self.answer.write_text(answer)
            self.install()
            self.call("postrm", "remove")
            self.install("1.0")
            self.assertEqual(self.autoloads(), wanted)
            self.assertEqual(len(list(self.etc.iterdir())), len(wanted))

    def test_a_file_that_was_removed_by_hand_stays_away(self):
        self.answer.write_text("true")
        self.install()
        for file in self.etc.iterdir():
            file.unlink()
        self.call("postrm", "remove")
        self.install("1.0")
        self.assertEqual(self.autoloads(), [])

    def test_a_line_against_rds_holds_after_a_removal(self):
        self.answer.write_text("true")
        self.install()
        self.call("postrm", "remove")
        (self.etc / "admin.conf").write_text("blacklist rds\n")
        self.install("1.0")
        self.assertEqual([file.name for file in self.etc.iterdir()], ["admin.conf"])

    def test_purge_leaves_nothing(self):
        for steps in (("purge",), ("remove", "purge")):
            self.answer.write_text("true")
            self.install()
            for step in steps:
                self.call("postrm", step)
            self.assertEqual(list(self.etc.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
