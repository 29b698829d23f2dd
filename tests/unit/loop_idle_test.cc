// SPDX-License-Identifier: GPL-2.0
/* Connections of loopback that nobody uses go, both ends, and whoever sends does not notice. */
#include <cstring>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::endpoint;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;

/* Called once, when a path has taken RDS_EV_retire. */
std::function<void(const struct rds_path &p)> on_retire;

/* 127.0.@n / 256.@n % 256 */
struct rds_addr loop4(unsigned int n)
{
	unsigned char b[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
	struct rds_addr a;

	b[14] = static_cast<unsigned char>(n / 256);
	b[15] = static_cast<unsigned char>(n % 256);
	memcpy(&a, b, sizeof(a));
	return a;
}

class LoopIdle : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		rds_net_tunables(net->core())->idle_timeout_ms = 1000;
		on_retire = nullptr;
		host::on_event = [](const struct rds_path *p, unsigned int e, unsigned int) {
			if (e == RDS_EV_retire && on_retire)
				std::exchange(on_retire, nullptr)(*p);
		};
		s = std::make_unique<host::Socket>(*net);
		r = std::make_unique<host::Socket>(*net);
		ASSERT_EQ(s->bind(at_s), 0);
		ASSERT_EQ(r->bind(at_r), 0);
	}
	void TearDown() override
	{
		on_retire = nullptr;
		s.reset();
		r.reset();
		CoreTest::TearDown();
	}
	/* One message from @s to @r: that end is up, the other is down. */
	void used()
	{
		ASSERT_EQ(s->send(at_r, pattern(10)), 0);
		sim::run_ready();
		ASSERT_TRUE(r->recv());
	}
	void used_both_ways()
	{
		used();
		ASSERT_EQ(r->send(at_s, pattern(11)), 0);
		sim::run_ready();
		ASSERT_TRUE(s->recv());
	}
	uint32_t alive()
	{
		return net->core()->conns.alive[loop->type].load();
	}
	/* The end whose address is @laddr. */
	rds::Conn &end_at(const struct rds_addr &laddr)
	{
		rds::Conn *found = nullptr;

		net->core()->conns.for_each([&](rds::Conn &c) {
			if (rds::same_addr(c.laddr, laddr))
				found = &c;
		});
		return *found;
	}
	/* The sweep has found that it may have to go; the worker decides. */
	static void looked_after(rds::Conn &c)
	{
		c.life.hand_over(rds::Care::kIdle);
		c.wake_worker();
		sim::run_ready();
	}
	/* The sweep has handed one over. */
	bool is_looked_after()
	{
		bool any = false;

		net->core()->conns.for_each(
			[&](rds::Conn &c) { any = any || !c.life.is_in_use(); });
		return any;
	}
	/* Both ends have been idle, and the sweep was @steps of the scheduler ago. */
	void collection_goes_on(unsigned int steps)
	{
		used_both_ways();
		ASSERT_TRUE(sim::run_until([&] { return is_looked_after(); }, 5000 * kMs));
		sim::options().preempt_per_1000 = 300;
		for (unsigned int i = 0; i < steps; i++)
			sim::step();
	}
	/* A socket at 127.0.0.1 sends to @n other addresses of 127/8, where nobody is. */
	void try_many(unsigned int n)
	{
		host::Socket nosy(*net);

		ASSERT_EQ(nosy.bind(endpoint(loop4(1), 4000)), 0);
		for (unsigned int i = 2; i < n + 2; i++) {
			ASSERT_EQ(nosy.send(endpoint(loop4(i), 5000), pattern(1)), 0);
			sim::run_ready();
		}
		EXPECT_EQ(alive(), 2 * n);
		sim::run_for(10 * 1000 * kMs);
		EXPECT_EQ(alive(), 0u);
		EXPECT_EQ(net->core()->cong.count(), 3u) << "of those that are bound";
	}
	const struct rds_endpoint at_s = endpoint(host::addr4(1), 4000),
				  at_r = endpoint(host::addr4(2), 5000);
	std::unique_ptr<host::Socket> s, r;
};

