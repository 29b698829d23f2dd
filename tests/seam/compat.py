#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The borders of net/linux/compat.h are those of docs/kernels.md, and they are at the right versions.

Headers of few versions can be had at a time (`make matrix`), so the others are made up here: for each
version a directory of headers with as much of the kernel as compat.h touches, and with each interface
as that version has it. compat.h, and a file that uses all of it as the modules do, must compile
against each, and name just those interfaces that the version has. Then each border is moved by one
version, up and down, and that must be noticed.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPAT, TABLE = ROOT / "net/linux/compat.h", ROOT / "docs/kernels.md"
VERSIONS = [*((6, n) for n in range(1, 20)), *((7, n) for n in range(4))]
ROW = re.compile(r"^\| (\d+)\.(\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|", re.M)
BORDER = re.compile(r"KERNEL_VERSION\((\d+), (\d+), 0\)")

# One interface each: since which version it is there, until before which, and its text.
ALWAYS, EVER = (0, 0), (99, 0)
PARTS = {
    "linux/version.h": [
        (ALWAYS, EVER, "#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))")],
    "linux/net.h": [
        (ALWAYS, EVER, "struct socket; struct sockaddr { int family; };"
         " struct sockaddr_unsized { int family; };"),
        (ALWAYS, (6, 19), "#define NAME struct sockaddr"),
        ((6, 19), EVER, "#define NAME struct sockaddr_unsized"),
        (ALWAYS, EVER, "struct proto_ops { int (*bind)(struct socket *, NAME *, int);"),
        (ALWAYS, (6, 5), "int (*sendpage)(struct socket *);"),
        (ALWAYS, EVER, "int last; };"),
        (ALWAYS, (6, 5), "int sock_no_sendpage(struct socket *);")],
    "linux/sysctl.h": [
        (ALWAYS, EVER, "struct ctl_table_header; struct ctl_table; struct ctl_table {"),
        (ALWAYS, (6, 11), "int (*proc_handler)(struct ctl_table *, int); };"),
        ((6, 11), EVER, "int (*proc_handler)(const struct ctl_table *, int); };")],
    "net/net_namespace.h": [
        (ALWAYS, EVER, "struct net;"),
        (ALWAYS, (6, 6), "struct ctl_table_header *register_net_sysctl(struct net *, const char *,"
         " struct ctl_table *);"),
        ((6, 6), EVER, "struct ctl_table_header *register_net_sysctl_sz(struct net *, const char *,"
         " struct ctl_table *, __SIZE_TYPE__);")],
    "linux/hrtimer.h": [
        (ALWAYS, EVER, "#define CLOCK_MONOTONIC 1\n#define HRTIMER_MODE_REL 1\n"
         "enum hrtimer_restart { HRTIMER_NORESTART }; struct hrtimer {"),
        (ALWAYS, (6, 15), "enum hrtimer_restart (*function)(struct hrtimer *);"),
        (ALWAYS, EVER, "int mode; };"),
        (ALWAYS, (6, 15), "void hrtimer_init(struct hrtimer *, int, int);"),
        ((6, 13), EVER, "void hrtimer_setup(struct hrtimer *,"
         " enum hrtimer_restart (*)(struct hrtimer *), int, int);")],
    "linux/slab.h": [
        (ALWAYS, EVER, "enum { GFP_KERNEL }; void *kzalloc(__SIZE_TYPE__, int);"
         " void kfree(const void *);")],
    "linux/shrinker.h": [
        (ALWAYS, EVER, "enum { DEFAULT_SEEKS = 2 }; struct shrink_control; struct shrinker {"
         " unsigned long (*count_objects)(struct shrinker *, struct shrink_control *);"
         " unsigned long (*scan_objects)(struct shrinker *, struct shrink_control *); int seeks; };"),
        (ALWAYS, (6, 7), "int register_shrinker(struct shrinker *, const char *, ...);"
         " void unregister_shrinker(struct shrinker *);"),
        ((6, 7), EVER, "struct shrinker *shrinker_alloc(int, const char *, ...);"
         " void shrinker_register(struct shrinker *); void shrinker_free(struct shrinker *);")],
    "net/genetlink.h": [
        (ALWAYS, EVER, "#define GENL_UNS_ADMIN_PERM 0x10"),
        ((6, 8), EVER, "#define GENL_MCAST_CAP_NET_ADMIN 1")],
    "net/sock.h": [
        (ALWAYS, EVER, "struct sock { int first;"),
        ((6, 2), EVER, "_Bool sk_use_task_frag;"),
        (ALWAYS, EVER, "};")],
    "linux/tcp.h": [
        (ALWAYS, EVER, "#define __aligned(n) __attribute__((aligned(n)))\n"
         "typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;"
         " typedef int s32; typedef unsigned long long u64; typedef __SIZE_TYPE__ size_t;\n"
         "#define bool _Bool\n#define false 0\n#define NULL ((void *)0)\n"
         "struct __kernel_sockaddr_storage { char room[128]; };"),
        ((6, 7), EVER, "#define TCP_AO_ADD_KEY 38\n#define TCP_AO_MAXKEYLEN 80\n"
         "struct tcp_ao_add { int x; }; struct tcp_ao_del { int x; };"
         " struct tcp_ao_info_opt { int x; };")],
}
# As the modules use it.
USER = r"""
#include "compat.h"
static int handler(rds_ctl_table *table, int write) { return !table + write; }
struct ctl_table table = {.proc_handler = handler};
static int bind(struct socket *sock, rds_sockaddr_arg *name, int len) { return !sock + !name + len; }
struct proto_ops ops = {.bind = bind, RDS_NO_SENDPAGE};
struct tcp_ao_add add; struct tcp_ao_del del; struct tcp_ao_info_opt info;
int option = TCP_AO_ADD_KEY, group = GENL_MCAST_CAP_NET_ADMIN;
int __assign_str(int field, ...);
static enum hrtimer_restart over(struct hrtimer *t) { (void)t; return HRTIMER_NORESTART; }
static unsigned long none(struct shrinker *s, struct shrink_control *sc) { return !s + !sc; }
void use(struct net *net, struct hrtimer *t, struct sock *sk, int field, int from);
void use(struct net *net, struct hrtimer *t, struct sock *sk, int field, int from)
{
	rds_register_sysctl(net, "", &table, 1);
	rds_hrtimer_setup(t, over);
	rds_sk_no_task_frag(sk);
	(void)from;
	rds_assign_str(field, from);
	rds_shrinker_unregister(rds_shrinker_register("", none, none));
}
"""


