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

# A file of settings, which is the administrator's once he has changed it: ours is put beside it then.
# The copy of what was installed tells.
put_settings() { # FILE TARGET
	local was=$own/settings$2 target=$2
	if [ -e "$DESTDIR$2" ] && ! cmp -s "$1" "$DESTDIR$2" && ! cmp -s "$was" "$DESTDIR$2"; then
		target=$2.new
		echo "$2 was changed and is kept; see $target"
	fi
	put 644 "$1" "$target"
	echo "$2" >>"$manifest"
	[ "$target" != "$2" ] || rm -f "$DESTDIR$2.new"
	install -D -m 644 "$1" "$was"
}

# One that was changed stays, but for the alias: from now on that would load the kernel's own rds.ko.
drop_settings() { # TARGET
	if cmp -s "$own/settings$1" "$DESTDIR$1"; then
		rm -f "$DESTDIR$1"
	elif [ -e "$DESTDIR$1" ]; then
		[ ! -f "$DESTDIR$1" ] || sed -i --follow-symlinks 's/^alias net-pf-21 rds$/#&/' "$DESTDIR$1"
		echo "$1 was changed and is kept"
	fi
}

depmod_for() {
	[ -n "$DESTDIR" ] || [ ! -d "/lib/modules/$1" ] || depmod "$1"
}

# One file does for all that have options alone.
put_completion() {
	local file=packaging/completions/$1
	[ -e "$file" ] || file=packaging/completions/rds-ping
	put 644 "$file" "$PREFIX/share/bash-completion/completions/$1"
}

# Where the system's python3 looks, of what is below PREFIX; without one there is no package.
put_python() {
	local dir f
	dir=$(/usr/bin/python3 -c 'import site, sys
print(next(d for d in site.getsitepackages() if d.startswith(sys.argv[1] + "/")))' "$PREFIX" 2>/dev/null) || return 0
	for f in python/rds/*.py python/rds/py.typed; do
		put 644 "$f" "$dir/rds/${f##*/}"
	done
}

# Beside the system's <linux/rds.h>, which stays; pkg-config says where.
put_headers() {
	local f pc
	for f in include/uapi/linux/*.h; do
		put 644 "$f" "$PREFIX/include/pf_rds/linux/${f##*/}"
	done
	for f in include/rds/*.hpp; do
		put 644 "$f" "$PREFIX/include/pf_rds/rds/${f##*/}"
	done
	for f in examples/*.{c,py} examples/*/*.{cpp,rs}; do
		[ ! -f "$f" ] || put 644 "$f" "$PREFIX/share/pf_rds/$f"
	done
	pc=$(mktemp)
	sed "s,@PREFIX@,$PREFIX,; s,@VERSION@,$(packaging/packages.sh version)," packaging/rds.pc.in >"$pc"
	put 644 "$pc" "$PREFIX/share/pkgconfig/rds.pc"
	rm -f "$pc"
}

# The pages that the package rds-tools has.
put_pages() {
	local page f
	grep -v '^#' packaging/debian/rds-tools.docs | while read -r page; do
		for f in $(find "$page" -type f | sort); do
			put 644 "$f" "$PREFIX/share/doc/pf_rds/${f#docs/}"
		done
	done
}

# For node_exporter's textfile collector, Prometheus and Grafana: docs/metrics.md. Nothing is switched on.
put_metrics() {
	local f unit
	for f in packaging/metrics/pf_rds.*; do
		put 644 "$f" "$PREFIX/share/pf_rds/metrics/${f##*/}"
	done
	unit=$(mktemp)
	sed "s,@PREFIX@,$PREFIX," packaging/metrics/pf-rds-metrics.service.in >"$unit"
	put 644 "$unit" "$PREFIX/lib/systemd/system/pf-rds-metrics.service"
	rm -f "$unit"
	put 644 packaging/metrics/pf-rds-metrics.timer "$PREFIX/lib/systemd/system/pf-rds-metrics.timer"
}

