// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../ping/pinger.h"

using namespace rdstools;

TEST(Pinger, none_is_missed_that_is_sent_in_time)
{
	EXPECT_EQ(missed(10, 100, 100), 0u);
	EXPECT_EQ(missed(10, 100, 109), 0u);
	EXPECT_EQ(missed(10, 100, 110), 0u) << "the next one is due, and is sent at once";
	EXPECT_EQ(missed(10, 100, 119), 0u);
	EXPECT_EQ(missed(0, 100, 5000), 0u) << "they are sent as fast as it goes";
}

TEST(Pinger, all_but_the_last_that_were_due_in_a_pause_are_missed)
{
	EXPECT_EQ(missed(10, 100, 120), 1u);
	EXPECT_EQ(missed(10, 100, 129), 1u);
	EXPECT_EQ(missed(10, 100, 200), 9u) << "110 to 190; that of 200 is sent";
}
