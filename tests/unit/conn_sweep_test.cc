// SPDX-License-Identifier: GPL-2.0
/* The sweep of idle connections in time: neither later than it says, nor after its namespace. */
#include "fan_fixture.h"

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using rds::Fate;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;

class ConnSweep : public FanTest
{
protected:
	void SetUp() override
	{
		FanTest::SetUp();
		rds_net_tunables(net->core())->idle_timeout_ms = 1000;
	}
	Wire &w()
	{
		return *wires()[0];
	}
	/* Up, one message sent and acknowledged. */
	void used()
	{
		send(5000);
		up(w());
		ASSERT_EQ(hello(w(), 1, 0), RDS_RECV_SKIP);
		peer_has(w(), 1);
	}
	bool reaches(PathState what)
	{
		return sim::run_until([&] { return w().path->state() == what; }, 10000 * kMs);
	}
	/* It is about to be freed, and nobody can call that off; a reference keeps it so. */
	void dying()
	{
		used();
		ASSERT_TRUE(reaches(PathState::kDisconnecting));
		rds_path_drained(w().path);
		ASSERT_TRUE(sim::run_until([&] { return conn().fate.load() == Fate::kDying; },
					   2000 * kMs));
	}
};

/* As soon as it has been silent for so long: the sweep comes four times in that. */
TEST_F(ConnSweep, AnIdleOneEndsInTime)
{
	used();
	ASSERT_TRUE(reaches(PathState::kDisconnecting));
	EXPECT_LT(sim::now_ns() - conn().idle_since_ns, 1001 * kMs);
	rds_path_drained(w().path);
}

/* One that waits for an ack is not idle, and is not asked to end. */
TEST_F(ConnSweep, WhoIsOwedAnAckIsNotIdle)
{
	used();
	send(5000);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(w().path->state(), PathState::kUp);
	EXPECT_EQ(conn().care, rds::Care::kNone);
	EXPECT_FALSE(conn().idle_asked);
	EXPECT_LE(sim::now_ns() - conn().idle_since_ns, 260 * kMs);
	peer_has(w(), 2);
	EXPECT_TRUE(reaches(PathState::kDisconnecting));
	rds_path_drained(w().path);
}

/* One that was asked to end, and has something half received, is not asked again and again. */
TEST_F(ConnSweep, WhoDoesNotEndIsLeftAlone)
{
	used();
	w().midway = true;
	ASSERT_TRUE(sim::run_until([&] { return conn().idle_asked; }, 5000 * kMs));
	EXPECT_TRUE(
		sim::run_until([&] { return conn().not_before_ns > sim::now_ns(); }, 400 * kMs));
	EXPECT_EQ(w().path->state(), PathState::kUp);
}

/* One that broke waits its time anew, so that it is not looked after in the others' place. */
TEST_F(ConnSweep, WhoMayNotGoMakesWay)
{
	used();
	w().initiates = false;
	rds_path_drop(w().path, RDS_DROP_ERROR);
	sim::run_for(12000 * kMs);
	ASSERT_EQ(wires().size(), 1u);
	EXPECT_LE(sim::now_ns() - conn().idle_since_ns, 1300 * kMs);
}

/* A peer that takes its time to end is not made to wait for what follows. */
TEST_F(ConnSweep, ASlowEndIsFollowedAtOnce)
{
	used();
	ASSERT_TRUE(reaches(PathState::kDisconnecting));
	sim::run_for(900 * kMs);
	ASSERT_EQ(w().path->state(), PathState::kDisconnecting);
	rds_path_drained(w().path);
	EXPECT_TRUE(sim::run_until([] { return wires().empty(); }, 350 * kMs));
}

/* Refused, it is kept by the next look, which does not ask a second time. */
TEST_F(ConnSweep, OneLookAsksOnce)
{
	used();
	ASSERT_TRUE(reaches(PathState::kDisconnecting));
	rds_path_drained(w().path);
	sim::run_ready();
	conn().fold_wanted.store(true); /* others' messages are about to come */
	ASSERT_TRUE(sim::run_until([&] { return conn().asked; }, 2000 * kMs));
	EXPECT_TRUE(sim::run_until([&] { return !conn().asked; }, rds::kSweepSoonNs));
	conn().fold_wanted.store(false);
}

