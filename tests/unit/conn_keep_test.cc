// SPDX-License-Identifier: GPL-2.0
/* A connection that was asked to go, and may not: it is as it was, and left alone for a while. */
#include "fan_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using rds::Fate;
using rds::PathState;
using rds::Retirement;

constexpr uint64_t kMs = 1000 * 1000;

/* A connection to a host of ours that has parted. */
class ConnKeep : public FanTest
{
protected:
	void SetUp() override
	{
		FanTest::SetUp();
		tun().idle_timeout_ms = 200;
	}
	struct rds_tunables &tun()
	{
		return *rds_net_tunables(net->core());
	}
	/* Used, and parted by the peer. */
	void parted()
	{
		send(5000);
		up(*wires()[0]);
		ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
		peer_has(*wires()[0], 1);
		part(*wires()[0]);
	}
	static void part(Wire &w)
	{
		rds_path_drop(w.path, RDS_DROP_PEER_CLOSED);
		sim::run_ready();
		ASSERT_EQ(w.path->state(), PathState::kDown);
		ASSERT_EQ(w.path->parted.load(), 1u);
	}
	/* Both of two paths have. */
	void both_parted()
	{
		const uint16_t port = crowd_with_older(1);

		peer_has(*wires()[0], last_on_first());
		send(port, 2);
		ASSERT_EQ(wires().size(), 2u);
		up(*wires()[1]);
		ASSERT_EQ(hello(*wires()[1], 8, 1), RDS_RECV_SKIP);
		peer_has(*wires()[1], wires()[1]->path->next_tx_seq() - 1);
		for (Wire *w : wires())
			part(*w);
	}
	bool asked()
	{
		return sim::run_until([this] { return conn().asked; }, 5000 * kMs);
	}
	bool kept()
	{
		return sim::run_until([this] { return !conn().asked; }, 5000 * kMs);
	}
	bool collected()
	{
		return sim::run_until([] { return wires().empty(); }, 30 * 1000 * kMs);
	}
};

/* Something refuses for a while: it is asked again when both pauses are over, not before. */
TEST_F(ConnKeep, WhatWasRefusedIsAskedAgainLater)
{
	for (uint32_t idle_ms : {200u, 3000u}) {
		tun().idle_timeout_ms = idle_ms;
		parted();
		conn().fold_wanted.store(true); /* others' messages are about to come */
		conn().urged.store(true);
		ASSERT_TRUE(asked());
		EXPECT_EQ(conn().fate.load(), Fate::kRetiring);
		ASSERT_TRUE(kept());

		uint64_t then = sim::now_ns();

		EXPECT_EQ(conn().fate.load(), Fate::kWatched);
		EXPECT_EQ(conn().first().retirement.load(), Retirement::kNone);
		EXPECT_EQ(conn().urged.load(), 0u);
		EXPECT_EQ(conn().idle_since_ns, then);
		EXPECT_EQ(conn().not_before_ns, then + rds::kSweepAgainNs);
		conn().fold_wanted.store(false);
		ASSERT_TRUE(asked());
		EXPECT_GE(sim::now_ns() - then, rds::kSweepAgainNs);
		EXPECT_GE(sim::now_ns() - then, idle_ms * kMs);
		EXPECT_TRUE(collected());
	}
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 2u);
}

/* It ends when all of its paths agree, whichever does not. */
TEST_F(ConnKeep, OneOfSeveralIsEnoughToStay)
{
	both_parted();
	for (unsigned int which : {0u, 1u}) {
		ASSERT_TRUE(asked());
		sim::run_ready();
		for (Wire *w : wires())
			ASSERT_EQ(w->path->retirement.load(), Retirement::kGranted);
		wires()[which]->path->retirement.store(Retirement::kRefused);
		ASSERT_TRUE(kept()) << which;
		EXPECT_EQ(conn().fate.load(), Fate::kWatched);
		for (Wire *w : wires())
			EXPECT_EQ(w->path->retirement.load(), Retirement::kNone);
	}
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 0u);
	EXPECT_TRUE(collected());
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
}

/* Nor before all have answered. */
TEST_F(ConnKeep, EachAnswerIsWaitedFor)
{
	both_parted();
	for (unsigned int which : {0u, 1u}) {
		ASSERT_TRUE(asked());
		sim::run_ready();
		wires()[which]->path->retirement.store(Retirement::kAsked);
		sim::run_for(10 * rds::kSweepSoonNs);
		EXPECT_TRUE(conn().asked);
		EXPECT_EQ(conn().fate.load(), Fate::kRetiring) << which;
		/* One that is needed says no for all. */
		wires()[which]->path->retirement.store(Retirement::kRefused);
		ASSERT_TRUE(kept());
	}
	ASSERT_TRUE(asked());
	sim::run_ready();
	wires()[0]->path->retirement.store(Retirement::kAsked);
	sim::run_for(10 * rds::kSweepSoonNs);
	ASSERT_EQ(wires().size(), 2u);
	wires()[0]->path->retirement.store(Retirement::kGranted);
	sim::run_for(5 * rds::kSweepSoonNs);
	EXPECT_TRUE(wires().empty());
}

