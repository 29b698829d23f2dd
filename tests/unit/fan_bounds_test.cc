// SPDX-License-Identifier: GPL-2.0
/* Several paths: no more than both ends have, the same for both, and what is left of them. */
#include "fan_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;

class FanBounds : public FanTest
{
protected:
	/* Path 3 is up, too, and both have all. */
	void three_is_up()
	{
		fan_out();
		first().initiates = false;
		send(port_for(3), 30);
		ASSERT_EQ(wires().size(), 2u);
		up(third());
		ASSERT_EQ(hello(third(), 8, 3), RDS_RECV_SKIP);
		peer_has(third(), third().path->next_tx_seq() - 1);
	}
	/* Another peer has come, with one path. */
	void fold()
	{
		rds_path_drop(first().path, RDS_DROP_ERROR);
		rds_path_drop(third().path, RDS_DROP_ERROR);
		sim::run_ready();
		for (int i = 0; i < 2; i++) {
			first().path->post(rds::kEvKnocked);
			up(first());
			ASSERT_EQ(hello(first(), 1, 0, 78), RDS_RECV_SKIP);
		}
		ASSERT_EQ(net->stat(RDS_S_conn_fold), 1u);
		ASSERT_EQ(first().path->state(), PathState::kUp);
	}
	static Wire &first()
	{
		return *wires()[0];
	}
	static Wire &third()
	{
		return *wires()[1];
	}
};

/* A path that has no room, however often, is the only one until the peer has said that it has
 * more. */
TEST_F(FanBounds, NobodyFansOutToAStranger)
{
	send(5000);
	up(first());
	for (uint32_t i = 0; i < 2 * rds::kFanBlocks; i++) {
		first().room = 1;
		send(5000);
		first().room = SIZE_MAX;
		rds_path_writable(first().path);
		sim::run_ready();
	}
	EXPECT_EQ(conn().fan.n_paths(), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_fan_out), 0u);
}

/* Un-ordered messages may take any path of those that both ends have, and none beyond. */
TEST_F(FanBounds, AllPathsAreAskedForAndNoMore)
{
	fan_out(4);
	ASSERT_EQ(conn().fan.n_paths(), 4u);
	ASSERT_EQ(rds_socket_set_order(s->core(), 2), 0);
	sim::run_ready();
	send(5000);
	send(5000);
	EXPECT_EQ(wires().size(), 4u);
}

/* Hosts of other versions choose the same path for the same ports. */
TEST_F(FanBounds, PortsChooseThePathThatTheyAlwaysChose)
{
	fan_out();

	const struct {
		uint16_t port;
		unsigned int of_8, of_2;
	} chosen[] = {{1, 4, 0},    {2, 1, 1},	   {5000, 1, 1},  {5001, 6, 0},	 {5002, 3, 1},
		      {5003, 0, 0}, {28011, 6, 0}, {50549, 7, 1}, {61818, 4, 0}, {65535, 6, 0}};

	for (const auto &c : chosen) {
		spread_over(8);
		EXPECT_EQ(conn().fan.index_for(4000, c.port), c.of_8) << c.port;
		spread_over(2);
		EXPECT_EQ(conn().fan.index_for(4000, c.port), c.of_2) << c.port;
	}
	spread_over(8);
}

/* The numbers of a path that was folded are nobody's: it keeps the connection no longer. */
TEST_F(FanBounds, AFoldedPathKeepsNothing)
{
	three_is_up();
	fold();
	EXPECT_TRUE(third().path->drained.load());
	rds_net_tunables(net->core())->idle_timeout_ms = 200;
	ASSERT_TRUE(sim::run_until(
		[] { return first().path->state() == PathState::kDisconnecting; }, 40000 * kMs));
	rds_path_drained(first().path);
	EXPECT_TRUE(sim::run_until([] { return wires().empty(); }, 2000 * kMs));
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
}

/* A call that was owed to one peer is not made to another. */
TEST_F(FanBounds, AFoldedPathOwesNoCall)
{
	three_is_up();
	rds_path_drop(first().path, RDS_DROP_ERROR);
	third().initiates = false;
	rds_path_drop(third().path, RDS_DROP_ERROR);
	sim::run_ready();
	ASSERT_TRUE(third().path->dial().owes());

	size_t before = third().calls.size();

	fold();
	EXPECT_FALSE(third().path->dial().owes());
	sim::run_for(2000 * kMs);
	EXPECT_EQ(third().path->state(), PathState::kDown);
	EXPECT_EQ(third().history().find("connect", third().history().find("close")),
		  std::string::npos)
		<< before;
}

