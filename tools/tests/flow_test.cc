// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../stress/flow.h"

using namespace rdstools;

TEST(Flow, keeps_to_its_depth)
{
	Flow flow(2);

	EXPECT_TRUE(flow.may_request());
	EXPECT_EQ(flow.next_request(), 1u);
	flow.request_sent(100);
	flow.request_sent(200);
	EXPECT_FALSE(flow.may_request());
	EXPECT_EQ(flow.outstanding(), 2u);
	EXPECT_EQ(flow.ack_received(1, 150), 50u);
	EXPECT_TRUE(flow.may_request());
	EXPECT_EQ(flow.next_request(), 3u);
}

TEST(Flow, measures_every_round_trip_by_its_own_request)
{
	Flow flow(3);

	for (std::uint64_t i = 1; i <= 1000; i++) {
		flow.request_sent(i * 10);
		EXPECT_EQ(flow.ack_received(i, i * 10 + i), i);
	}
	EXPECT_EQ(flow.outstanding(), 0u);
	EXPECT_EQ(flow.sent(), 1000u);
}

TEST(Flow, refuses_an_ack_out_of_turn)
{
	Flow flow(4);

	EXPECT_FALSE(flow.ack_received(1, 0)); /* nothing was sent */
	flow.request_sent(1);
	flow.request_sent(2);
	EXPECT_FALSE(flow.ack_received(2, 5)); /* 1 is missing */
	EXPECT_TRUE(flow.ack_received(1, 5));
	EXPECT_FALSE(flow.ack_received(1, 5)); /* twice */
	EXPECT_TRUE(flow.ack_received(2, 5));
	EXPECT_FALSE(flow.ack_received(3, 5)); /* nothing left */
}

TEST(Flow, refuses_a_request_out_of_turn)
{
	Flow flow(4);

	EXPECT_TRUE(flow.request_received(1));
	EXPECT_FALSE(flow.request_received(1)); /* twice */
	EXPECT_FALSE(flow.request_received(3)); /* 2 is missing */
	EXPECT_TRUE(flow.request_received(2));
	EXPECT_EQ(flow.next_expected(), 3u);
}

TEST(Flow, answers_in_order_and_not_more_than_depth_at_once)
{
	Flow flow(2);

	EXPECT_FALSE(flow.ack_due());
	EXPECT_TRUE(flow.request_received(1));
	EXPECT_TRUE(flow.request_received(2));
	EXPECT_FALSE(flow.request_received(3)); /* the peer exceeds its depth */
	EXPECT_TRUE(flow.ack_due());
	EXPECT_EQ(flow.due_ack(), 1u);
	flow.ack_sent();
	EXPECT_EQ(flow.due_ack(), 2u);
	EXPECT_TRUE(flow.request_received(3));
	flow.ack_sent();
	flow.ack_sent();
	EXPECT_FALSE(flow.ack_due());
}

TEST(Flow, one_way_knows_neither_acks_nor_depth)
{
	Flow flow(0);

	for (std::uint64_t i = 1; i <= 100; i++) {
		EXPECT_TRUE(flow.may_request());
		flow.request_sent(i);
		EXPECT_TRUE(flow.request_received(i));
	}
	EXPECT_FALSE(flow.ack_due());
	EXPECT_FALSE(flow.ack_received(1, 5));
	EXPECT_EQ(flow.outstanding(), 0u);
	EXPECT_EQ(flow.received(), 100u);
}
