#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs what the project needs to build and test, and nothing that is there already.
#
#   scripts/deps.sh                  packages, plus the stock kernel image the VM tests boot
#   scripts/deps.sh --kernel 6.12    also headers and image of the newer backports kernel
#   scripts/deps.sh --kernel 7.2     the same from the next Debian's backports, with its compiler
#                                    in a root of its own (scripts/build-root.sh)
#   scripts/deps.sh --headers 7.3    only the headers of a kernel, and the compiler that they want
#   scripts/deps.sh --versions       print the versions that there are headers of, in this Debian and
#                                    the next one, and in their backports
#   scripts/deps.sh --plot           also what draws plots
#   scripts/deps.sh --wireshark      only what tests the dissector
#   scripts/deps.sh --report         only what shows the pages of rdsctl report
#   scripts/deps.sh --rust           only what compiles the example in Rust
#   scripts/deps.sh --metrics        only what reads the text of rdsctl metrics
#   scripts/deps.sh --packages SUITE only what makes and tries Debian's packages: a root of SUITE
#                                    (bookworm, trixie) to build in, and one to install in
#   scripts/deps.sh --source VER DIR unpack Debian's kernel source (for debug-kernel.sh)
#   scripts/deps.sh --list           print the package names
#
# Only `apt-get install` needs root (sudo is used when there is one). Kernel images are never
# installed: they are downloaded and unpacked below ~/.cache/pf_rds/kernels/<version>, with an apt
# state of our own there, so the machine's package lists and sources stay as they are. The mirror
# is whatever apt is configured to use.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${PF_RDS_CACHE:-$HOME/.cache/pf_rds}
log=$cache/log/deps.log
packages=(
	# build
	gcc g++ make cmake ccache linux-headers-amd64 kmod xz-utils zstd
	libcli11-dev nlohmann-json3-dev libmnl-dev librdmacm-dev
	# tests in user space
	libgtest-dev libgmock-dev googletest clang clang-format clang-tidy libclang-rt-14-dev llvm-14
	universal-ctags python3 mypy pyflakes3 man-db mandoc groff hunspell hunspell-en-gb
	pkgconf libibverbs-dev ibverbs-providers
	# debug kernels
	bc bison flex libelf-dev
	# tests in virtual machines; the guests use the host's tools over 9p
	qemu-system-x86 busybox-static cpio iproute2 iputils-ping nftables ethtool procps tcpdump strace
)

say() { echo "deps: $*"; }
die() { echo "deps: error: $*" >&2; exit 1; }

# Runs a noisy command with its output in the log, which a failure names.
quietly() {
	local what=$1
	shift
	echo "+ $*" >>"$log"
	"$@" >>"$log" 2>&1 </dev/null || { tail -n 5 "$log" >&2; die "$what failed, see $log"; }
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		# </dev/tty is not there in CI; sudo -n fails at once instead of asking nobody.
		if [ -t 2 ]; then sudo "$@"; else sudo -n "$@"; fi
	else
		return 1
	fi
}

can_be_root() { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }

