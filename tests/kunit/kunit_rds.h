/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kunit_rds.h: what the suites share.
 *
 * They call rds.ko by the symbols it exports to transports, and its system calls by way of
 * kernel_sendmsg() and the like: nothing is exported for a test's sake, and what is tested is the
 * module as it is shipped.  Tests that need a process's memory (faults, info) are in
 * tests/progs/rds_copy.
 */
#ifndef KUNIT_RDS_H
#define KUNIT_RDS_H

#include <kunit/test.h>
#include <linux/sched/mm.h>

#include "net/linux/payload.h"
#include "net/linux/rds_linux.h"

/* Longest wait for what must come; nothing is late that has to come at once. */
#define RDS_SOON (60 * HZ)

/* Between the two lockdep tells of every allocation that may wait for memory: what says RDS_ATOMIC
 * must not, also where nothing else would notice (User-Mode Linux has no sleep-in-atomic).  Not
 * under a lock: that would be a place where reclaim is expected, from then on. */
static inline void rds_test_no_reclaim(bool on)
{
	if (on)
		fs_reclaim_acquire(GFP_KERNEL);
	else
		fs_reclaim_release(GFP_KERNEL);
}

/* Lengths on both sides of every limit of payloads. */
extern const u32 rds_test_lengths[];
extern const size_t rds_test_lengths_n;

/* @len bytes that differ at every position, freed with the test. */
u8 *rds_test_bytes(struct kunit *test, u32 len);
/* An uninitialised payload of the size for @len bytes, freed with the test. */
struct rds_payload *rds_test_payload(struct kunit *test, u32 len);
/* Are bytes @off to @off + @n of @p those of @bytes? */
bool rds_test_same(struct kunit *test, const struct rds_payload *p, const u8 *bytes, u32 off,
		   u32 n);

#endif