/* A cached pointer to it is void as soon as nobody may find it, and not before. */
TEST_F(ConnKeep, WhatIsForgottenVoidsWhatSocketsRemember)
{
	parted();

	uint64_t before = net->core()->conns.generation();

	ASSERT_TRUE(asked());
	EXPECT_EQ(net->core()->conns.generation(), before);
	ASSERT_TRUE(collected());
	EXPECT_EQ(net->core()->conns.generation(), before + 1);
}

/* Of a connection that only a peer wanted nothing that is queued is anybody's. */
TEST_F(ConnKeep, APongIsNoMessage)
{
	tun().idle_timeout_ms = 0;
	parted();

	rds_path &p = conn().first();

	EXPECT_FALSE(p.has_messages());
	EXPECT_FALSE(p.has_queued());
	ASSERT_EQ(s->send(host::endpoint(peer, 5000), pattern(10)), 0);
	EXPECT_TRUE(p.has_messages());
	conn().passive.store(true);
	EXPECT_FALSE(p.has_messages());
	EXPECT_TRUE(p.has_queued());
	conn().passive.store(false);
}

/* A message that steps aside for a full port is a message as much as any other. */
TEST_F(ConnKeep, WhatWaitsForAPortIsAMessage)
{
	host::Bytes map(rds::kCongMapBytes);

	tun().idle_timeout_ms = 0;
	send(5000);
	up(*wires()[0]);
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	peer_has(*wires()[0], 1);

	Wire &w = *wires()[0];

	w.room = 0;
	send(5000);
	map[5000 / 8] = static_cast<unsigned char>(1 << 5000 % 8);
	ASSERT_EQ(fake::arrive(w.path, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	w.room = SIZE_MAX;
	rds_path_writable(w.path);
	sim::run_ready();
	ASSERT_TRUE(w.path->holds(5000));
	EXPECT_TRUE(w.path->has_messages());
	EXPECT_TRUE(w.path->has_queued());
}

/* Somebody needed it while it was asked: the sweep leaves it alone for a while, too. */
TEST_F(ConnKeep, WhatIsNeededIsAskedAgainLater)
{
	parted();
	ASSERT_TRUE(asked());
	EXPECT_TRUE(conn().call_off());
	ASSERT_EQ(conn().fate.load(), Fate::kWatched);
	ASSERT_TRUE(kept());

	uint64_t then = sim::now_ns();

	ASSERT_TRUE(asked());
	EXPECT_GE(sim::now_ns() - then, rds::kSweepAgainNs);
	EXPECT_TRUE(collected());
}

/* On its way out it is looked at soon, however long the pauses are else. */
TEST_F(ConnKeep, TheEndComesSoon)
{
	tun().idle_timeout_ms = 3000;
	for (bool late : {false, true}) {
		parted();
		ASSERT_TRUE(asked());
		sim::run_ready();
		if (late) {
			conn().first().retirement.store(Retirement::kAsked);
			sim::run_for(5 * rds::kSweepSoonNs);
			conn().first().retirement.store(Retirement::kGranted);
		}
		sim::run_for(3 * rds::kSweepSoonNs);
		EXPECT_TRUE(wires().empty()) << late;
	}
}

/* A timer armed for a path ends with it. */
TEST_F(ConnKeep, ADeadPathHasNoTimers)
{
	parted();
	ASSERT_TRUE(asked());
	ASSERT_TRUE(
		sim::run_until([this] { return conn().fate.load() == Fate::kDying; }, 1000 * kMs));
	sim::run_for(rds::kSweepSoonNs - 2 * kMs);
	ASSERT_EQ(wires().size(), 1u);
	rds_recv_later(wires()[0]->path); /* longer than it has */
	sim::run_for(3 * kMs);
	EXPECT_TRUE(wires().empty());
}

/* It answers nobody, and counts no answer. */
TEST_F(ConnKeep, ARetiredPathAnswersNoPing)
{
	tun().idle_timeout_ms = 0;
	parted();

	rds_path &p = conn().first();

	p.retire();
	sim::run_ready();
	ASSERT_EQ(p.retirement.load(), Retirement::kGranted);
	EXPECT_EQ(fake::arrive(&p, 1, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	EXPECT_EQ(p.pongs.load(), 0u);
	p.reinstate();
}

} // namespace
