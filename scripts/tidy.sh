#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# House rules that a script can check; `make tidy`, and one of the tests.
set -u
cd "$(dirname "$0")/.."
bad=0
complain() { [ -z "$2" ] || { printf '%s\n%s\n' "$1" "$2"; bad=1; }; }

# As in a clone: what git tracks, and is still there.
mapfile -t tracked < <(git ls-files 2>/dev/null | while read -r f; do [ ! -f "$f" ] || echo "$f"; done)
[ ${#tracked[@]} -gt 0 ] || mapfile -t tracked < <(find . -type f -not -path './build/*' -printf '%P\n')
only() { printf '%s\n' "${tracked[@]}" | grep -E "$1"; }

mapfile -t code < <(only '^(net|transports|include|tools|tests)/.*\.(c|cc|h|hpp)$')
mapfile -t product < <(only '^(net|transports)/.*\.(c|cc|h)$|^include/rds/')

complain 'no SPDX line in the first three lines:' "$(only '.' | grep -vE '^(LICENSE|\.gitignore)$' |
	grep -vE '/corpus/' | while read -r f; do head -n 3 "$f" | grep -q SPDX-License-Identifier || echo "  $f"; done)"
complain 'left for later in the text:' "$(printf '%s\n' "${code[@]}" |
	xargs grep -nE '\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b' 2>/dev/null)"
complain 'lines over 100 columns (tabs are 8):' "$(for f in "${product[@]}"; do
	expand "$f" | awk -v f="$f" 'length($0) > 100 { print "  " f ":" NR }'; done)"
complain 'files over 450 lines:' "$(wc -l "${product[@]}" | awk '$1 > 450 && $2 != "total" { print "  " $2, $1 }')"
complain 'functions over 45 lines:' "$(ctags -x --_xformat='%{line} %{end} %{input} %{name}' \
	--fields=+ne --kinds-c=f --kinds-c++=f "${product[@]}" 2>/dev/null |
	awk '$2 && $2 - $1 >= 45 { print "  " $3 ":" $1, $4, $2 - $1 }')"
complain 'kernel headers in the core:' "$(only '^(net/rds|transports)/.*\.(cc|h)$' | grep -v _linux |
	xargs grep -nE '#include *<(linux|net|asm|rdma)/' 2>/dev/null)"
complain 'kernel versions outside compat.h:' "$(printf '%s\n' "${product[@]}" | grep -v 'compat\.h$' |
	xargs grep -nE 'LINUX_VERSION_CODE|KERNEL_VERSION *\(' 2>/dev/null)"
complain 'test conditionals in product code:' "$(printf '%s\n' "${product[@]}" |
	xargs grep -nE '#if(def|ndef)? .*(TEST|GTEST|SIM\b|FUZZ)' 2>/dev/null)"
# A comment's subject is a thing that one can point at. A question has its mark on the same line.
complain 'comments with a clause (Who..., What..., That which...) for a subject: name the thing' "$(
	only '\.(c|cc|cpp|h|hpp|py|sh)$' |
	xargs grep -nE '^\s*(/\*+|\*|//|#|""")\s*((Who|What)(ever)?|That which) ([^?]*)$' 2>/dev/null)"
# Most cases in guests wait for their turn (docs/testing.md), and a missing name would, too.
complain 'Python that does not know a name:' "$(only '\.py$' | xargs pyflakes3 2>&1 |
	grep -E 'undefined name|^[^ ]+: ?(invalid|un|expected)|pyflakes3: No such file')"
# mainline's UAPI header and the tracepoints have the look that the kernel's have.
complain 'not as clang-format has it:' "$(only '\.(c|cc|cpp|h|hpp)$' | grep -vE '^include/uapi/linux/rds\.h$|/trace\.h$' |
	xargs clang-format-14 --dry-run 2>&1 | grep -oE '^[^ ]+:[0-9]+:[0-9]+' | cut -d: -f1,2 |
	sort -u | sed 's/^/  /' | head -20)"
[ $bad = 0 ] && echo "tidy: ${#tracked[@]} files keep the rules"
exit $bad
