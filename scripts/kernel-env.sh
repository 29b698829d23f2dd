#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Says where the kernel is that we build for and boot, as shell/make assignments:
#
#   scripts/kernel-env.sh [6.1|6.12|7.2|uml|x86|kcsan]      default: $KERNEL, else 6.1
#     KVER=   full version, as in /lib/modules
#     KDIR=   for `make -C $KDIR M=$PWD modules`
#     KIMG=   vmlinuz of the same version (uml: a program)
#     KROOT=  unpacked image package: lib/modules/$KVER with a modules.dep
#
#   scripts/kernel-env.sh --get KDIR [6.1|6.12|7.2] one value only
#   scripts/kernel-env.sh --check [6.1|6.12|7.2]    silent, exit status only
#   scripts/kernel-env.sh --headers [6.1|6.12|7.2]  KDIR, even if there is no image to boot;
#                                                   no version: the running kernel's if installed
#
# 6.1 builds against the installed headers; what is missing is fetched by scripts/deps.sh. The debug
# kernels are made by scripts/debug-kernel.sh.
set -euo pipefail

cache=${PF_RDS_CACHE:-$HOME/.cache/pf_rds}
check='' get=''
case ${1-} in
--check) check=1; shift ;;
--get) get=${2:?--get needs a name}; shift 2 ;;
esac
newest() { sort -V | tail -n 1; }

# Headers installed for a version, or for any; else those in the cache; else nothing.
headers() {
	local dir=/lib/modules/$(uname -r)/build
	if [ -z "${1-}" ] && [ -f "$dir/Module.symvers" ]; then
		readlink -f "$dir"
		return
	fi
	dir=$(ls -d /usr/src/linux-headers-"${1:+$1.}"[0-9]*-amd64 2>/dev/null |
		grep -v -e -rt- -e -cloud- | newest) || true
	[ -n "$dir" ] || dir=$(ls -d "$cache/kernels/${1:-6.1}".*-amd64/usr/src/linux-headers-*-amd64 \
		2>/dev/null | newest) || true
	echo "$dir"
}

debug_kernel() {
	KROOT=$("$(dirname "$0")/debug-kernel.sh" --check "$1") || return
	KVER=$(ls "$KROOT/lib/modules")
	KDIR=$KROOT/build
	KIMG=$(ls "$KROOT"/boot/*)
}

if [ "${1-}" = --headers ]; then
	case ${2-} in
	uml | x86 | kcsan) ! debug_kernel "$2" || echo "$KDIR" ;;
	*) headers "${2-}" ;;
	esac
	exit 0
fi
kernel=${1:-${KERNEL:-6.1}}

find_kernel() {
	case $kernel in uml | x86 | kcsan) debug_kernel "$kernel"; return ;; esac
	if [ "$kernel" = 6.1 ]; then
		KDIR=$(ls -d /usr/src/linux-headers-6.1.*-amd64 2>/dev/null |
			grep -v -e -rt- -e -cloud- | newest) || return
		KVER=${KDIR##*/linux-headers-}
	else
		KVER=$(ls -d "$cache/kernels/$kernel".*-amd64 2>/dev/null | sed 's,.*/,,' | newest) || return
		KDIR=$cache/kernels/$KVER/usr/src/linux-headers-$KVER
	fi
	KROOT=$cache/kernels/$KVER
	KIMG=$KROOT/boot/vmlinuz-$KVER
	[ -f "$KIMG" ] || KIMG=$KROOT/lib/modules/$KVER/vmlinuz # since 7.2
	[ -f "$KDIR/Module.symvers" ] && [ -f "$KIMG" ] &&
		[ -f "$KROOT/lib/modules/$KVER/modules.dep" ]
}

if ! find_kernel; then
	[ -n "$check" ] || echo "kernel-env: kernel $kernel is not here, run:" \
		"scripts/deps.sh --kernel $kernel" >&2
	exit 1
fi
[ -z "$check" ] || exit 0
if [ -n "$get" ]; then
	echo "${!get}"
else
	printf '%s\n' "KVER=$KVER" "KDIR=$KDIR" "KIMG=$KIMG" "KROOT=$KROOT"
fi
