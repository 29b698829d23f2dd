// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../lib/error.h"
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

TEST(Flow, unordered_requests_come_as_they_like_but_once)
{
	Flow flow(4, parse_order("unordered"));

	EXPECT_TRUE(flow.request_received(3));
	EXPECT_TRUE(flow.request_received(1));
	EXPECT_FALSE(flow.request_received(3));
	EXPECT_TRUE(flow.request_received(2));
	EXPECT_EQ(flow.received(), 3u);
	EXPECT_EQ(flow.due_ack(), 3u); /* the first that came */
}

TEST(Flow, a_half_ordered_request_waits_for_all_and_holds_nobody_up)
{
	Flow flow(8, parse_order("half:4"));

	EXPECT_TRUE(flow.request_received(1));
	EXPECT_TRUE(flow.request_received(6));	/* overtakes 4, which is half-ordered */
	EXPECT_FALSE(flow.request_received(4)); /* 2 and 3 are missing */
	EXPECT_TRUE(flow.request_received(3));
	EXPECT_TRUE(flow.request_received(2));
	EXPECT_TRUE(flow.request_received(4));
	EXPECT_TRUE(flow.request_received(5));
	EXPECT_EQ(flow.next_expected(), 7u);
}

TEST(Flow, nobody_overtakes_an_ordered_request)
{
	Flow flow(8, parse_order("ordered:4"));

	EXPECT_TRUE(flow.request_received(2));
	EXPECT_FALSE(flow.request_received(5));
	EXPECT_FALSE(flow.request_received(4));
	EXPECT_TRUE(flow.request_received(1));
	EXPECT_TRUE(flow.request_received(3));
	EXPECT_TRUE(flow.request_received(4));
	EXPECT_TRUE(flow.request_received(7));
}

TEST(Flow, acks_of_unordered_requests_free_the_oldest_place)
{
	Flow flow(2, parse_order("unordered"));

	flow.request_sent(10);
	flow.request_sent(20);
	EXPECT_EQ(flow.ack_received(2, 25), 5u);
	EXPECT_EQ(flow.outstanding(), 1u);
	EXPECT_FALSE(flow.may_request()); /* its place is the first one's, too */
	EXPECT_FALSE(flow.ack_received(2, 30));
	EXPECT_EQ(flow.ack_received(1, 30), 20u);
	EXPECT_TRUE(flow.may_request());
}

TEST(Order, is_what_the_command_line_says)
{
	EXPECT_EQ(parse_order("ordered").hint(7), 0u);
	EXPECT_EQ(parse_order("unordered").hint(7), 2u);
	EXPECT_EQ(parse_order("half:8").hint(8), 1u);
	EXPECT_EQ(parse_order("half:8").hint(9), 2u);
	EXPECT_EQ(parse_order("ordered:8").hint(16), 0u);
	for (const char *wrong : {"", "half", "half:", "half:0", "half:x", "half:9999999", "un:3",
				  "unordered:3", "ordered:1 "})
		EXPECT_THROW(parse_order(wrong), Error) << wrong;
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
