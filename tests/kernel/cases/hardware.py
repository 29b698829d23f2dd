# SPDX-License-Identifier: GPL-2.0
"""Facts that only a real adapter can show, and the command that plays it there (docs/ib.md): rates, memory
of quiet connections, the link that goes. Soft-RoCE plays the adapter here."""
import json
import os

import filters
from ib_rdma_traffic import Storm, nothing_pinned
from ib_traffic import cut, queue_pairs
from suite import HERE, test
from traffic import A, B, Flows, counters, exact, ping, stress_says, unavailable

IB = "rds_ib_retry_count=6"
EXTRA = True
NEW_GUESTS = True  # it measures memory
KERNELS = ["6.1"]
LONG = int(os.environ.get("SECONDS_EACH") or 2)  # of everything at once
SECONDS = min(LONG, 10)  # of each rate
# Names, and options of rds-stress.
RATES = {"64 B, one at a time": "-d 1 -q 64 -a 64", "8 KiB": "-t 4 -d 8 -q 8k",
         "64 KiB": "-t 4 -d 8 -q 64k", "1 MiB": "-t 2 -d 4 -q 1m",
         "RDMA 64 KiB": "-t 4 -d 8 -q 256 -D 64k", "RDMA 1 MiB": "-t 2 -d 4 -q 256 -D 1m"}
# The shell between the two guests: by an address that is not RDS's.
B_BESIDE, PORT = "fe80::5054:ff:fe09:2%eth0", 7777


@test(vms=2, only="ours", timeout=120 + 20 * SECONDS)
def rates(t):
    """Round trips and bytes a second, messages and RDMA; every byte is checked, which costs."""
    for name, options in RATES.items():
        said = json.loads(stress_says(t, t.a, t.b, B, f"--json -T {SECONDS} {options}")
                          .splitlines()[-1])
        counts, total = said["counts"], said["total"]
        moved = sum(n for what, n in counts.items() if what.endswith("_bytes"))
        assert moved > 0, f"{name}: {counts}"
        trips = ", ".join(f"p{p} {total[f'rtt_p{p}_usec']:.0f}" for p in (50, 99, 999))
        t.note(f"{name}: {moved / said['seconds'] / 1e6:.1f} MB/s, round trips {trips} us")


@test(vms=2, only="ours", timeout=120 + 2 * LONG)
def everything_at_once(t):
    """Exact flows both ways beside a storm of RDMA, which is told of truly."""
    flows = [Flows(t, *ends, "--flows 16", timeout=LONG + 100)
             for ends in ((t.a, A, t.b, B), (t.b, B, t.a, A))]
    storm = Storm(t, t.a, A, t.b, B)
    storm.wait_progress()
    t.a.check(f"sleep {LONG}", LONG + 30)
    for flow in flows:
        flow.wait_progress()
        t.note(exact(flow.stop()))
    storm.stop(faults=0)
    for machine in t.vms:
        nothing_pinned(t, machine)


@test(vms=2, only="ours", timeout=240)
def link_goes(t):
    """The link of either host goes under messages and RDMA, and comes back: nothing is lost."""
    with filters.ready(t.a, t.b):
        flow = Flows(t, t.a, A, t.b, B, "--flows 16 --max-payload 8192",
                     send_options="--rate 300 --drain 15")
        storm = Storm(t, t.a, A, t.b, B)
        for machine in t.vms:
            flow.wait_progress()
            storm.wait_progress()
            cut(t, machine, t.vms)
        flow.wait_progress()
        storm.wait_progress()
        t.note(exact(flow.stop()))
        storm.stop(faults=2)


@test(vms=2, only="ours", timeout=240)
def quiet_connections(t):
    """Memory of a connection that has little to do: a type of service each."""
    many = 40
    ping(t, t.a, A, B)  # what is made once
    before = [unavailable(m) for m in t.vms]
    for tos in range(1, many + 1):
        ping(t, t.a, A, B, count=1, options=f"-Q {tos}")
    assert len(queue_pairs(t, t.a)) == many + 1
    each = [(unavailable(m) - was) // many for m, was in zip(t.vms, before)]
    t.note(f"{each[0]} and {each[1]} KiB a connection, with the adapter's own")


@test(vms=2, only="ours")
def counted(t):
    """Counters of both hosts tell of nothing that went wrong: the cable is quiet."""
    ping(t, t.a, A, B)
    stress_says(t, t.a, t.b, B, f"--json -T {SECONDS} -t 4 -d 8 -q 8k -D 64k")
    for machine in t.vms:
        found = {name: n for name, n in counters(t, machine).items()
                 if n and ("error" in name or "stuck" in name or "drop" in name)}
        t.note(f"{machine.name}: {found or 'nothing went wrong'}")
        assert not found.get("ib_completion_errors") and not found.get("ib_tx_stuck"), found


@test(vms=2, modules="none", timeout=400)
def by_one_command(t):
    """tests/adapters/on-hardware.sh, in guest a, with guest b as the other host: it ends well, and
    its report says what was played and what the adapters are."""
    serving = t.b.spawn(f"python3 {HERE}/rds_shell.py {PORT}")
    serving.wait_output("^ready$")
    command = (f"cd /root && SECONDS_EACH=1 {HERE.parent}/adapters/on-hardware.sh --built"
               f" --shell 'python3 {HERE}/rds_shell.py --to {B_BESIDE} {PORT}' other"
               " --plug 'rdma link add rxe0 type rxe netdev eth0' --unplug 'rdma link del rxe0'"
               " --report /root/report")
    rc, said = t.a.run(f"{command} --interface eth7")
    assert rc and "this host: no interface eth7" in said, said
    said = t.a.check(f"{command} --interface eth0"
                     " --only 'hardware.rates ib.further_addresses ib_rdma.data"
                     " ib_rdma.adapter_goes'", 380)
    assert "4 passed, 0 failed, 0 skipped" in said, said
    report = t.a.check("cat /root/report/report.md")
    for word in ("rxe0", "hardware.rates", "ib_rdma.data", "MB/s", t.a.kernel.version,
                 "failures: no, 0 of 4"):
        assert word in report, report
    t.a.check("tar -tzf /root/report.tar.gz | grep -q report.md")
    serving.kill()
    serving.wait()
