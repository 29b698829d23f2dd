#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# in_vm.sh BASE LAYER PROGRAM: in a guest, whose root is the host's, runs PROGRAM in the root BASE with
# LAYER over it. What is the running kernel's own lies in its place.
set -euo pipefail

base=$1 layer=$2 program=$3
top=/run/installed
modules=$top/lib/modules/$(uname -r)
mkdir -p $top /run/over
mount -t tmpfs over /run/over
mkdir /run/over/{up,work}
mount -t overlay -o "lowerdir=$layer:$base,upperdir=/run/over/up,workdir=/run/over/work" over $top
ln -sfn /proc/self/fd /dev/fd
for dir in dev proc sys; do mount --rbind /$dir $top/$dir; done
# Of the kernel's own modules those that PROGRAM wants: depmod reads all that are there, and an emulated
# processor takes minutes for all of Debian's.
mkdir -p "$modules/kernel/drivers/net"
cp "/lib/modules/$(uname -r)"/kernel/drivers/net/veth.ko* "$modules/kernel/drivers/net"
cp "/lib/modules/$(uname -r)"/modules.{order,builtin}* "$modules"
cp "$program" $top/tmp/program
# The kernel asks for modules outside of the root: there they are not.
printf '#!/bin/sh\nexec chroot %s /sbin/modprobe "$@"\n' $top >/run/over/modprobe
chmod +x /run/over/modprobe
echo /run/over/modprobe >/proc/sys/kernel/modprobe
exec chroot $top env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 sh -c 'depmod && /tmp/program'
