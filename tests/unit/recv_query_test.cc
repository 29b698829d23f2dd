// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/recv_query.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::arrive;
using fake::wire;
using host::endpoint;
using host::Socket;
using rds::wire::Header;

constexpr uint32_t kUnknown = RDS_RECV_UNKNOWN;

/* A path that is up, and a socket behind it. */
class RecvQuery : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		up(remote);
	}
	/* A connection to @peer, which is up: its path. */
	rds_path *up(const struct rds_addr &peer)
	{
		EXPECT_EQ(s->send(endpoint(peer, 5000), {}), 0);
		sim::run_ready();

		fake::Wire &w = *fake::wires().back();

		rds_path_connected(w.path);
		sim::run_ready();
		rds_path_acked(w.path, w.sent.size());
		w.path->conn.orders.store(true); /* as if its hello had said so */
		return w.path;
	}
	rds_path *path()
	{
		return fake::wires().front()->path;
	}
	Header header(uint32_t len = 0, uint16_t sport = 5000, uint16_t dport = 4000)
	{
		Header h;

		rds::wire::encode(h, len, sport, dport, 0);
		rds::wire::put64(h.sequence, ++seq_);
		return h;
	}
	Header numbered(uint32_t number, uint32_t low, uint16_t sport = 5000)
	{
		Header h = header(0, sport);

		EXPECT_TRUE(rds::wire::ExtWriter(h).order(number, low));
		return h;
	}
	void number(uint32_t n, uint32_t low, uint16_t sport = 5000)
	{
		ASSERT_EQ(arrive(path(), numbered(n, low, sport)), 0);
	}
	/* A message of which the header has come. */
	struct rds_msg *begin(const Header &h, rds_path *p = nullptr)
	{
		struct rds_msg *m = nullptr;

		EXPECT_EQ(rds_recv_begin(p ? p : path(), h.sequence, nullptr, 0, RDS_ATOMIC, &m),
			  0);
		return m;
	}
	struct rds_recv_counts query(const struct rds_endpoint *peer = nullptr)
	{
		struct rds_recv_counts c = {};

		EXPECT_EQ(rds_socket_recv_query(s->core(), peer, &c), 0);
		return c;
	}
	void expect(uint32_t held, uint32_t span, const struct rds_endpoint *peer = nullptr)
	{
		struct rds_recv_counts c = query(peer);

		EXPECT_EQ(c.held, held);
		EXPECT_EQ(c.span, span);
	}
	void expect(uint32_t held, uint32_t span, uint16_t sport)
	{
		struct rds_endpoint peer = endpoint(remote, sport);

		expect(held, span, &peer);
	}

private:
	uint64_t seq_ = 0;
};

TEST_F(RecvQuery, MessagesWithoutNumbersHaveNoGaps)
{
	expect(0, 0);
	for (uint32_t i = 1; i <= 3; i++) {
		ASSERT_EQ(arrive(path(), header()), 0);
		expect(i, i);
	}
	ASSERT_TRUE(s->recv());
	expect(2, 2);
	while (s->recv())
		;
	expect(0, 0);
}

/* dat_ep_recv_query(3DAT)'s example. */
TEST_F(RecvQuery, GapsAreInTheSpan)
{
	number(19, 19);
	number(22, 19);
	number(23, 19);
	expect(3, 5);
	ASSERT_TRUE(s->recv());
	expect(2, 4);
	number(20, 19);
	expect(3, 4);
	number(21, 19);
	expect(4, 4);
	/* Read in the order of arrival: 21 is the last. */
	for (uint32_t left = 3; left; left--) {
		ASSERT_TRUE(s->recv());
		expect(left, left == 1 ? 3 : 4);
	}
	ASSERT_TRUE(s->recv());
	expect(0, 0);
	number(24, 20);
	expect(1, 1);
}

