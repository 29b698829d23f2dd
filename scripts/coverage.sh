#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Lines and branches of the core, and of the pure parts of the transports, that the tests in user
# space run: unit, contract, simulator and the fuzzers' kept inputs, built by clang with counters
# and without sanitizers below build/coverage. Prints a table, then the lines that nobody ran of
# every file below the limit.
#
#   scripts/coverage.sh          all of that; the source with counts: build/coverage/html/index.html
#
# Exits 1 when a file is below the limit (95 % of lines).
set -euo pipefail
cd "$(dirname "$0")/.."

limit=95
dir=build/coverage
jobs=${JOBS:-$(nproc)}
programs=(tests/unit/unit_core tests/unit/unit_tcp tests/contract/contract_test tests/sim/sim_run)
fuzzers=()
for corpus in tests/fuzz/corpus/*; do fuzzers+=("tests/fuzz/fuzz_${corpus##*/}"); done
mkdir -p "$dir" build/logs
log=build/logs/coverage.log

# Programs that run while they are built (test discovery) count as well, into the first file.
export LLVM_PROFILE_FILE=$PWD/$dir/prof/build-%m.profraw
{
	# Straight to the compiler: what stands between may change the paths it sees.
	cmake -S . -B "$dir" -DCMAKE_C_COMPILER_LAUNCHER= -DCMAKE_CXX_COMPILER_LAUNCHER= \
		-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
		-DRDS_FUZZ=ON -DRDS_COVERAGE=ON
	make -C "$dir" -j"$jobs" unit_core unit_tcp contract_test sim_run fuzzers
} >"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }

rm -rf "$dir/prof"
export LLVM_PROFILE_FILE=$PWD/$dir/prof/%m.profraw
for program in "${programs[@]}"; do
	args=()
	[ "$program" != tests/sim/sim_run ] || args=(--seed 1 --seeds 200)
	"$dir/$program" "${args[@]}" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
done
for program in "${fuzzers[@]}"; do
	"$dir/$program" tests/fuzz/corpus/"${program##*_}"/* >>"$log" 2>&1 ||
		{ tail -n 20 "$log" >&2; exit 1; }
done

llvm-profdata-14 merge -o "$dir/all.profdata" "$dir"/prof/*.profraw
objects=("$dir/${programs[0]}")
for program in "${programs[@]:1}" "${fuzzers[@]}"; do objects+=(-object "$dir/$program"); done
# Code that is counted and not the core: the tests, the library, the glue that one fuzzer compiles.
others='(^|/)(tests|usr|googletest)/|net/linux/'

cov() {
	llvm-cov-14 "$1" "${objects[@]}" -instr-profile="$dir/all.profdata" \
		-ignore-filename-regex="$others" -show-instantiations=false "${@:2}" 2>>"$log"
}
llvm-cov-14 report "${objects[@]}" -instr-profile="$dir/all.profdata" \
	-ignore-filename-regex="$others" -show-region-summary=0 2>>"$log" | sed "s,^$PWD/,," | awk '
	function row(a, b, c, d, e, f, g) {
		printf "%-36s %6s %6s %9s %8s %6s %9s\n", a, b, c, d, e, f, g
	}
	NR == 1 { row("", "lines", "missed", "", "branches", "missed", "") }
	$5 > 0 && /%/ { row($1, $5, $6, $7, $8, $9, $10) }' | tee "$dir/table.txt"
cov show -format=html -show-branches=count -output-dir="$dir/html"

low=$(awk -v limit=$limit '$1 ~ /\.(h|cc)$/ && $4 + 0 < limit { print $1 }' "$dir/table.txt")
for file in $low; do
	printf '\n%s, never run:\n' "$file"
	cov show | awk -v file="$file" '/^[^ ].*:$/ { here = index($0, "/" file ":") }
		here && /^ *[0-9]+\| +0\|/'
done
[ -z "$low" ]
