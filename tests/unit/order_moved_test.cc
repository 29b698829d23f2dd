// SPDX-License-Identifier: GPL-2.0
/* A path that is chosen and then takes nothing: what was about to leave goes home, or to another
 * connection, as if the path had never been chosen. */
#include "order_fixture.h"

namespace
{

using fake::Wire;
using rds::Lifecycle;
using rds::Order;

/* A flow whose home is path 0, which is not the one with least under way. */
class OrderMoved : public OrderTest
{
protected:
	void SetUp() override
	{
		OrderTest::SetUp();
		from_first = port_here(0);
		busy = port_here(0, static_cast<uint16_t>(from_first + 1));
		say('a', Order::kUnordered, from_first);
		ASSERT_EQ(letters(*first), "a");
	}
	rds::Flow &flow()
	{
		rds::Flows *all = s->core()->send_flows.load();

		for (auto &b : all->buckets_)
			for (rds::Flow *f = b.front(); f; f = b.next(f))
				if (f->port == from_first)
					return *f;
		sim::fail("there is no flow");
	}
	void catch_up_all()
	{
		for (Wire *w : {first, home, other})
			catch_up(*w);
	}
	size_t on_others()
	{
		return letters(*home).size() + letters(*other).size();
	}
	/* As its socket does. */
	rds::Queued enqueue(rds::Message *m, Order order)
	{
		rds::RcuReader rcu;
		rds::Path *path = nullptr;
		rds::Batch batch;

		m->sock = s->core();
		m->flags = order == Order::kUnordered ? rds::kMsgUnordered : 0;
		rds::wire::encode(m->hdr, 0, 4000, from_first, 0);

		auto how = s->core()->send_flows.load()->enqueue(conn(), m, false, path, batch);

		EXPECT_TRUE(how.ok());
		EXPECT_EQ(path, first->path);
		return how.value();
	}
	uint16_t from_first, busy;
};

/* A fold comes after the path was chosen, and before it was asked. */
TEST_F(OrderMoved, WhatIsNotTakenGoesHome)
{
	size_t away = 0, stayed = 0;

	for (unsigned int round = 0; round < 300; round++) {
		const size_t others = on_others(), all = others + letters(*first).size();

		say('x', Order::kOrdered, busy); /* under way on the first */
		sim::options().preempt_per_1000 = 300;
		sim::spawn("send", [&] {
			host::Bytes data(20, 'b');

			EXPECT_EQ(s->send(host::endpoint(peer, from_first), data, false, 2), 0);
		});
		sim::spawn("close", [&] { spread_over(1); });
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		spread_over(8);
		ASSERT_EQ(on_others() + letters(*first).size(), all + 2) << "round " << round;
		(on_others() == others ? stayed : away)++;
		ASSERT_EQ(count(RDS_S_send_order_away), away) << "round " << round;
		ASSERT_EQ(flow().away.empty(), on_others() == others) << "round " << round;
		catch_up_all();
		/* Nobody waits for what is not away. */
		say('o', Order::kOrdered, from_first);
		ASSERT_EQ(letters(*first).back(), 'o') << "round " << round;
		ASSERT_EQ(count(RDS_S_send_order_wait), 0u);
		catch_up_all();
		ASSERT_EQ(flow().low.load(), flow().next) << "round " << round;
	}
	EXPECT_GT(away, 0u);
	EXPECT_GT(stayed, 0u);
	EXPECT_EQ(conn().waiting.load(), 0u);
}

/* The connection ends, and none of its paths takes anything: both of its kinds wait for nobody
 * afterwards. */
TEST_F(OrderMoved, NothingIsLeftOfTheAttempt)
{
	const uint32_t next = flow().next, low = flow().low.load();
	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	ASSERT_NE(m, nullptr);
	conn().life.state_.store(Lifecycle::State::kDying);
	for (Order order : {Order::kUnordered, Order::kOrdered}) {
		EXPECT_EQ(enqueue(m, order), rds::Queued::kMoved);
		EXPECT_EQ(flow().next, next);
		EXPECT_EQ(flow().low.load(), low);
		EXPECT_TRUE(flow().away.empty());
		EXPECT_EQ(m->flags & rds::kMsgInFlow, 0);
	}
	EXPECT_EQ(count(RDS_S_send_order_away), 0u);
	m->sock = nullptr;
	rds::message_put(m);
	conn().life.state_.store(Lifecycle::State::kInUse);
	say('o', Order::kOrdered, from_first);
	EXPECT_EQ(letters(*first), "ao");
	catch_up(*first);
	say('p', Order::kOrdered, from_first);
	say('q', Order::kHalf, from_first);
	EXPECT_EQ(letters(*first), "aopq");
	EXPECT_EQ(count(RDS_S_send_order_wait), 0u);
	EXPECT_EQ(conn().waiting.load(), 0u);
	catch_up(*first);
	say('c', Order::kUnordered, busy);
	say('d', Order::kUnordered, from_first);
	EXPECT_EQ(on_others(), 1u) << "neither has anything under way";
}

/* One that belongs to no flow is sent by who sends it, as ever. */
TEST_F(OrderMoved, WithoutAFlowNoWorkerIsWaitedFor)
{
	const uint16_t next = port_here(5, static_cast<uint16_t>(port + 1));
	const size_t before = letters(*home).size();

	ASSERT_EQ(s->send(host::endpoint(peer, next), host::Bytes(20, 'o'), false, 0), 0);
	EXPECT_EQ(letters(*home).size(), before + 1);
	sim::run_ready();
}

} // namespace
