#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the fuzzers of this directory, which are built by the way (make tests).
#
#   fuzz.sh replay NAME        every input of the kept corpus once (ctest)
#   fuzz.sh test NAME          10 seconds from the kept corpus, nothing is kept (ctest)
#   fuzz.sh go [NAME [SECS]]   goes on (all in turn, 5 minutes each) until stopped; what is new
#                              stays in build/fuzz/NAME for the next time
#   fuzz.sh merge [NAME]       takes what build/fuzz/NAME adds over into the corpus, and leaves out
#                              what others cover; those with a name (not a hash) always stay
#
# An input that breaks something is left as build/logs/fuzz-NAME-crash-*; run the fuzzer with that
# file as its argument to see it again.
set -euo pipefail
cd "$(dirname "$0")/../.."

corpus=tests/fuzz/corpus
program() { echo "build/clang/tests/fuzz/fuzz_$1"; }
names() { ls "$corpus"; }

# The longest input worth trying.
max_len() {
	case $1 in
	wire) echo 64 ;;
	stream) echo 20000 ;;
	*) echo 2048 ;;
	esac
}

# fuzz NAME SECS DIR...: new inputs go to the first DIR.
fuzz() {
	local name=$1 secs=$2
	shift 2
	mkdir -p build/logs
	"$(program "$name")" -max_total_time="$secs" -max_len="$(max_len "$name")" -timeout=60 \
		-artifact_prefix="build/logs/fuzz-$name-" -print_final_stats=1 "$@" "$corpus/$name"
}

merge() {
	local name=$1 tmp
	tmp=$(mktemp -d)
	mkdir -p "$corpus/$name" "build/fuzz/$name"
	"$(program "$name")" -merge=1 -use_counters=0 -max_len="$(max_len "$name")" "$tmp" "$corpus/$name" \
		"build/fuzz/$name" 2>/dev/null
	find "$corpus/$name" -regextype egrep -type f -regex '.*/[0-9a-f]{40}' -delete
	cp "$tmp"/* "$corpus/$name/"
	rm -rf "$tmp"
	echo "$name: $(ls "$corpus/$name" | wc -l) inputs, $(du -sh --apparent-size "$corpus/$name" | cut -f1)"
}

case ${1-} in
replay)
	# Given one by one: a directory's inputs beyond -max_len would be cut.
	"$(program "$2")" "$corpus/$2"/* 2>&1 | tail -n 20
	;;
test)
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	fuzz "$2" "${FUZZ_SECONDS:-6}" "$tmp" 2>&1 | grep -vE '^#|NEW_FUNC'
	;;
go)
	while :; do
		for name in ${2:-$(names)}; do
			mkdir -p "build/fuzz/$name"
			echo "== $name, $(ls "build/fuzz/$name" | wc -l) new inputs so far"
			fuzz "$name" "${3:-300}" "build/fuzz/$name" 2>&1 |
				grep -E 'DONE|pulse|not true|sim:|ERROR|Test unit|stat::number'
		done
		[ -z "${3-}" ] || break
	done
	;;
merge)
	for name in ${2:-$(names)}; do merge "$name"; done
	;;
*)
	sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
	exit 2
	;;
esac