TEST_F(RecvQuery, WhatIsLostForGoodIsNoGap)
{
	number(1, 1);
	number(5, 1);
	expect(2, 5);
	ASSERT_TRUE(s->recv());
	expect(1, 4);
	number(6, 4); /* 2 and 3 were cancelled */
	expect(2, 3);
	number(9, 9);
	expect(3, 5); /* from 5, which is held */
	ASSERT_TRUE(s->recv() && s->recv());
	expect(1, 1);
}

TEST_F(RecvQuery, NumbersWrap)
{
	number(0xfffffffe, 0xfffffffe);
	number(1, 0xfffffffe);
	expect(2, 4);
	number(0, 0xfffffffe);
	number(0xffffffff, 0xfffffffe);
	expect(4, 4);
	number(2, 2);
	expect(5, 5);
}

/* A new socket at the peer's port begins anywhere. */
TEST_F(RecvQuery, AnotherCountBegins)
{
	number(100, 100);
	number(102, 100);
	expect(2, 3);
	number(5000000, 5000000);
	expect(3, 3); /* what is left of the old count comes in one piece */
	number(5000002, 5000000);
	expect(4, 5);
	number(101, 101); /* and another */
	expect(5, 5);
	number(101, 101); /* no sender does this */
	expect(6, 6);
}

TEST_F(RecvQuery, ALiarsSpanIsNoneTheLess)
{
	for (uint32_t i = 0; i < 10; i++)
		number(7, 7);
	expect(10, 10);
	number(7, 8); /* its own is not delivered */
	expect(11, kUnknown);
}

TEST_F(RecvQuery, TheWindowIsFull)
{
	constexpr uint32_t kEnd = rds::kOrderWindow;

	number(kEnd, 1);
	expect(1, kEnd);
	number(kEnd + 1, 1);
	expect(2, kUnknown);
	number(kEnd + 2, 1);
	expect(3, kUnknown);
	/* It fits again: a count that begins here. */
	number(kEnd + 3, kEnd);
	expect(4, 4);
	number(kEnd + 5, kEnd + 4);
	expect(5, 6);
	while (s->recv())
		;
	expect(0, 0);
	number(2 * kEnd + 5, kEnd + 6);
	expect(1, kEnd);
}

TEST_F(RecvQuery, PeersAreCountedOnTheirOwn)
{
	struct rds_endpoint all = endpoint(remote, 0), nobody = endpoint(a2, 5000);

	number(1, 1, 5000);
	number(3, 1, 5000);
	number(70, 70, 5001);
	ASSERT_EQ(arrive(path(), header(0, 5002)), 0);
	expect(4, 5);
	expect(2, 3, 5000);
	expect(1, 1, 5001);
	expect(1, 1, 5002);
	expect(0, 0, 5003);
	expect(4, 5, &all);
	expect(0, 0, &nobody);
}

TEST_F(RecvQuery, MorePeersThanItFollows)
{
	constexpr uint32_t kFlows = rds::kFlowRows * rds::kFlowWays, kPeers = 4 * kFlows;
	size_t blocks = host::usage().blocks;
	uint32_t known = 0;

	for (uint32_t i = 0; i < kPeers; i++)
		number(1, 1, static_cast<uint16_t>(6000 + i));
	/* Messages, flows, and their table. */
	EXPECT_EQ(host::usage().blocks, blocks + kPeers + kFlows + 1);
	expect(kPeers, kUnknown);
	for (uint32_t i = 0; i < kPeers; i++) {
		struct rds_endpoint peer = endpoint(remote, static_cast<uint16_t>(6000 + i));
		struct rds_recv_counts c = query(&peer);

		EXPECT_EQ(c.held, 1u);
		EXPECT_TRUE(c.span == 1 || c.span == kUnknown);
		known += c.span == 1;
	}
	EXPECT_EQ(known, kFlows);
	expect(1, 1, static_cast<uint16_t>(6000 + kPeers - 1)); /* the last one heard */
	while (s->recv())
		;
	expect(0, 0);
}

