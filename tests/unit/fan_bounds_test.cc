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
	EXPECT_EQ(conn().n_paths.load(), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_fan_out), 0u);
}

/* Un-ordered messages may take any path of those that both ends have, and none beyond. */
TEST_F(FanBounds, AllPathsAreAskedForAndNoMore)
{
	fan_out(4);
	ASSERT_EQ(conn().n_paths.load(), 4u);
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
		conn().n_paths.store(8);
		EXPECT_EQ(conn().index_for(4000, c.port), c.of_8) << c.port;
		conn().n_paths.store(2);
		EXPECT_EQ(conn().index_for(4000, c.port), c.of_2) << c.port;
	}
	conn().n_paths.store(8);
}

/* The numbers of a path that was folded are nobody's: it keeps the connection no longer. */
TEST_F(FanBounds, AFoldedPathKeepsNothing)
{
	three_is_up();
	fold();
	EXPECT_TRUE(third().path->parted.load());
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

/* Asked to retire and to give its queue away at once, a path answers both. */
TEST_F(FanBounds, AFoldAnswersAQuestion)
{
	three_is_up();
	rds_path_drop(first().path, RDS_DROP_ERROR);
	sim::run_ready();
	ASSERT_EQ(first().path->state(), PathState::kDown);
	conn().begin_fold();
	third().path->retire();
	sim::run_ready();
	EXPECT_EQ(conn().folding.load(), 0u);
	EXPECT_NE(third().path->retirement.load(), rds::Retirement::kAsked);
	third().path->reinstate();
}

} // namespace
