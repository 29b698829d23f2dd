#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
#   scripts/install.sh install|uninstall DESTDIR KDIR KVER       (what `make install` calls)
#
# Modules go to lib/modules/KVER/updates, where depmod prefers them to the kernel's own; with them
# a modprobe file that undoes the distribution's blacklist of the family. Every file that was put
# somewhere is listed in var/lib/pf_rds/installed, and uninstall removes exactly those.
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:?} dest=${2%/} kdir=${3:?} kver=${4:?}
list=$dest/var/lib/pf_rds/installed

# put FILE... DIRECTORY: copies into DESTDIR and remembers.
put() {
	local to=${*: -1} file
	for file in "${@:1:$#-1}"; do
		install -D -m 644 "$file" "$dest$to/${file##*/}"
		echo "$to/${file##*/}" >> "$list"
	done
}

run_depmod() {
	[ -d "$dest/lib/modules/$kver/kernel" ] || return 0 # a package's root: its postinst does it
	depmod -b "${dest:-/}" "$kver"
}

case $what in
install)
	mkdir -p "${list%/*}"
	: > "$list"
	put net/rds.ko transports/loop/rds_loop.ko transports/tcp/rds_tcp.ko \
		"/lib/modules/$kver/updates"
	put scripts/pf_rds.conf /usr/lib/modprobe.d
	DESTDIR=$dest cmake --install build --prefix /usr > build/install.log
	sed "s,^$dest,," build/install_manifest.txt >> "$list"
	echo >> "$list" # the manifest's last line has no newline
	run_depmod
	echo "installed: $(grep -c . "$list") files, listed in $list"
	;;
uninstall)
	[ -f "$list" ] || { echo "nothing is installed under ${dest:-/}" >&2; exit 1; }
	while read -r file; do
		[ -z "$file" ] || rm -f "$dest$file"
	done < "$list"
	rm -f "$list"
	rmdir --ignore-fail-on-non-empty "${list%/*}" "$dest/lib/modules/$kver/updates" 2>/dev/null || :
	run_depmod
	;;
*)
	echo "usage: $0 install|uninstall DESTDIR KDIR KVER" >&2
	exit 2
	;;
esac
