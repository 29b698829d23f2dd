# SPDX-License-Identifier: GPL-2.0
# Becomes part of pf-rds-dkms.config and .postinst: the administrator, or another package, has a line
# against RDS in modprobe's configuration.
refused() {
	set -- /etc/modprobe.d/*.conf /run/modprobe.d/*.conf /usr/local/lib/modprobe.d/*.conf \
		/usr/lib/modprobe.d/*.conf /lib/modprobe.d/*.conf
	cat "$@" 2>/dev/null | grep -qE \
		'^[[:space:]]*((blacklist|install)[[:space:]]+(rds|net[-_]pf[-_]21)|alias[[:space:]]+net[-_]pf[-_]21[[:space:]]+off)([[:space:]]|$)'
}