/* A peer's hello has come while it was called, and has not yet dropped the call: a connection that
 * has nothing else to do stays for the fold, and may end after it. */
TEST_F(FanBounds, AConnectionThatIsToFoldDoesNotEnd)
{
	three_is_up();
	for (Wire *w : wires())
		rds_path_drop(w->path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	first().path->post(rds::kEvKnocked);
	sim::run_ready();
	ASSERT_EQ(first().path->state(), PathState::kConnecting);
	ASSERT_EQ(third().path->state(), PathState::kDown);
	ASSERT_TRUE(third().path->drained.load());
	agree_on_one();
	conn().life.hand_over(rds::Care::kIdle);
	conn().wake_worker();
	sim::run_ready();
	EXPECT_TRUE(conn().life.is_in_use());
	EXPECT_EQ(first().history(), "connect close connect close") << "it calls in vain, perhaps";
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 0u);
	rds_path_drop(first().path, RDS_DROP_PATHS);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	EXPECT_FALSE(conn().fan.is_folding());
	EXPECT_EQ(conn().fan.n_paths(), 1u);
	conn().life.hand_over(rds::Care::kIdle);
	conn().wake_worker();
	sim::run_ready();
	EXPECT_TRUE(wires().empty());
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
}

/* A fold waits for a sender when the connection dies: nobody would look at its queues again. */
TEST_F(FanBounds, WhatComesToADeadPathIsFinished)
{
	three_is_up();

	rds_conn &c = conn();
	const uint16_t on_third = port_for(3);

	c.refs.get();
	send(port_for(0), 10);
	third().on_xmit = [&] {
		agree_on_one();
		rds_path_drop(first().path, RDS_DROP_PATHS);
		sim::run_ready();
		EXPECT_TRUE(c.first().has_queued());
		c.kill();
		sim::run_ready();
		EXPECT_EQ(c.first().state(), PathState::kDown) << "it dies with all";
	};
	send(on_third, 31);
	ASSERT_EQ(wires().size(), 2u);
	EXPECT_TRUE(s->core()->snd_space.empty());
	for (Wire *w : wires()) {
		rds::RcuReader rcu;
		rds::Message *m = rds::message_create(10, RDS_ATOMIC);

		EXPECT_EQ(w->path->state(), PathState::kDead);
		EXPECT_FALSE(w->path->has_queued());
		ASSERT_NE(m, nullptr);
		EXPECT_EQ(w->path->enqueue(m, false, nullptr).status().code(), -101);
		rds::message_put(m);
	}
	c.put();
}

/* A socket sends while its messages come back to path 0: what it sends then stands behind them, and
 * each has a number of its own. */
TEST_F(FanBounds, WhatIsSentInTheMidstOfAFoldIsNewer)
{
	int handle;

	fan_out();

	const uint16_t third = port_for(3);
	unsigned int beside = 0;

	for (unsigned int round = 0; round < 300; round++) {
		rds_path_drop(first().path, RDS_DROP_ERROR);
		sim::run_ready();
		agreed_and_spread(8);
		for (unsigned int i = 0; i < 2; i++)
			send(third, i);
		agree_on_one();
		sim::options().preempt_per_1000 = 200;
		rds_path_drop(first().path, RDS_DROP_PATHS);
		sim::spawn("send", [&] {
			for (unsigned int i = 2; i < 6; i++) {
				beside += conn().fan.is_folding() && conn().fan.n_paths() == 1;
				EXPECT_EQ(s->send(host::endpoint(peer, third), pattern(50, i)), 0);
			}
		});
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		ASSERT_EQ(net->stat(RDS_S_conn_fold), round + 1);
		rds_path_accepted(first().path, &handle);
		sim::run_ready();
		ASSERT_EQ(hello(first(), 1, 0), RDS_RECV_SKIP);

		unsigned int next = 0;
		uint64_t last = 0;

		for (const auto &f : fake::frames(first().sent)) {
			if (!f.seq || f.dport == rds::kPingPort)
				continue;
			ASSERT_EQ(f.data, pattern(50, next++)) << "round " << round;
			ASSERT_GT(f.seq, last) << "round " << round;
			last = f.seq;
		}
		ASSERT_EQ(next, 6u) << "round " << round;
		peer_has(first(), last_on_first());
	}
	EXPECT_GT(beside, 0u) << "nothing was sent in the midst of one";
}

} // namespace
