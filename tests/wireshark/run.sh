#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [SUITE]: the dissector's tests with this machine's tshark, or with that of the root that SUITE's
# packages are built in (bookworm: 4.0, trixie: 4.4).
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ -z "${1-}" ]; then
	scripts/deps.sh --wireshark
	exec tests/wireshark/dissector_test.py
fi
root=${PF_RDS_CACHE:-$HOME/.cache/pf_rds}/roots/$1-build
[ -d "$root" ] || scripts/deps.sh --packages "$1"
# The root sees this directory and no other; as its root Wireshark would run no script.
TMPDIR=$PWD/build/tmp-$1
mkdir -p "$TMPDIR"
chmod 755 "$TMPDIR"
export TMPDIR TSHARK="$PWD/scripts/build-root.sh $root setpriv --reuid 65534 --regid 65534 --clear-groups tshark"
tests/wireshark/dissector_test.py
rmdir "$TMPDIR"