TEST_F(RecvQuery, TheLongestUnheardIsForgotten)
{
	/* One that goes on, and more than its row takes of others. */
	for (uint32_t i = 0; i < 8 * rds::kFlowRows * rds::kFlowWays; i++) {
		number(2 * i + 2, 1 + 2 * (i < 1000 ? 0 : i - 1000), 5000);
		number(1, 1, static_cast<uint16_t>(6000 + i));
		ASSERT_TRUE(s->recv() && s->recv());
	}
	number(1000000, 999000, 5000);
	expect(1, 1001);
}

TEST_F(RecvQuery, WhoIsHeardIsNotForgottenForOthers)
{
	struct rds_endpoint peer = endpoint(remote, 5000);

	for (uint32_t i = 0; i < 2 * rds::kFlowRows * rds::kFlowWays; i++) {
		number(i + 1, 1, 5000);
		number(1, 1, static_cast<uint16_t>(6000 + i));
		ASSERT_EQ(query(&peer).span, i + 1);
	}
	while (s->recv())
		;
}

TEST_F(RecvQuery, WithoutMemoryTheSpanIsUnknown)
{
	Header h = numbered(1, 1);
	struct rds_msg *m = begin(h);

	sim::fail_nth(1);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	expect(1, kUnknown);
	m = begin(numbered(2, 1));
	sim::fail_nth(2);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	expect(2, kUnknown);
	number(3, 1);
	expect(3, 3);
}

/* A peer that has not said that it numbers its flows, and does: they are messages as any, and no
 * memory is made for them.  Any stranger could make 160 kB in each socket, and push out others'. */
TEST_F(RecvQuery, OnlyWhoSaidSoIsCounted)
{
	path()->conn.orders.store(false);
	number(19, 19);
	number(21, 19);
	expect(2, 2);
	EXPECT_EQ(s->core()->recv_flows, nullptr);
	EXPECT_EQ(s->core()->flow_bytes.load(), 0u);

	struct rds_msg *m = begin(numbered(30, 19));

	expect(3, 3);
	rds_msg_put(m);
	path()->arriving.store(0);
	/* Once it says so, what came before stays as it is. */
	path()->conn.orders.store(true);
	number(23, 23);
	expect(3, 3);
}

/* A cgroup that has no more pays for no flows, and what has been read leaves no debt that would
 * keep the port full: all flows together are more than a socket may owe. */
TEST_F(RecvQuery, FlowsMakeNoDebt)
{
	static_assert(rds::kFlowRows * rds::kFlowWays * sizeof(rds::RecvFlow) > rds::kMostDebt);
	constexpr uint32_t kPeers = 4 * rds::kFlowRows * rds::kFlowWays;

	s->sock().poor = true;
	for (uint16_t i = 0; i < kPeers; i++) {
		number(1, 1, static_cast<uint16_t>(5000 + i));
		ASSERT_TRUE(s->recv());
	}
	EXPECT_LE(s->core()->rcv_mem.unpaid(), sizeof(rds::RecvFlows) + sizeof(rds::RecvFlow));
	EXPECT_FALSE(s->core()->congested.load());
	number(2, 2, 4999);
	expect(1, kUnknown);
	/* It has something again. */
	s->sock().poor = false;
	number(3, 3, 4999);
	number(5, 3, 4999);
	EXPECT_TRUE(s->core()->rcv_mem.covers(0));
	while (s->recv())
		;
	number(8, 6, 4999);
	expect(1, 3);
}

/* The flows' memory is the socket's, charged like its messages, but fills no queue: nobody could
 * read it away. */
TEST_F(RecvQuery, FlowsArePaidFor)
{
	constexpr uint32_t kFlows = 16;
	const uint64_t before = s->core()->rcv_mem.used();

	for (uint16_t i = 0; i < kFlows; i++)
		number(1, 1, static_cast<uint16_t>(5000 + i));
	while (s->recv())
		;

	const uint64_t flows = s->core()->rcv_mem.used() - before;

	EXPECT_EQ(flows, sizeof(rds::RecvFlows) + kFlows * sizeof(rds::RecvFlow));
	EXPECT_TRUE(s->core()->rcv_mem.covers(0)) << "and it is paid";
	number(2, 2);
	EXPECT_TRUE(s->recv());
	EXPECT_EQ(s->core()->rcv_mem.used() - before, flows) << "one is enough for each";
	/* Many times what this limit lets messages take. */
	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	s->sock().rcvbuf = 100;
	number(3, 3);
	EXPECT_FALSE(s->core()->congested.load());
	EXPECT_TRUE(s->recv());
}