# missing_packages [ROOT] PACKAGE...: those that are not installed here, or in a root.
missing_packages() {
	local p have root=/
	case $1 in /*) root=$1; shift ;; esac
	have=$(dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
	for p in "$@"; do
		grep -qx "installed $p" <<<"$have" || echo "$p"
	done
}

apt_install() {
	can_be_root || die "neither root nor sudo; as root run: apt-get install $*"
	say "installing $* (output: $log)"
	[ "$(id -u)" = 0 ] || ! [ -t 2 ] || sudo -v
	quietly "apt-get update" as_root apt-get -q update
	quietly "apt-get install" as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y --no-install-recommends install "$@"
}

# ---- kernels, downloaded and unpacked, not installed ----

codename() { (. /etc/os-release && echo "${VERSION_CODENAME:?}"); }
release=$(codename) # where kernels come from: this machine's Debian, or a newer one
with_image=1	    # not where modules are built only

# An apt configuration of our own: the machine's Debian sources, plus the backports suite on the
# same mirror. Needs no root and changes nothing outside the cache.
apt_own() {
	local tool=$1 dir=$cache/apt/$release
	shift
	"$tool" -q -o Dir::State="$dir/state" -o Dir::State::status=/var/lib/dpkg/status \
		-o Dir::Cache="$dir/cache" -o Dir::Etc::sourcelist="$dir/pf_rds.list" \
		-o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User="$(id -un)" \
		-o Acquire::Languages=none "$@"
}

apt_own_update() {
	[ "${apt_own_updated-}" != "$release" ] || return 0
	local dir=$cache/apt/$release code opt='' key=/usr/share/keyrings/debian-archive-keyring.gpg
	code=$(codename)
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	# apt does not tell which key a source names; Debian's is where Debian puts it.
	[ ! -f "$key" ] || opt="[signed-by=$key]"
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | awk -v code="$code" -v want="$release" -v opt="$opt" '
		function src(uri, suite) {
			line = "deb " opt " " uri " " suite " main"
			if (!seen[line]++) print line
		}
		$3 == "main" && index($2, code) == 1 && want == code { src($1, $2) }
		$3 == "main" && $2 == code { src($1, want); src($1, want "-backports") }' \
		>"$dir/pf_rds.list"
	[ -s "$dir/pf_rds.list" ] || die "apt has no source for the suite '$code'"
	quietly "apt-get update (own lists)" apt_own apt-get update
	apt_own_updated=$release
}

# fetch_unpack PACKAGE DIR: the package's files below DIR, the .deb is not kept.
fetch_unpack() {
	local dl
	dl=$(mktemp -d "$cache/dl.XXXXXX")
	(cd "$dl" && apt_own apt-get download "$1") >>"$log" 2>&1 || { rm -rf "$dl"; return 1; }
	dpkg -x "$dl"/*.deb "$2" >>"$log" 2>&1 || { rm -rf "$dl"; return 1; }
	rm -rf "$dl"
}

# finish_kernel VERSION STAGE: a kernel directory appears complete or not at all.
finish_kernel() {
	# The package leaves modules.dep to its postinst, which never ran.
	[ -z "$with_image" ] || quietly "depmod for $1" /sbin/depmod -b "$2" "$1"
	rm -rf "$cache/kernels/$1"
	mv "$2" "$cache/kernels/$1"
	say "kernel $1 is in $cache/kernels/$1"
}

# linux-source VERSION DIR; the mirror may have moved on to a newer update, which does as well.
kernel_source() {
	say "fetching the kernel source (140 MB)"
	apt_own_update
	fetch_unpack "linux-source-6.1=$1" "$2" || fetch_unpack linux-source-6.1 "$2" ||
		die "no linux-source-6.1, see $log"
}

stage_dir() {
	mkdir -p "$cache/kernels"
	mktemp -d "$cache/kernels/.stage.XXXXXX" # left behind only when we are killed
}

installed_headers() {
	ls -d /usr/src/linux-headers-6.1.*-amd64 2>/dev/null | grep -v -e -rt- -e -cloud- |
		sed 's,.*/linux-headers-,,' | sort -V | tail -n 1
}

stock_kernel() {
	local ver stage
	"$here/kernel-env.sh" --check 6.1 && return
	ver=$(installed_headers)
	[ -n "$ver" ] || die "linux-headers-amd64 is installed, but there is no 6.1 in /usr/src"
	say "fetching the kernel image $ver (about 70 MB)"
	apt_own_update
	stage=$(stage_dir)
	if ! fetch_unpack "linux-image-$ver" "$stage"; then
		# The mirror has moved on to a newer update than the installed headers.
		apt_install linux-headers-amd64
		ver=$(installed_headers)
		fetch_unpack "linux-image-$ver" "$stage" || die "no image for $ver, see $log"
	fi
	finish_kernel "$ver" "$stage"
}

# newest_headers VERSION: the newest update of it that the own lists have.
newest_headers() {
	apt_own apt-cache search --names-only "^linux-headers-${1//./\\.}\.[0-9+~a-z.-]*-amd64\$" |
		sed 's/ .*//; s/^linux-headers-//' | grep -v -e -rt- -e -cloud- | sort -V | tail -n 1
}

