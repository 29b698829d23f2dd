// SPDX-License-Identifier: GPL-2.0
/* Sources of RDS_INFO_*: how they register.  getsockopt's use of them is in rds_copy. */
#include "kunit_rds.h"

static void nothing(struct net *net, struct rds_info_buf *b)
{
}

static void one_source_for_a_code(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, rds_info_register(RDS_INFO_FIRST + 2, 8, 0, nothing), 0);
	KUNIT_EXPECT_EQ(test, rds_info_register(RDS_INFO_FIRST + 2, 8, 0, nothing), -EEXIST);
	rds_info_unregister(RDS_INFO_FIRST + 2);
	KUNIT_EXPECT_EQ(test, rds_info_register(RDS_INFO_FIRST + 2, 8, 0, nothing), 0);
	rds_info_unregister(RDS_INFO_FIRST + 2);
}

static void codes_out_of_range(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rds_info_register(RDS_INFO_FIRST - 1, 8, 0, nothing), -EINVAL);
	KUNIT_EXPECT_EQ(test, rds_info_register(RDS_INFO_LAST + 1, 8, 0, nothing), -EINVAL);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(one_source_for_a_code), KUNIT_CASE(codes_out_of_range), {}};

static struct kunit_suite suite = {.name = "rds_info", .test_cases = cases};
kunit_test_suite(suite);