TEST_F(RecvQuery, CountsFromTheHeaderOn)
{
	struct rds_msg *m = begin(header());

	expect(1, 1);
	expect(1, 1, 5000);
	expect(0, 0, 5001);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	expect(1, 1);
	ASSERT_TRUE(s->recv());
	expect(0, 0);
}

/* The reader that is woken may read it, and must not find it on the path any more. */
TEST_F(RecvQuery, IsOffThePathBeforeAnybodyKnows)
{
	static rds_path *p;
	static uint64_t left;
	auto on_wake = host::on_wake;

	p = path();
	left = 0;
	host::on_wake = [](host::Sock *) { left = p->arriving.load() + 1; };
	ASSERT_EQ(arrive(p, header()), 0);
	host::on_wake = on_wake;
	EXPECT_EQ(left, 1u);
}

TEST_F(RecvQuery, WhatIsArrivingHasItsNumber)
{
	number(10, 10);
	ASSERT_TRUE(s->recv());

	struct rds_msg *m = begin(numbered(13, 11));

	expect(1, 3);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	expect(1, 3);
	m = begin(numbered(11, 11));
	expect(2, 3);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	expect(2, 3);
	/* Of another count, and of one that nothing is known of. */
	m = begin(numbered(9999999, 9999998));
	expect(3, 4);
	rds_msg_put(m);
	m = begin(numbered(3, 1, 5001));
	expect(3, 4);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	expect(3, 6);
	/* Without a number it is of no flow. */
	m = begin(header());
	expect(4, 7);
	rds_msg_put(m);
	/* Of one that is lost. */
	number(20000, 11);
	m = begin(numbered(20001, 11));
	expect(5, kUnknown);
	rds_msg_put(m);
}

/* The first of all flows, of which nothing was delivered before. */
TEST_F(RecvQuery, TheFirstMayBeArriving)
{
	struct rds_msg *m = begin(numbered(13, 11));

	expect(1, 1);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	expect(1, 3);
}

TEST_F(RecvQuery, WhatIsDroppedIsNotHeld)
{
	struct rds_msg *m = begin(header(0, 5000, 4001)); /* for nobody */

	expect(0, 0);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	EXPECT_EQ(path()->arriving.load(), 0u);

	/* The connection ends: its transport throws away what had come. */
	rds_msg_put(begin(header(10)));
	expect(1, 1);
	rds_path_drop(path(), RDS_DROP_ERROR);
	sim::run_ready();
	expect(0, 0);

	/* Calling, it has come up and brought something; the peer's own call replaces it. */
	int handle;

	rds_msg_put(begin(header(10)));
	expect(1, 1);
	rds_path_accepted(path(), &handle);
	sim::run_ready();
	EXPECT_EQ(wire().history(), "connect close connect close adopt");
	expect(0, 0);

	/* A socket that is being closed. */
	m = begin(header());
	s->core()->dead.store(true);
	ASSERT_EQ(rds_recv_incoming(path(), m), 0);
	s->core()->dead.store(false);
	expect(0, 0);
}

TEST_F(RecvQuery, MapsAndPingsAreNoMessages)
{
	Header map = header(rds::kCongMapBytes);
	struct rds_msg *m = nullptr;

	map.flags = rds::wire::kCongBitmap; /* with ports, as nobody sends them */
	m = begin(map);
	expect(0, 0);
	rds_msg_put(m);
	ASSERT_EQ(arrive(path(), header(0, 5000, 0)), RDS_RECV_SKIP);
	expect(0, 0);
}

