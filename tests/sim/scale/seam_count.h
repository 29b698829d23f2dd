/* SPDX-License-Identifier: GPL-2.0 */
/*
 * seam_count.h: counts calls of the seam.  The linker puts these counters between the core and the
 * simulated platform (--wrap, CMakeLists.txt); neither of the two knows.
 */
#ifndef RDS_TESTS_SCALE_SEAM_COUNT_H
#define RDS_TESTS_SCALE_SEAM_COUNT_H

#include <cstdint>

namespace scale
{

struct SeamCount {
	uint64_t allocs, alloc_bytes;
	uint64_t locks; /* spin locks and mutexes */
	uint64_t rcu;	/* sections */
	uint64_t syncs; /* grace periods waited for */
	uint64_t works, timers, wakes, stats;
};
extern SeamCount seam;

} // namespace scale
#endif
