#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# install.sh install|uninstall: called by make, which says what in the environment:
#   MODULES and TOOLS (files), KVER, PREFIX, DESTDIR
#   AUTOLOAD=1: socket(2) may load rds.ko
#
# The installed files are written down, so that uninstall takes away these and nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."

own=$DESTDIR$PREFIX/share/pf_rds
manifest=$own/installed

die() { echo "$*" >&2; exit 1; }

put() { # MODE FILE TARGET
	install -D -m "$1" "$2" "$DESTDIR$3"
	echo "$3" >>"$manifest"
}

depmod_for() {
	[ -n "$DESTDIR" ] || [ ! -d "/lib/modules/$1" ] || depmod "$1"
}

do_install() {
	local f
	for f in $MODULES $TOOLS; do
		[ -e "$f" ] || die "$f is not built: run make first"
	done
	mkdir -p "$own"
	for f in $MODULES; do
		put 644 "$f" "/lib/modules/$KVER/updates/${f##*/}"
	done
	put 644 packaging/pf_rds.conf /etc/modprobe.d/pf_rds.conf
	[ -z "${AUTOLOAD:-}" ] || sed -i 's/^#alias/alias/' "$DESTDIR/etc/modprobe.d/pf_rds.conf"
	put 644 packaging/pf_rds.nft "$PREFIX/share/pf_rds/pf_rds.nft"
	for f in $TOOLS; do
		case ${f##*/} in
		rdsctl) put 755 "$f" "$PREFIX/sbin/rdsctl" ;;
		*) put 755 "$f" "$PREFIX/bin/${f##*/}" ;;
		esac
	done
	for f in docs/man/*.[0-9]; do
		put 644 "$f" "$PREFIX/share/man/man${f##*.}/${f##*/}"
	done
	sort -u -o "$manifest" "$manifest"
	depmod_for "$KVER"
	echo "installed $(wc -l <"$manifest") files, listed in $manifest"
}

do_uninstall() {
	local f ver
	[ -e "$manifest" ] || die "nothing is installed: there is no $manifest"
	while read -r f; do
		rm -f "$DESTDIR$f"
	done <"$manifest"
	sed -n 's,^/lib/modules/\([^/]*\)/updates/.*,\1,p' "$manifest" | sort -u |
		while read -r ver; do
			rmdir "$DESTDIR/lib/modules/$ver/updates" 2>/dev/null || true
			depmod_for "$ver"
		done
	rm -f "$manifest"
	rmdir "$own"
	echo "uninstalled"
}

if [ -z "$DESTDIR" ] && [ "$(id -u)" != 0 ]; then
	die "this needs root: sudo make $1"
fi
"do_$1"