TEST_F(RecvQuery, ManyAtOnceOnManyPaths)
{
	std::vector<struct rds_msg *> msgs;
	std::vector<rds_path *> paths;

	for (unsigned int i = 0; i < RDS_RECV_LOOK + 10; i++) {
		paths.push_back(up(host::addr4(100 + i)));
		msgs.push_back(begin(header(), paths.back()));
		expect(i + 1, i + 1);
	}

	struct rds_recv_counts c;
	struct rds_recv_look look;

	rds_recv_look(net->core(), &look);
	EXPECT_EQ(look.n, msgs.size());
	rds_socket_recv_counts(s->core(), &look, &c);
	EXPECT_EQ(c.held, RDS_RECV_UNKNOWN);
	EXPECT_EQ(c.span, RDS_RECV_UNKNOWN);
	rds_recv_look_end(&look);
	for (unsigned int i = 0; i < 10; i++)
		ASSERT_EQ(rds_recv_incoming(paths[i], msgs[i]), 0);
	rds_recv_look(net->core(), &look);
	EXPECT_EQ(look.n, unsigned{RDS_RECV_LOOK});
	for (unsigned int i = 10; i < 20; i++)
		ASSERT_EQ(rds_recv_incoming(paths[i], msgs[i]), 0);
	rds_socket_recv_counts(s->core(), &look, &c);
	EXPECT_EQ(c.held, msgs.size());
	EXPECT_EQ(c.span, msgs.size());
	rds_recv_look_end(&look);
	for (size_t i = 20; i < msgs.size(); i++)
		rds_msg_put(msgs[i]);
}

/* A query that has no memory for the paths fails, keeps no connection (the fixture counts them),
 * and may be asked again. */
TEST_F(RecvQuery, NoMemoryForThePaths)
{
	rds_path *p = up(host::addr4(100));
	struct rds_msg *m = begin(header(), p);
	struct rds_recv_counts c;

	sim::fail_nth(1);
	EXPECT_EQ(rds_socket_recv_query(s->core(), nullptr, &c), -12);
	expect(1, 1);
	rds_msg_put(m);
}

/* More begin to arrive while a query makes room for those that it has found. */
TEST_F(RecvQuery, MoreArriveMeanwhile)
{
	constexpr unsigned int kMore = 12;
	std::vector<rds_path *> paths;

	for (unsigned int i = 0; i <= kMore; i++)
		paths.push_back(up(host::addr4(100 + i)));
	for (unsigned int seed = 0; seed < 40; seed++) {
		std::vector<struct rds_msg *> msgs = {begin(header(), paths[0])};
		struct rds_recv_counts c = {};

		sim::reseed(seed);
		sim::options().preempt_per_1000 = 200;
		sim::spawn("asker",
			   [&] { EXPECT_EQ(rds_socket_recv_query(s->core(), nullptr, &c), 0); });
		sim::spawn("peer", [&] {
			for (unsigned int i = 1; i <= kMore; i++)
				msgs.push_back(begin(header(), paths[i]));
		});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		EXPECT_GE(c.held, 1u);
		EXPECT_LE(c.held, msgs.size());
		expect(kMore + 1, kMore + 1);
		for (unsigned int i = 0; i <= kMore; i++) {
			rds_msg_put(msgs[i]);
			paths[i]->arriving.store(0);
		}
	}
}

TEST_F(RecvQuery, OnlyBoundSocketsAreAsked)
{
	Socket fresh(*net), other(*net);
	struct rds_recv_counts c;

	EXPECT_EQ(rds_socket_recv_query(fresh.core(), nullptr, &c), -107);
	ASSERT_EQ(other.bind(endpoint(a1, 4001)), 0);
	ASSERT_EQ(arrive(path(), header()), 0);

	struct rds_msg *m = begin(header());

	EXPECT_EQ(rds_socket_recv_query(other.core(), nullptr, &c), 0);
	EXPECT_EQ(c.held, 0u);
	rds_msg_put(m);
}

