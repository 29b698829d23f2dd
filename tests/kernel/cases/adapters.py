# SPDX-License-Identifier: GPL-2.0
"""Adapters that are not soft-RoCE, imitated (rds_strict.ko): what they refuse, their limits, their
order. docs/ib.md says which."""
from adapter import PATIENT, Resets, adapters, faults, set_fault
from ib_rdma_traffic import Owner, Storm, nothing_pinned
from ib_traffic import LOAD
from suite import test
from traffic import A, B, Flows, counters, exact, ping

IB = PATIENT
KERNELS = ["uml", "x86"]  # debug kernels, for rds_strict.ko is built for these
NONE = {"vms": 2, "modules": "none", "timeout": 240}

# EOPNOTSUPP, ENOSYS, ENOMEM, EINVAL: drivers say these to work requests that they do not know, or
# cannot take.
REFUSALS = (95, 38, 12, 22)


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
    """What post_send refuses, or no adapter can do, fails alone, told once; all else goes on."""
    with adapters(t):
        ping(t, t.a, A, B)
        storm, resets, wanted = storm_of(t), Resets(t), 0
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


@test(**NONE)
def refused_in_the_midst(t):
    """Where an adapter has a part of an operation the connection ends, and each is told of once."""
    with adapters(t):
        ping(t, t.a, A, B)
        storm = Storm(t, t.a, A, t.b, B, "--largest 131072")
        set_fault(t.a, "refuse", "write:95:0:1:1")
        wait_refused(t, 1)
        storm.wait_progress(SOME)
        found = storm.account()
        all_told(found)
        assert storm.ended() > storm.resets, "no connection ended"
        for machine in (t.a, t.b):
            nothing_pinned(t, machine)


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
