// SPDX-License-Identifier: GPL-2.0
/* A connection that was about to go, and may not: it is as it was, and left alone for a while. */
#include "fan_fixture.h"
#include "reach.h"

RDS_REACH(life_idle_since, &rds::Lifecycle::idle_since_ns_)
RDS_REACH(life_not_before, &rds::Lifecycle::not_before_ns_)

namespace
{

using fake::Wire;
using fake::wires;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;

/* Called when a path has taken an event. */
std::function<void(const struct rds_path &p, unsigned int event)> on_event;

/* A connection to a host of ours that has drained. */
class ConnKeep : public FanTest
{
protected:
	void SetUp() override
	{
		FanTest::SetUp();
		tun().idle_timeout_ms = 200;
		on_event = nullptr;
		host::on_event = [](const struct rds_path *p, unsigned int e, unsigned int) {
			if (on_event)
				on_event(*p, e);
		};
	}
	struct rds_tunables &tun()
	{
		return *rds_net_tunables(net->core());
	}
	/* Used, and drained by the peer. */
	void drained()
	{
		send(5000);
		up(*wires()[0]);
		ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
		peer_has(*wires()[0], 1);
		drain(*wires()[0]);
	}
	static void drain(Wire &w)
	{
		rds_path_drop(w.path, RDS_DROP_PEER_CLOSED);
		sim::run_ready();
		ASSERT_EQ(w.path->state(), PathState::kDown);
		ASSERT_EQ(w.path->drained.load(), 1u);
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
			drain(*w);
	}
	/* The next time that it retires @fn comes before path @index is looked at. */
	template <typename F>
	static void when_it_retires(unsigned int index, F fn)
	{
		on_event = [=](const rds_path &p, unsigned int e) {
			if (e != RDS_EV_retire || p.index != index)
				return;
			EXPECT_TRUE(p.conn.life.is_ending() && !p.conn.life.is_dying());

			auto once = fn;

			on_event = nullptr;
			once();
		};
	}
	/* It has retired, and @fn of when_it_retires() has come; and stays. */
	bool kept()
	{
		return sim::run_until([] { return !on_event; }, 6000 * kMs) &&
		       sim::run_until([this] { return conn().life.is_in_use(); }, kMs);
	}
	uint64_t idle_since()
	{
		return conn().life.*reach(life_idle_since());
	}
	/* From now on, until it retires again. */
	uint64_t pause()
	{
		uint64_t then = sim::now_ns();

		when_it_retires(0, [] {});
		EXPECT_TRUE(sim::run_until([] { return !on_event; }, 10 * 1000 * kMs));
		return sim::now_ns() - then;
	}
	Wire &w()
	{
		return *wires()[0];
	}
	bool collected()
	{
		return sim::run_until([] { return wires().empty(); }, 30 * 1000 * kMs);
	}
};

/* Something is in the way for a while: it is looked at again when both pauses are over, not
 * before. */
TEST_F(ConnKeep, WhatWasRefusedIsAskedAgainLater)
{
	for (uint32_t idle_ms : {200u, 3000u}) {
		tun().idle_timeout_ms = idle_ms;
		drained();
		(void)conn().life.evict();
		when_it_retires(0, [this] { conn().waiting.store(1); });
		ASSERT_TRUE(kept());

		uint64_t then = idle_since();

		conn().waiting.store(0);
		EXPECT_FALSE(conn().life.is_ending());
		EXPECT_FALSE(conn().life.is_evicted());
		EXPECT_LE(then, sim::now_ns());
		EXPECT_GE(then, sim::now_ns() - kMs / 100);
		EXPECT_EQ(conn().life.*reach(life_not_before()), then + rds::kSweepAgainNs);
		(void)pause();
		EXPECT_GE(sim::now_ns() - then, rds::kSweepAgainNs);
		EXPECT_GE(sim::now_ns() - then, idle_ms * kMs);
		EXPECT_TRUE(collected());
	}
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 2u);
}

/* It ends when all of its paths may, whichever may not. */
TEST_F(ConnKeep, OneOfSeveralIsEnoughToStay)
{
	both_parted();
	for (unsigned int which : {0u, 1u}) {
		rds_path &p = *wires()[which]->path;

		when_it_retires(which, [&p] { p.drained.store(false); });
		ASSERT_TRUE(kept()) << which;
		p.drained.store(true);
		for (Wire *w : wires())
			EXPECT_EQ(w->path->state(), PathState::kDown);
	}
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 0u);
	EXPECT_TRUE(collected());
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 1u);
}

/* It is called off by who needs a path that was looked at already. */
TEST_F(ConnKeep, WhoComesBehindTheLookCallsItOff)
{
	both_parted();

	rds_path &first = conn().first();
	int handle;

	when_it_retires(1, [&] { EXPECT_TRUE(first.accepted(&handle)); });
	ASSERT_TRUE(kept());
	sim::run_ready();
	EXPECT_EQ(first.state(), PathState::kUp);
	EXPECT_TRUE(fake::discarded().empty());
	ASSERT_EQ(hello(*wires()[0], 8, 0), RDS_RECV_SKIP);
	drain(*wires()[0]);
	when_it_retires(1, [&] {
		EXPECT_TRUE(first.count_waiting());
		EXPECT_FALSE(conn().life.is_ending()) << "not found by a look alone";
	});
	ASSERT_TRUE(kept());
	EXPECT_EQ(conn().waiting.exchange(0), 1u);
	when_it_retires(1, [this] { EXPECT_EQ(s->send(host::endpoint(peer, 0), pattern(10)), 0); });
	ASSERT_TRUE(kept());
	EXPECT_TRUE(first.has_messages());
	EXPECT_EQ(net->stat(RDS_S_conn_collected), 0u);
}