def headers(top, version):
    for name, parts in PARTS.items():
        text = [part for since, until, part in parts if since <= version < until]
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("#pragma once\n" + "\n".join(text) + "\n")


def rows():
    """{version: (what is named from it on, what is named before)}; "-": nothing."""
    found = {}
    for major, minor, now, before in ROW.findall(TABLE.read_text()):
        found[int(major), int(minor)] = tuple(cell.strip().strip("`") for cell in (now, before))
    return found


def wrong_with(top, compat, version, table):
    """The first thing that is wrong with this compat.h on that version, or None."""
    headers(top, version)
    (top / "compat.h").write_text(compat)
    (top / "user.c").write_text(USER)
    code = "-DLINUX_VERSION_CODE=" + str((version[0] << 16) + (version[1] << 8))
    gcc = ["gcc", "-std=gnu11", "-Wall", "-Werror", f"-I{top}", code]
    made = subprocess.run([*gcc, "-fsyntax-only", top / "user.c"], capture_output=True, text=True)
    if made.returncode:
        return next((l for l in made.stderr.splitlines() if "error" in l), made.stderr)
    said = subprocess.run([*gcc, "-E", "-P", top / "user.c"], capture_output=True, text=True)
    text = " ".join(said.stdout.split())
    for border, (now, before) in table.items():
        for name, wanted in ((now, version >= border), (before, version < border)):
            if name != "-" and bool(re.search(rf"(?<!\w){re.escape(name)}", text)) != wanted:
                return f"{name} is {'not ' * wanted}named"
    return None


def moved(compat, border, step):
    return re.sub(rf"KERNEL_VERSION\({border[0]}, {border[1]}, 0\)",
                  f"KERNEL_VERSION({border[0]}, {border[1] + step}, 0)", compat)


def main():
    compat, table, wrong = COMPAT.read_text(), rows(), []
    borders = {(int(a), int(b)) for a, b in BORDER.findall(compat)}
    by_version = {v for v, names in table.items() if names != ("-", "-")}
    for border in sorted(borders ^ by_version):
        where = "compat.h" if border in borders else "docs/kernels.md"
        wrong.append(f"the border {border[0]}.{border[1]} is in {where} alone")
    with tempfile.TemporaryDirectory() as top:
        top = pathlib.Path(top)
        for version in VERSIONS:
            what = wrong_with(top, compat, version, table)
            if what:
                wrong.append(f"{version[0]}.{version[1]}: {what}")
        for border in sorted(borders):
            before = (border[0], border[1] - 1)
            for step, shows in ((1, border), (-1, before)):
                if not wrong_with(top, moved(compat, border, step), shows, table):
                    wrong.append(f"nobody notices when the border {border} moves by {step}")
    print("\n".join(wrong) or f"{len(borders)} borders, right on {len(VERSIONS)} versions")
    return bool(wrong)


sys.exit(main())
