// SPDX-License-Identifier: GPL-2.0
#include "order_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using rds::Order;

TEST_F(OrderTest, WhatSaysNothingStaysOnItsPath)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kOrdered);
	say('d', Order::kHalf);
	EXPECT_EQ(letters(*home), "abcd");
	EXPECT_EQ(count(RDS_S_send_order_wait), 0u);
}

TEST_F(OrderTest, UnorderedOnesSpread)
{
	for (char c : {'a', 'b', 'c', 'd', 'e', 'f'})
		say(c, Order::kUnordered);
	EXPECT_EQ(letters(*home).size() + letters(*other).size() + letters(*first).size(), 6u);
	EXPECT_EQ(letters(*home).size(), 2u);
	EXPECT_EQ(letters(*other).size(), 2u);
}

TEST_F(OrderTest, AnUnorderedOneStaysBehindAnOrderedOne)
{
	say('a', Order::kOrdered);
	for (char c : {'b', 'c', 'd'})
		say(c, Order::kUnordered);
	EXPECT_EQ(letters(*home), "abcd");
	catch_up(*home);
	say('e', Order::kUnordered);
	say('f', Order::kUnordered);
	EXPECT_EQ(letters(*home).size(), 5u) << "it was delivered: one stays, one leaves";
}

TEST_F(OrderTest, AnUnorderedOnePassesAHalfOrderedOne)
{
	say('a', Order::kUnordered); /* what is older than the flow counts as ordered */
	catch_up(*home);
	home->sent.clear();
	say('h', Order::kHalf);
	say('u', Order::kUnordered);
	EXPECT_EQ(letters(*home), "h");
	EXPECT_EQ(letters(*other) + letters(*first), "u");
}

/* The barrier is delivery on every other path, not what a transport has. */
TEST_F(OrderTest, OthersWaitForWhatIsAway)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('h', Order::kHalf);
	say('o', Order::kOrdered);
	EXPECT_EQ(letters(*home).size(), 1u);
	EXPECT_EQ(count(RDS_S_send_order_wait), 2u);
	rds_path_acked(other->path, 1 << 20);
	catch_up(*home);
	catch_up(*other);
	EXPECT_EQ(letters(*home).size(), 1u) << "one is still away";
	catch_up(*first);
	EXPECT_EQ(letters(*home).substr(1), "ho");
}

/* One that may not pass an ordered one waits with it, though it is un-ordered itself. */
TEST_F(OrderTest, WhoMayNotPassAWaitingOneWaitsToo)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('o', Order::kOrdered);
	say('u', Order::kUnordered);
	EXPECT_EQ(count(RDS_S_send_order_wait), 2u);
	EXPECT_EQ(letters(*home).size() + letters(*other).size() + letters(*first).size(), 3u);
	for (Wire *w : {home, other, first})
		catch_up(*w);
	EXPECT_EQ(letters(*home).substr(1), "ou");
}

/* A message sent away behind a half-ordered one that waits does not hold that up. */
TEST_F(OrderTest, AHalfOrderedOneWaitsOnlyForOlderOnes)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('h', Order::kHalf);

	uint64_t older[] = {first->path->next_tx_seq() - 1, other->path->next_tx_seq() - 1};

	for (char c : {'d', 'e', 'f'})
		say(c, Order::kUnordered);
	peer_has(*first, older[0]);
	EXPECT_EQ(letters(*home).find('h'), std::string::npos);
	peer_has(*other, older[1]);
	EXPECT_NE(letters(*home).find('h'), std::string::npos);
}

TEST_F(OrderTest, FlowsAreApart)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);

	uint16_t another = port_here(5, static_cast<uint16_t>(port + 1));

	say('o', Order::kOrdered, another);
	EXPECT_NE(letters(*home).find('o'), std::string::npos);
	EXPECT_EQ(count(RDS_S_send_order_wait), 0u);
}

TEST_F(OrderTest, AResetKeepsTheBarrier)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('o', Order::kOrdered);
	other->initiates = true;
	rds_path_drop(other->path, RDS_DROP_ERROR);
	sim::run_ready();
	catch_up(*first);
	catch_up(*home);
	EXPECT_EQ(letters(*home).find('o'), std::string::npos);
	up(*other);
	hello(*other, 8, 2);
	catch_up(*other);
	EXPECT_NE(letters(*home).find('o'), std::string::npos);
}

/* A message that has begun is not taken back: others would wait for something that may still
 * come. */
