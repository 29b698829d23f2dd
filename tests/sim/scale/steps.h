/* SPDX-License-Identifier: GPL-2.0 */
/*
 * steps.h: counts what the core does, in basic blocks that it enters (the compiler's trace-pc), and
 * the longest stretches of them: under a spin lock, in an RCU section, and without asking whether
 * others are to run.
 */
#ifndef RDS_TESTS_SCALE_STEPS_H
#define RDS_TESTS_SCALE_STEPS_H

#include <cstdint>

namespace scale
{

struct Steps {
	uint64_t all = 0;
	uint64_t under_lock = 0; /* the longest */
	uint64_t in_rcu = 0;	 /* the longest */
	uint64_t unasked = 0;	 /* the longest */
	uint64_t syncs = 0;	 /* grace periods waited for */
};
/* Since the last call. */
Steps take_steps();

} // namespace scale

#endif
