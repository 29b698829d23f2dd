# SPDX-License-Identifier: GPL-2.0
"""Runs tshark: its view of a capture with tools/wireshark/rds.lua."""
import contextlib
import os
import pathlib
import shlex
import subprocess
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Another tshark than this machine's, as in a root: make test-wireshark SUITE=trixie.
TSHARK = shlex.split(os.environ.get("TSHARK", "tshark"))
DISSECTOR = ROOT / "tools/wireshark/rds.lua"


class Frame:
    """One RDS frame: fields of Wireshark's by name, each a list of its values, and experts."""

    def __init__(self, proto):
        self.text = proto.get("showname")
        self.fields, self.experts = {}, set()
        for field in proto.iter("field"):
            name, value = field.get("name"), field.get("show")
            value = {"True": "1", "False": "0"}.get(value, value)  # Wireshark 4.4 has words
            if name.startswith("rds.expert."):
                self.experts.add(name.removeprefix("rds.expert."))
            elif name.startswith("rds."):
                self.fields.setdefault(name.removeprefix("rds."), []).append(value)

    def __getitem__(self, name):
        values = self.fields.get(name, [None])
        assert len(values) == 1, f"{name} is there {len(values)} times"
        return values[0]

    def all(self, name):
        return self.fields.get(name, [])


@contextlib.contextmanager
def directory():
    """A new one that any user may read: as root Wireshark runs no scripts since 4.4, so tshark may be another."""
    with tempfile.TemporaryDirectory() as where:
        os.chmod(where, 0o755)
        yield pathlib.Path(where)


def tshark(*arguments, dissector=DISSECTOR):
    """Output, and what it complains of. No user's settings are read: home is empty."""
    with directory() as empty:
        done = subprocess.run(
            [*TSHARK, "-X", f"lua_script:{dissector}", *map(str, arguments)], capture_output=True,
            env={"HOME": str(empty), "PATH": "/usr/sbin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, check=False)
    said = [line for line in done.stderr.decode().splitlines() if "could be dangerous" not in line]
    if done.returncode:
        said.append(f"exit status {done.returncode}")
    return done.stdout, said


def lua_errors(output):
    return [line for line in output.decode(errors="replace").splitlines() if "Lua Error" in line]


def packets(capture, **how):
    """packets_of() a Capture, of which the first `snap` bytes of each packet were kept."""
    snap = how.pop("snap", 65535)
    with directory() as where:
        path = where / "capture.pcap"
        capture.save(path, snap)
        return packets_of(path, **how)


def packets_of(path, dissector=DISSECTOR):
    """{number of a packet: [Frame]} of the packets that have any. Dissected twice, as the window does:
    what is known of a frame only later is shown."""
    out, said = tshark("-2", "-r", path, "-T", "pdml", dissector=dissector)
    assert not said, said
    assert not lua_errors(out), lua_errors(out)[:3]
    found = {}
    for number, packet in enumerate(xml.etree.ElementTree.fromstring(out).iter("packet"), 1):
        frames = [Frame(p) for p in packet.iter("proto") if p.get("name") == "rds"]
        if frames:
            found[number] = frames
    return found
