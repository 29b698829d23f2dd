# SPDX-License-Identifier: GPL-2.0
"""The judges of an account of rds_flows (its JSON). judges_test.py shows that each judge fails.

Between two of ours there is one judge, exact(): whatever happened to the connection, nothing is
lost, comes twice or late, or stays unacknowledged. With mainline's modules at one end docs/wire.md
says what a connection takes along when it dies, and there is a judge for each direction.
`found["ends"]` names whose modules the sender and the receiver have.
"""

# A host that has lost its connection calls again after a second at most (reconnect_max_delay_ms),
# so traffic stands still no longer than this, by the receiving guest's monotonic clock ...
LONGEST_GAP = 3.0
# ... which goes on while the host's processors do something else: run.py starts two guests for each
# of them, and more may run on this machine. Debug kernels are given more by Context.seconds().
GAP_SLACK = 2
# With mainline's we wait for its end of the connection for 5 s at most before we call again, and
# its 7.x for ours as long (docs/wire.md).
MAINLINE_GAP = LONGEST_GAP + 5 + 5

# Bytes that TCP has acknowledged and RDS has not read are at most what TCP's receive buffer holds.
# Tests that cut connections with mainline's keep it to this (small_windows in traffic.py), which is
# the kernel's default for a new connection: net.ipv4.tcp_rmem, the second number.
UNREAD = 131072
# And the message that it had begun to read: the longest of these tests, with rds_flows' header.
BEGUN = 8192 + 32

# Mainline's over queue pairs says what it has when it is asked to, as each of our messages asks, and
# when it has something to say. The last ones may have come while it was busy with four batches.
UNTOLD = 4 * 8

# Operations of `rds_rdma storm` at a time (--depth, rdma.h).
AT_A_TIME = 8

# Never, whoever talks and whatever dies. Sends time out where somebody waits for two seconds.
NEVER = ("reordered", "duplicates", "corrupted", "strangers", "timed_out")


def account(found):
    """The account in a few words; no judgement."""
    return (f"{found['sent']} sent: {found['lost']} lost, {found['duplicates']} duplicates, "
            f"{found['reordered']} out of order, {found['corrupted']} corrupted, "
            f"{found['longest_gap']:.1f} s without any at the longest")


def _none(found, *names):
    seen = {name: found[name] for name in names if found[name]}
    assert not seen, f"{seen}: {account(found)}"


def _promised(found):
    """The promises of the ends beyond NEVER, by whose they are. To mainline's a message is
    delivered when its TCP has it, and its reader may see it later."""
    sender, receiver = found["ends"]
    return ["unnoticed"] * (receiver == "ours") + ["late"] * (sender == receiver == "ours")


def _soon(found, gap):
    assert gap is None or found["longest_gap"] <= gap, \
        f"nothing came for {found['longest_gap']:.1f} s, {gap:.1f} are allowed: {account(found)}"


def exact(found, gap=None):
    """Every message exactly once, in order, unchanged, in time and acknowledged. With `gap`: and
    there was one at least every so many seconds."""
    _none(found, "lost", *NEVER, "unacknowledged", *_promised(found))
    assert found["delivered"] == found["sent"] > 0, found
    _soon(found, gap)
    return account(found)


def all_but_told(found):
    """Exact, but for the last acknowledgements (see UNTOLD)."""
    assert found["unacknowledged"] <= UNTOLD, found
    assert found["unacknowledged"] < found["sent"], f"nothing was acknowledged: {found}"
    said = exact({**found, "unacknowledged": 0})
    return f"{said}, {found['unacknowledged']} not acknowledged yet"


def from_first(found):
    """Exact to a receiver that came later: from its first message on nothing is missing."""
    _none(found, "lost", *NEVER, "unacknowledged", *_promised(found))
    assert found["before_first"] + found["delivered"] == found["sent"], found
    assert found["delivered"] > 0, found
    return f"{account(found)}, {found['before_first']} before the first that came"


def _with_mainline(found, deaths, gap):
    _none(found, *NEVER, "unacknowledged", *_promised(found))
    assert found["delivered"] + found["lost"] == found["sent"], found
    assert found["delivered"] > 0, found
    most = deaths * (UNREAD + BEGUN)
    assert found["lost_bytes"] <= most, f"{found['lost_bytes']} bytes are lost, {most} may be, " \
        f"by {deaths} connections that ended: {account(found)}"
    _soon(found, gap)
    return f"{account(found)}; {found['lost_bytes']} bytes lost of {most} that may be"


def to_mainline(found, deaths, gap=None):
    """From ours to mainline's over TCP: lost is at most what mainline's TCP had acknowledged, and
    its RDS not read, of `deaths` connections (0 with 7.x, which reads that first)."""
    assert found["ends"] == ["ours", "mainline"], found
    return _with_mainline(found, deaths, gap)


def from_mainline(found, resets, gap=None):
    """From mainline's to ours over TCP: nothing that our TCP had is lost, but for what a RST throws
    out of its receive queue; `resets` connections ended by one."""
    assert found["ends"] == ["mainline", "ours"], found
    return _with_mainline(found, resets, gap)


def storm(found, progress, deaths):
    """An account of `rds_rdma storm`: clean (each operation told of once, what is said to be done
    is there, and so on, see storm.cc), one at least done in each of `progress` times that we waited
    for some, and no more failed than were under way when `deaths` connections ended."""
    assert found["clean"], found
    assert found["success"] >= progress, f"of {progress} times nothing was done: {found}"
    assert found["canceled"] == 0, found
    failed = sum(found[how] for how in ("remote_error", "dropped", "other_error"))
    assert failed <= deaths * AT_A_TIME, \
        f"{failed} failed, {deaths} connections had {AT_A_TIME} at most each: {found}"
    assert found["success"] + failed == found["operations"], found
