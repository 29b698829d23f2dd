// SPDX-License-Identifier: GPL-2.0
/* A path's worker: what one turn makes of several events, how long it pauses, what it counts. */
#include "ack_fixture.h"

namespace
{

using fake::wire;
using rds::PathState;

class PathSteps : public AckTest
{
protected:
	/* Up, with a peer of ours that has everything and does the calling. */
	void used()
	{
		fake::defaults().initiates = false;
		send();
		bring_up();
		hello();
		peer_has(1);
	}
	void drop(enum rds_drop_reason why)
	{
		rds_path_drop(&path(), why);
		sim::run_ready();
	}
	/* Until the next call. */
	uint64_t pause()
	{
		uint64_t then = sim::now_ns();

		EXPECT_TRUE(sim::run_until(
			[this] { return path().state() == PathState::kConnecting; }, 60000 * kMs));
		return sim::now_ns() - then;
	}
	unsigned int probes()
	{
		unsigned int n = 0;

		for (const fake::Frame &f : sent())
			n += f.sport == rds::kProbePort && f.dport == rds::kPingPort;
		return n;
	}
};

/* A peer that wants to be called while it is: the call is the answer, and nobody is pinged. */
TEST_F(PathSteps, AKnockDuringACallAsksForNothing)
{
	send();
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kConnecting);
	rds_path_knocked(&path());
	rds_path_connected(&path());
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kUp);
	EXPECT_EQ(probes(), 0u);
	rds_path_knocked(&path());
	sim::run_ready();
	EXPECT_EQ(probes(), 1u) << "of one that is up it asks";
}

/* A probe of whether a connection lives is not sent on the next one. */
TEST_F(PathSteps, AProbeIsOneConnectionsOwn)
{
	send();
	bring_up();
	rds_path_knocked(&path());
	sim::run_ready();
	ASSERT_EQ(probes(), 1u);
	reconnect();
	EXPECT_EQ(probes(), 0u);
}

/* One of ours takes an end in order for one of a peer with nothing left to say, and may forget it:
 * one that has not spoken on this connection gets a reset, too.  It may be mainline's if it never
 * was one of ours: that gets nothing again, and is read to its end. */
TEST_F(PathSteps, ASettingResetsOneOfOursThatHasNotSpoken)
{
	send();
	bring_up();
	drop(RDS_DROP_ADMIN);
	EXPECT_EQ(path().state(), PathState::kDisconnecting) << "nobody knows who it is";
	drop(RDS_DROP_ERROR);
	used();
	reconnect();
	ASSERT_EQ(path().peer(), rds::Peer::kUnknown);
	drop(RDS_DROP_ADMIN);
	EXPECT_NE(path().state(), PathState::kDisconnecting);
}

/* A sender in the midst of his batches stops when the connection is about to end. */
TEST_F(PathSteps, WhoSendsStopsAtTheEnd)
{
	send();
	bring_up();

	unsigned int before = wire().xmits;

	wire().on_xmit = [this] {
		send();
		rds_path_drop(&path(), RDS_DROP_ERROR);
		sim::run_for(kMs);
	};
	send();
	EXPECT_EQ(wire().xmits, before + 1);
	sim::run_ready();
	EXPECT_NE(path().state(), PathState::kUp);
}

/* A length that cannot be: the log says why the connection ends. */
TEST_F(PathSteps, AnImpossibleLengthIsLogged)
{
	rds::wire::Header h;
	unsigned int before = host::logged.load();

	send();
	bring_up();
	rds::wire::encode(h, rds::kMaxMessageBytes + 1, 5000, 4000, 0);
	rds::wire::put64(h.sequence, 1);
	EXPECT_EQ(fake::arrive(&path(), h), -71);
	EXPECT_EQ(host::logged.load(), before + 1);
	EXPECT_EQ(net->stat(RDS_S_recv_drop_bad_length), 1u);
}

/* Calls since the peer was up for long are counted. */
TEST_F(PathSteps, OnlyALongConnectionForgivesCalls)
{
	sim::run_for(20000 * kMs);
	used();
	ASSERT_EQ(path().dial().calls(), 1u);
	sim::run_for(path().since_ns.load() + rds::kSteadyNs - kMs - sim::now_ns());
	drop(RDS_DROP_ERROR);
	EXPECT_EQ(path().dial().calls(), 1u);
	sim::run_for(2 * rds::kOwedPauseNs);
	ASSERT_EQ(path().dial().calls(), 2u) << "one call is owed";
	bring_up();
	sim::run_for(path().since_ns.load() + rds::kSteadyNs - sim::now_ns());
	drop(RDS_DROP_ERROR);
	EXPECT_EQ(path().dial().calls(), 0u);
}

