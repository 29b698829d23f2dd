# SPDX-License-Identifier: GPL-2.0
"""Adapters that are not soft-RoCE, imitated (rds_strict.ko): what they refuse, their limits, their
order. docs/ib.md says which."""
import errno

from adapter import PATIENT, Resets, adapters, fault, faults, set_fault
from ib_rdma_traffic import Owner, Storm, nothing_pinned, pins, regions_used
from ib_traffic import LOAD, queue_pairs
from suite import test
from traffic import A, B, Flows, counters, exact, helper, ping

IB = PATIENT
KERNELS = ["uml", "x86"]  # debug kernels, for rds_strict.ko is built for these
NONE = {"vms": 2, "modules": "none", "timeout": 240}

# EOPNOTSUPP, ENOSYS, ENOMEM, EINVAL: drivers say these to work requests that they do not know, or
# cannot take.
REFUSALS = (95, 38, 12, 22)
DEVICE_FATAL = 8  # IB_EVENT_DEVICE_FATAL


def all_told(found):
    assert found["clean"] and not found["canceled"], found
    assert found["success"] and found["told"] == found["operations"], found


# Of larger ones soft-RoCE loses, and stands still then, now and again: a connection ends that is
# not the adapter's affair.
SMALL = "--largest 8192"
SOME = 20  # pages: whoever looks all the time takes the processor from those who are looked at


def storm_of(t):
    storm = Storm(t, t.a, A, t.b, B, SMALL)
    storm.wait_progress(SOME)
    return storm


def wait_refused(t, count):
    t.a.wait_until(f"[ $(cat /sys/module/rds_strict/parameters/refused) = {count} ]", pause=0.5)


@test(**NONE)
def operations_are_refused(t):
    """A refused operation, or one that no adapter can do, fails alone, told once; all else goes on."""
    with adapters(t):
        ping(t, t.a, A, B)
        storm, resets, wanted = Storm(t, t.a, A, t.b, B, SMALL), Resets(t), 0
        for n, error in enumerate(REFUSALS):
            set_fault(t.a, "refuse", f"{('write', 'read')[n % 2]}:{error}:1:3:0")
            wanted += 3
            wait_refused(t, wanted)
        # Too many pieces, an atomic across a border of 8.
        Owner(t, t.b, B, A, both="--control 4410 --port 4411").tap(t.a, "alone")
        resets.none()
        storm.wait_progress(SOME)
        found = storm.account()
        all_told(found)
        failed = counters(t, t.a)["ib_op_refused"]
        assert failed == wanted == found["other_error"], f"{failed} {wanted}: {found}"
        assert not found["dropped"] and not found["remote_error"], found
        resets.none()
        for machine in (t.a, t.b):
            nothing_pinned(t, machine)
        t.note(f"{wanted} operations refused and told, no connection ended")


@test(**NONE, extra=True)
def it_is_beyond_repair(t):
    """An adapter that says so: its connections end at once, and it is tried again."""
    with adapters(t):
        ping(t, t.a, A, B)
        set_fault(t.a, "happens", DEVICE_FATAL)
        t.a.wait_until(f"{t.tool('rds-info')} -c | grep -q 'conn_reset  *1$'")
        ping(t, t.a, A, B)


@test(**NONE)
def pages_side_by_side(t):
    """256 KiB without a gap are one work request: a second one would be refused."""
    with adapters(t):
        ping(t, t.a, A, B)
        resets = Resets(t)
        set_fault(t.a, "refuse", "any:22:0:0:1")
        Owner(t, t.b, B, A).tap(t.a, "check --gapless")
        resets.none()
        wait_refused(t, 0)
        for machine in (t.a, t.b):
            nothing_pinned(t, machine)


@test(**NONE)
def refused_in_the_midst(t):
    """Where an adapter has a part of an operation the connection ends, and each is told of once."""
    with adapters(t):
        ping(t, t.a, A, B)
        storm = Storm(t, t.a, A, t.b, B, "--depth 1 --largest 1048576")
        set_fault(t.a, "refuse", "write:95:0:1:1")
        wait_refused(t, 1)
        storm.wait_progress(SOME)
        found = storm.account()
        all_told(found)
        assert storm.ended() > storm.resets, "no connection ended"
        for machine in (t.a, t.b):
            nothing_pinned(t, machine)


@test(**NONE)
def mlx5(t):
    """No atomics, whatever the adapter says of them, and none in the rights of memory."""
    with adapters(t, "mlx5-umr"):
        ping(t, t.a, A, B)
        resets = Resets(t)
        Owner(t, t.b, B, A, "--no-atomics").tap(t.a, "alone")
        Owner(t, t.b, B, A, "--no-atomics").tap(t.a, "check")
        resets.none()
        # Each asked once.
        for machine in (t.a, t.b):
            assert int(fault(machine, "refused")) <= 3, fault(machine, "refused")
            nothing_pinned(t, machine)


@test(**NONE)
def queues_are_too_long(t):
    """An adapter that cannot make what it says it can is asked for less, and everything goes on."""
    with adapters(t), faults(t.a, t.b, qp_most=128):
        ping(t, t.a, A, B)
        for machine in (t.a, t.b):
            sizes = [(c["max_send_wr"], c["max_recv_wr"])
                     for c in queue_pairs(t, machine, "-v")]
            assert sizes == [(128, 128)], sizes
        t.note(exact(Flows(t, t.a, A, t.b, B, LOAD, messages=20).result()))