/* A path that is made meanwhile keeps it: it has not been looked at. */
TEST_F(ConnKeep, WhoMakesAPathCallsItOff)
{
	drained();
	when_it_retires(0, [this] { EXPECT_TRUE(conn().provide(1).ok()); });
	ASSERT_TRUE(kept());
	ASSERT_EQ(wires().size(), 2u);
	/* Nothing was ever said on it. */
	EXPECT_TRUE(collected());
}

/* A cached pointer to it is void as soon as nobody may find it, and not before. */
TEST_F(ConnKeep, WhatIsForgottenVoidsWhatSocketsRemember)
{
	drained();

	const rds::ConnTable &table = net->core()->conns;
	const uint64_t before = table.generation();
	uint64_t retiring = 0, dying = 0;

	on_event = [&](const rds_path &p, unsigned int e) {
		if (e == RDS_EV_retire)
			retiring = table.generation();
		if (e == RDS_EV_die && p.conn.life.is_dying())
			dying = table.generation();
	};
	ASSERT_TRUE(collected());
	EXPECT_EQ(retiring, before);
	EXPECT_EQ(dying, before + 1);
	EXPECT_EQ(table.generation(), before + 1);
}

/* Of a connection that only a peer wanted nothing that is queued is anybody's. */
TEST_F(ConnKeep, APongIsNoMessage)
{
	tun().idle_timeout_ms = 0;
	drained();

	rds_path &p = conn().first();

	EXPECT_FALSE(p.has_messages());
	EXPECT_FALSE(p.has_queued());
	ASSERT_EQ(s->send(host::endpoint(peer, 0), pattern(10)), 0);
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

/* Somebody needed it while it retired: the sweep leaves it alone for a while, too. */
TEST_F(ConnKeep, WhatIsNeededIsAskedAgainLater)
{
	drained();
	when_it_retires(0, [this] { EXPECT_TRUE(conn().life.call_off()); });
	ASSERT_TRUE(kept());
	EXPECT_EQ(w().history(), "connect close") << "nobody is called";
	EXPECT_EQ(wires().size(), 1u);
	EXPECT_GE(pause(), rds::kSweepAgainNs - kMs / 100);
	EXPECT_TRUE(collected());
}

/* Once it retires it is soon gone, however long the pauses are else. */
TEST_F(ConnKeep, TheEndComesSoon)
{
	tun().idle_timeout_ms = 3000;
	drained();
	(void)pause();
	EXPECT_TRUE(sim::run_until([] { return wires().empty(); }, rds::kSweepSoonNs));
}

/* A timer armed for a path ends with it. */
TEST_F(ConnKeep, ADeadPathHasNoTimers)
{
	drained();
	on_event = [](const rds_path &p, unsigned int e) {
		if (e == RDS_EV_die)
			rds_recv_later(const_cast<rds_path *>(&p));
	};
	ASSERT_TRUE(sim::run_until([] { return wires().empty(); }, 3000 * kMs));
}

/* It answers nobody, and counts no answer. */
TEST_F(ConnKeep, ARetiredPathAnswersNoPing)
{
	drained();

	rds_path &p = conn().first();

	when_it_retires(0, [&p] {
		EXPECT_EQ(fake::arrive(&p, 1, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
		EXPECT_EQ(p.pongs.load(), 0u);
		EXPECT_FALSE(p.has_queued());
	});
	ASSERT_TRUE(kept()) << "what came may come again";
	sim::run_ready();
	EXPECT_EQ(p.pongs.load(), 0u);
	EXPECT_EQ(w().history(), "connect close");
}

/* ---- events in the midst of it ---- */

/* News that are no call do not keep it. */
TEST_F(ConnKeep, NewsDoNotKeepIt)
{
	drained();
	when_it_retires(0, [this] {
		w().path->post(rds::kEvWant | rds::kEvTimer | rds::kEvDrop | rds::kEvHeard);
		w().path->kick();
		EXPECT_EQ(w().history(), "connect close");
	});
	EXPECT_TRUE(collected());
}

/* A peer that knocks has found it, and keeps it. */
TEST_F(ConnKeep, AKnockInTheLastMoment)
{
	drained();
	when_it_retires(0, [this] {
		int err;
		struct rds_conn *c = rds_conn_get(net->core(), fake::ops(), &a1, &peer, 0, 0, &err);

		ASSERT_EQ(c, &conn());
		rds_path_knocked(rds_conn_path(c, 0));
		rds_conn_put(c);
	});
	ASSERT_TRUE(kept());
	sim::run_ready();
	EXPECT_EQ(w().history(), "connect close connect");
}

/* sim_fast --seed 3451856157: a wish that came while the path had retired was forgotten, and stood
 * in the way of all that came later.  It has nothing to send: that would keep the connection. */
TEST_F(ConnKeep, AWishInTheLastMomentIsNotInTheWay)
{
	drained();
	when_it_retires(0, [this] { w().path->call(); });
	EXPECT_TRUE(collected());
	send(5000);
	EXPECT_EQ(w().path->state(), PathState::kConnecting);
}

/* A sender keeps it, and relies on the wish that it found there. */
TEST_F(ConnKeep, AWishOfOneThatIsKeptCounts)
{
	drained();
	when_it_retires(0, [this] {
		w().path->call();
		EXPECT_EQ(s->send(host::endpoint(peer, 0), pattern(50)), 0);
	});
	ASSERT_TRUE(kept());
	sim::run_ready();
	EXPECT_EQ(w().path->state(), PathState::kConnecting);
}

} // namespace
