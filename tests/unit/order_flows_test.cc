// SPDX-License-Identifier: GPL-2.0
/* Flows in detail: which path exactly, which numbers, how many flows, and what counts. */
#include "order_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using rds::Order;

class OrderFlows : public OrderTest
{
protected:
	/* A header's account of its flow. */
	struct Says {
		char letter;
		uint32_t number, low;
	};
	/* Of all that left, in the order of the paths. */
	std::vector<Says> said()
	{
		std::vector<Says> out;

		for (Wire *w : {home, first, other}) {
			for (const auto &f : fake::frames(w->sent)) {
				rds::wire::ExtReader r(f.header);
				rds::wire::ExtView e;

				while (!f.data.empty() && r.next(e))
					if (e.type == rds::wire::Ext::kOrder)
						out.push_back({static_cast<char>(f.data[0]),
							       rds::wire::get32(e.data),
							       rds::wire::get32(e.data + 4)});
			}
		}
		std::sort(out.begin(), out.end(),
			  [](const Says &a, const Says &b) { return a.letter < b.letter; });
		return out;
	}
	Says said_of(char letter)
	{
		for (const Says &x : said())
			if (x.letter == letter)
				return x;
		ADD_FAILURE() << letter << " says nothing";
		return {};
	}
	/* A port whose home is the same as port's, @n of them later. */
	uint16_t further(unsigned int n)
	{
		uint16_t p = port;

		for (n++; n; n -= conn().fan.index_for(4000, p) == 5)
			p++;
		return p;
	}
	void catch_up_all()
	{
		for (Wire *w : {first, home, other})
			catch_up(*w);
	}
	unsigned int in_send_queues(uint16_t to)
	{
		std::pair<uint16_t, unsigned int> found = {to, 0};

		host::info_messages(
			net->core(), RDS_QUEUE_SEND,
			[](void *arg, const struct rds_msg_info *i) {
				auto *f = static_cast<std::pair<uint16_t, unsigned int> *>(arg);

				f->second += i->fport == f->first && i->lport == 4000 &&
					     i->faddr.w[1] == host::addr4(0).w[1];
			},
			&found);
		return found.second;
	}
};

/* Where least is under way; of those that are alike home, then the lowest. */
TEST_F(OrderFlows, TheLeastLoadedIsTaken)
{
	for (char c : {'a', 'b', 'c', 'd', 'e', 'f'})
		say(c, Order::kUnordered);
	EXPECT_EQ(letters(*home), "ad");
	EXPECT_EQ(letters(*first), "be");
	EXPECT_EQ(letters(*other), "cf");
	EXPECT_EQ(count(RDS_S_send_order_away), 4u);
	catch_up(*other);
	say('g', Order::kUnordered);
	say('h', Order::kUnordered);
	say('i', Order::kUnordered);
	EXPECT_EQ(letters(*other), "cfgh");
	EXPECT_EQ(letters(*home), "adi");
	EXPECT_EQ(count(RDS_S_send_order_away), 6u);
}

