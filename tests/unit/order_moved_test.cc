// SPDX-License-Identifier: GPL-2.0
/* A path that is chosen and then takes nothing: what was about to leave goes home, as if it had
 * never been chosen. */
#include "order_fixture.h"

namespace
{

using fake::Wire;
using rds::Order;

/* The path with least under way retires as it is chosen, and cannot be kept from it. */
class OrderMoved : public OrderTest
{
protected:
	void SetUp() override
	{
		OrderTest::SetUp();
		say('a', Order::kUnordered);
		ASSERT_EQ(letters(*home), "a");
	}
	void retire()
	{
		for (Wire *w : {first, other})
			w->path->end_ = rds::PathEnd::kRetired;
		conn().fate.store(rds::Fate::kDying);
	}
	void return_to_life()
	{
		for (Wire *w : {first, other})
			w->path->end_ = rds::PathEnd::kNone;
		conn().fate.store(rds::Fate::kWatched);
	}
};

TEST_F(OrderMoved, WhatIsNotTakenGoesHome)
{
	host::Bytes data(20, 'b');

	retire();
	/* By its sender, on the path that has taken it. */
	ASSERT_EQ(s->send(host::endpoint(peer, port), data, false, 2), 0);
	EXPECT_EQ(letters(*home), "ab");
	return_to_life();
	EXPECT_EQ(count(RDS_S_send_order_away), 0u);
	say('c', Order::kUnordered);
	EXPECT_EQ(letters(*first) + letters(*other), "c") << "neither has anything under way";
	for (Wire *w : {first, home, other})
		catch_up(*w);
	EXPECT_EQ(conn().waiting.load(), 0u);
}

/* Both of its kinds wait for nobody afterwards. */
TEST_F(OrderMoved, NothingIsLeftOfTheAttempt)
{
	retire();
	say('b', Order::kUnordered);
	return_to_life();
	say('o', Order::kOrdered);
	EXPECT_EQ(letters(*home), "abo");
	catch_up(*home);
	say('p', Order::kOrdered);
	say('q', Order::kHalf);
	EXPECT_EQ(letters(*home), "abopq");
	EXPECT_EQ(count(RDS_S_send_order_wait), 0u);
}

/* One that belongs to no flow is sent by who sends it, as ever. */
TEST_F(OrderMoved, WithoutAFlowNoWorkerIsWaitedFor)
{
	uint16_t next = port;
	size_t before = letters(*home).size();

	do
		next++;
	while (conn().index_for(4000, next) != 5);
	ASSERT_EQ(s->send(host::endpoint(peer, next), host::Bytes(20, 'o'), false, 0), 0);
	EXPECT_EQ(letters(*home).size(), before + 1);
	sim::run_ready();
}

} // namespace
