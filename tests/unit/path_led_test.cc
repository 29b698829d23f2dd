// SPDX-License-Identifier: GPL-2.0
/* A further path is led by path 0; and what of a path's last connection must not reach the next. */
#include "fan_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;

/* A connection that has fanned out, with something queued on path 3, which has no connection. */
class PathLed : public FanTest
{
protected:
	/* Path 0 is not called for nothing, so that it stays what it is. */
	void three_waits()
	{
		fan_out();
		first().initiates = false;
		send(port_for(3), 30);
		ASSERT_EQ(wires().size(), 2u);
	}
	/* Path 3 is up, too. */
	void three_is_up()
	{
		three_waits();
		up(third());
		ASSERT_EQ(hello(third(), 8, 3), RDS_RECV_SKIP);
		peer_has(third(), third().path->next_tx_seq() - 1);
	}
	static Wire &first()
	{
		return *wires()[0];
	}
	static Wire &third()
	{
		return *wires()[1];
	}
	/* Nothing calls path 3, though it wants to be called. */
	static void expect_silence()
	{
		size_t before = third().calls.size();

		third().path->post(rds::kEvWant);
		sim::run_for(300 * kMs);
		EXPECT_EQ(third().calls.size(), before);
		EXPECT_EQ(third().path->state(), PathState::kDown);
	}
	int newcomer_ = 0;
};

/* While the first is up, knows the peer, and no fold is about to come: each of the three. */
TEST_F(PathLed, ItCallsBehindTheFirst)
{
	three_is_up();
	rds_path_drop(third().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	ASSERT_EQ(third().path->state(), PathState::kDown);
	rds_path_drop(first().path, RDS_DROP_PEER_CLOSED);
	sim::run_ready();
	ASSERT_EQ(first().path->state(), PathState::kDown);
	ASSERT_EQ(first().path->peer(), rds::Peer::kAcks) << "known from the connection before";
	third().path->post(rds::kEvWant);
	sim::run_ready();
	EXPECT_EQ(third().path->state(), PathState::kDown);
	EXPECT_EQ(first().path->state(), PathState::kConnecting) << "the first is called for it";
	expect_silence();
	up(first());
	ASSERT_EQ(first().path->peer(), rds::Peer::kUnknown);
	expect_silence();
	/* Its peer is known from here on. */
	ASSERT_EQ(hello(first(), 8, 0), RDS_RECV_SKIP);
	set_folding(true);
	expect_silence();
	set_folding(false);
	third().path->post(rds::kEvWant);
	sim::run_ready();
	EXPECT_EQ(third().path->state(), PathState::kConnecting);
}

/* sim_fast --seed 3063553628: each refusal had the further path ask for the next attempt. */
TEST_F(PathLed, TheFirstPausesBetweenItsAttempts)
{
	three_waits();
	first().connect_result = -ECONNREFUSED;
	rds_path_drop(first().path, RDS_DROP_ERROR);
	sim::run_ready();

	size_t before = first().calls.size();

	sim::run_for(10 * 1000 * kMs);
	/* connect and close, once a pause, which is a random part of what doubles to 1 s. */
	EXPECT_LT(first().calls.size() - before, 2 * 60u);
	EXPECT_EQ(first().path->state(), PathState::kDown);
	first().connect_result = 0;
	sim::run_for(5 * 1000 * kMs);
	EXPECT_EQ(first().path->state(), PathState::kConnecting) << "it does not give up";
}

/* A connection that was accepted for a path that is folded is nobody's. */
TEST_F(PathLed, AFoldDiscardsWhatWasAccepted)
{
	three_is_up();
	third().path->step_own(RDS_EV_idle);
	rds_path_accepted(third().path, &newcomer_);
	sim::run_ready();
	EXPECT_TRUE(fake::discarded().empty()) << "it waits for the end of the one before";
	rds_path_drop(first().path, RDS_DROP_ERROR);
	sim::run_ready();
	first().path->post(rds::kEvKnocked);
	up(first());
	ASSERT_EQ(hello(first(), 1, 0, 78), RDS_RECV_SKIP);
	EXPECT_EQ(net->stat(RDS_S_conn_fold), 1u);
	EXPECT_EQ(fake::discarded(), std::vector<void *>{&newcomer_});
	EXPECT_EQ(third().path->state(), PathState::kDown);
	EXPECT_EQ(third().history(), "connect shutdown close");
	sim::run_for(2000 * kMs);
	EXPECT_EQ(third().history(), "connect shutdown close") << "nor is anything left to be done";
}

/* Of a connection that another takes the place of comes one more event: between its end and the
 * beginning of the next. */
TEST_F(PathLed, ALateEventIsNotTheNextConnections)
{
	Wire *w = nullptr;
	unsigned int late = 0, events = rds::kEvDrop | rds::kEvConnected | rds::kEvDrained |
					rds::kEvRecvRetry | rds::kEvHeard;

	send(5000);
	w = wires()[0];
	for (unsigned int round = 0; round < 40; round++) {
		sim::run_for(2000 * kMs);
		ASSERT_EQ(w->path->state(), PathState::kConnecting);
		w->calls.clear();
		sim::options().preempt_per_1000 = 500;
		sim::spawn("late", [&] {
			sim::wait_until([&] { return !w->calls.empty(); });
			if (w->calls.back() != "close")
				return;
			late++;
			w->path->post(events);
		});
		rds_path_accepted(w->path, &newcomer_);
		sim::run_ready();
		sim::options().preempt_per_1000 = 0;
		EXPECT_EQ(w->history(), "close adopt") << round;
		ASSERT_EQ(w->path->state(), PathState::kUp) << round;
		rds_path_drop(w->path, RDS_DROP_ERROR);
		sim::run_ready();
	}
	EXPECT_GT(late, 0u) << "it was not too late in one round";
}

} // namespace