TEST_F(OrderFlows, AHomeThatIsDownIsNotTheLeastLoaded)
{
	say('a', Order::kUnordered);
	catch_up_all();
	home->initiates = false;
	rds_path_drop(home->path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	ASSERT_NE(home->path->state(), rds::PathState::kUp);
	say('b', Order::kUnordered);
	EXPECT_EQ(letters(*first), "b");
	EXPECT_FALSE(home->path->has_queued());
}

TEST_F(OrderFlows, NothingLeavesWhileTheGateIsShut)
{
	say('a', Order::kUnordered);
	set_gate(true);
	say('b', Order::kUnordered);
	say('c', Order::kUnordered);
	EXPECT_EQ(letters(*first) + letters(*other), "");
	EXPECT_EQ(count(RDS_S_send_order_away), 0u);
	set_gate(false);
}

/* The first that may leave has all paths made. */
TEST_F(OrderFlows, AllPathsAreAskedForOnce)
{
	ASSERT_EQ(wires().size(), 3u);
	say('a', Order::kOrdered);
	say('b', Order::kHalf);
	EXPECT_EQ(wires().size(), 3u);
	say('c', Order::kUnordered);
	EXPECT_EQ(wires().size(), 8u);
}

/* Over one path there is nothing that a flow could be for. */
TEST_F(OrderFlows, OnePathHasNone)
{
	spread_over(1);
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	EXPECT_EQ(letters(*first), "abc");
	EXPECT_TRUE(said().empty());
	spread_over(8);
}

/* Messages sent before the flow began count as ordered, up to their last number and not beyond. */
TEST_F(OrderFlows, OlderOnesAreWaitedFor)
{
	say('x', Order::kOrdered);

	uint64_t last = home->path->next_tx_seq() - 1;

	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	EXPECT_EQ(letters(*home), "xabc");
	peer_has(*home, last - 1);
	say('d', Order::kUnordered);
	EXPECT_EQ(letters(*home), "xabcd");
	peer_has(*home, last);
	say('e', Order::kUnordered);
	EXPECT_EQ(letters(*home), "xabcd");
	EXPECT_EQ(letters(*first), "e");
}

/* A sender that does not know of hints may be in the midst of a message: a grace period. */
TEST_F(OrderFlows, NoneBeginsAtOnce)
{
	host::Socket t(*net);
	const auto to = host::endpoint(peer, port);
	host::Bytes data(20, 'u');

	ASSERT_EQ(t.bind(host::endpoint(a1, 4000 + 4096)), 0);
	ASSERT_EQ(rds_socket_set_order(t.core(), 2), 0);
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(t.send(to, data, false, 2), 0);
	EXPECT_EQ(count(RDS_S_send_order_away), 0u);
	EXPECT_EQ(wires().size(), 3u);
	sim::run_ready();
	catch_up_all();
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(t.send(to, data, false, 2), 0);
	EXPECT_GT(count(RDS_S_send_order_away), 0u);
	sim::run_ready();
}

/* Numbers count what was sent, low is the oldest that is under way: exactly. */
TEST_F(OrderFlows, NumbersAndTheLowestUnderWay)
{
	for (char c : {'a', 'b', 'c'}) /* home, first, other */
		say(c, Order::kUnordered);

	uint32_t base = said_of('a').number;

	EXPECT_EQ(said_of('a').low, base);
	EXPECT_EQ(said_of('b').number, base + 1);
	EXPECT_EQ(said_of('b').low, base);
	EXPECT_EQ(said_of('c').number, base + 2);
	catch_up(*first); /* b */
	say('d', Order::kUnordered);
	EXPECT_EQ(said_of('d').number, base + 3);
	EXPECT_EQ(said_of('d').low, base) << "a is the oldest";
	catch_up(*home); /* a */
	say('e', Order::kUnordered);
	EXPECT_EQ(said_of('e').number, base + 4);
	EXPECT_EQ(said_of('e').low, base + 2) << "c is";
	say('o', Order::kOrdered); /* waits for c, d and e; it has the number 5 */
	EXPECT_EQ(letters(*home).find('o'), std::string::npos);
	catch_up_all();
	EXPECT_EQ(said_of('o').number, base + 5);
	EXPECT_EQ(said_of('o').low, base + 5);
	catch_up_all();
	say('p', Order::kOrdered);
	EXPECT_EQ(said_of('p').number, base + 6);
	EXPECT_EQ(said_of('p').low, base + 6);
}

/* One that has waited comes to its home behind younger ones that did not have to: it is under way
 * all the same, until it leaves, and what the others say of the lowest has to know. */
TEST_F(OrderFlows, TheLowestMayHaveWaited)
{
	for (char c : {'a', 'b', 'c'}) /* home, first, other */
		say(c, Order::kUnordered);

	const uint32_t base = said_of('a').number;
	const uint64_t a = home->path->next_tx_seq() - 1;

	say('h', Order::kHalf); /* waits for b and c */
	ASSERT_EQ(conn().waiting.load(), 1u);
	say('d', Order::kUnordered);
	ASSERT_EQ(letters(*home), "ad");
	peer_has(*home, a);
	catch_up(*first);
	catch_up(*other);
	ASSERT_EQ(letters(*home), "adh");
	EXPECT_EQ(said_of('h').number, base + 3);
	EXPECT_EQ(said_of('h').low, base + 3) << "its own: d, before it, is younger";
	say('x', Order::kHalf);
	EXPECT_EQ(said_of('x').low, base + 3);
	peer_has(*home, a + 1); /* d */
	say('y', Order::kHalf);
	EXPECT_EQ(said_of('y').low, base + 3);
	peer_has(*home, a + 2); /* h */
	say('z', Order::kHalf);
	EXPECT_EQ(said_of('z').low, said_of('x').number);
	catch_up_all();
}

/* A number is used once, whoever waited or was refused. */
TEST_F(OrderFlows, NumbersFollowEachOther)
{
	std::vector<uint32_t> numbers;

	for (int i = 0; i < 30; i++) {
		char c = static_cast<char>('A' + i);

		say(c, i % 5 == 3   ? Order::kOrdered
		       : i % 5 == 4 ? Order::kHalf
				    : Order::kUnordered);
		if (i % 7 == 6)
			catch_up_all();
	}
	for (int i = 0; i < 10; i++)
		catch_up_all();
	EXPECT_EQ(conn().waiting.load(), 0u);
	for (const Says &x : said()) {
		numbers.push_back(x.number - said_of('A').number);
		EXPECT_LE(x.low - said_of('A').number, x.number - said_of('A').number);
	}
	ASSERT_EQ(numbers.size(), 30u);
	for (uint32_t i = 0; i < 30; i++)
		EXPECT_EQ(numbers[i], i);
}

TEST_F(OrderFlows, WhatWaitsIsCountedAndShown)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	EXPECT_EQ(conn().waiting.load(), 0u);
	say('o', Order::kOrdered);
	say('p', Order::kHalf);
	EXPECT_EQ(conn().waiting.load(), 2u);
	EXPECT_EQ(count(RDS_S_send_order_wait), 2u);
	EXPECT_EQ(in_send_queues(port), 2u);
	catch_up_all();
	EXPECT_EQ(conn().waiting.load(), 0u);
	EXPECT_EQ(in_send_queues(port), 0u);
	EXPECT_EQ(letters(*home), "aop");
}

