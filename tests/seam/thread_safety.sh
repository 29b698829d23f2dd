#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The core under clang's thread-safety analysis: a field touched without its lock, a helper called
# without the lock that it requires, a lock not given back are errors.
set -u
bad=0
for file in net/rds/*.cc net/rds/*/*.cc transports/*/*.cc; do
	clang++ -std=gnu++20 -ffreestanding -fno-exceptions -fno-rtti -fsyntax-only \
		-Wall -Wextra -Wthread-safety -Werror -Wglobal-constructors \
		-Itests/sim/include -Iinclude/uapi -Inet/rds "$file" || bad=1
done
exit $bad
