// SPDX-License-Identifier: GPL-2.0
/* The sweep of idle connections in time: neither later than it says, nor after its namespace. */
#include "fan_fixture.h"
#include "reach.h"

RDS_REACH(life_idle_since, &rds::Lifecycle::idle_since_ns_)
RDS_REACH(life_silent_since, &rds::Lifecycle::silent_since_ns_)

namespace
{

using fake::Wire;
using fake::wires;
using host::endpoint;
using rds::PathState;

constexpr uint64_t kMs = 1000 * 1000;

/* Called when a path has taken an event. */
std::function<void(const struct rds_path &p, unsigned int event)> on_event;

class ConnSweep : public FanTest
{
protected:
	void SetUp() override
	{
		FanTest::SetUp();
		rds_net_tunables(net->core())->idle_timeout_ms = 1000;
		on_event = nullptr;
		host::on_event = [](const struct rds_path *p, unsigned int e, unsigned int) {
			if (on_event)
				on_event(*p, e);
		};
	}
	void TearDown() override
	{
		on_event = nullptr; /* it counts in a variable of the test */
		FanTest::TearDown();
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
	/* The same to another host, the @i-th of wires(). */
	Wire &used_too(unsigned int i)
	{
		EXPECT_EQ(s->send(endpoint(host::addr4(100 + i), 5000), pattern(10)), 0);
		sim::run_ready();
		EXPECT_EQ(wires().size(), i + 1);

		Wire &w = *wires()[i];

		up(w);
		EXPECT_EQ(hello(w, 1, 0), RDS_RECV_SKIP);
		peer_has(w, 1);
		return w;
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
		ASSERT_TRUE(sim::run_until([&] { return conn().life.is_dying(); }, 2000 * kMs));
	}
	uint64_t idle_since()
	{
		return conn().life.*reach(life_idle_since());
	}
	/* How often paths take event @e from now on. */
	static void count(unsigned int e, unsigned int &n)
	{
		on_event = [e, &n](const rds_path &, unsigned int what) { n += what == e; };
	}
};

/* As soon as it has been silent for so long: the sweep comes four times in that. */
TEST_F(ConnSweep, AnIdleOneEndsInTime)
{
	used();
	ASSERT_TRUE(reaches(PathState::kDisconnecting));
	EXPECT_LT(sim::now_ns() - idle_since(), 1001 * kMs);
	rds_path_drained(w().path);
}

/* One that waits for an ack is not idle, and is not asked to end. */
TEST_F(ConnSweep, WhoIsOwedAnAckIsNotIdle)
{
	unsigned int asked = 0;

	used();
	count(RDS_EV_idle, asked);
	send(5000);
	sim::run_for(5000 * kMs);
	EXPECT_EQ(w().path->state(), PathState::kUp);
	EXPECT_EQ(conn().life.care(), rds::Care::kNone) << "never looked after";
	EXPECT_EQ(asked, 0u);
	EXPECT_LE(sim::now_ns() - idle_since(), 260 * kMs);
	peer_has(w(), 2);
	EXPECT_TRUE(reaches(PathState::kDisconnecting));
	rds_path_drained(w().path);
}

/* One that was asked to end, and has something half received, is not asked again and again. */
TEST_F(ConnSweep, WhoDoesNotEndIsLeftAlone)
{
	unsigned int asked = 0;

	used();
	w().midway = true;
	count(RDS_EV_idle, asked);
	ASSERT_TRUE(sim::run_until([&] { return asked; }, 5000 * kMs));
	sim::run_ready();
	EXPECT_TRUE(conn().life.is_in_use());
	EXPECT_TRUE(conn().life.rests(sim::now_ns() + rds::kSweepAgainNs - kMs / 100));
	EXPECT_FALSE(conn().life.rests(sim::now_ns() + rds::kSweepAgainNs));
	sim::run_for(rds::kSweepAgainNs - kMs);
	EXPECT_EQ(asked, 1u);
	sim::run_for(10 * rds::kSweepAgainNs);
	EXPECT_GE(asked, 8u);
	EXPECT_LE(asked, 11u);
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
	EXPECT_LE(sim::now_ns() - idle_since(), 1300 * kMs);
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

/* One that may not go after all is not asked a second time by the next look. */
TEST_F(ConnSweep, OneLookAsksOnce)
{
	unsigned int asked = 0;

	used();
	ASSERT_TRUE(reaches(PathState::kDisconnecting));
	on_event = [&](const rds_path &p, unsigned int e) {
		if (e == RDS_EV_retire && !asked++)
			p.conn.waiting.fetch_add(1);
	};
	rds_path_drained(w().path);
	sim::run_ready();
	ASSERT_EQ(asked, 1u) << "the turn in which the last path ended";
	EXPECT_TRUE(conn().life.is_in_use());
	conn().waiting.store(0);
	sim::run_for(rds::kSweepAgainNs - kMs);
	EXPECT_EQ(asked, 1u);
	sim::run_for(rds::kSweepAgainNs);
	EXPECT_TRUE(wires().empty());
	EXPECT_EQ(asked, 2u);
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

/* How often it is looked: four times in what is allowed, but at least every fifteen seconds and not
 * more often than every twenty milliseconds. */
TEST_F(ConnSweep, TheSweepComesFourTimes)
{
	constexpr uint64_t kExact = 20 * 1000; /* steps of the simulator take some time */

	used();

	auto silent_since = [this] { return conn().life.*reach(life_silent_since()); };
	/* A look that finds a number changed notes when that was. */
	auto next_look = [&] {
		uint64_t last = silent_since();

		send(5000);
		peer_has(w(), w().path->next_tx_seq() - 1);
		EXPECT_TRUE(
			sim::run_until([&] { return silent_since() != last; }, 60 * 1000 * kMs));
		return silent_since();
	};

	for (auto [idle_ms, pause] : {std::pair<uint32_t, uint64_t>{4000, 1000 * kMs},
				      {59000, 14750 * kMs},
				      {61000, rds::kSweepNs},
				      {0, rds::kSweepNs},
				      {84, 21 * kMs},
				      {40, rds::kSweepSoonNs}}) {
		rds_net_tunables(net->core())->idle_timeout_ms = idle_ms;
		(void)next_look();

		uint64_t then = next_look();

		EXPECT_NEAR(static_cast<double>(next_look() - then), static_cast<double>(pause),
			    static_cast<double>(kExact))
			<< idle_ms;
	}
}

/* A look just before the time is over ends nothing. */
TEST_F(ConnSweep, NotBeforeItsTime)
{
	rds_net_tunables(net->core())->idle_timeout_ms = 2000;
	used();

	uint64_t begun = idle_since();

	ASSERT_TRUE(sim::run_until([&] { return idle_since() != begun; }, 5000 * kMs));
	begun = idle_since();
	sim::run_for(1980 * kMs - rds::kStrangerSweepNs);
	ASSERT_EQ(idle_since(), begun);
	/* It looks when it is called for. */
	sim::run_for(19 * kMs + kMs / 2);
	net->core()->conns.hurry();
	sim::run_for(rds::kStrangerSweepNs);
	sim::run_ready();
	EXPECT_EQ(w().path->state(), PathState::kUp);
	sim::run_for(500 * kMs);
	EXPECT_EQ(w().path->state(), PathState::kDisconnecting);
}

/* One that is hurried is followed by others in their time. */
TEST_F(ConnSweep, OneLookIsHurried)
{
	auto silent_since = [this] { return conn().life.*reach(life_silent_since()); };

	rds_net_tunables(net->core())->idle_timeout_ms = 61000;
	used();
	for (int i = 0; i < 2; i++) {
		uint64_t last = silent_since();

		net->core()->conns.hurry();
		sim::run_for(1000 * kMs);
		EXPECT_NE(silent_since(), last) << "it came";
		send(5000);
		peer_has(w(), w().path->next_tx_seq() - 1);
		last = silent_since();
		sim::run_for(2000 * kMs);
		EXPECT_EQ(silent_since(), last) << "no other did";
	}
}

/* Connections that may not go, of which there may be many, are not in the others' way. */
TEST_F(ConnSweep, OthersAreLookedAtToo)
{
	constexpr unsigned int kMany = 100, kOurs = 10;

	for (unsigned int i = 0; i < kMany + kOurs; i++) {
		ASSERT_EQ(s->send(endpoint(host::addr4(100 + i), 5000), pattern(10)), 0);
		sim::run_ready();
		ASSERT_EQ(wires().size(), i + 1);
		rds_path_connected(wires()[i]->path);
		sim::run_ready();

		rds::wire::Header h;

		/* The first are mainline's. */
		rds::wire::encode(h, 0, 5000, 4000, 0);
		if (i >= kMany)
			rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
		(void)fake::arrive(wires()[i]->path, h);
		rds_path_acked(wires()[i]->path, wires()[i]->sent.size());
		if (i >= kMany) {
			rds::wire::encode_control(h);
			rds::wire::put64(h.ack, 1);
			(void)fake::arrive(wires()[i]->path, h);
		}
		sim::run_ready();
	}
	for (unsigned int i = kMany; i < kMany + kOurs; i++)
		EXPECT_TRUE(sim::run_until(
			[i] { return wires()[i]->path->state() == PathState::kDisconnecting; },
			3 * 1000 * kMs))
			<< i;
}

/* A frame's rest does not come: after 30 s without a byte the connection ends.  Else it would stay
 * as long as the peer's TCP, or whoever answers for it, says that it is there. */
TEST_F(ConnSweep, AHalfMessageIsNotWaitedForForEver)
{
	used();
	w().midway = true;
	for (w().wants = 100; w().wants > 96; w().wants--)
		sim::run_for(rds::kStallNs - 2000 * kMs); /* a byte in time */
	EXPECT_EQ(w().path->state(), PathState::kUp) << "slow is no fault";
	EXPECT_EQ(net->stat(RDS_S_conn_stalled), 0u);
	w().wants = 7;
	sim::run_for(rds::kStallNs - 1000 * kMs);
	EXPECT_EQ(w().path->state(), PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_stalled), 0u);
	sim::run_for(2000 * kMs);
	EXPECT_EQ(net->stat(RDS_S_conn_stalled), 1u);
	EXPECT_EQ(w().path->last_reason.load(), static_cast<uint32_t>(RDS_DROP_STALLED));
	w().wants = 0;
}

/* Numbers that pass show that it moves, though each look finds as much missing: little, or all of
 * the longest message. */
TEST_F(ConnSweep, ASteadyStreamDoesNotStand)
{
	uint64_t seq = 0;

	used();
	w().midway = true;
	for (uint32_t missing : {100u, rds::kMaxMessageBytes}) {
		w().wants = missing;
		for (unsigned int i = 0; i < 10; i++) {
			rds::wire::Header h;

			rds::wire::encode(h, 0, 5000, 4000, 0);
			rds::wire::put64(h.sequence, ++seq);
			EXPECT_EQ(fake::arrive(w().path, h), 0);
			sim::run_for(rds::kStallNs * 2 / 3);
		}
	}
	EXPECT_EQ(net->stat(RDS_S_conn_stalled), 0u);
	w().wants = 0;
}

/* Nor are those whose peers stopped in the midst of a message. */
TEST_F(ConnSweep, OthersAreLookedAtBesideThoseThatStopped)
{
	constexpr unsigned int kMany = 2 * rds::kSweepBatch, kOurs = 10;

	for (unsigned int i = 0; i < kMany + kOurs; i++)
		used_too(i).midway = i < kMany;
	for (unsigned int i = kMany; i < kMany + kOurs; i++)
		EXPECT_TRUE(sim::run_until(
			[i] { return wires()[i]->path->state() == PathState::kDisconnecting; },
			3 * 1000 * kMs))
			<< i;
}

/* More than are looked after at a time wait for no other look, however rare those are, nor for the
 * first ones' peers, who have not ended yet. */
TEST_F(ConnSweep, TheRestOfManyComesSoon)
{
	constexpr unsigned int kMany = 2 * rds::kSweepBatch + 1;
	unsigned int asked = 0;

	rds_net_tunables(net->core())->idle_timeout_ms = 60000;
	for (unsigned int i = 0; i < kMany; i++)
		(void)used_too(i);
	count(RDS_EV_idle, asked);
	ASSERT_TRUE(sim::run_until([&] { return asked; }, 100 * 1000 * kMs));
	for (unsigned int all : {rds::kSweepBatch, 2 * rds::kSweepBatch, kMany}) {
		sim::run_for(kMs);
		EXPECT_EQ(asked, all);
		sim::run_for(rds::kSweepSoonNs);
	}
	for (Wire *w : wires())
		EXPECT_EQ(w->path->state(), PathState::kDisconnecting);
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
