# SPDX-License-Identifier: GPL-2.0
"""Where the instructions of a case went: per symbol, from the plugin's block counts."""
import bisect
import re

# Counted besides instructions: calls per message of these functions.
COUNTS = [
    ("syscalls", r"do_syscall_64"),
    ("context switches", r"__switch_to_asm"),
    ("wakeups", r"try_to_wake_up"),
    ("work items", r"process_one_work"),
    ("timers armed", r"__mod_timer|hrtimer_start_range_ns"),
    ("lock_sock", r"lock_sock_nested"),
    ("spin/rw locks", r"_raw_(spin|read|write)_lock.*"),
    ("slab allocs", r"__kmem_cache_alloc_node|kmem_cache_alloc(_node|_lru)?"),
    ("page allocs", r"__alloc_pages"),
    ("pages cleared", r"clear_page_\w+"),
    ("tcp_sendmsg", r"tcp_sendmsg(_locked)?"),
    ("tcp segments", r"__tcp_transmit_skb"),
    ("tcp rx", r"tcp_v4_rcv"),
]


def symbols(log):
    table, inside = {}, False
    for line in log.read_text(errors="replace").splitlines():
        if line.startswith("KALLSYMS"):
            inside = line.rstrip() == "KALLSYMS"
        elif inside:
            p = line.split()
            if len(p) >= 3:
                table.setdefault(int(p[0], 16), " ".join(p[2:4]))
    return table


def phases(log, table):
    """Per measured phase: total, instructions per symbol, calls per symbol."""
    addr = sorted(table)
    out = []
    for line in open(f"{log}.prof"):
        p = line.split()
        if p[0] == "PHASE":
            out.append((int(p[2]), int(p[4]), {}, {}))
            continue
        total, user, cost, calls = out[-1]
        a = int(p[1], 16)
        if a >> 63 == 0:
            name = "[user]"
        else:
            i = bisect.bisect_right(addr, a) - 1
            name = table[addr[i]] if i >= 0 else "?"
        cost[name] = cost.get(name, 0) + int(p[2])
        if a in table:  # the block that begins a function
            calls[name] = calls.get(name, 0) + int(p[3])
    return out


def module_of(symbol):
    return symbol.split("[")[-1].rstrip("]") if "[" in symbol else "vmlinux"


def case_text(res, phase, top):
    total, user, cost, calls = phase
    n = int(res["n"])
    lines = [f"\n# {res['fam']} {res['test']} {res['size']}: {total / n:.0f} instructions per "
             f"message (user space {user / n:.0f})"]
    mods = {}
    for s, c in cost.items():
        mods[module_of(s)] = mods.get(module_of(s), 0) + c
    lines.append("  " + ", ".join(f"{m} {c / n:.0f}" for m, c in
                                  sorted(mods.items(), key=lambda x: -x[1])[:8]))
    for s, c in sorted(cost.items(), key=lambda x: -x[1])[:top]:
        lines.append(f"  {c / n:9.1f}  {100 * c / total:5.1f}%  {calls.get(s, 0) / n:7.2f} calls"
                     f"  {s}")
    lines.append("  per message: " + ", ".join(
        f"{what} {sum(c for s, c in calls.items() if re.fullmatch(x, s)) / n:.2f}"
        for what, x in COUNTS))
    return "\n".join(lines)


def text(boot, top=60):
    """The profile of every case of a boot that ran to its end."""
    table = symbols(boot.log)
    done = [r for r in boot.results if not r["fail"]]
    found = phases(boot.log, table)
    if len(found) != len(done):
        return f"{boot.log}: {len(found)} phases for {len(done)} cases: one failed in the middle"
    return "\n".join(case_text(r, p, top) for r, p in zip(done, found) if r["test"] != "first")