TEST_F(OrderTest, CancelTakesWhatHasNotBegun)
{
	other->room = 0;
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('o', Order::kOrdered);
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(count(RDS_S_send_cancelled), 1u + 1u)
		<< "the one without room, and the waiting one";
	say('p', Order::kOrdered);
	EXPECT_EQ(letters(*home).find('p'), std::string::npos) << "'a' to 'c' may still arrive";
	for (Wire *w : {first, home})
		catch_up(*w);
	EXPECT_NE(letters(*home).find('p'), std::string::npos);
	EXPECT_EQ(letters(*home).find('o'), std::string::npos);
}

/* The peer may still read the connection that is gone here, whatever is sent elsewhere meanwhile.
 */
TEST_F(OrderTest, NorWhatBeganOnAConnectionThatIsGone)
{
	say('a', Order::kUnordered);
	for (Wire *w : {first, home, other})
		catch_up(*w);
	say('o', Order::kOrdered);
	ASSERT_NE(letters(*home).find('o'), std::string::npos);
	rds_path_drop(home->path, RDS_DROP_ERROR);
	sim::run_ready();
	say('n', Order::kOrdered);
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_EQ(count(RDS_S_send_cancelled), 1u) << "'n' is new";
	say('u', Order::kUnordered);
	for (Wire *w : {first, other})
		EXPECT_EQ(letters(*w).find('u'), std::string::npos) << "it passed 'o'";
}

/* A path that refuses is not asked with every message that it might have carried. */
TEST_F(OrderTest, APathThatIsDownIsCalledNowAndThen)
{
	auto calls = [this] {
		return std::count(other->calls.begin(), other->calls.end(), "connect");
	};

	other->connect_result = -111;
	rds_path_drop(other->path, RDS_DROP_ERROR);
	sim::run_for(1000 * 1000 * 1000);

	auto before = calls();

	for (int i = 0; i < 20; i++)
		say('a', Order::kUnordered);
	EXPECT_EQ(calls(), before + 1);
	sim::run_for(rds::kCallPauseNs);
	for (int i = 0; i < 20; i++)
		say('a', Order::kUnordered);
	EXPECT_EQ(calls(), before + 2);
}

TEST_F(OrderTest, ACloseLeavesNothing)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('o', Order::kOrdered);
	s->close();
	s = std::make_unique<host::Socket>(*net);
	EXPECT_EQ(conn().waiting.load(), 0u);
}

TEST_F(OrderTest, TheHeaderSaysWhichItIs)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);

	std::vector<uint32_t> numbers;

	for (Wire *w : {home, other, first}) {
		for (const auto &f : fake::frames(w->sent)) {
			rds::wire::ExtReader r(f.header);
			rds::wire::ExtView e;

			while (r.next(e))
				if (e.type == rds::wire::Ext::kOrder)
					numbers.push_back(rds::wire::get32(e.data) -
							  rds::wire::get32(e.data + 4));
		}
	}
	std::sort(numbers.begin(), numbers.end());
	EXPECT_EQ(numbers, (std::vector<uint32_t>{0, 1, 2})) << "behind the lowest under way";
}

TEST_F(OrderTest, APeerThatDoesNotKnowHintsGetsEverythingInOrder)
{
	conn().orders.store(false);
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	EXPECT_EQ(letters(*home), "abc");
	for (const auto &f : fake::frames(home->sent))
		EXPECT_EQ(f.header.ext[0], 0);
}

TEST_F(OrderTest, WithoutMemoryHintsAreIgnored)
{
	s->close();
	s = std::make_unique<host::Socket>(*net);
	ASSERT_EQ(s->bind(host::endpoint(a1, 4000)), 0);
	sim::fail_nth(1);
	EXPECT_EQ(rds_socket_set_order(s->core(), 2), -12);
	EXPECT_EQ(rds_socket_order(s->core()), 0u);
	EXPECT_EQ(rds_socket_set_order(s->core(), 3), -22);
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	EXPECT_EQ(rds_socket_order(s->core()), 2u);
	sim::run_ready();
	/* The message and its payload, then the flow. */
	sim::fail_nth(3);
	say('a', Order::kUnordered);
	sim::fail_nth(0);
	EXPECT_EQ(letters(*home), "a");
}

