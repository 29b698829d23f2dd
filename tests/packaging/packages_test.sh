#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# packages_test.sh SUITE: the packages of build/packages/SUITE go into a fresh root of SUITE, are used,
# upgraded, removed and purged there (in_root.sh). No module is loaded: a root has no kernel.
set -euo pipefail
cd "$(dirname "$0")/../.."

suite=$1
cache=${PF_RDS_CACHE:-$HOME/.cache/pf_rds}
base=$cache/roots/$suite-try
die() { echo "packages: $*" >&2; exit 1; }

ls build/packages/"$suite"/*.deb >/dev/null 2>&1 || die "nothing is built for $suite: make packages"
[ -d "$base" ] || scripts/deps.sh --packages "$suite"

# Files of root's, and mounts: a user who is not root gets a namespace in which he has them.
if [ "$(id -u)" != 0 ] && [ -z "${PF_RDS_MAPPED-}" ]; then
	PF_RDS_MAPPED=1 exec unshare --mount --map-root-user --map-auto "$0" "$@"
fi

mkdir -p "$cache/ccache-$suite"
work=$(mktemp -d "$cache/roots/.try.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work"/{upper,work,root}
mkdir -p "$work"/upper/{packages,mainline}
cp build/packages/"$suite"/*.deb tests/packaging/in_root.sh "$work/upper/packages"
# Mainline's modules, to lie where a kernel's package has them.
case $suite in bookworm) kernel=6.1. ;; *) kernel=6.12. ;; esac
find "$cache"/kernels/$kernel*/lib/modules/*/kernel/net/rds -name '*.ko*' \
	-exec cp -t "$work/upper/mainline" {} + 2>/dev/null || die "no kernel $kernel in $cache/kernels: run make deps"
# All that is written goes beside the root, and away at the end.
unshare --mount --net --pid --kill-child bash -euc '
	mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work$4" "$2/root"
	cd "$2/root"
	mount --rbind /dev dev
	mount -t proc proc proc
	mkdir -p root/ccache
	mount --bind "$3" root/ccache
	exec chroot . env -i PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		CCACHE_DIR=/root/ccache DEBIAN_FRONTEND=noninteractive /packages/in_root.sh' - \
	"$base" "$work" "$cache/ccache-$suite" "${PF_RDS_MAPPED:+,userxattr}"
