#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# in_root.sh older KERNEL|install|remove: runs in a root that packages_test.sh has made, as its root; the
# packages are beside it, in older/ one of pf-rds-dkms. Each comes after the one before it, in the same root.
# KERNEL is the one that is there from the beginning; another comes later.
# A line for each thing that was found out, the last one adds up.
set -uo pipefail
cd "$(dirname "$0")" || exit

passed=0 failed=0
log=/tmp/in_root.log
ours=(pf-rds-dkms rds-tools librds-dev python3-rds wireshark-rds)
auto=/etc/modprobe.d/pf_rds-autoload.conf
metrics=/var/lib/prometheus/node-exporter/rds.prom

# holds WHAT COMMAND...: the command succeeds.
holds() {
	local what=$1
	shift
	if "$@" >"$log" 2>&1; then
		passed=$((passed + 1))
		echo "ok   $what"
	else
		failed=$((failed + 1))
		echo "FAIL $what"
		tail -n 15 "$log" | sed 's/^/     /'
	fi
}
not() { ! "$@"; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; false; }; }

# Every file but those that dpkg, apt, debconf and DKMS keep for themselves.
everything() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages -o -path /mainline \
		-o -path /var/lib/dpkg -o -path /var/cache -o -path /var/log -o -path /root -o -path /run \) -prune -o \
		\( -type f -o -type l -o -type d \) -printf '%y %m %u %p %l\n' |
		grep -vE '/var/lib/dkms/(mok\.|dkms_dbversion)|/modules\.[a-z.]+ |/__pycache__' | sort
}

kernels() { ls -d /lib/modules/*/build | sed 's,/lib/modules/,,; s,/build,,' | sort -V; }
module() { find "/lib/modules/$1/updates/dkms" -name "$2.ko*"; }
# The file that modprobe would insert for a name.
inserted() { modprobe -n -v -S "$1" "$2" 2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p' | tail -n 1; }
autoloads() { [ -n "$(inserted "$1" net-pf-21)" ]; }

# Where no kernel's package is, only its headers: dkms finds modules of the same names.
put_mainline() {
	local dir=/lib/modules/$1/kernel/net/rds
	[ ! -d "$dir" ] || return 0
	mkdir -p "$dir"
	cp /mainline/* "$dir"
	touch "/lib/modules/$1"/modules.{order,builtin}
	depmod "$1"
}

check_modules() {
	local kernel=$1 name
	for name in rds rds_loop rds_tcp rds_rdma; do
		holds "$kernel: $name is built" test -f "$(module "$kernel" $name)"
		holds "$kernel: modprobe takes ours for $name" same "$(inserted "$kernel" $name)" "$(module "$kernel" $name)"
	done
	holds "$kernel: one version" same "$(for name in rds rds_loop rds_tcp rds_rdma; do
		modinfo -F version "$(module "$kernel" $name)"; done | sort -u)" "$version"
	holds "$kernel: signed with DKMS's key" test -n "$(modinfo -F signer "$(module "$kernel" rds)")"
}

completes() { # LINE WORD: bash offers WORD after LINE
	bash -c '. /usr/share/bash-completion/bash_completion
		COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		[[ $1 != *" " ]] || { COMP_WORDS+=(""); COMP_CWORD=$((COMP_CWORD + 1)); }
		cmd=${COMP_WORDS[0]}
		. "/usr/share/bash-completion/completions/$cmd"
		$(complete -p "$cmd" | sed "s/.*-F \([^ ]*\).*/\1/") "$cmd"
		printf "%s\n" "${COMPREPLY[@]}" | tee /dev/stderr | grep -qx -e "$2"' - "$1" "$2"
}

