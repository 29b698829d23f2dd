#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# man_pages_test.sh TOOLS MAN: the pages in MAN are clean for mandoc, and every option that a
# tool in TOOLS offers is in its page.
tools=$1
man=$2
failed=0

# -Wwarning leaves out style: it wants the other pages to be installed already.
for page in "$man"/*.[178]; do
	mandoc -Tlint -Wwarning "$page" || failed=1
done
for tool in rds-ping rds-info rds-stress rdsctl; do
	# Long options stand as "Fl -name" in mdoc.
	"$tools/$tool" --help | grep -o -e '--[a-z][a-z-]*' | sort -u | while read -r option; do
		grep -q -e "Fl ${option#-}\( \|\$\)" "$man/$tool".[18] ||
			echo "the page of $tool does not mention $option"
	done | grep . && failed=1
done
exit $failed
