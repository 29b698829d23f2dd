#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# packages_test.sh SUITE: the packages of build/packages/SUITE go into a fresh root of SUITE, over an
# older version; are looked at there (in_root.sh); and are removed and purged. Virtual machines whose
# root that is (in_vm.sh) use them (packaging/debian/tests/smoke), let systemd start what they start
# (timer.sh), and upgrade the older version while it is in use (upgrade.sh). The last line adds up.
set -euo pipefail
cd "$(dirname "$0")/../.."

suite=$1
cache=${PF_RDS_CACHE:-$HOME/.cache/pf_rds}
base=$cache/roots/$suite-try
packages=build/packages/$suite
die() { echo "packages: $*" >&2; exit 1; }

ls "$packages"/*.deb >/dev/null 2>&1 || die "nothing is built for $suite: make packages"
scripts/deps.sh --packages "$suite"
# Mainline's modules are the first one's, and a guest boots one of them.
case $suite in bookworm) kernels=(6.1) ;; *) kernels=(6.12 7.2) ;; esac
for kernel in "${kernels[@]}"; do scripts/deps.sh --kernel "$kernel"; done

# Files of root's, and mounts: a user who is not root gets a namespace in which he has them.
if [ "$(id -u)" != 0 ] && [ -z "${PF_RDS_MAPPED-}" ]; then
	PF_RDS_MAPPED=1 exec unshare --mount --map-root-user --map-auto "$0" "$@"
fi

mkdir -p "$cache/ccache-$suite"
work=$(mktemp -d "$cache/roots/.try.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work"/{upper,work,root}

# The same package, of an older version: newer than mainline's 4.0, or DKMS would leave rds.ko out.
make_older() {
	local deb=$1 into=$2 version dir=$work/older
	version=$(dpkg-deb -f "$deb" Version)
	dpkg-deb -R "$deb" "$dir"
	mv "$dir/usr/src/pf-rds-$version" "$dir/usr/src/pf-rds-4.9"
	sed -i -E 's/^(#define RDS_VERSION_MAJOR) .*/\1 4/; s/^(#define RDS_VERSION_MINOR) .*/\1 9/' \
		"$dir/usr/src/pf-rds-4.9/net/linux/rds_linux.h"
	grep -rlF "$version" "$dir/DEBIAN" "$dir/usr/src/pf-rds-4.9/dkms.conf" | xargs sed -i "s/${version//./\\.}/4.9/g"
	mkdir -p "$into"
	dpkg-deb --root-owner-group -b "$dir" "$into/pf-rds-dkms_4.9_all.deb" >/dev/null
	rm -rf "$dir"
}

fill() {
	mkdir -p "$work"/upper/{packages,mainline}
	cp "$packages"/*.deb tests/packaging/{in_root.sh,completes.zsh} "$work/upper/packages"
	make_older "$packages"/pf-rds-dkms_*.deb "$work/upper/packages/older"
	# Mainline's modules, to lie where a kernel's package has them.
	find "$cache/kernels/${kernels[0]}".*/lib/modules/*/kernel/net/rds -name '*.ko*' \
		-exec cp -t "$work/upper/mainline" {} + 2>/dev/null || die "kernel ${kernels[0]} has no rds.ko"
}

# in_root COMMAND...: all that is written goes beside the root, and away at the end.
in_root() {
	unshare --mount --net --pid --kill-child bash -euc '
		mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work$4" "$2/root"
		cd "$2/root"
		mount --rbind /dev dev
		mount -t proc proc proc
		mkdir -p root/ccache
		mount --bind "$3" root/ccache
		exec chroot . env -i PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			CCACHE_DIR=/root/ccache DEBIAN_FRONTEND=noninteractive "${@:5}"' - \
		"$base" "$work" "$cache/ccache-$suite" "${PF_RDS_MAPPED:+,userxattr}" "$@"
}

# The root's first kernel that a guest can boot.
first() {
	local kernel
	for kernel in "$base"/lib/modules/*; do
		kernel=${kernel##*/}
		[ ! -d "$cache/kernels/$kernel" ] || { echo "$kernel"; return; }
	done
	die "no kernel of the root can be booted: its headers are of another update"
}

# in_vm WHAT LAYER PROGRAM: on that kernel.
in_vm() {
	if tests/kernel/vm.py run --kernel "$(echo "$kernel" | cut -d. -f1,2)" --mem 1024 --timeout 600 -- \
		"$PWD/tests/packaging/in_vm.sh" "$base" "$2" "$3"; then
		echo "ok   $1 on $kernel"
		echo "1 passed, 0 failed, 0 skipped"
	else
		echo "FAIL $1 on $kernel"
		echo "0 passed, 1 failed, 0 skipped"
	fi
}

# The layer with the older version, and what DKMS makes of the new one.
keep_older() { cp -a "$work/upper" "$work/old"; }
add_built() {
	mkdir -p "$work/old/packages/built"
	cp "$work"/upper/var/lib/dkms/pf-rds/*/"$kernel"/*/module/rds*.ko* "$work/old/packages/built"
}

kernel=$(first)
fill
in_root /packages/in_root.sh older "$kernel" 2>&1 | tee "$work/older.log" || true
keep_older
in_root /packages/in_root.sh install 2>&1 | tee "$work/install.log" || true
in_vm "the packages work" "$work/upper" "$PWD/packaging/debian/tests/smoke" 2>&1 | tee "$work/vm.log"
in_vm "systemd runs what is to run" "$work/upper" "$PWD/tests/packaging/timer.sh" 2>&1 | tee "$work/timer.log"
add_built || true # the guest says what it lacks
in_vm "an upgrade of what is in use" "$work/old" "$PWD/tests/packaging/upgrade.sh" 2>&1 | tee "$work/upgrade.log"
in_root /packages/in_root.sh remove 2>&1 | tee "$work/remove.log" || true
scripts/summary.py "$work"/{older,install,vm,timer,upgrade,remove}.log
