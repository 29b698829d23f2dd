#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
#   scripts/copy-sources.sh DIR     makes or renews a copy of what the modules are built from
#
# One kernel's objects would overwrite another's: all but the usual one have a copy to build in. Times
# are kept, so that only what has changed is compiled; what is gone here goes there.
set -euo pipefail
cd "$(dirname "$0")/.."
into=$1

sources() {
	find Kbuild net transports include kbuild tests/kunit tests/strict tests/debug \
		\( -name '*.[ch]' -o -name '*.cc' -o -name 'Kbuild' -o -name '*.kbuild' -o -name '*.lds' \) \
		! -name '*.mod.c' ! -path '*/generated/*' | sort
}

mkdir -p "$into/net/linux/generated"
sources | xargs cp -pu --parents -t "$into"
comm -13 <(sources) <(cd "$into" && sources) | (cd "$into" && xargs -r rm)