check_files() {
	local tool page
	for tool in rds-ping rds-info rds-stress rdsctl; do
		holds "$tool says what it can" "$tool" --help
		holds "$tool has a manual page" man -w "$tool"
	done
	for page in rds rds-rdma; do holds "$page(7) is there" man -w 7 "$page"; done
	for page in limits metrics migrating peers policy troubleshooting tuning; do
		holds "$page.md is there" sh -c 'zcat -f "/usr/share/doc/rds-tools/$1.md"* | grep "^# "' - "$page"
	done
	for page in rds rds_peers; do
		holds "netlink's $page.yaml is there, to be read by programs" grep "^name: " \
			"/usr/share/doc/rds-tools/netlink/$page.yaml"
	done
	holds "completion of rds-ping" completes "rds-ping --co" --count
	holds "completion of rds-stress" completes "rds-stress --one" --one-way
	holds "completion of a matrix" completes "rds-stress --matr" --matrix
	holds "completion of rds-info" completes "rds-info --js" --json
	holds "completion of rdsctl" completes "rdsctl pe" peer
	holds "completion of rdsctl socket" completes "rdsctl so" socket
	holds "completion of rdsctl path" completes "rdsctl path show last-re" last-reason
	holds "completion of rdsctl stats" completes "rdsctl stats --wa" --watch
	holds "completion of rdsctl top" completes "rdsctl top --sort wa" waits
	holds "completion of a path's field for top" completes "rdsctl top last-re" last-reason
	holds "completion of rdsctl report" completes "rdsctl report /etc/host" /etc/hostname
	holds "completion of rdsctl metrics" completes "rdsctl metrics --open" --openmetrics
	holds "completion of a file of metrics" completes "rdsctl metrics --output /etc/host" /etc/hostname
	holds "completion of rdsctl peer" completes "rdsctl peer mon" monitor
	holds "completion of rdsctl peer list" completes "rdsctl peer list --j" --json
	holds "completion of rdsctl peer add" completes "rdsctl peer add 192.0.2.1 key-f" key-file
	holds "zsh completes rds-ping" timeout 60 ./completes.zsh "rds-ping --cou" "rds-ping --count"
	holds "zsh completes a matrix's option" timeout 60 ./completes.zsh "rds-stress --matr" "rds-stress --matrix"
	holds "zsh completes rds-info" timeout 60 ./completes.zsh "rds-info --js" "rds-info --json"
	holds "zsh completes rdsctl doctor" timeout 60 ./completes.zsh "rdsctl doc" "rdsctl doctor"
	holds "zsh completes rdsctl top" timeout 60 ./completes.zsh "rdsctl top --sort wa" "rdsctl top --sort waits"
	holds "zsh completes rdsctl peer" timeout 60 ./completes.zsh "rdsctl peer mon" "rdsctl peer monitor"
	holds "zsh completes rdsctl peer list" timeout 60 ./completes.zsh "rdsctl peer list --js" "rdsctl peer list --json"
	for page in /usr/share/doc/librds-dev/examples/*.c; do
		holds "${page##*/} compiles with pkg-config's flags" sh -c \
			'gcc -Wall -Werror $(pkg-config --cflags rds) -o /tmp/example "$1"' - "$page"
	done
	holds "and without them it does not: the system's header lacks names" not gcc -o /tmp/example \
		/usr/share/doc/librds-dev/examples/bulk.c
	for page in /usr/share/doc/librds-dev/examples/cxx/*.cpp; do
		holds "${page##*/} compiles with pkg-config's flags" sh -c \
			'g++ -std=c++20 -Wall -Wextra -Werror $(pkg-config --cflags rds) -o /tmp/example "$1"' - "$page"
	done
	holds "the example in Rust is there" test -f /usr/share/doc/librds-dev/examples/rust/hello.rs
	holds "python3 has the package" python3 -c 'import rds.aio; assert rds.Order.HALF == 1'
	holds "and its types" test -f /usr/lib/python3/dist-packages/rds/py.typed
	for page in /usr/share/doc/python3-rds/examples/*.py; do
		holds "${page##*/} says how it is used" sh -c 'python3 "$1" 2>&1 | grep -q ADDRESS' - "$page"
	done
	holds "tshark finds the dissector" sh -c 'tshark -G protocols | grep -qE "	RDS	rds(	|\$)"'
	holds "settings say nothing as installed" not grep -hE '^[^#]' /etc/modprobe.d/pf_rds.conf /etc/sysctl.d/pf_rds.conf
}

reconfigure() { # ANSWER
	echo "pf-rds-dkms pf-rds-dkms/autoload boolean $1" | debconf-set-selections
	rm -f "$auto"
	[ "$1" != true ] || touch "$auto" # the file is the setting, as after an answer
	dpkg-reconfigure -f noninteractive pf-rds-dkms
}

