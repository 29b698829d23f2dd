#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The core under clang's thread-safety analysis: a field touched without its lock or right, a helper
# called without those that it requires, a lock not given back are errors.  That the analysis sees
# such things at all is shown first, by wrong_rights.cc.
set -u
analyse() {
	clang++ -std=gnu++20 -ffreestanding -fno-exceptions -fno-rtti -fsyntax-only \
		-Wall -Wextra -Wthread-safety -Wglobal-constructors \
		-Itests/sim/include -Iinclude/uapi -Inet/rds "$@"
}

wrong=tests/seam/wrong_rights.cc
marked=$(grep -n '/\* wrong' $wrong | cut -d: -f1)
told=$(analyse $wrong 2>&1 | sed -n 's/^[^:]*wrong_rights.cc:\([0-9]*\):.*-Wthread-safety-analysis.*/\1/p' | sort -nu)
if [ -z "$marked" ] || [ "$marked" != "$told" ]; then
	echo "$wrong: wrong are lines" $marked "and told are" $told >&2
	exit 1
fi

bad=0
for file in net/rds/*.cc net/rds/*/*.cc transports/*/*.cc; do
	analyse -Werror "$file" || bad=1
done
exit $bad
