// SPDX-License-Identifier: GPL-2.0
/*
 * The core's objects as big as they are in the kernel: this file alone is compiled with the sizes
 * of linux/platform_sizes.h (Debian's 6.1, x86-64) and is never linked with code that uses them.
 */
#include "net/rds/net.h"
#include "net/rds/path/path.h"

extern "C" const size_t scale_linux_bytes[3] = {
	sizeof(struct rds_conn),
	sizeof(struct rds_path),
	sizeof(rds::CongMap),
};

/* docs/limits.md: a slab cache more would be half as much again. */
static_assert(sizeof(rds::CongMap) <= 128);
