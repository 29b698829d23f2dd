/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_mr_policy.h: how many memory regions an adapter is asked for, which kind is for what, and when
 * those that were given back are cleared away.
 *
 * A region given back is "dirty": peers may still reach it, and its pages stay pinned, until the
 * adapter was told to forget its key.  One command for each would cost as much as the use; so they
 * go in batches.  A "clean" one waits to be used again: that saves most of what making one costs.
 *
 * Pure.
 */
#ifndef RDS_IB_MR_POLICY_H
#define RDS_IB_MR_POLICY_H

#include "../../net/platform/types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rds_ib_mr_kind { RDS_IB_MR_8K, RDS_IB_MR_1M, RDS_IB_MR_KINDS };

/* Pages that 8 KiB and 1 MiB can touch. */
#define RDS_IB_MR_8K_PAGES 3U
#define RDS_IB_MR_1M_PAGES 257U

/* Regions whose keys are ended by one chain of work requests. */
#define RDS_IB_MR_BATCH 32

/* Of one adapter, by kind. */
struct rds_ib_mr_limits {
	uint32_t pages[RDS_IB_MR_KINDS]; /* that one region may have */
	uint32_t most[RDS_IB_MR_KINDS];	 /* regions, in use or not */
};

/* Limits by the administrator's wish and the adapter's means: @mrs regions (0: it does not say) of
 * up to
 * @pages pages. */
void rds_ib_mr_limits(struct rds_ib_mr_limits *l, uint32_t want_8k, uint32_t want_1m, uint32_t mrs,
		      uint32_t pages);
/* The kind for memory of @pages pages; RDS_IB_MR_KINDS: none is large enough. */
enum rds_ib_mr_kind rds_ib_mr_kind_for(const struct rds_ib_mr_limits *l, uint32_t pages);
/* So many of a kind are dirty: in how many milliseconds they are to be cleared away. */
uint32_t rds_ib_mr_flush_in(const struct rds_ib_mr_limits *l, enum rds_ib_mr_kind kind,
			    uint32_t dirty);
/* One is wanted, none is clean, and so many are dirty: are they to be cleared away before another
 * one is made? */
int rds_ib_mr_recycles(uint32_t dirty);
/* So many of a kind are clean, of so many that there are: is the one to be used again that has been
 * for longest?  Its old key comes back in 256 uses, and peers may be late. */
int rds_ib_mr_rested(const struct rds_ib_mr_limits *l, enum rds_ib_mr_kind kind, uint32_t clean,
		     uint32_t made);
/* So many of a kind are clean already: is one more to be kept? */
int rds_ib_mr_keeps(const struct rds_ib_mr_limits *l, enum rds_ib_mr_kind kind, uint32_t clean);

#ifdef __cplusplus
}
#endif
#endif
