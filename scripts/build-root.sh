#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A newer Debian's compiler, for kernels whose headers this machine's is too old for.
#
#   scripts/build-root.sh DIR COMMAND...    runs it in the root DIR, in the same directory as here
#   scripts/build-root.sh --make DIR SUITE SOURCES PACKAGE...
#                                           fills DIR: compiler, make, and these packages; SOURCES
#                                           is a file of apt sources, SUITE the one to begin with
#
# Neither needs root: a user gets a namespace in which he seems to be it (and to make one, package
# uidmap and lines for him in /etc/subuid and /etc/subgid).
set -euo pipefail

if [ "${1-}" = --make ]; then
	dir=$2 suite=$3 sources=$4
	shift 4
	# By way of an archive: then every file is the user's own, whatever user he was inside.
	mmdebstrap --variant=minbase --include="g++ make $*" "$suite" - - <"$sources" |
		tar -C "$dir" -x --no-same-owner --exclude='./dev/*'
	exit
fi

export root=${1:?directory} here=$PWD
shift
mkdir -p "$root$here"
mine=''
[ "$(id -u)" = 0 ] || mine=--map-root-user
# shellcheck disable=SC2016 # for the inner shell
exec unshare --mount $mine bash -euc '
	for d in /dev /proc "$here"; do mount --rbind "$d" "$root$d"; done
	exec chroot "$root" env -u root -u here sh -c '\''cd "$0" && exec "$@"'\'' "$here" "$@"' - "$@"
