# SPDX-License-Identifier: GPL-2.0
"""Modules come and go, alone and together, and leave nothing behind."""
import re

from suite import HERE, test

ROUNDS = 50
TALK = f"python3 -I -S {HERE}/rds_talk.py"


def paths(t):
    """Our modules in load order, or mainline's two, as insmod wants them."""
    if t.flavour() == "ours":
        return [f"{t.modules_dir}/{m}.ko" for m in ("rds", "rds_loop", "rds_tcp")]
    return t.a.check("modinfo -n rds rds_tcp").split()


def names(files):
    return [re.sub(r".*/|\.ko.*", "", f) for f in files]


def kernel_memory(machine):
    """kB the kernel cannot give back."""
    text = machine.check("cat /proc/meminfo")
    return sum(int(re.search(rf"^{field}: *(\d+)", text, re.M)[1])
               for field in ("SUnreclaim", "Percpu", "VmallocUsed", "KernelStack"))


@test(timeout=600)
def load_and_unload(t):
    """50 rounds of insmod in order and rmmod in reverse, and memory does not grow."""
    files = paths(t)
    t.a.unload()
    # A static insmod is several times faster here, but may not unpack a compressed module.
    insmod = "insmod" if files[0].endswith("z") else "/run/busybox insmod"
    one = (" && ".join(f"{insmod} {f}" for f in files)
           + "".join(f" && /run/busybox rmmod {m}" for m in reversed(names(files))))

    def rounds(n):
        t.a.check(f"i=0; while [ $i -lt {n} ]; do {one} || exit 1; i=$((i+1)); done", timeout=500)
    rounds(ROUNDS // 5)
    before = kernel_memory(t.a)
    rounds(ROUNDS)
    grown = kernel_memory(t.a) - before
    t.note(f"kernel memory after {ROUNDS} rounds: {grown:+d} kB")
    # One lost page per round and module would be 4 kB * 50 * 2.
    assert grown < 4 * ROUNDS * 2, f"kernel memory grew by {grown} kB in {ROUNDS} rounds"


@test()
def busy_while_a_socket_is_open(t):
    """rmmod refuses while a bound socket is there, and works as soon as it is closed."""
    holder = t.a.spawn(f"{TALK} open 127.0.0.1", stdin=True)
    holder.wait_output("open")
    if t.flavour() == "ours":
        rc, out = t.a.run("rmmod rds_loop")
        assert rc and "in use" in out, f"rmmod rds_loop under a socket bound to it: {rc} {out}"
    rc, out = t.a.run("rmmod rds")
    assert rc and "in use" in out, f"rmmod rds: {rc} {out}"
    t.a.check("rmmod rds_tcp")  # nobody uses TCP
    rc, out = t.a.run("rmmod rds")
    assert rc and "in use" in out, f"rmmod rds under an open socket: {rc} {out}"
    holder.write("", close=True)
    holder.check()
    t.a.unload()


@test()
def modprobe_pulls_what_it_needs(t):
    """modprobe rds_tcp alone gives the core, a listener and a working loopback."""
    t.a.unload()
    if t.flavour() == "ours":
        t.a.modprobe_ours(t.modules_dir)
    else:
        t.a.check("modprobe rds_tcp")
    loaded = t.a.check("cat /proc/modules")
    for mod in ("rds ", "rds_tcp "):
        assert re.search(rf"^{mod}", loaded, re.M), f"{mod}is not loaded:\n{loaded}"
    assert ":16385" in t.a.check("ss -Hltn"), "nobody listens on port 16385"
    assert t.a.check(f"{TALK} loop 127.0.0.1") == "hello\n"


@test(modules="none")
def no_module_no_socket(t):
    """Where only the kernel's own modules are installed and not loaded: EAFNOSUPPORT (97)."""
    rc, out = t.a.run(f"{TALK} open")
    assert rc and "Errno 97" in out, f"{rc} {out}"


@test(timeout=180)
def namespaces_come_and_go(t):
    """50 network namespaces, each with a message over its own loopback, die and leave nothing."""
    out = t.a.check(f"{TALK} namespaces 127.0.0.1 50", 150)
    assert out.count("hello\n") == 50, out