TEST_F(OrderTest, ADeadConnectionDropsWhatWaits)
{
	constexpr unsigned int kMany =
		3 * rds::kQueueStep + 1; /* none goes that would release others */

	s->sock().sndbuf = 1u << 20;
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	for (unsigned int i = 0; i < kMany; i++)
		say('o', Order::kOrdered);
	ASSERT_EQ(conn().waiting.load(), kMany);
	s->sock().sndbuf = 1;
	net->core()->conns.kill_all(nullptr);
	EXPECT_TRUE(rds_socket_writable(s->core())) << "every byte is back";
}

/* A message may not wait on a connection that is about to end: the flow would have nowhere to put
 * it then. */
TEST_F(OrderTest, NobodyWaitsForAConnectionThatEnds)
{
	rds_conn &c = conn();

	for (char letter : {'a', 'b', 'c'})
		say(letter, Order::kUnordered);

	/* As long as it has not been decided it stays for the next that has to wait. */
	c.life.hand_over(rds::Care::kRoom);
	ASSERT_TRUE(c.life.take());
	c.life.retire();
	{
		rds::RcuReader rcu;

		EXPECT_TRUE(home->path->count_waiting());
	}
	EXPECT_TRUE(c.life.is_looked_after());
	EXPECT_EQ(c.waiting.load(), 1u);
	c.waiting.fetch_sub(1);

	/* Now it has, and there is no way back. */
	c.life.retire();
	ASSERT_TRUE(c.life.die());

	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);
	rds::Path *path = nullptr;
	rds::Batch batch;

	m->sock = s->core();
	rds::wire::encode(m->hdr, 0, 4000, port, 0);
	{
		rds::RcuReader rcu;
		auto how = s->core()->send_flows.load()->enqueue(c, m, false, path, batch);

		ASSERT_TRUE(how.ok());
		EXPECT_EQ(how.value(), rds::Queued::kMoved);
	}
	EXPECT_EQ(c.waiting.load(), 0u);
	m->sock = nullptr;
	rds::message_put(m);

	/* Nor would it have ended with what it has to send. */
	c.kill();
	sim::run_ready();
	EXPECT_EQ(told(), "a connection is collected that has to send");
}

/* And the other way round: a connection does not end while a message waits for one of its paths. */
TEST_F(OrderTest, AConnectionThatIsWaitedForDoesNotEnd)
{
	rds_conn &c = conn();
	auto look_after = [&c] {
		c.life.hand_over(rds::Care::kRoom);
		c.wake_worker();
		sim::run_ready();
	};

	for (char letter : {'a', 'b', 'c'})
		say(letter, Order::kUnordered);
	say('o', Order::kOrdered);
	ASSERT_EQ(c.waiting.load(), 1u);
	c.passive.store(true); /* else what is queued would keep it */
	c.net.passive.fetch_add(1);
	for (Wire *w : wires()) {
		w->initiates = false;
		rds_path_drop(w->path, RDS_DROP_SEND);
	}
	sim::run_ready();
	for (Wire *w : wires())
		ASSERT_NE(w->path->state(), rds::PathState::kUp);
	look_after();
	EXPECT_TRUE(c.life.is_in_use());
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 0u);
	s.reset(); /* what began stays until its socket is gone */
	ASSERT_EQ(c.waiting.load(), 0u);
	look_after();
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
	EXPECT_TRUE(wires().empty());
}

/* Its own order counts, whatever its socket's is. */
TEST_F(OrderTest, AMessageMayHaveAnotherOrderThanItsSocket)
{
	auto say_set = [this](unsigned char letter, uint32_t order) {
		struct rds_uio from = {&letter, 1};
		struct rds_endpoint to = endpoint(peer, port);
		struct rds_msg *m = nullptr;

		ASSERT_EQ(rds_msg_create(s->core(), &to, 1, &from, 0, 0, &m), 0);
		ASSERT_EQ(rds_msg_set_order(s->core(), m, order), 0);
		ASSERT_EQ(rds_socket_send(s->core(), &to, m, 0), 0);
		sim::run_ready();
	};

	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	for (unsigned char c : {'a', 'b', 'c'})
		say_set(c, 0);
	EXPECT_EQ(letters(*home), "abc");
	catch_up(*home);
	ASSERT_EQ(rds_socket_set_order(s->core(), 1), 0);
	for (unsigned char c : {'d', 'e', 'f'})
		say_set(c, 2);
	EXPECT_EQ(letters(*home), "abcd");
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	say_set('h', 1);
	EXPECT_EQ(letters(*home), "abcd") << "it waits for what is away";
}

} // namespace
