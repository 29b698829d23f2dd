#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Plays RDS over two hosts' real adapters and makes a report of it; docs/ib.md tells how.
#
#   tests/adapters/on-hardware.sh --interface IF root@OTHER
#
# It builds the modules for the running kernel, the tools and the tests, and copies the checkout to
# the other host, to the same path. --built: both have it.
top=$(cd "$(dirname "$0")/../.." && pwd) || exit
case " $* " in
*" --built "* | *" --help "* | *" -h "*) ;;
*) make -C "$top" modules tests || exit ;;
esac
exec python3 "$top/tests/adapters/on_hardware.py" "$@"
