#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian packages of what is here, for bookworm (12) or trixie (13):
#
#   packages.sh build SUITE    into build/packages/SUITE: pf-rds-dkms, rds-tools, librds-dev, python3-rds,
#                              wireshark-rds
#   packages.sh same SUITE     builds them again, elsewhere, at another time: every byte has to be the same
#   packages.sh lint SUITE     lintian: no error, no warning
#   packages.sh try SUITE      into a fresh root, into a guest with it, and out: tests/packaging/packages_test.sh
#   packages.sh version
#
# All happens in roots of SUITE (scripts/deps.sh --packages); the machine's own packages do not matter.
# packaging/debian has what is the packages' own; what a comment would spoil is made here.
set -euo pipefail
cd "$(dirname "$0")/.."

in_root=$PWD/scripts/build-root.sh
roots=${PF_RDS_CACHE:-$HOME/.cache/pf_rds}/roots
die() { echo "packages: $*" >&2; exit 1; }

# The modules' version, and of a checkout its last commit's date.
version() {
	local major minor date
	major=$(sed -n 's/^#define RDS_VERSION_MAJOR //p' net/linux/rds_linux.h)
	minor=$(sed -n 's/^#define RDS_VERSION_MINOR //p' net/linux/rds_linux.h)
	date=$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M --format=+git%cd 2>/dev/null || true)
	echo "$major.$minor$date"
}

# Seconds: what the packages say of when they were made.
epoch() {
	git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md
}

# copy DIR: the sources with a debian/ among them.
copy() {
	local docs
	mapfile -t docs < <(grep -v '^#' packaging/debian/rds-tools.docs)
	rm -rf "$1"
	mkdir -p "$1"
	cp -p CMakeLists.txt LICENSE "$1"
	scripts/copy-sources.sh "$1"
	rm -rf "$1/tests" "$1"/net/linux/generated/*
	find tools packaging examples python include/rds docs/man "${docs[@]}" -type f ! -name '*.pyc' -print0 |
		xargs -0 cp -p --parents -t "$1"
	cp -rp packaging/debian "$1/debian"
	mkdir -p "$1/debian/source"
	echo "3.0 (native)" >"$1/debian/source/format"
	printf 'pf-rds (%s) unstable; urgency=medium\n\n  * As CHANGELOG.md of the sources has it.\n\n -- %s  %s\n' \
		"$(version)" "$(sed -n 's/^Maintainer: //p' packaging/debian/control)" \
		"$(LC_ALL=C date -u -R -d "@$(epoch)")" >"$1/debian/changelog"
	sed -i '/#REFUSED#/{r packaging/debian/refused.sh
		d}' "$1/debian/pf-rds-dkms.config" "$1/debian/pf-rds-dkms.postinst"
	chmod -R u=rwX,go=rX "$1"
}

# build_in SUITE DIR [ENVIRONMENT...]: the packages are beside DIR afterwards.
build_in() {
	local root=$roots/$1-build dir=$2
	shift 2
	copy "$dir"
	(cd "$(dirname "$dir")" && "$in_root" "$root" env "$@" SOURCE_DATE_EPOCH="$(epoch)" \
		DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" \
		sh -c 'umask "$UMASK" && cd "$1" && dpkg-buildpackage -us -uc -b' - "$(basename "$dir")") >"$dir.log" 2>&1 || {
		tail -n 30 "$dir.log" >&2
		die "the build failed, see $dir.log"
	}
	rm -rf "$dir"
}

do_build() {
	local out=build/packages/$1
	rm -rf "$out"
	mkdir -p "$out/first"
	build_in "$1" "$PWD/$out/first/pf-rds" UMASK=022 TZ=UTC LC_ALL=C.UTF-8
	mv "$out"/first/* "$out"
	rmdir "$out/first"
	(cd "$out" && sha256sum ./*.deb | tee SHA256SUMS)
}

do_same() {
	local out=build/packages/$1 again=build/packages/$1-again/at-another-place
	[ -f "$out/SHA256SUMS" ] || die "nothing is built for $1 yet"
	rm -rf "$(dirname "$again")"
	mkdir -p "$again"
	build_in "$1" "$PWD/$again/pf-rds-copy" UMASK=002 TZ=Asia/Tokyo LC_ALL=C
	(cd "$again" && sha256sum -c --quiet "../../$1/SHA256SUMS") || die "built twice, and not the same"
	echo "$1: built twice, $(wc -l <"$out/SHA256SUMS") packages are the same"
	rm -rf "$(dirname "$again")"
}

do_lint() {
	(cd "build/packages/$1" && "$in_root" "$roots/$1-build" \
		lintian --allow-root --fail-on error,warning --tag-display-limit 0 ./*.changes) || die "lintian complains"
	echo "$1: lintian has no error and no warning"
}

case ${1-} in
version) version; exit ;;
build | same | lint | try) ;;
*) sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
case ${2-} in
bookworm | trixie) ;;
*) die "packages are made for bookworm and trixie" ;;
esac
if [ "$1" = try ]; then
	exec tests/packaging/packages_test.sh "$2"
fi
scripts/deps.sh --packages "$2"
"do_$1" "$2"