# Headers by apt would need root and a source file in /etc; unpacked, their two absolute paths have
# to be rewritten, and the scripts/tools links are relative and stay right.
backports_kernel() {
	local want=$1 ver stage p image
	say "fetching headers${with_image:+ and image} of kernel $want (about 120 MB)"
	apt_own_update
	ver=$(newest_headers "$want")
	[ -n "$ver" ] || die "no linux-headers-$want*-amd64 in the backports suite, see $log"
	stage=$(stage_dir)
	image=${with_image:+linux-image-$ver}
	for p in $image "linux-headers-$ver" "linux-headers-${ver%-amd64}-common" \
		"linux-kbuild-${ver%-amd64}"; do
		fetch_unpack "$p" "$stage" || die "cannot fetch $p, see $log"
	done
	local final=$cache/kernels/$ver
	sed -i "s,/usr/src/,$final/usr/src/,g" "$stage/usr/src/linux-headers-$ver/Makefile"
	finish_kernel "$ver" "$stage"
}

# Headers that want a newer gcc than this machine's, in a root that has it; the image's files beside
# them, so that it all looks as for the kernels above.
next_kernel() {
	local want=$1 ver stage p
	release=trixie
	say "making a root of $release with a compiler and kernel $want (about 350 MB)"
	apt_own_update
	ver=$(newest_headers "$want")
	[ -n "$ver" ] || die "no linux-headers-$want*-amd64 in $release-backports, see $log"
	stage=$(stage_dir)
	quietly "mmdebstrap" "$here/build-root.sh" --make "$stage" "$release" \
		"$cache/apt/$release/pf_rds.list" "linux-headers-$ver"
	# Since 7.2 an image is three packages, and modules.builtin is in a fourth.
	for p in $(apt_own apt-cache search --names-only \
		"^linux-(image|binary|modules|base)-${ver//+/\\+}\$" | cut -d' ' -f1); do
		[ -n "$with_image" ] || break
		fetch_unpack "$p" "$stage" || die "cannot fetch $p, see $log"
	done
	finish_kernel "$ver" "$stage"
}

# One root to build the packages in, and one to install them in, which is only read: with all that they
# depend on, and the headers of two kernels. ccache makes modules faster that are built again.
build_root=(build-essential debhelper dh-dkms cmake libcli11-dev nlohmann-json3-dev libmnl-dev librdmacm-dev po-debconf pkgconf
	bash-completion lintian fakeroot man-db tshark dh-python python3)
try_root=(g++ make ccache dkms openssl linux-headers-amd64 libmnl0 librdmacm1 tshark man-db bash-completion pkgconf kmod
	procps debconf linux-libc-dev python3 zsh iproute2 systemd)

package_roots() {
	local suite=$1 newer roots=$cache/roots
	case $suite in
	bookworm) newer=6.12 ;;
	trixie) newer=7.2 ;;
	*) die "no packages are made for '$suite'" ;;
	esac
	release=$suite
	mkdir -p "$roots"
	package_root "$suite-build" "${build_root[@]}"
	if [ -d "$roots/$suite-try" ]; then
		package_root "$suite-try" "${try_root[@]}"
		return
	fi
	apt_own_update
	newer=$(newest_headers "$newer")
	[ -n "$newer" ] || die "no newer kernel's headers in $suite-backports, see $log"
	# Newer headers want their image, and nobody boots this one.
	INITRD=No package_root "$suite-try" "${try_root[@]}" "linux-headers-$newer"
}