# Node_exporter would go on serving the last file for ever. Called while the units are still there.
drop_metrics() {
	if [ -z "$DESTDIR" ] && command -v systemctl >/dev/null; then
		systemctl disable --now pf-rds-metrics.timer 2>/dev/null || true
		systemctl stop pf-rds-metrics.service 2>/dev/null || true
	fi
	rm -f "$DESTDIR/var/lib/prometheus/node-exporter/rds.prom"
}

# Directories that nobody else has put anything in go with the files.
drop_directories() {
	local dir
	for dir in "$own"/examples/{cxx,rust} "$own/examples" "$own/metrics" "$own" \
		"$DESTDIR$PREFIX"/include/pf_rds/{linux,rds} "$DESTDIR$PREFIX/include/pf_rds" \
		"$DESTDIR$PREFIX"/share/doc/pf_rds/{netlink,}; do
		rmdir "$dir" 2>/dev/null || true
	done
}

do_install() {
	local f conf
	for f in $MODULES $TOOLS; do
		[ -e "$f" ] || die "$f is not built: run make first"
	done
	mkdir -p "$own"
	for f in $MODULES; do
		put 644 "$f" "/lib/modules/$KVER/updates/${f##*/}"
	done
	conf=$(mktemp)
	sed "${AUTOLOAD:+s/^#alias/alias/}" packaging/pf_rds.conf >"$conf"
	put_settings "$conf" /etc/modprobe.d/pf_rds.conf
	rm -f "$conf"
	put_settings packaging/pf_rds.sysctl /etc/sysctl.d/pf_rds.conf
	put 644 packaging/pf_rds.nft "$PREFIX/share/pf_rds/pf_rds.nft"
	put 644 tools/wireshark/rds.lua "$PREFIX/share/pf_rds/rds.lua"
	for f in $TOOLS; do
		case ${f##*/} in
		rdsctl) put 755 "$f" "$PREFIX/sbin/rdsctl" ;;
		*) put 755 "$f" "$PREFIX/bin/${f##*/}" ;;
		esac
	done
	for f in docs/man/*.[0-9]; do
		put 644 "$f" "$PREFIX/share/man/man${f##*.}/${f##*/}"
	done
	for f in rds-ping rds-info rds-stress rdsctl; do
		put_completion $f
	done
	for f in packaging/zsh/*; do
		put 644 "$f" "$PREFIX/share/zsh/site-functions/${f##*/}"
	done
	put_headers
	put_python
	put_metrics
	put_pages
	sort -u -o "$manifest" "$manifest"
	depmod_for "$KVER"
	echo "installed $(wc -l <"$manifest") files, listed in $manifest"
}

do_uninstall() {
	local f ver
	[ -e "$manifest" ] || die "nothing is installed: there is no $manifest"
	drop_metrics
	while read -r f; do
		case $f in
		/etc/*.conf) drop_settings "$f" ;;
		*) rm -f "$DESTDIR$f" ;;
		esac
	done <"$manifest"
	rm -rf "$own/settings"
	sed -n 's,^/lib/modules/\([^/]*\)/updates/.*,\1,p' "$manifest" | sort -u |
		while read -r ver; do
			rmdir "$DESTDIR/lib/modules/$ver/updates" 2>/dev/null || true
			depmod_for "$ver"
		done
	# Python has left what it compiled.
	sed -n 's,/__init__\.py$,,p' "$manifest" | while read -r f; do
		rm -rf "$DESTDIR$f/__pycache__"
		rmdir "$DESTDIR$f" 2>/dev/null || true
	done
	rm -f "$manifest"
	drop_directories
	echo "uninstalled"
}

if [ -z "$DESTDIR" ] && [ "$(id -u)" != 0 ]; then
	die "this needs root: sudo make $1"
fi
"do_$1"