@test(**NONE)
def mappings_fail(t):
    """A mapping that fails is waited for: nothing is lost, and no connection ends."""
    with adapters(t):
        ping(t, t.a, A, B)
        storm = storm_of(t)
        flow = Flows(t, t.b, B, t.a, A, LOAD)
        flow.wait_progress()
        resets = Resets(t)
        with faults(t.a, t.b, module="rds_rdma", dma_fail_every=3):
            flow.wait_progress()
            storm.wait_progress(SOME)
            failed = [counters(t, m)["ib_tx_sg_mapping_failure"] for m in (t.a, t.b)]
            assert all(failed), failed
        t.note(exact(flow.stop()))
        storm.stop(faults=0)
        resets.none()
        t.note(f"{sum(failed)} mappings failed while something was sent")


@test(**NONE)
def memory_is_copied(t):
    """Bounce buffers: messages and operations go on as ever. Where all goes through them no peer
    can share memory, and programs are told; elsewhere what is told of is seen, and what is freed
    is let be."""
    with adapters(t):
        ping(t, t.a, A, B)
        with faults(t.a, module="rds_rdma", dma_bounce=2):
            Owner(t, t.b, B, A).tap(t.a, "check")
            Owner(t, t.a, A, B, "--no-regions", both="--control 4410 --port 4411") \
                .tap(t.b, "check")
            with faults(t.b, module="rds_rdma", dma_bounce=1):
                Owner(t, t.b, B, A, "--copies", both="--control 4420 --port 4421") \
                    .tap(t.a, "check")
                there = Flows(t, t.a, A, t.b, B, LOAD, messages=20)
                back = Flows(t, t.b, B, t.a, A, f"{LOAD} --base-port 6000 --control 4900",
                             messages=20)
                t.note(exact(there.result()))
                t.note(exact(back.result()))
        for machine in (t.a, t.b):
            nothing_pinned(t, machine)


@test(**NONE)
def completions_come_as_they_like(t):
    """Late, one at a time, those of different queues in any order: nobody minds."""
    with adapters(t):
        ping(t, t.a, A, B)
        with faults(t.a, t.b, shuffle=1, one_at_a_time=1, late_sends=30, late_recvs=10):
            storm = storm_of(t)
            flow = Flows(t, t.b, B, t.a, A, LOAD)
            flow.wait_progress()
            storm.wait_progress(SOME)
            t.note(exact(flow.stop()))
            storm.stop(faults=0)


@test(**NONE, extra=True)
def what_is_flushed_has_other_words(t):
    """Behind a failure vendors have statuses of their own; each operation is told of once."""
    with adapters(t):
        for status in (2, 6, 13, 21):  # LOC_QP_OP, MW_BIND, RNR_RETRY_EXC, GENERAL
            with faults(t.a, t.b, shuffle=1):
                for machine in (t.a, t.b):
                    set_fault(machine, "flushed_as", status)
                storm = Storm(t, t.a, A, t.b, B, f"{SMALL} --free-every 40")
                storm.wait_progress(SOME)
                storm.stop(faults=1)


SLOW, IN, MORE = 9000, 64, 16  # ms of a registration; ib_regq_linux.c: so many at once


@test(**NONE, extra=True)
def who_waits_to_register_is_killed(t):
    """The adapter takes its time with those that are in; others wait for these, and can be killed."""
    with adapters(t, machines=[t.a]), faults(t.a, late_sends=SLOW):
        said = t.a.check(f"{helper('rds_crowd.py')} {A} {IN + MORE} {IN}", 100)
        assert said.strip() == f"left {IN}", said
        nothing_pinned(t, t.a)


@test(**NONE)
def ending_a_region_fails(t):
    """While its key may be valid, memory stays pinned; the adapter is asked again."""
    with adapters(t):
        ping(t, t.a, A, B)
        with faults(t.b, dereg_fails=1000):
            set_fault(t.b, "refuse", "inv:5")
            storm = storm_of(t)
            storm.account()
            # The owner has gone, with its memory: that is not let go.
            assert not regions_used(t, t.b)
            t.b.wait_until("[ $(cat /sys/module/rds_strict/parameters/dereg_fails) -lt 1000 ]")
            first, last = pins(t.b)
            assert first > last, "unpinned while peers may reach it"
            set_fault(t.b, "refuse", "")
        nothing_pinned(t, t.b)


def profile(name):
    """Messages, and where regions are large enough operations, of every size, by its rules."""
    def body(t):
        flags = "" if name in ("mlx4", "bnxt_re", "qedr") else "--no-atomics"
        # Reads with an entry for a request: no ring has a thousand.
        flags += " --pieces 200" if name == "irdma-iwarp" else ""
        with adapters(t, name):
            ping(t, t.a, A, B)
            t.note(exact(Flows(t, t.a, A, t.b, B, LOAD, messages=20).result()))
            if name in ("cxgb4", "poor"):  # no region has 1 MiB
                said = t.a.check(f"echo get 1 1048576 | {helper('rds_regions.py')} {A}")
                assert f"1 error {errno.EMSGSIZE}\n" in said, said
                return
            Owner(t, t.b, B, A, flags).tap(t.a, "check")
            for machine in (t.a, t.b):
                nothing_pinned(t, machine)
    body.__name__ = name.replace("-", "_")
    body.__doc__ = profile.__doc__
    return test(**NONE, extra=True)(body)


for family in ("mlx4", "irdma-roce", "irdma-iwarp", "bnxt_re", "qedr", "cxgb4", "poor"):
    profile(family)


@test(**NONE, extra=True)
def efa(t):
    """An adapter with two entries for a request is none that we use, and binding says so."""
    with adapters(t, "efa"):
        assert t.a.run(f"{t.tool('rds-ping')} -c 1 -I {A} {B}")[0]
        assert not counters(t, t.a)["ib_tx_frames"]