# package_root NAME PACKAGE...: makes it, or adds what it has not got yet.
package_root() {
	local dir=$cache/roots/$1 name=$1 missing
	shift
	if [ -d "$dir" ]; then
		missing=$(missing_packages "$dir" "$@")
		# shellcheck disable=SC2086 # one word per package
		[ -z "$missing" ] || quietly "apt-get install in $dir" "$here/build-root.sh" "$dir" \
			env DEBIAN_FRONTEND=noninteractive INITRD=No sh -c 'apt-get -q update && apt-get -q -y \
			-o APT::Sandbox::User=root --no-install-recommends install "$@"' - $missing
		return
	fi
	say "making the root $dir (about 300 MB are fetched)"
	apt_own_update
	dir=$(mktemp -d "$cache/roots/.stage.XXXXXX")
	quietly "mmdebstrap" "$here/build-root.sh" --make "$dir" "$release" "$cache/apt/$release/pf_rds.list" "$@"
	chmod 755 "$dir"
	mv "$dir" "$cache/roots/$name"
}

# Debian's packages of these start servers, which nobody wants who only tests: they are unpacked.
prometheus() {
	local stage p
	[ ! -x "$cache/prometheus/usr/bin/promtool" ] || return 0
	say "fetching prometheus and its node exporter (23 MB)"
	apt_own_update
	stage=$(mktemp -d "$cache/dl.XXXXXX")
	for p in prometheus prometheus-node-exporter; do
		fetch_unpack "$p" "$stage" || die "cannot fetch $p, see $log"
	done
	chmod 755 "$stage"
	mv "$stage" "$cache/prometheus"
}

# The versions (6.12, say) of which the suites have headers.
versions() {
	for release in "$(codename)" trixie; do
		apt_own_update
		apt_own apt-cache search --names-only '^linux-headers-[0-9.]+.*-amd64$' |
			grep -v -e -rt- -e -cloud- |
			sed -En 's/^linux-headers-([0-9]+\.[0-9]+)[.+-].*/\1/p'
	done | sort -uV
}

main() {
	local suite='' kernel=${KERNEL:-6.1} source='' list='' metrics='' missing
	while [ $# -gt 0 ]; do
		case $1 in
		--kernel) kernel=${2:?--kernel needs a version}; shift 2 ;;
		--headers) kernel=${2:?--headers needs a version} with_image=''; shift 2 ;;
		--versions) list=1; shift ;;
		--plot) packages+=(gnuplot-nox); shift ;;
		--wireshark) packages=(python3 tshark) kernel=none; shift ;;
		--report) packages=(python3 chromium fonts-dejavu-core) kernel=none; shift ;;
		--rust) packages=(rustc) kernel=none; shift ;;
		--metrics) packages=(python3 python3-prometheus-client) kernel=none metrics=1; shift ;;
		--packages)
			suite=${2:?--packages needs a suite} kernel=none
			packages=(mmdebstrap uidmap)
			shift 2 ;;
		--source) source=${2:?--source needs a version} into=${3:?and a directory}; shift 3 ;;
		--list) printf '%s\n' "${packages[@]}"; exit ;;
		-h | --help) sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit ;;
		*) die "unknown argument $1" ;;
		esac
	done
	command -v apt-get >/dev/null || die "this is no Debian: apt-get is missing"
	mkdir -p "$cache/log"
	exec 9>"$cache/deps.lock"
	flock 9
	: >"$log"
	[ -z "$source" ] || { kernel_source "$source" "$into"; return; }
	[ -z "$list" ] || { versions; return; }
	case $kernel in
	6.1 | none) ;;
	6.12) packages+=(pahole) ;; # these headers carry a vmlinux with BTF, and then the build calls it
	*) packages+=(mmdebstrap uidmap) ;;
	esac
	missing=$(missing_packages "${packages[@]}")
	# shellcheck disable=SC2086 # one word per package
	[ -z "$missing" ] || apt_install $missing
	[ -z "$suite" ] || package_roots "$suite"
	[ -z "$metrics" ] || prometheus
	[ "$kernel" != none ] || return 0
	if [ -n "$with_image" ]; then
		stock_kernel
		"$here/kernel-env.sh" --check "$kernel" && return
	else
		[ -z "$("$here/kernel-env.sh" --headers "$kernel")" ] || return 0
	fi
	case $kernel in
	6.12) backports_kernel "$kernel" ;;
	*) next_kernel "$kernel" ;;
	esac
}

main "$@"