TEST_F(RecvQuery, TablesDoNotWaitForAReader)
{
	Socket fresh(*net);

	ASSERT_EQ(arrive(path(), header()), 0);

	struct rds_msg *m = begin(header());
	auto expect_row = [&](const Socket &of, uint32_t count) {
		struct rds_recv_look look;
		struct rds_recv_counts c;

		rds_recv_look(net->core(), &look);
		rds_socket_recv_counts(of.core(), &look, &c);
		rds_recv_look_end(&look);
		EXPECT_EQ(c.held, count);
		EXPECT_EQ(c.span, count);
	};

	expect_row(*s, 2);
	expect_row(fresh, 0);
	rds_msg_put(m);
	ASSERT_EQ(rds_recv_lock(s->core()), 0);
	expect_row(*s, kUnknown);
	rds_recv_unlock(s->core());
}

TEST_F(RecvQuery, ReadableWhileItLooks)
{
	ASSERT_EQ(arrive(path(), header()), 0);
	expect(1, 1);
	EXPECT_TRUE(s->readable());
	EXPECT_EQ(s->sock().woken_read.load(), 1u);
	ASSERT_EQ(arrive(path(), header()), 0);
	expect(2, 2);
	ASSERT_TRUE(s->recv() && s->recv());
	EXPECT_FALSE(s->readable());
	EXPECT_FALSE(s->recv());
}

/* Against a plain reading of the definition: sets of numbers. */
TEST_F(RecvQuery, AgreesWithSets)
{
	std::minstd_rand rnd(6);

	for (int life = 0; life < 40; life++) {
		uint32_t base = static_cast<uint32_t>(rnd()) * 3 + 1, next = 0, low = 0;
		std::set<uint32_t> under_way, arrived; /* from base on */
		std::deque<uint32_t> held;

		for (int step = 0; step < 2000; step++) {
			if (under_way.size() < 200 && rnd() % 2)
				under_way.insert(next++);
			if (!under_way.empty() && !(rnd() % 50)) {
				under_way.erase(under_way.begin()); /* cancelled */
			}
			if (!under_way.empty() && rnd() % 2) {
				auto it = under_way.begin();

				std::advance(it, rnd() % std::min<size_t>(under_way.size(), 20));

				/* The sender is behind with what it knows. */
				uint32_t known = *under_way.begin();

				low = std::max(low, known - std::min(known, uint32_t(rnd() % 30)));
				number(base + *it, base + low);
				held.push_back(*it);
				arrived.insert(*it);
				under_way.erase(it);
			}
			if (rnd() % 5 == 0)
				while (!held.empty() && rnd() % 4) {
					ASSERT_TRUE(s->recv());
					held.pop_front();
				}
			if (held.empty()) {
				expect(0, 0);
				continue;
			}

			/* A cancelled message is missing until some low has passed it. */
			uint32_t from = low;

			while (arrived.count(from))
				from++;
			from = std::min(from, *std::min_element(held.begin(), held.end()));
			expect(static_cast<uint32_t>(held.size()), *arrived.rbegin() - from + 1);
			ASSERT_FALSE(HasFailure()) << "life " << life << " step " << step;
		}
		while (s->recv())
			;
	}
}

/* A message arriving on a connection that broke is not held: it will come again. */
TEST_F(RecvQuery, WhatBreaksOffIsNotHeld)
{
	struct rds_msg *m = begin(header());

	expect(1, 1);
	wire().initiates = false;
	rds_path_drop(path(), RDS_DROP_ERROR);
	sim::run_ready();
	expect(0, 0);
	EXPECT_EQ(path()->arriving.load(), 0u) << "at no other port, either";
	rds_msg_put(m);
}

/* A header may say other things, and no number. */
TEST_F(RecvQuery, WhatSaysOtherThingsHasNoNumber)
{
	Header h = header();

	EXPECT_TRUE(rds::wire::ExtWriter(h).rdma(7));
	number(10, 10);
	ASSERT_EQ(arrive(path(), h), 0);
	expect(2, 2);
}

} // namespace
