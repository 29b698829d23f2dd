#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# upgrade.sh: in a guest with an older version of pf-rds-dkms, dpkg upgrades that while pings go over its
# modules. Those that are loaded go on, no others mix with them, and after the unloading that
# docs/packages.md describes the new ones run. /packages has the packages, /packages/built what DKMS made
# of the new one in the root.
set -euo pipefail

same() { [ "$2" = "$3" ] || { echo "$1 is '$2', not '$3'"; exit 1; }; }
loaded() { cat "/sys/module/$1/version"; }
hosts() { # COMMAND...: in each of both
	ip netns exec one "$@"
	ip netns exec two "$@"
}
ping() { ip netns exec one rds-ping -I 192.0.2.1 "$@" 192.0.2.2; }

# DKMS's call of make finds the modules, compiled and not signed: an emulated compiler takes half an hour.
cd /packages/built
for file in *.xz; do [ ! -f "$file" ] || xz -d "$file"; done
strip -g ./*.ko
cat >/tmp/make <<'END'
#!/bin/sh
for word; do
	case $word in
	M=*) into=${word#M=} ;;
	modules) wanted=yes ;;
	esac
done
[ "${wanted-}" ] || exit 0
cd /packages/built
cp rds.ko "$into/net" && cp rds_loop.ko "$into/transports/loop" &&
	cp rds_tcp.ko "$into/transports/tcp" && cp rds_rdma.ko "$into/transports/ib"
END
chmod +x /tmp/make
mv /tmp/make /usr/bin/make

dpkg -i /packages/rds-tools_*.deb
modprobe -a rds_loop rds_tcp
same "what is loaded" "$(loaded rds)" 4.9
ip netns add one
ip netns add two
ip link add v1 netns one type veth peer name v2 netns two
ip -n one address add 192.0.2.1/24 dev v1
ip -n two address add 192.0.2.2/24 dev v2
hosts ip link set lo up
ip -n one link set v1 up
ip -n two link set v2 up
hosts sh -c 'echo 1 >/proc/sys/net/rds/tcp/listen'
ping -c 3

ping -i 0.2 --json >/tmp/pings &
pings=$!
dpkg --force-confdef -i /packages/pf-rds-dkms_*.deb
kill -INT "$(pgrep -x rds-ping)"
wait $pings
python3 -c 'import json, sys; pings = json.load(sys.stdin); assert pings["answered"] > 5 and not pings["lost"], pings' </tmp/pings

new=$(dpkg-deb -f /packages/pf-rds-dkms_*.deb Version | sed 's/+.*//; s/~.*//')
for module in rds rds_loop rds_tcp rds_rdma; do
	same "$module in DKMS's directory" "$(modinfo -F version $module)" "$new"
done
same "what is loaded after the upgrade" "$(loaded rds)" 4.9
modprobe -r rds_loop
! modprobe rds_loop || { echo "a module of another version was taken"; exit 1; }
dmesg | grep 'rds_loop: Unknown symbol rds_'
ping -c 3

modprobe -r rds_tcp rds_rdma rds_loop rds
modprobe -a rds_loop rds_tcp
same "what is loaded in the end" "$(loaded rds) $(loaded rds_loop) $(loaded rds_tcp)" "$new $new $new"
hosts sh -c 'echo 1 >/proc/sys/net/rds/tcp/listen'
ping -c 3
echo "upgraded while it was in use"