TEST_F(LoopIdle, APairIsGone)
{
	size_t bytes = 0;

	for (unsigned int round = 1; round <= 3; round++) {
		used_both_ways();
		sim::run_for(900 * kMs);
		EXPECT_EQ(alive(), 2u) << "not before its time";
		sim::run_for(5000 * kMs);
		EXPECT_EQ(alive(), 0u);
		EXPECT_EQ(net->stat(RDS_S_conn_collected), 2 * round);
		EXPECT_EQ(net->stat(RDS_S_conn_idle), 2 * round);
		if (round > 1) {
			EXPECT_EQ(host::usage().bytes, bytes);
		}
		bytes = host::usage().bytes;
	}
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 0u);
	EXPECT_EQ(net->stat(RDS_S_conn_tombstone), 0u);
	EXPECT_EQ(net->stat(RDS_S_send_retransmitted), 0u);
}

/* It was never up itself, and has received. */
TEST_F(LoopIdle, AnEndThatOnlyReceivesGoesToo)
{
	used();
	ASSERT_EQ(end_at(at_r.addr).first().state(), PathState::kDown);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(alive(), 0u);
	EXPECT_EQ(net->stat(RDS_S_conn_tombstone), 0u);
}

TEST_F(LoopIdle, OneThatIsItsOwnOtherEndGoes)
{
	ASSERT_EQ(s->send(at_s, pattern(10)), 0);
	sim::run_ready();
	EXPECT_TRUE(s->recv());
	EXPECT_EQ(alive(), 1u);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(alive(), 0u);
}

TEST_F(LoopIdle, ZeroIsNever)
{
	rds_net_tunables(net->core())->idle_timeout_ms = 0;
	used();
	sim::run_for(1000 * 1000 * kMs);
	EXPECT_EQ(alive(), 2u);
}

/* A reader that has stopped: what waits for it keeps both ends. */
TEST_F(LoopIdle, WhatWaitsKeepsIt)
{
	s->sock().sndbuf = 1u << 20;
	r->sock().rcvbuf = 1000;
	/* Before the path is up, so that nobody knows that it will be full. */
	for (unsigned int i = 0; i < 100; i++)
		ASSERT_EQ(s->send(at_r, pattern(4000, i)), 0);
	sim::run_ready();
	ASSERT_TRUE(end_at(at_s.addr).first().has_messages());
	sim::run_for(10 * 1000 * kMs);
	EXPECT_EQ(alive(), 2u);
	for (unsigned int i = 0; end_at(at_s.addr).first().has_messages() && i < 1000; i++) {
		while (r->recv())
			;
		sim::run_for(10 * kMs);
	}
	sim::run_for(10 * 1000 * kMs);
	EXPECT_EQ(alive(), 0u);
}

/* The other end is up and delivers to it. */
TEST_F(LoopIdle, AnEndIsKeptByTheOther)
{
	used();

	rds::Conn &receiving = end_at(at_r.addr);

	looked_after(receiving);
	EXPECT_FALSE(receiving.is_dead());
	EXPECT_TRUE(receiving.life.is_in_use());
	used();
	EXPECT_EQ(alive(), 2u);
}

/* The other end looks it up at the moment in which it retires. */
TEST_F(LoopIdle, AnEndThatIsCalledWhenItRetiresStays)
{
	struct rds_conn *got = nullptr;
	int err = 0;

	used();
	rds_path_drop(&end_at(at_s.addr).first(), RDS_DROP_ADMIN);
	sim::run_ready();
	ASSERT_EQ(end_at(at_s.addr).first().state(), PathState::kDown);

	rds::Conn &receiving = end_at(at_r.addr);

	on_retire = [&](const struct rds_path &p) {
		EXPECT_EQ(&p.conn, &receiving);
		EXPECT_TRUE(receiving.life.is_ending());
		got = rds_conn_get(net->core(), loop, &at_r.addr, &at_s.addr, 0, 0, &err);
	};
	looked_after(receiving);
	EXPECT_EQ(got, &receiving);
	EXPECT_FALSE(receiving.is_dead());
	rds_conn_put(got);
	used();
}

