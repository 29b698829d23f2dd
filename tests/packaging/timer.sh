#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# timer.sh: in a guest, Debian's systemd boots in the root, where the packages' timer is enabled and node
# exporter's directory is there. Metrics appear in it, and are replaced; everybody may read them.
set -euo pipefail

dir=/var/lib/prometheus/node-exporter
file=$dir/rds.prom

modprobe rds_tcp
mkdir -p $dir
systemctl set-default basic.target
systemctl enable pf-rds-metrics.timer
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
unshare --fork --kill-child --pid --mount --cgroup sh -c \
	'mount -t proc proc /proc && exec env container=other /lib/systemd/systemd --log-target=null' &
init=$!

# until_true COMMAND...: as long as systemd lives; the guest has a limit.
until_true() {
	until "$@"; do
		kill -0 $init
		sleep 1
	done
}
until_true test -s $file
first=$(stat -c %i $file)
until_true sh -c "[ \$(stat -c %i $file) != $first ]"
runuser -u nobody -- grep '^rds_paths' $file
kill -KILL $init
wait $init || true
modprobe -r rds_tcp rds_loop rds
echo "systemd's timer writes metrics"