/* However many have waited, one hold of the lock sends few of them home; the rest follows as those
 * leave, and what is sent meanwhile waits behind it. */
TEST_F(OrderFlows, ManyGoHomeInSteps)
{
	constexpr unsigned int kMany = 3 * rds::kQueueStep;
	std::string expected = "a";

	s->sock().sndbuf = 1u << 20;
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	for (unsigned int i = 0; i < kMany; i++) {
		expected += static_cast<char>('d' + i % 20);
		say(expected.back(), i % 2 ? Order::kOrdered : Order::kHalf);
	}
	catch_up(*first);
	ASSERT_EQ(conn().waiting.load(), kMany);
	catch_up(*other);
	EXPECT_EQ(conn().waiting.load(), kMany - rds::kQueueStep);
	expected += "yz";
	say('y', Order::kOrdered);
	say('z', Order::kUnordered);
	EXPECT_EQ(conn().waiting.load(), kMany - rds::kQueueStep + 2);
	for (unsigned int i = 0; i < 3; i++)
		catch_up_all();
	EXPECT_EQ(conn().waiting.load(), 0u);
	EXPECT_EQ(letters(*home), expected);
	catch_up_all();
	EXPECT_TRUE(s->core()->snd_space.empty());
}

/* By port, and of this socket's flows to this peer only. */
TEST_F(OrderFlows, CancelTakesOnePortsOwn)
{
	uint16_t another = further(1);

	for (uint16_t p : {port, another}) {
		for (char c : {'a', 'b', 'c'})
			say(c, Order::kUnordered, p);
		say(p == port ? 'o' : 'p', Order::kOrdered, p);
		catch_up(*home); /* a flow begins behind what is there */
	}
	ASSERT_EQ(conn().waiting.load(), 2u);

	const auto to = host::endpoint(peer, another);

	rds_socket_cancel(s->core(), &to);
	EXPECT_EQ(count(RDS_S_send_cancelled), 1u);
	EXPECT_EQ(conn().waiting.load(), 1u);
	EXPECT_EQ(in_send_queues(port), 1u);
	EXPECT_EQ(in_send_queues(another), 0u);
	catch_up_all();
	EXPECT_NE(letters(*home).find('o'), std::string::npos);
	EXPECT_EQ(letters(*home).find('p'), std::string::npos);
	EXPECT_FALSE(s->core()->snd_space.empty()) << "o is under way";
	catch_up_all();
	EXPECT_TRUE(s->core()->snd_space.empty());
}

