# SPDX-License-Identifier: GPL-2.0
# Prints what a test must leave as it found it, one thing per line. Sourced by a shell in the
# guest; built-ins only, because every process costs 50 ms there.
while read -r name _; do echo "module $name"; done </proc/modules
for f in /sys/class/net/* /run/netns/* /sys/kernel/slab/*[rR][dD][sS]* /proc/sys/net/rds /proc/net/rds; do
	[ -e "$f" ] || continue
	case $f in
	*/bonding_masters) ;;
	*/slab/[rR][dD][sS]*) echo "object $f" ;;
	*/slab/*) ;; # another word with these letters
	*) echo "object $f" ;;
	esac
done
while read -r name _; do
	case $name in [rR][dD][sS]*) echo "protocol $name" ;; esac
done </proc/net/protocols
# Port 16385 is 4001 in hexadecimal, state 0A is LISTEN.
for f in /proc/net/tcp /proc/net/tcp6; do
	while read -r _ local _ state _; do
		case $local-$state in *:4001-0A) echo "listener $local" ;; esac
	done <$f
done
# Lockdep switches itself off after its first report (or after KASAN's), and sees nothing from then.
if [ -e /proc/lockdep_stats ]; then
	while read -r name value _; do
		[ "$name" != debug_locks: ] || echo "debug_locks $value"
	done </proc/lockdep_stats
fi
