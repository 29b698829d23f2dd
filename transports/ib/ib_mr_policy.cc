// SPDX-License-Identifier: GPL-2.0
/*
 * ib_mr_policy.cc: see ib_mr_policy.h.
 */
#include "ib_mr_policy.h"

#include "ib_numbers.h"

namespace
{

using rds::ib::larger;
using rds::ib::smaller;

/* Pinned pages of dirty regions that are worth a command at once: 32 MiB. */
constexpr uint32_t kManyPages = 8192;
/* Few dirty ones wait so long for company, ms. */
constexpr uint32_t kWaitMs = 1000;
/* Kept for the next burst, however small the limit; and so many are used before one is again. */
constexpr uint32_t kLeastKept = 32;

} // namespace

extern "C" {

/* Others use the adapter's, too; but of large ones it takes no more than half. */
void rds_ib_mr_limits(struct rds_ib_mr_limits *l, uint32_t want_8k, uint32_t want_1m, uint32_t mrs,
		      uint32_t pages)
{
	l->pages[RDS_IB_MR_8K] = smaller(RDS_IB_MR_8K_PAGES, pages);
	l->pages[RDS_IB_MR_1M] = smaller(RDS_IB_MR_1M_PAGES, pages);
	l->most[RDS_IB_MR_1M] = mrs ? smaller(want_1m, mrs / 2) : want_1m;
	l->most[RDS_IB_MR_8K] = mrs ? smaller(want_8k, mrs - l->most[RDS_IB_MR_1M]) : want_8k;
}

enum rds_ib_mr_kind rds_ib_mr_kind_for(const struct rds_ib_mr_limits *l, uint32_t pages)
{
	if (pages <= l->pages[RDS_IB_MR_8K])
		return RDS_IB_MR_8K;
	return pages <= l->pages[RDS_IB_MR_1M] ? RDS_IB_MR_1M : RDS_IB_MR_KINDS;
}

uint32_t rds_ib_mr_flush_in(const struct rds_ib_mr_limits *l, enum rds_ib_mr_kind kind,
			    uint32_t dirty)
{
	bool many = dirty >= kManyPages / (l->pages[kind] ? l->pages[kind] : 1);

	return many || dirty > l->most[kind] / 4 ? 0 : kWaitMs;
}

/* A whole batch costs less than making so many regions does, and lets go of memory. */
int rds_ib_mr_recycles(uint32_t dirty)
{
	return dirty >= RDS_IB_MR_BATCH;
}

int rds_ib_mr_rested(const struct rds_ib_mr_limits *l, enum rds_ib_mr_kind kind, uint32_t clean,
		     uint32_t made)
{
	return clean >= kLeastKept || made >= l->most[kind];
}

int rds_ib_mr_keeps(const struct rds_ib_mr_limits *l, enum rds_ib_mr_kind kind, uint32_t clean)
{
	return clean < larger(l->most[kind] / 4, kLeastKept);
}

} // extern "C"