/* The end that is to answer looks just then whether it may go. */
TEST_F(LoopIdle, APingIsAnsweredByAnEndThatRetires)
{
	used();
	on_retire = [&](const struct rds_path &p) {
		EXPECT_TRUE(p.conn.life.is_ending());
		EXPECT_EQ(s->send(endpoint(at_r.addr, rds::kPingPort), {}), 0);
	};
	looked_after(end_at(at_r.addr));
	ASSERT_FALSE(on_retire);
	EXPECT_TRUE(s->recv());
	EXPECT_EQ(net->stat(RDS_S_send_pong), 1u);
}

/* Two of each socket, at any moment of the collection: each comes once, and in order. */
TEST_F(LoopIdle, WhoSendsMeanwhileLosesNothing)
{
	using Got = std::vector<host::Bytes>;
	auto read = [](host::Socket &from, Got &got) {
		while (auto m = from.recv())
			got.push_back(m->data);
		return got.size();
	};

	for (unsigned int i = 0; i < 120; i++) {
		const bool both = i % 2;
		Got at_other, at_this;

		collection_goes_on(i / 2);
		sim::spawn("sender", [&] {
			EXPECT_EQ(s->send(at_r, pattern(20, i)), 0);
			EXPECT_EQ(s->send(at_r, pattern(21, i)), 0);
		});
		if (both)
			sim::spawn("other end", [&] {
				EXPECT_EQ(r->send(at_s, pattern(30, i)), 0);
				EXPECT_EQ(r->send(at_s, pattern(31, i)), 0);
			});
		sim::run_for(400 * kMs);
		sim::options().preempt_per_1000 = 0;
		/* One that ended meanwhile calls again, a second later at most. */
		EXPECT_TRUE(sim::run_until(
			[&] {
				return read(*r, at_other) >= 2 && (!both || read(*s, at_this) >= 2);
			},
			2000 * kMs));
		sim::run_ready();
		(void)read(*r, at_other);
		(void)read(*s, at_this);
		ASSERT_EQ(at_other, (Got{pattern(20, i), pattern(21, i)})) << i;
		ASSERT_EQ(at_this, both ? (Got{pattern(30, i), pattern(31, i)}) : Got()) << i;
	}
	EXPECT_GT(net->stat(RDS_S_conn_collected), 0u);
	sim::run_for(10 * 1000 * kMs);
	EXPECT_EQ(alive(), 0u);
}

TEST_F(LoopIdle, WhoPingsMeanwhileIsAnswered)
{
	for (unsigned int steps = 0; steps < 120; steps++) {
		collection_goes_on(steps);
		sim::spawn("pinger",
			   [&] { EXPECT_EQ(s->send(endpoint(at_r.addr, rds::kPingPort), {}), 0); });
		sim::run_for(400 * kMs);
		sim::options().preempt_per_1000 = 0;
		ASSERT_TRUE(sim::run_until([&] { return s->readable(); }, 2000 * kMs)) << steps;
		EXPECT_EQ(s->recv()->info.from.port, rds::kPingPort);
	}
}

/* All of 127/8 is ours: an unprivileged user may try every address of it. */
TEST_F(LoopIdle, AThousandAddressesLeaveNothing)
{
	try_many(1000);
	sim::run_ready();

	const size_t bytes = host::usage().bytes;

	try_many(1000);
	sim::run_ready();
	EXPECT_EQ(host::usage().bytes, bytes);
}

} // namespace
