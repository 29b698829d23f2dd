#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debug kernels for the tests, built from Debian's linux-source on demand and kept.
#
#   scripts/debug-kernel.sh uml|x86|kcsan           prints the kernel's directory, builds it if absent
#   scripts/debug-kernel.sh --check uml|x86|kcsan   only prints it; fails if it is absent
#
#     uml    User-Mode Linux: KASAN, lockdep, kmemleak, UBSAN, injected failures, gcov, KUnit
#     x86    the same for QEMU, with SMP, preemption and sleep-in-atomic
#     kcsan  data races, for QEMU; the kernel itself is not instrumented, modules are
#
# The printed directory holds boot/kernel, lib/modules/VERSION and build (for `make -C`). It needs
# neither the source nor the object tree any more, and is named by all that went into it: Debian's
# version of the source, the configuration (tests/debug/configs), what is mended in the source so
# that it runs here (tests/debug/patches), the compiler. Unused for a month, it goes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
configs=$here/../tests/debug/configs
patches=$here/../tests/debug/patches
cache=${PF_RDS_CACHE:-$HOME/.cache/pf_rds}
jobs=${JOBS:-$(nproc)}

die() { echo "debug-kernel: error: $*" >&2; exit 1; }

check=''
[ "${1-}" != --check ] || { check=1; shift; }
flavour=${1-}
flags=()
case $flavour in
uml) arch=um parts="common netfilter infiniband uml dbg" image=linux ;;
x86) arch=x86_64 parts="common netfilter infiniband x86 dbg" image=arch/x86/boot/bzImage ;;
# Of accesses only so many can be watched: they are to be our modules', not the whole kernel's.
kcsan) arch=x86_64 parts="common x86 kcsan" image=arch/x86/boot/bzImage flags=(CFLAGS_KCSAN=) ;;
*) sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
esac

# The source of the very kernel whose headers are installed: then one version is tested throughout.
version=$(dpkg-query -W -f '${Version}\n' 'linux-headers-6.1.*-common' 2>/dev/null | sort -V | tail -n 1)
[ -n "$version" ] || die "no headers of 6.1 are installed, run: scripts/deps.sh"
fragments() { (cd "$configs" && printf '%s.config\n' $parts | xargs cat); }
mends() { find "$patches" -name "$flavour-*.patch" | sort; }
key=$({ echo "$version $(gcc --version | head -n 1)"; fragments; echo "layout 1"; mends | xargs -r cat; } |
	sha256sum | cut -c1-16)
final=$cache/debug/$flavour-$key

if [ -d "$final" ] || [ -n "$check" ]; then
	[ -d "$final" ] || die "the $flavour kernel is not built, run: scripts/debug-kernel.sh $flavour"
	touch "$final"
	echo "$final"
	exit 0
fi

mkdir -p "$cache/debug" "$cache/log"
log=$cache/log/debug-$flavour.log
exec 8>"$cache/debug/.lock"
flock 8
[ ! -d "$final" ] || { echo "$final"; exit 0; }
work=$cache/debug/.build
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
began=$SECONDS

quietly() {
	echo "+ $*" >>"$log"
	"$@" >>"$log" 2>&1 </dev/null || { tail -n 15 "$log" >&2; die "$1 failed, see $log"; }
}

kmake() { quietly nice -n 5 make -C "$work/src" ARCH=$arch O="$work/obj" -j"$jobs" "$@"; }

configure() {
	mkdir "$work/obj"
	{ fragments; echo "CONFIG_LOCALVERSION=\"-$flavour\""; } >"$work/all.config"
	KCONFIG_ALLCONFIG=$work/all.config kmake allnoconfig
	# An option asked for and not there would be missed only when a detector stays silent.
	local lost
	lost=$(grep -hE '^CONFIG_\w+=[^n]' "$work/all.config" | grep -vxFf "$work/obj/.config" || true)
	[ -z "$lost" ] || echo "not granted: ${lost//$'\n'/ }" >>"$log"
}

# The files a module build opens, as scripts/package/builddeb picks them for Debian's own headers.
pack_headers() {
	local build=$1 src=arch/x86
	mkdir -p "$build"
	(
		cd "$work/src"
		find . arch/x86 arch/um -maxdepth 1 -name 'Makefile*'
		find include scripts arch/x86/include arch/um/include arch/um/scripts arch/x86/um \
			-type f -o -type l
		find arch/x86 arch/um \( -name 'Kbuild.platforms' -o -name Platform -o -name module.lds \)
	) >"$work/files.src"
	[ $arch = x86_64 ] || src=arch/um
	(
		cd "$work/obj"
		find include scripts $src/include arch/x86/include -type f -o -type l 2>/dev/null
		find arch -name 'module.lds' -o -path '*/kernel/asm-offsets.s'
		printf '%s\n' .config Module.symvers
		[ ! -f tools/objtool/objtool ] || echo tools/objtool/objtool
	) | grep -v '\.o$' >"$work/files.obj"
	tar -C "$work/src" -cf - -T "$work/files.src" | tar -C "$build" -xf -
	tar -C "$work/obj" -cf - -T "$work/files.obj" | tar -C "$build" -xf -
}

install_all() {
	local out=$work/out release
	release=$(cat "$work/obj/include/config/kernel.release")
	kmake modules_install INSTALL_MOD_PATH="$out" INSTALL_MOD_STRIP=1
	rm -f "$out/lib/modules/$release/"{build,source}
	mkdir -p "$out/boot"
	cp "$work/obj/$image" "$out/boot/kernel"
	pack_headers "$out/build"
	echo "$((SECONDS - began)) s" >"$out/build-time"
	find "$cache/debug" -maxdepth 1 -name "*-*" -mtime +30 -exec rm -rf {} +
	mv "$out" "$final"
}

: >"$log"
echo "debug-kernel: building the $flavour kernel from linux-source $version (output: $log)" >&2
quietly "$here/deps.sh" --source "$version" "$work/deb"
mkdir "$work/src"
quietly tar -C "$work/src" --strip-components=1 -xf "$work"/deb/usr/src/linux-source-*.tar.xz
rm -rf "$work/deb"
for mend in $(mends); do
	quietly patch -d "$work/src" -p1 -i "$mend"
done
configure
kmake all "${flags[@]}"
install_all
echo "debug-kernel: $flavour took $((SECONDS - began)) s" >&2
echo "$final"