/* A caller that still holds a dying connection looks for another. */
TEST_F(ConnSweep, ADyingOneTakesNothing)
{
	dying();

	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	ASSERT_NE(m, nullptr);
	rds::wire::encode(m->hdr, 0, 4000, 5000, 0);
	m->sock = s->core();
	{
		rds::RcuReader rcu;
		auto how = w().path->enqueue(m, false, nullptr);

		ASSERT_TRUE(how.ok());
		EXPECT_EQ(how.value(), rds::Queued::kMoved);
		EXPECT_FALSE(w().path->count_waiting());
	}
	EXPECT_EQ(conn().waiting.load(), 0u);
	m->sock = nullptr;
	rds::message_put(m);
}

/* A peer that calls just then, and a sender whose path is not there yet, get the next one. */
TEST_F(ConnSweep, WhoComesTooLateGetsTheNext)
{
	dying();

	struct rds_conn *old = &conn(), *got = nullptr;
	const uint32_t gen = old->gen;
	bool sent = false;
	int err = 0;

	sim::options().preempt_per_1000 = 400;
	sim::spawn("peer",
		   [&] { got = rds_conn_get(net->core(), fake::ops(), &a1, &peer, 0, 0, &err); });
	sim::spawn("sender", [&] {
		EXPECT_EQ(s->send(endpoint(peer, 5000), pattern(50)), 0);
		sent = true;
	});
	EXPECT_TRUE(sim::run_until([&] { return got && sent; }, 1000 * kMs));
	sim::options().preempt_per_1000 = 0;
	ASSERT_NE(got, nullptr);
	EXPECT_NE(got->gen, gen);
	rds_conn_put(got);
	sim::run_for(100 * kMs);
	EXPECT_EQ(net->core()->conns.alive[fake::ops()->type].load(), 1u);
}

/* A namespace may end at any moment of the sweep. */
TEST_F(ConnSweep, ItEndsWithItsNamespace)
{
	for (unsigned int steps = 0; steps < 40; steps++) {
		const struct rds_addr mine = host::addr4(7);
		host::Net other({mine});
		auto sock = std::make_unique<host::Socket>(other);

		rds_net_tunables(other.core())->idle_timeout_ms = 1000;
		ASSERT_EQ(sock->bind(endpoint(mine, 4000)), 0);
		ASSERT_EQ(sock->send(endpoint(peer, 5000), pattern(5)), 0);
		sim::run_for(240 * kMs);
		for (unsigned int i = 0; i < steps; i++)
			sim::step();
		sock.reset();
	}
	EXPECT_TRUE(wires().empty());
}

/* Hosts that call, more of them than there may be. */
class ConnEvict : public ConnSweep
{
protected:
	void SetUp() override
	{
		ConnSweep::SetUp();
		tun().idle_timeout_ms = 0;
		fake::defaults().initiates = false;
	}
	struct rds_tunables &tun()
	{
		return *rds_net_tunables(net->core());
	}
	/* Host @host has connected, and says one thing: to a socket here, or to nobody. */
	Wire &calls(unsigned int host, bool to_us)
	{
		struct rds_addr faddr = host::addr4(host);
		int err;
		struct rds_conn *c =
			rds_conn_get(net->core(), fake::ops(), &a1, &faddr, 0, 0, &err);

		rds_path_accepted(rds_conn_path(c, 0), &handle_);
		sim::run_ready();
		rds_conn_put(c);

		Wire &w = *wires().back();

		EXPECT_EQ(to_us ? fake::arrive(w.path, 1, 5000, 4000, pattern(10))
				: fake::arrive(w.path, 1, 5000, 0, {}),
			  to_us ? 0 : RDS_RECV_SKIP);
		return w;
	}
	int handle_ = 0;
};

/* Whom a socket has sent to stays, whoever else is too many, though he has said nothing. */
TEST_F(ConnEvict, WhoIsUsedIsNoneTooMany)
{
	Wire &used = calls(50, false);

	ASSERT_EQ(s->send(endpoint(host::addr4(50), 5000), pattern(10)), 0);
	calls(51, true);
	calls(52, true);
	tun().max_passive = 1;
	sim::run_for(20000 * kMs);
	EXPECT_EQ(used.path->state(), PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_evicted), 0u);
	tun().max_passive = 2;
	used.initiates = true;
	rds_path_drop(used.path, RDS_DROP_ERROR);
	sim::run_for(20000 * kMs);
	EXPECT_EQ(wires().size(), 3u);
}

/* One too many hurries the sweep, which would not have come for long. */
TEST_F(ConnEvict, OneTooManyIsNotWaitedFor)
{
	tun().max_passive = 1;
	calls(50, false);
	sim::run_for(2000 * kMs);
	calls(51, false);
	sim::run_for(2000 * kMs);
	EXPECT_EQ(net->stat(RDS_S_conn_evicted), 1u);
}

} // namespace
