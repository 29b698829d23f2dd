// SPDX-License-Identifier: GPL-2.0
/*
 * ib_mr_policy_test.cc: limits of memory regions, which kind is for what, when dirty ones go.
 */
#include <gtest/gtest.h>

#include "transports/ib/ib_mr_policy.h"

namespace
{

constexpr uint32_t kWant8k = 348160, kWant1m = 4096, kPages = 512;

struct rds_ib_mr_limits limits(uint32_t mrs = 0, uint32_t pages = kPages)
{
	struct rds_ib_mr_limits l;

	rds_ib_mr_limits(&l, kWant8k, kWant1m, mrs, pages);
	return l;
}

TEST(IbMrPolicy, WhatIsWantedIsTakenWhereTheAdapterDoesNotSay)
{
	struct rds_ib_mr_limits l = limits();

	EXPECT_EQ(l.most[RDS_IB_MR_8K], kWant8k);
	EXPECT_EQ(l.most[RDS_IB_MR_1M], kWant1m);
	EXPECT_EQ(l.pages[RDS_IB_MR_8K], 3u);
	EXPECT_EQ(l.pages[RDS_IB_MR_1M], 257u);
}

TEST(IbMrPolicy, NoMoreThanTheAdapterHas)
{
	struct rds_ib_mr_limits l = limits(1000);

	EXPECT_EQ(l.most[RDS_IB_MR_1M], 500u);
	EXPECT_EQ(l.most[RDS_IB_MR_8K], 500u);
	l = limits(100000);
	EXPECT_EQ(l.most[RDS_IB_MR_1M], kWant1m);
	EXPECT_EQ(l.most[RDS_IB_MR_8K], 100000 - kWant1m);
}

TEST(IbMrPolicy, TheKindIsTheSmallestThatFits)
{
	struct rds_ib_mr_limits l = limits();

	EXPECT_EQ(rds_ib_mr_kind_for(&l, 1), RDS_IB_MR_8K);
	EXPECT_EQ(rds_ib_mr_kind_for(&l, 3), RDS_IB_MR_8K);
	EXPECT_EQ(rds_ib_mr_kind_for(&l, 4), RDS_IB_MR_1M);
	EXPECT_EQ(rds_ib_mr_kind_for(&l, 257), RDS_IB_MR_1M);
	EXPECT_EQ(rds_ib_mr_kind_for(&l, 258), RDS_IB_MR_KINDS);
}

TEST(IbMrPolicy, AnAdapterWithShortListsHasSmallerRegions)
{
	struct rds_ib_mr_limits l = limits(0, 64);

	EXPECT_EQ(rds_ib_mr_kind_for(&l, 64), RDS_IB_MR_1M);
	EXPECT_EQ(rds_ib_mr_kind_for(&l, 65), RDS_IB_MR_KINDS);
}

TEST(IbMrPolicy, AnAdapterThatHasNoneHasNone)
{
	struct rds_ib_mr_limits l = {};

	EXPECT_EQ(rds_ib_mr_kind_for(&l, 1), RDS_IB_MR_KINDS);
	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_8K, 1), 0u);
}

TEST(IbMrPolicy, FewDirtyOnesWaitForCompany)
{
	struct rds_ib_mr_limits l = limits();

	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_8K, 1), 1000u);
	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_1M, 1), 1000u);
}

TEST(IbMrPolicy, ManyDoNotBecauseTheirPagesArePinned)
{
	struct rds_ib_mr_limits l = limits();

	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_8K, 2729), 1000u);
	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_8K, 2730), 0u);
	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_1M, 30), 1000u);
	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_1M, 31), 0u);
}

TEST(IbMrPolicy, NorWhenAQuarterOfAllIsDirty)
{
	struct rds_ib_mr_limits l = limits(40);

	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_8K, 5), 1000u);
	EXPECT_EQ(rds_ib_mr_flush_in(&l, RDS_IB_MR_8K, 6), 0u);
}

TEST(IbMrPolicy, ABatchIsClearedRatherThanOneMoreMade)
{
	EXPECT_FALSE(rds_ib_mr_recycles(RDS_IB_MR_BATCH - 1));
	EXPECT_TRUE(rds_ib_mr_recycles(RDS_IB_MR_BATCH));
}

TEST(IbMrPolicy, AQuarterIsKeptCleanAndAFewInAnyCase)
{
	struct rds_ib_mr_limits l = limits();

	EXPECT_TRUE(rds_ib_mr_keeps(&l, RDS_IB_MR_1M, 1023));
	EXPECT_FALSE(rds_ib_mr_keeps(&l, RDS_IB_MR_1M, 1024));
	l = limits(40);
	EXPECT_TRUE(rds_ib_mr_keeps(&l, RDS_IB_MR_8K, 31));
	EXPECT_FALSE(rds_ib_mr_keeps(&l, RDS_IB_MR_8K, 32));
}

/* So an old key is not valid again before as many others were. */
TEST(IbMrPolicy, ACleanOneRestsWhileOthersAreUsed)
{
	struct rds_ib_mr_limits l = limits();

	EXPECT_FALSE(rds_ib_mr_rested(&l, RDS_IB_MR_1M, 1, 1));
	EXPECT_FALSE(rds_ib_mr_rested(&l, RDS_IB_MR_1M, 31, 4095));
	EXPECT_TRUE(rds_ib_mr_rested(&l, RDS_IB_MR_1M, 32, 32));
	/* Where there may be no more it has to be used. */
	EXPECT_TRUE(rds_ib_mr_rested(&l, RDS_IB_MR_1M, 1, 4096));
}

} // namespace
