#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# command_line_test.sh DIR: what the tools in DIR answer without any RDS: help, version, and
# usage errors with status 2 and one reason on stderr. Runs with or without the modules loaded.
dir=$1
failed=0
err=$(mktemp) && mkfifo "$err.pipe" || exit 1
trap 'rm -f "$err" "$err.pipe" "$err.full" "$err.html"' EXIT

# expect STATUS PATTERN COMMAND...: the exit status, and a pattern in what it prints.
expect()
{
	want=$1
	pattern=$2
	shift 2
	"$dir/$@" >"$err" 2>&1
	got=$?
	if [ "$got" -ne "$want" ] || ! grep -q -e "$pattern" "$err"; then
		echo "FAILED: $*: status $got (want $want), '$pattern' wanted in:"
		cat "$err"
		failed=1
	fi
}

for tool in rds-ping rds-info rds-stress rdsctl; do
	expect 0 "Usage: $tool" $tool --help
	expect 0 "^$tool (pf_rds) [0-9]" $tool --version
	done
expect 2 "--no-such" rds-ping --no-such 127.0.0.1
expect 2 "--no-such" rds-info --no-such
expect 2 "--no-such" rds-stress --no-such
expect 2 "destination" rds-ping
expect 2 "not a number" rds-ping -i soon 127.0.0.1
expect 2 "300" rds-ping -Q 300 127.0.0.1
expect 2 "at least 1" rds-ping -c 0 127.0.0.1
expect 2 "not an address" rds-ping 10.9.0.999
expect 2 "link-local" rds-ping fe80::1
expect 2 "watch" rds-info --samples 3
expect 2 "at least 1ms" rds-info --watch 0
expect 2 "RDMA bytes must be 0 to 1048576" rds-stress -D 2m
expect 2 "exclude each other" rds-stress -D 4096 -o
expect 2 "alignment must be 0 to 4095" rds-stress -D 4096 --rdma-alignment 4096
expect 2 "use-notify must be 0 to 1" rds-stress -D 4096 --rdma-use-notify 2
expect 2 "32 to 1048576" rds-stress -q 31
expect 2 "tasks must be" rds-stress -t 0
expect 2 "2 to 64 hosts" rds-stress --matrix 10.9.0.1
expect 2 "excludes" rds-stress --matrix 10.9.0.1 10.9.0.2 -s 10.9.0.3
expect 2 "excludes" rds-stress --matrix 10.9.0.1 10.9.0.2 --serve
expect 2 "excludes" rds-stress --serve -s 10.9.0.3
expect 2 "0.1 to 3600 seconds" rds-stress --matrix 10.9.0.1 10.9.0.2 -T 3601
expect 2 "0.1 to 3600 seconds" rds-stress --matrix 10.9.0.1 10.9.0.2 -T 0
expect 2 "same host" rds-stress --matrix 127.0.0.1 localhost ::ffff:127.0.0.1
# Nobody listens there, and whoever asks needs no RDS.
expect 1 "2 pairs: 0 measured, 2 failed, 0 left" rds-stress --matrix 127.0.0.1 127.0.0.2 -p 1
expect 1 '"failed":2' rds-stress --matrix 127.0.0.1 127.0.0.2 -p 1 --json
expect 2 "subcommand" rdsctl
expect 2 "not expected: remove" rdsctl peers remove
expect 2 "required" rdsctl peers add
expect 0 "all entries, and the default" rdsctl peers --help
for words in peer peers "peer list" "peer default" "peer monitor"; do
	expect 0 "-j,.*--json" rdsctl $words --help
done
# Without a word it is the list: the same answer, whatever that is here.
"$dir/rdsctl" peer list -j >"$err" 2>&1
expect $? "$(head -n 1 "$err")" rdsctl peers --json
expect 2 "required" rdsctl peer add
expect 2 "is 10.0.0.0/8" rdsctl peer add 10.0.0.1/8
expect 2 "at most 32" rdsctl peer del 10.0.0.0/33
expect 2 "others than its owner" rdsctl peer add 10.0.0.1 key-file /etc/passwd
expect 2 "no regular file" rdsctl peer add 10.0.0.1 key-file /dev/null
expect 2 "neither accept nor refuse" rdsctl peer default reject
expect 2 "0 to 255" rdsctl peer add 10.0.0.1 key-file /dev/null algo tcp-ao sndid 256
expect 2 "required" rdsctl peer forget
expect 0 "key-file FILE" rdsctl peer add --help
expect 2 "'event' is none of local" rdsctl path event up
expect 2 "'event' is none of local" rdsctl top event up
expect 2 "not JSON" rdsctl metrics --json
expect 2 "no regular file" rdsctl metrics --output "$err.pipe"
expect 0 "^rds_up [01]" rdsctl metrics
expect 0 "^# EOF" rdsctl metrics --openmetrics
ln -s /dev/full "$err.full"
expect 2 "cannot write" rdsctl report --interval 0.001 "$err.full"
[ -L "$err.full" ] || { echo "FAILED: rdsctl report removes what it cannot write to"; failed=1; }
: >"$err.html"
chmod 644 "$err.html"
expect 0 "$err.html" rdsctl report --interval 0.001 "$err.html"
[ "$(stat -c %a "$err.html")" = 600 ] || { echo "FAILED: others may read a report"; failed=1; }
expect 0 "$err.html" rdsctl -j report --interval 0.001 "$err.html"
grep -q '"findings"' "$err.html" || { echo "FAILED: rdsctl -j report has no JSON in it"; failed=1; }
expect 0 '"findings"' rdsctl -j report --interval 0.001
for words in "rds-ping --help" "rds-info --version" "rdsctl metrics" "rdsctl report -i 0.001 -" \
	"rdsctl -j doctor" "rds-stress --matrix 127.0.0.1 127.0.0.2 -p 1"; do
	"$dir"/$words 2>"$err" >/dev/full
	got=$?
	if [ "$got" -ne 2 ] || ! grep -q "cannot write the output" "$err"; then
		echo "FAILED: $words, with no room for its output: status $got"
		failed=1
	fi
done
exit $failed