/* More flows than are kept: those under way stay, those that are idle go. */
TEST_F(OrderFlows, IdleOnesAreForgotten)
{
	constexpr unsigned int kMany = 300;
	size_t least = SIZE_MAX, most = 0;

	s->sock().sndbuf = 1u << 20;
	for (unsigned int i = 0; i < kMany; i++) {
		say('u', Order::kUnordered, further(i));
		catch_up_all();
		if (i < 100)
			continue;
		least = std::min(least, host::usage().blocks);
		most = std::max(most, host::usage().blocks);
	}
	EXPECT_LE(most - least, 64u) << "a flow is one allocation";
	EXPECT_GE(most - least, 60u) << "and they are not searched for with every message";
}

TEST_F(OrderFlows, ThoseUnderWayAreKept)
{
	constexpr unsigned int kMany = 200;

	s->sock().sndbuf = 1u << 20;
	/* Down, so that all go elsewhere. */
	home->initiates = false;
	rds_path_drop(home->path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	for (unsigned int i = 0; i < kMany; i++)
		say('u', Order::kUnordered, further(i));
	ASSERT_EQ(letters(*first).size() + letters(*other).size(), kMany);
	for (unsigned int i = 0; i < kMany; i++)
		say('o', Order::kOrdered, further(i));
	EXPECT_EQ(conn().waiting.load(), kMany) << "each for what is away in its own flow";
	catch_up(*first);
	catch_up(*other);
	EXPECT_EQ(conn().waiting.load(), 0u);
	up(*home);
	ASSERT_EQ(hello(*home, 8, 5), RDS_RECV_SKIP);
	EXPECT_EQ(letters(*home), std::string(kMany, 'o'));
	catch_up_all();
	EXPECT_TRUE(s->core()->snd_space.empty());
}

/* The path that chose itself by the port could not be made: path 0 carries what waited. */
TEST_F(OrderFlows, WithoutAHomeTheFirstCarries)
{
	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('o', Order::kOrdered);

	rds_path *mine = conn().paths[5].exchange(nullptr);

	catch_up(*first);
	EXPECT_EQ(conn().waiting.load(), 1u);
	catch_up(*other);
	EXPECT_EQ(conn().waiting.load(), 0u);
	EXPECT_EQ(letters(*first), "bo");
	conn().paths[5].store(mine);
	/* It is away: what is ordered behind it waits, what is not may not pass. */
	say('p', Order::kOrdered);
	say('u', Order::kUnordered);
	EXPECT_EQ(conn().waiting.load(), 2u);
	catch_up(*first);
	EXPECT_EQ(letters(*home), "apu");
}

/* They have no number yet, so a flow would not know of them. */
TEST_F(OrderFlows, NoneBeginsBeforeWhatWaitsForAFullPort)
{
	host::Bytes map(rds::kCongMapBytes), clear(rds::kCongMapBytes);
	host::Socket t(*net); /* without hints: its messages step aside */

	ASSERT_EQ(t.bind(host::endpoint(a1, 4000 + 4096)), 0);
	map[port / 8] = static_cast<unsigned char>(1 << port % 8);

	bool home_of_t = conn().fan.index_for(4000 + 4096, port) == 5;

	ASSERT_TRUE(home_of_t);
	home->room = 0;
	ASSERT_EQ(t.send(host::endpoint(peer, port), host::Bytes(20, 'x')), 0);
	ASSERT_EQ(t.send(host::endpoint(peer, port), host::Bytes(20, 'y')), 0);
	ASSERT_EQ(fake::arrive(first->path, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	home->room = SIZE_MAX;
	rds_path_writable(home->path);
	sim::run_ready();
	ASSERT_TRUE(home->path->holds(port));
	ASSERT_EQ(fake::arrive(first->path, 0, 0, 0, clear, rds::wire::kCongBitmap), 0);
	ASSERT_TRUE(home->path->holds(port)) << "its worker has not run";
	ASSERT_EQ(s->send(host::endpoint(peer, port), host::Bytes(20, 'u'), false, 2), 0);
	ASSERT_EQ(s->send(host::endpoint(peer, port), host::Bytes(20, 'v'), false, 2), 0);
	EXPECT_EQ(wires().size(), 3u) << "no flow has begun";
	sim::run_ready();
	EXPECT_EQ(letters(*home), "xyuv");
}

/* A port that another socket's message has made held: what was sent before the flow began steps
 * aside, and so does the flow. */
TEST_F(OrderFlows, NothingOfItPassesWhatHasSteppedAside)
{
	host::Bytes map(rds::kCongMapBytes), clear(rds::kCongMapBytes);
	host::Socket t(*net); /* without hints: it makes a port be held */

	ASSERT_EQ(t.bind(host::endpoint(a1, 4000 + 4096)), 0);
	ASSERT_EQ(conn().fan.index_for(4000 + 4096, port), 5u);
	map[port / 8] = static_cast<unsigned char>(1 << port % 8);
	home->room = 0;
	ASSERT_EQ(t.send(host::endpoint(peer, port), host::Bytes(20, 'x')), 0);
	say('a', Order::kOrdered);
	say('u', Order::kUnordered);
	say('o', Order::kOrdered);
	ASSERT_EQ(fake::arrive(first->path, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	home->room = SIZE_MAX;
	rds_path_writable(home->path);
	sim::run_ready();
	ASSERT_TRUE(home->path->holds(port));
	EXPECT_EQ(letters(*home), "") << "the port is full";
	ASSERT_EQ(fake::arrive(first->path, 0, 0, 0, clear, rds::wire::kCongBitmap), 0);
	say('p', Order::kOrdered);
	EXPECT_EQ(letters(*home), "xauop");
	catch_up_all();
	EXPECT_TRUE(s->core()->snd_space.empty());
}

TEST_F(OrderFlows, ThereAreThreeOrders)
{
	for (uint32_t order = 0; order < 5; order++) {
		EXPECT_EQ(rds_socket_set_order(s->core(), order), order < 3 ? 0 : -22);
		EXPECT_EQ(rds_socket_order(s->core()), order < 3 ? order : 2);
	}
	ASSERT_EQ(rds_socket_set_order(s->core(), 0), 0);
}

/* The sender transmits, be it at home or away. */
TEST_F(OrderFlows, NoWorkerIsWaitedFor)
{
	host::Bytes data(20, 'u');
	size_t before = letters(*home).size() + letters(*first).size() + letters(*other).size();

	say('a', Order::kUnordered);
	catch_up_all();
	for (size_t sent = before + 2; sent < before + 8; sent++) {
		ASSERT_EQ(s->send(host::endpoint(peer, port), data, false, 2), 0);
		EXPECT_EQ(letters(*home).size() + letters(*first).size() + letters(*other).size(),
			  sent);
	}
	sim::run_ready();
}

/* One that is not there later on is not asked for again: it may have been refused memory. */
TEST_F(OrderFlows, APathThatIsMissingIsNotAskedForAgain)
{
	say('a', Order::kUnordered);
	ASSERT_EQ(wires().size(), 8u);

	rds_path *mine = conn().paths[7].exchange(nullptr);

	for (char c : {'b', 'c'})
		say(c, Order::kUnordered);
	say('o', Order::kOrdered);
	EXPECT_EQ(wires().size(), 8u);
	EXPECT_EQ(conn().paths[7].load(), nullptr);
	conn().paths[7].store(mine);
}

/* A message that its home has not begun to send is taken back like any other. */
TEST_F(OrderFlows, CancelTakesWhatWaitsAtHome)
{
	home->room = 0;
	for (char c : {'x', 'y'})
		say(c, Order::kOrdered);
	ASSERT_TRUE(home->path->has_queued());

	/* A flow begins behind them, and its messages stay at home. */
	for (char c : {'a', 'b'})
		say(c, Order::kUnordered);
	rds_socket_cancel(s->core(), nullptr);
	EXPECT_FALSE(home->path->has_queued());
	EXPECT_EQ(count(RDS_S_send_cancelled), 4u);
	EXPECT_TRUE(s->core()->snd_space.empty());
}

/* To port 0 nothing was sent that waits: nothing is taken back. */
TEST_F(OrderFlows, CancelOfPortZeroIsOfThatPort)
{
	const auto zero = host::endpoint(peer, 0);

	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	say('o', Order::kOrdered);
	rds_socket_cancel(s->core(), &zero);
	EXPECT_EQ(count(RDS_S_send_cancelled), 0u);
	EXPECT_EQ(conn().waiting.load(), 1u);
}

/* Before a new connection's peer is known, and to one that does not ask, no header tells. */
TEST_F(OrderFlows, OnlyWhoAsksIsTold)
{
	auto tells = [](const Wire &w) {
		unsigned int n = 0;

		for (const auto &f : fake::frames(w.sent))
			n += !f.data.empty() && f.header.ext[0];
		return n;
	};

	for (char c : {'a', 'b', 'c'})
		say(c, Order::kUnordered);
	ASSERT_EQ(tells(*other), 1u);
	rds_path_drop(other->path, RDS_DROP_ERROR);
	up(*other);
	ASSERT_EQ(letters(*other), "c");
	EXPECT_EQ(tells(*other), 0u) << "it may be anybody";
	ASSERT_EQ(hello(*other, 8, 2), RDS_RECV_SKIP);
	conn().orders.store(false);
	say('d', Order::kUnordered);
	EXPECT_EQ(letters(*home), "ad");
	EXPECT_EQ(tells(*home), 1u) << "a, and not d";
}

/* As many again as are under way come before idle ones are searched for, and a few at least. */
TEST_F(OrderFlows, TheSearchForIdleOnesFollowsTheirNumber)
{
	constexpr unsigned int kFew = 64;
	unsigned int next = 0, under_way = 0;

	s->sock().sndbuf = 1u << 20;
	/* Down, so that all go elsewhere: one half on each of two, of which one acknowledges. */
	home->initiates = false;
	rds_path_drop(home->path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	for (unsigned int busy : {25u, 50u}) {
		size_t least = SIZE_MAX, most = 0, room = std::max(kFew, 2 * busy) - busy;

		while (under_way < busy) {
			say('u', Order::kUnordered, further(next++));
			under_way = static_cast<unsigned int>(letters(*other).size());
		}
		for (unsigned int i = 0; i < 400; i++) {
			catch_up(*first);
			say('u', Order::kUnordered, further(next++));
			if (i < 200)
				continue;
			least = std::min(least, host::usage().blocks);
			most = std::max(most, host::usage().blocks);
		}
		ASSERT_EQ(letters(*other).size(), busy);
		EXPECT_LE(most - least, room);
		EXPECT_GE(most - least, room - 2);
		catch_up(*first);
	}
}

/* An ordered one that was delivered holds nobody back. */
TEST_F(OrderFlows, TheyLeaveAgainBehindADeliveredOne)
{
	say('a', Order::kUnordered);
	catch_up_all();
	say('o', Order::kOrdered);
	say('b', Order::kUnordered);
	EXPECT_EQ(letters(*home), "aob");
	catch_up_all();
	for (char c : {'c', 'd', 'e'})
		say(c, Order::kUnordered);
	EXPECT_EQ(letters(*home).size(), 4u);
	EXPECT_EQ(letters(*first).size() + letters(*other).size(), 2u);
}

/* Two paths are several. */
TEST_F(FanTest, UnorderedOnesSpreadOverTwo)
{
	fan_out(2);

	uint16_t port = port_here(1);

	send(port);
	up(*wires()[1]);
	ASSERT_EQ(hello(*wires()[1], 2, 1), RDS_RECV_SKIP);
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	sim::run_ready();
	for (Wire *w : wires()) {
		peer_has(*w, w->path->next_tx_seq() - 1);
		w->sent.clear();
	}
	for (unsigned int i = 0; i < 4; i++)
		send(port, i);
	EXPECT_EQ(letters(*wires()[0]).size(), 2u);
	EXPECT_EQ(letters(*wires()[1]).size(), 2u);
}

} // namespace
