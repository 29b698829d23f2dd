// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/path/path.h"
#include "net/rds/path/path_walk.h"
#include "net/rds/socket/socket.h"

namespace
{

using fake::wire;
using host::endpoint;
using host::Socket;

constexpr uint64_t kMs = 1000 * 1000;

/* A connection that is up and has been heard, and others that are accepted.  More of it, with the
 * states that a path goes through: path_test.cc. */
class PathTakeover : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		ASSERT_EQ(s->send(endpoint(remote, 5000), pattern(10)), 0);
		sim::run_ready();
		rds_path_connected(wire().path);
		speak();
	}
	void speak()
	{
		sim::run_ready();
		EXPECT_EQ(fake::arrive(wire().path, 1, 0, rds::kProbePort, {}), RDS_RECV_SKIP);
		sim::run_ready();
	}
	void accept()
	{
		rds_path_accepted(wire().path, &handles_[accepted_++]);
		sim::run_ready();
	}
	static unsigned int probes()
	{
		unsigned int n = 0;

		for (const fake::Frame &f : fake::frames(wire().sent))
			n += f.sport == rds::kProbePort && f.dport == rds::kPingPort;
		return n;
	}
	uint64_t refused()
	{
		return net->stat(RDS_S_conn_takeover_refused);
	}
	void knock()
	{
		rds_path_knocked(wire().path);
		sim::run_ready();
	}
	static unsigned int unsent()
	{
		unsigned int n = 0;

		wire().path->for_each_queued(false, [&](const rds::Message &) { n++; });
		return n;
	}
	int handles_[8] = {};
	unsigned int accepted_ = 0;
};

/* It shows that the peer was there, not that it still is. */
TEST_F(PathTakeover, WhatWasSaidBeforeIsNoAnswer)
{
	accept();
	EXPECT_EQ(probes(), 1u);
	EXPECT_EQ(refused(), 0u);
	sim::run_for(rds::kAskNs - kMs);
	EXPECT_EQ(wire().path->state(), rds::PathState::kUp);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 0u) << "it has its time to answer";
	sim::run_for(2 * kMs);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 1u);
	EXPECT_EQ(refused(), 0u);
}

/* Each that comes is asked for anew, unless that was a moment ago; an answer is for one newcomer
 * only. */
TEST_F(PathTakeover, AnAnswerIsGoodForAMoment)
{
	sim::run_for(1000 * kMs);
	accept();
	speak();
	ASSERT_EQ(refused(), 1u);
	sim::run_for(rds::kAnswerGoodNs - kMs);
	accept();
	EXPECT_EQ(refused(), 2u);
	EXPECT_EQ(probes(), 1u);
	sim::run_for(kMs);
	accept();
	EXPECT_EQ(probes(), 2u) << "the refusal in between has not made it younger";
	EXPECT_EQ(refused(), 2u);
	sim::run_for(rds::kAskNs + kMs);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 1u);
	EXPECT_EQ(fake::discarded().size(), 2u);
	EXPECT_EQ(wire().takeovers_refused, 2u) << "of each that was refused, and of no other";
}

/* One that was refused has nothing to wait for: the next has all of its time. */
TEST_F(PathTakeover, TheNextHasItsOwnTime)
{
	accept();
	sim::run_for(kMs);
	speak();
	ASSERT_EQ(refused(), 1u);
	sim::run_for(rds::kAskNs - 10 * kMs);
	accept();
	ASSERT_EQ(probes(), 2u);
	sim::run_for(rds::kAskNs - kMs);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 0u);
	speak();
	EXPECT_EQ(refused(), 2u);
	sim::run_for(2 * rds::kAskNs);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 0u);
	EXPECT_EQ(wire().path->state(), rds::PathState::kUp);
}

/* The peer's window is shut, and it knocks all the time. */
TEST_F(PathTakeover, OneProbeWaits)
{
	wire().room = 0;
	for (int i = 0; i < 1000; i++)
		knock();
	EXPECT_EQ(unsent(), 1u);
	accept();
	EXPECT_EQ(unsent(), 1u) << "it asks for the newcomer, too";
	wire().room = SIZE_MAX;
	rds_path_writable(wire().path);
	speak();
	EXPECT_EQ(probes(), 1u);
	EXPECT_EQ(refused(), 1u);
	EXPECT_EQ(unsent(), 0u);
	knock();
	EXPECT_EQ(probes(), 2u) << "it has left";
	/* One that was never sent goes with its connection. */
	wire().room = 0;
	knock();
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(kMs);
	wire().room = SIZE_MAX;
	rds_path_connected(wire().path);
	sim::run_ready();
	ASSERT_EQ(probes(), 0u);
	knock();
	EXPECT_EQ(probes(), 1u);
}

} // namespace
