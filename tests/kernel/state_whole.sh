# SPDX-License-Identifier: GPL-2.0
# Prints every setting of a guest that one file of tests could leave behind for the next, as
# `name = value`. Sourced by a shell in the guest; few processes, because each costs 50 ms there.
/run/busybox sysctl -a 2>/dev/null
each() {
	while read -r line; do echo "$1 $line = 1"; done
}
each mount </proc/mounts
{
	/run/busybox ip addr
	/run/busybox ip rule
	/run/busybox ip route
} | while read -r line; do
	case $line in
	*valid_lft*) ;;
	*) echo "ip $line = 1" ;;
	esac
done
/run/busybox find /sys/fs/cgroup /run /dev/shm -type d | each directory
# Files that were written into the guest's memory, in steps of 32 MiB.
while read -r name kib _; do
	[ "$name" != Shmem: ] || echo "written = $((kib / 32768))"
done </proc/meminfo
