# SPDX-License-Identifier: GPL-2.0
"""A hand-made peer over InfiniBand (tests/kernel/ib_peer: verbs and rdma_cm in user space, no RDS)
says right and wrong things to a host of ours: what is counted, dropped, delivered, answered."""
import re

from suite import test
from traffic import A, A6, helper

IB = True
EXTRA = True
KERNELS = ["6.1", "6.12", "7.2", "uml", "x86"]  # kcsan has no InfiniBand

ADDRESSES = 100  # each test of the program takes one

# The program's tests, by what tests them here (groups.py: each is in one).
GROUPS = {
    "requests": "*Requests.*:*Strangers.*:Offers.*",
    "calls": "Calls*",
    "frames": "Frames/*:Messages*",
    "credits": "Credits.*",
    "acks": "Acks.*",
    "silence": "Silence.*",
    "heartbeats": "Heartbeats.*",
}


def peer(t, which, timeout=240):
    """The program's tests of this group; all must pass, and there must be some."""
    host = t.a.spawn(f"{helper('rds_host.py')} {A} {A6}", stdin=True)
    t.b.check("modprobe -a ib_uverbs rdma_ucm && for i in $(seq 20 $((19 + ADDRESSES))); do"
              " printf 'addr replace 10.9.0.%d/24 dev eth0\\naddr replace fd00:9::%x/64 dev eth0"
              " nodad\\n' $i $i; done | ip -batch -".replace("ADDRESSES", str(ADDRESSES)))
    host.wait_output("^ready$")
    rc, said = t.b.run(f"{t.prog('rds_ib_peer')} --gtest_color=no --gtest_filter='{GROUPS[which]}'"
                       f" --host {A} --host6 {A6} --own 10.9.0.20 --own6 fd00:9::14", timeout)
    passed = re.search(r"^\[  PASSED  \] (\d+) tests?\.$", said, re.M)
    failures = re.findall(r"^.*: Failure\n(?:.+\n)*|^\[  FAILED  \] .*\n", said, re.M)
    assert rc == 0 and passed, "".join(failures[:12]) or f"exit status {rc}: {said[-2000:]}"
    assert int(passed[1]) > 0, said
    host.write("", close=True)
    host.check()
    t.note(f"{passed[1]} tests")


@test(vms=2, modules=("ours", "none"), only="ours", timeout=300, extra=True)
def requests(t):
    """Private data of every version, short, none, of strangers: what is answered and refused."""
    peer(t, "requests")


@test(vms=2, modules=("ours", "none"), only="ours", timeout=300)
def calls(t):
    """The host's own requests, refused and answered in all ways."""
    peer(t, "calls")


@test(vms=2, modules=("ours", "none"), only="ours", timeout=300)
def frames(t):
    """Frames that do not belong together, short, long, damaged, odd; messages of any size."""
    peer(t, "frames")


@test(vms=2, modules=("ours", "none"), only="ours", timeout=300)
def credits(t):
    """Buffers that are counted: kept to, given back, and a peer that does not keep to it."""
    peer(t, "credits")


@test(vms=2, modules=("ours", "none"), only="ours", timeout=300)
def acks(t):
    """Acknowledgement by number, and what is sent again without."""
    peer(t, "acks")


@test(vms=2, modules=("ours", "none"), only="ours", timeout=300)
def silence(t):
    """Keepalives, and peers that fall silent: gone without a word, or without buffers."""
    peer(t, "silence")


@test(vms=2, modules=("ours", "none"), only="ours", timeout=300)
def heartbeats(t):
    """A peer that asks is answered, also by a host that takes nothing; one that is asked and does
    not answer, though it speaks, is gone."""
    peer(t, "heartbeats")
