# SPDX-License-Identifier: GPL-2.0
"""`make install` and `make uninstall` on a guest's own root, a memory over the host's: what README.md says
for a real machine. Packages do it in roots of their own (docs/packages.md)."""
import guest
from suite import test
from traffic import A, B

NEW_GUESTS = True  # files come and go
ROOMS = ("net", "lib", "crypto", "drivers/infiniband")
OURS = "rds rds_loop rds_tcp rds_rdma"
FILES = ("find /etc /usr/local/[bils]* /lib/modules -xdev ! -type d | "
         "grep -v -e '/modules[.]' -e __pycache__ | sort")


def with_modules(machine):
    """A lib/modules of its own that can be written to, of what mainline's RDS needs: depmod reads every
    module, and an emulated processor would take minutes for all of them."""
    there = f"/lib/modules/{machine.kernel.version}"
    machine.check(machine.tree_command(machine.kernel.modules))
    machine.check(f"mkdir -p /run/tree/kernel/drivers && cp {there}/modules.builtin* {there}/modules.order "
                  "/run/tree/ && umount /lib/modules 2>/dev/null; mount -t tmpfs tree /lib/modules && "
                  f"mkdir {there} && cp -r /run/tree/. {there}/")
    for room in ROOMS:
        machine.check(f"ln -s {machine.kernel.dir}/kernel/{room} {there}/kernel/{room}")
    machine.check(f"depmod {machine.kernel.version}", 200)
    machine.tree = "its own"


@test(vms=2, only="ours", kernels=["6.1"], modules=("none", "none"), extra=True,
      timeout=600)
def by_hand(t):
    """Modules, tools, pages and settings come by `make install`, are what modprobe and a shell find, carry
    a message to another host, and go by `make uninstall`, with what was there before as it was."""
    make = f"make -C {guest.TOP} --no-print-directory"
    for machine in (t.a, t.b):
        with_modules(machine)
    before = t.a.check(FILES)
    assert "kernel/net/rds/rds.ko" in t.a.check("modinfo -n rds")
    for machine in (t.a, t.b):
        said = machine.check(f"{make} install", 300)
        assert "installed" in said and "listed in /usr/local/share/pf_rds/installed" in said, said
        for name in OURS.split():
            assert "/updates/" in machine.check(f"modinfo -n {name}"), name
        machine.check("modprobe rds_tcp")
    for command in (f"rds-ping -c 3 {B}", "rdsctl show", "rds-info -n"):
        t.a.check(f"PATH=/usr/local/sbin:/usr/local/bin:/usr/bin:/bin; cd /; {command}", 60)
    assert B in t.a.check("/usr/local/sbin/rdsctl path")
    for page in ("rds.7", "rdsctl.8"):
        assert page in t.a.check(f"ls /usr/local/share/man/man{page[-1]}")
    t.a.check("pkg-config --modversion rds")
    for machine in (t.a, t.b):
        machine.check("modprobe -r rds_tcp rds_loop rds")
        assert "uninstalled" in machine.check(f"{make} uninstall", 200)
    assert t.a.check(FILES) == before
    assert "kernel/net/rds/rds.ko" in t.a.check("modinfo -n rds")
    t.note(f"{A} had {len(before.splitlines())} files before and after")