/* None at first, then a random part of the least, of twice that, and so on. */
TEST_F(PathSteps, PausesAreDoubled)
{
	const uint64_t least = rds_net_tunables(net->core())->reconnect_min_ms * kMs;
	uint64_t longest[3] = {};

	send();
	bring_up();
	for (int i = 0; i < 60; i++) {
		sim::reseed(static_cast<uint64_t>(i));
		hello();
		drop(RDS_DROP_ERROR);
		EXPECT_EQ(pause(), 0u);
		for (uint64_t &l : longest) {
			drop(RDS_DROP_CONNECT);
			l = std::max(l, pause());
		}
		bring_up();
	}
	for (unsigned int i = 0; i < 3; i++) {
		EXPECT_LT(longest[i], least << i) << i;
		EXPECT_GT(longest[i], (least << i) * 3 / 4) << i;
	}
}

/* A message from the network is its socket's memory, with all of its bytes. */
TEST_F(PathSteps, WhatCameIsCharged)
{
	send();
	bring_up();
	ASSERT_EQ(fake::arrive(&path(), 1, 5000, 4000, pattern(5000)), 0);
	EXPECT_GE(s->core()->rcv_mem.used(), 5000u);
	EXPECT_EQ(s->core()->rcv_bytes.load(), 5000u);
	ASSERT_TRUE(s->recv());
	EXPECT_EQ(s->core()->rcv_mem.used(), 0u);
}

/* A probe says how many paths we use with mainline's. */
TEST_F(PathSteps, AProbeSaysHowManyPaths)
{
	send();
	bring_up();
	rds_path_knocked(&path());
	sim::run_ready();

	const rds::wire::Header probe = sent().back().header;
	rds::wire::ExtReader r(probe);
	rds::wire::ExtView e;

	ASSERT_EQ(probes(), 1u);
	ASSERT_TRUE(r.next(e));
	EXPECT_EQ(e.type, rds::wire::Ext::kNpaths);
	EXPECT_EQ(rds::wire::get16(e.data), rds::kMainlinePaths);
}

/* A port that is full because its limit was lowered is full for peers, too: they are told. */
TEST_F(PathSteps, ARefusalIsTold)
{
	auto maps = [this] {
		unsigned int n = 0;

		for (const fake::Frame &f : sent())
			n += f.flags == rds::wire::kCongBitmap && f.data[4000 / 8] & 1 << 4000 % 8;
		return n;
	};

	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	send();
	bring_up();
	ASSERT_EQ(fake::arrive(&path(), 1, 5000, 4000, pattern(1000)), 0);
	s->sock().rcvbuf = 30;
	EXPECT_EQ(maps(), 0u);
	EXPECT_EQ(fake::arrive(&path(), 2, 5000, 4000, pattern(10)), -11);
	sim::run_ready();
	EXPECT_EQ(maps(), 1u);
}

/* The end with nothing to send on a path yet calls it again as soon as the pause is over. */
TEST_F(PathSteps, CallsForCompanyPause)
{
	used();
	drop(RDS_DROP_PEER_CLOSED);
	ASSERT_EQ(path().state(), PathState::kDown);

	uint64_t then = sim::now_ns();

	path().call();
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kConnecting);
	drop(RDS_DROP_CONNECT);
	ASSERT_EQ(path().state(), PathState::kDown);
	sim::run_for(then + rds::kCallPauseNs - 1 - sim::now_ns());
	path().call();
	sim::run_ready();
	EXPECT_EQ(path().state(), PathState::kDown);
	sim::jump(then + rds::kCallPauseNs - std::min(sim::now_ns(), then + rds::kCallPauseNs));
	path().call();
	sim::run_ready();
	EXPECT_EQ(path().state(), PathState::kConnecting);
}

/* A plain peer's headers say nothing of our numbers. */
TEST_F(PathSteps, APlainPeerDoesNotAcknowledge)
{
	rds::wire::Header h;

	send(2);
	bring_up();
	rds::wire::encode(h, 10, 5000, 4000, 0);
	rds::wire::put64(h.sequence, 1);
	rds::wire::put64(h.ack, 1);
	ASSERT_EQ(fake::arrive(&path(), h, pattern(10)), 0);
	ASSERT_EQ(path().peer(), rds::Peer::kPlain);
	EXPECT_EQ(path().delivered(), 0u);
	EXPECT_EQ(path().in_flight(), path().next_tx_seq());
}

/* A timer that ran out just when its purpose ended means nothing to what comes next. */
TEST_F(PathSteps, ALateTimerIsNotTheNextOnes)
{
	int handle;
	unsigned int late = 0;

	send();
	bring_up();
	drop(RDS_DROP_ERROR);
	for (int i = 0; i < 20; i++) {
		while (path().state() != PathState::kDown)
			drop(RDS_DROP_CONNECT);
		wire().adopt_result = -12;
		wire().on_adopt = [this] { path().post(rds::kEvTimer); };
		rds_path_accepted(&path(), &handle);
		sim::run_ready();
		late += path().state() == PathState::kConnecting;
		(void)pause();
	}
	EXPECT_LT(late, 5u) << "the pause is random";
}

} // namespace
