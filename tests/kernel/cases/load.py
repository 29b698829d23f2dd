# SPDX-License-Identifier: GPL-2.0
"""Modules come and go, alone and together, and leave nothing behind."""
import re

from suite import HERE, test
from traffic import A

ROUNDS, PARTS = 50, 2
NEW_GUESTS = True  # it measures memory
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


@test(timeout=600, extra=True)
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
    sizes = [kernel_memory(t.a)]
    for _ in range(PARTS):
        rounds(ROUNDS // PARTS)
        sizes.append(kernel_memory(t.a))
    grown = [after - size for size, after in zip(sizes, sizes[1:])]
    t.note(f"kernel memory after each {ROUNDS // PARTS} rounds: "
           f"{', '.join(f'{n:+d}' for n in grown)} kB")
    # A page lost in each round would be seen in each part, what is set aside once in one of them.
    # Debug kernels keep what was freed.
    assert t.a.kernel.debug or min(grown) < 4 * (ROUNDS // PARTS), \
        f"kernel memory grew by {grown} kB"


@test(only="ours")
def transports_come_and_go(t):
    """Transports are taken away and loaded again while the core stays."""
    _, *files = paths(t)
    for file, name in zip(files, names(files)):
        t.a.check(" && ".join([f"/run/busybox rmmod {name}", f"/run/busybox insmod {file}"] * 3))
    assert t.a.check(f"{TALK} loop 127.0.0.1") == "hello\n"


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
    """modprobe rds_tcp alone gives the core, a listener and a working loopback: with ours that is
    loaded by who binds to it, or sends to an address of this host."""
    t.a.check(f"ip addr add {A}/32 dev lo")
    for addr in (A, "127.0.0.1"):
        t.a.unload()
        if t.flavour() == "ours":
            t.a.modprobe_ours(t.modules_dir)
            assert t.a.run("test -d /sys/module/rds_loop")[0], "rds_loop is loaded for nothing"
        else:
            t.a.check("modprobe rds_tcp")
        assert t.a.check(f"{TALK} loop {addr}") == "hello\n"
    loaded = t.a.check("cat /proc/modules")
    for mod in ("rds ", "rds_tcp "):
        assert re.search(rf"^{mod}", loaded, re.M), f"{mod}is not loaded:\n{loaded}"
    assert ":16385" in t.a.check("ss -Hltn"), "nobody listens on port 16385"
    t.a.check(f"ip addr del {A}/32 dev lo")


SETTINGS = {"pf_rds": "21", "sol_rds": "276", "ping_enable": "1", "max_unacked_packets": "8",
            "max_unacked_bytes": "16777216", "max_passive_connections": "4096",
            "idle_timeout_ms": "300000", "max_user_sockets": "16384", "max_user_connections": "8192",
            "recv_spill": "16777216",
            "group_range": "0\t4294967294", "unprivileged_port_start": "0", "info_restrict": "0",
            "reconnect_min_delay_ms": "1", "reconnect_delay_min_ms": "1",
            "reconnect_max_delay_ms": "1000", "reconnect_delay_max_ms": "1000",
            "tcp/rds_tcp_sndbuf": "0", "tcp/rds_tcp_rcvbuf": "0",
            "tcp/rds_tcp_user_timeout_ms": "30000", "tcp/rds_tcp_dscp": "0",
            "tcp/rds_tcp_congestion_control": "", "tcp/listen": "1"}
REFUSED = [(name, value) for name, values in
           {"pf_rds": "22", "sol_rds": "1", "reconnect_min_delay_ms": "0 1001 -1 x",
            "reconnect_delay_max_ms": "0 3600001", "max_unacked_packets": "-1",
            "info_restrict": "2 -1", "unprivileged_port_start": "65536 -1 x",
            "recv_spill": "16777217 -1 x",
            "group_range": "x 4294967295",
            "tcp/rds_tcp_sndbuf": "1 -1", "tcp/rds_tcp_rcvbuf": "1",
            "tcp/rds_tcp_user_timeout_ms": "1 999 -1 90000000", "tcp/rds_tcp_dscp": "64 -1 x",
            "tcp/rds_tcp_congestion_control": "nonesuch", "tcp/listen": "2 -1 x"}.items()
           for value in values.split()]
# The least and the most that each takes, and how it was.
TAKEN = {"reconnect_delay_min_ms": "1000 1", "reconnect_delay_max_ms": "3600000 1 1000",
         "info_restrict": "1 0", "unprivileged_port_start": "65535 0",
         "recv_spill": "0 16777216",
         "tcp/rds_tcp_user_timeout_ms": "1000 86400000 0 30000", "tcp/rds_tcp_dscp": "1 63 0",
         "tcp/listen": "0 1",
         "tcp/rds_tcp_sndbuf": "SO_SNDBUF 1073741824 0",
         "tcp/rds_tcp_rcvbuf": "SO_RCVBUF 1073741824 0"}
BEYOND = {"tcp/rds_tcp_user_timeout_ms": (-1, 1), "tcp/rds_tcp_sndbuf": (-1, 1),
          "tcp/rds_tcp_rcvbuf": (-1, 1)}


def least_buffer(t, option):
    """The bytes that the kernel makes of a buffer that is too small."""
    return t.a.check("python3 -I -S -c 'import socket as s; i = s.socket(); "
                     f"i.setsockopt(s.SOL_SOCKET, s.{option}, 1); "
                     f"print(i.getsockopt(s.SOL_SOCKET, s.{option}))'").strip()


def takes_no_more(t):
    """Each setting takes its bounds, and nothing beyond them."""
    for name, values in TAKEN.items():
        values = [least_buffer(t, v) if v.startswith("SO_") else v for v in values.split()]
        for value in values:
            t.a.check(f"cd /proc/sys/net/rds && echo {value} >{name} && [ $(cat {name}) = {value} ]")
        for bound, step in zip(values, BEYOND.get(name, ())):
            rc, _ = t.a.run(f"echo {int(bound) + step} >/proc/sys/net/rds/{name}")
            assert rc, f"{name} takes {int(bound) + step}"


def settings_of(t):
    return dict(line.split(":") for line in
                t.a.check("cd /proc/sys/net/rds && grep -r '^' *").splitlines())


@test(only="ours")
def settings(t):
    """/proc/sys/net/rds: every file and its value, both spellings of one, what is refused."""
    assert settings_of(t) == SETTINGS
    for name, value in REFUSED:
        rc, _ = t.a.run(f"echo {value} >/proc/sys/net/rds/{name}")
        assert rc, f"{name} takes {value}"
    takes_no_more(t)
    assert settings_of(t) == SETTINGS
    for name, alias, value in (("reconnect_max_delay_ms", "reconnect_delay_max_ms", "2000"),
                               ("reconnect_delay_min_ms", "reconnect_min_delay_ms", "50")):
        t.a.check(f"echo {value} >/proc/sys/net/rds/{name}")
        now = settings_of(t)
        assert now[name] == now[alias] == value, now


@test(only="ours")
def parameters(t):
    """send_batch_count, as it is given; a batch has a message at least. Of max_paths only 1 to 8.
    The listener takes both families, whatever the namespace says of new sockets."""
    core, _, tcp = paths(t)
    for given, is_now in (("", "1024"), ("send_batch_count=7", "7"), ("send_batch_count=0", "1")):
        t.a.unload()
        t.a.check(f"/run/busybox insmod {core} {given}")
        assert t.a.check("cat /sys/module/rds/parameters/send_batch_count").strip() == is_now
    for paths_given, taken in ((0, False), (9, False), (8, True), (1, True)):
        rc, _ = t.a.run(f"/run/busybox insmod {tcp} max_paths={paths_given} &&"
                        " /run/busybox rmmod rds_tcp")
        assert (rc == 0) == taken, f"max_paths={paths_given}: {rc}"
    t.a.check(f"echo 1 >/proc/sys/net/ipv6/bindv6only && /run/busybox insmod {tcp} &&"
              " echo 0 >/proc/sys/net/ipv6/bindv6only")
    said = t.a.check("ss -Hltne 'sport = :16385'")
    assert said.count("16385") == said.count("v6only:0") == 1, said
    t.a.unload()


@test(only="ours")
def the_family_is_listed(t):
    """/proc/net/protocols: no socket, no memory, no pressure, and a slab cache of their own."""
    row = t.a.check("awk '$1 == \"RDS\"' /proc/net/protocols").split()
    assert int(row[1]) > 500, row
    assert row[2:4] == ["0", "0"] and row[4] in ("no", "NI"), row
    assert row[6:8] == ["yes", "rds"], row


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