check_autoload() {
	holds "socket(2) loads nothing as installed" not autoloads "$1"
	holds "asked for: reconfigure" reconfigure true
	holds "asked for: socket(2) loads rds" autoloads "$1"
	echo "blacklist rds" >/etc/modprobe.d/zz-admin.conf
	holds "forbidden: reconfigure" reconfigure true
	holds "forbidden: no file" not test -e "$auto"
	holds "forbidden: debconf says so" grep -q 'false' <(debconf-show pf-rds-dkms)
	rm /etc/modprobe.d/zz-admin.conf
	holds "not asked for: reconfigure" reconfigure false
	holds "not asked for: no file" not test -e "$auto"
	holds "modules are there after all of that" test -f "$(module "$1" rds)"
}

# The next run of this file has to know these.
keep() { declare -p passed failed old new version >/tmp/in_root.state; }

mark_before() {
	local kernel all
	mapfile -t all < <(kernels)
	old=$1 new=${all[0]}
	[ "$new" != "$old" ] || new=${all[-1]}
	version=$(dpkg-deb -f pf-rds-dkms_*.deb Version | sed 's/+.*//; s/~.*//')
	for kernel in "$old" "$new"; do put_mainline "$kernel"; done
	holds "two kernels with headers" not same "$old" "$new"
	everything >/tmp/before
	md5sum /lib/modules/*/kernel/net/rds/* >/tmp/mainline.before
}

# An older version of the modules, and one of the two kernels.
do_older() {
	mark_before "$1"
	mv "/lib/modules/$new" /tmp/later
	holds "an older version installs" dpkg -i older/*.deb
	holds "$old: its modules are there" same "$(modinfo -F version "$(module "$old" rds_tcp)")" 4.9
}

# A file of the older one's settings was changed. The newer kernel comes later.
do_install() {
	local hook
	echo "# the administrator's" >>/etc/modprobe.d/pf_rds.conf
	holds "the packages install, and upgrade it" dpkg --force-confdef -i ./*.deb
	holds "what the administrator changed is kept" grep -q "the administrator's" /etc/modprobe.d/pf_rds.conf
	holds "one version of the sources" same "$(ls -d /usr/src/pf-rds-* | wc -l)" 1
	holds "one version in DKMS" same "$(dkms status | grep -c '^pf-rds')" 1
	check_modules "$old"
	check_files
	check_autoload "$old"
	mv /tmp/later "/lib/modules/$new"
	hook=$(ls /etc/kernel/header_postinst.d/dkms /etc/kernel/postinst.d/dkms 2>/dev/null | head -n 1)
	holds "a kernel's upgrade builds for it" "$hook" "$new"
	check_modules "$new"
}

# As pf-rds-metrics.service writes it.
write_metrics() {
	mkdir -p "${metrics%/*}"
	echo "rds_up 1" >"$metrics"
}

do_remove() {
	reconfigure true
	write_metrics
	holds "removed" dpkg -r "${ours[@]}"
	holds "removed: node_exporter has nothing of ours to serve" not test -e "$metrics"
	holds "no module is left" same "$(find /lib/modules -path '*updates*' -name 'rds*')" ""
	holds "settings are left" test -f /etc/modprobe.d/pf_rds.conf -a -f /etc/sysctl.d/pf_rds.conf
	holds "removed: no alias is left for mainline's" not grep -rqs --include='*.conf' '^alias net-pf-21 rds' /etc/modprobe.d
	holds "installed again" dpkg --force-confdef -i pf-rds-dkms_*.deb
	holds "installed again: socket(2) loads rds as before" autoloads "$new"
	write_metrics
	holds "purged" dpkg -P "${ours[@]}"
	rmdir "${metrics%/*}" /var/lib/prometheus
	rmdir /lib/modules/*/updates/dkms /lib/modules/*/updates 2>/dev/null
	everything >/tmp/after
	holds "purge leaves nothing" diff /tmp/before /tmp/after
	holds "mainline's modules are as they were" md5sum -c --quiet /tmp/mainline.before
	holds "debconf has forgotten" not grep -qs pf-rds-dkms /var/cache/debconf/config.dat
}

[ ! -f /tmp/in_root.state ] || . /tmp/in_root.state
passed=0 failed=0
"do_$1" "${2-}"
keep
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
