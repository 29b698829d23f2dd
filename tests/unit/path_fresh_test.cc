// SPDX-License-Identifier: GPL-2.0
/* A connection begins with nothing of the one before it: nothing is said, heard or owed on it. */
#include "ack_fixture.h"

namespace
{

using fake::wire;
using rds::PathState;

class PathFresh : public AckTest
{
protected:
	/* Bare acks among what was sent on this connection. */
	unsigned int bare_acks()
	{
		unsigned int n = 0;

		for (const auto &f : sent()) {
			rds::wire::Fields fields = rds::wire::decode(f.header);

			n += rds::wire::is_control(fields) &&
			     !rds::wire::decode_hello(f.header).caps;
		}
		return n;
	}
	bool sent_map()
	{
		for (const auto &f : sent())
			if (f.flags == rds::wire::kCongBitmap)
				return true;
		return false;
	}
	/* The hello of a peer that is read while ours is being sent. */
	void meet_in_xmit()
	{
		wire().on_xmit = [] {
			rds::wire::Header h;

			rds::wire::encode_hello(h, {77, rds::wire::kCapDeliveryAck});
			EXPECT_EQ(fake::arrive(wire().path, h), RDS_RECV_SKIP);
		};
	}
	int handle_ = 0;
};

/* The peer asked on a connection that had no room, and that is gone. */
TEST_F(PathFresh, NoAckIsOwed)
{
	send();
	bring_up();
	hello();
	wire().room = 0;
	send();
	EXPECT_EQ(arrive(1, rds::wire::kAckRequired), 0);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	wire().room = SIZE_MAX;
	meet_in_xmit();
	bring_up();
	sim::run_ready();
	EXPECT_EQ(bare_acks(), 0u);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 0u);
}

/* It was told on the connection before, where our last words may have been lost. */
TEST_F(PathFresh, ThePeerKnowsNothing)
{
	send();
	bring_up();
	hello();
	EXPECT_EQ(arrive(1), 0);
	send();
	ASSERT_TRUE(path().peer_knows_all());
	reconnect();
	EXPECT_FALSE(path().peer_knows_all()) << "nor is it known who it is";
	EXPECT_EQ(rds_path_received(wire().path), 0u);
	hello();
	EXPECT_EQ(rds_path_received(wire().path), 1u);
	EXPECT_FALSE(path().peer_knows_all());
	EXPECT_TRUE(path().owes_ack()) << "and this asks for it";
	sim::run_ready();
	EXPECT_TRUE(path().peer_knows_all());
	EXPECT_FALSE(path().owes_ack());
	EXPECT_EQ(sent().back().ack, 1u);
	EXPECT_EQ(bare_acks(), 1u);
}

TEST_F(PathFresh, NothingWasHeard)
{
	send();
	bring_up();
	hello();
	EXPECT_EQ(path().heard.load(), 1u);
	reconnect();
	EXPECT_EQ(path().heard.load(), 0u);
	EXPECT_EQ(path().peer(), rds::Peer::kUnknown);
	EXPECT_FALSE(path().peer_has_gen());
	EXPECT_FALSE(path().owes_ack());
}

/* On one that the peer opened nothing is said before it has said something on that one. */
TEST_F(PathFresh, SilenceIsEachConnectionsOwn)
{
	fake::defaults().initiates = false;
	send();
	sim::run_ready();
	for (int round = 0; round < 3; round++) {
		rds_path_accepted(wire().path, &handle_);
		sim::run_ready();
		ASSERT_EQ(path().state(), PathState::kUp);
		EXPECT_FALSE(sent_map()) << round;
		hello();
		EXPECT_TRUE(sent_map()) << round;
		rds_path_drop(wire().path, RDS_DROP_PEER_CLOSED);
		sim::run_ready();
	}
}

/* And on one of ours nothing has to be waited for, whoever opened the one before it. */
TEST_F(PathFresh, NoSilenceOnOneOfOurs)
{
	fake::defaults().initiates = false;
	send();
	sim::run_ready();
	rds_path_drop(wire().path, RDS_DROP_CONNECT);
	rds_path_accepted(wire().path, &handle_);
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kUp);
	ASSERT_FALSE(sent_map());
	wire().initiates = true;
	reconnect();
	EXPECT_TRUE(sent_map());
	EXPECT_EQ(sent().back().seq, 1u);
}

/* The reason of the last end is not that of the next. */
TEST_F(PathFresh, TheReasonIsItsOwn)
{
	send();
	bring_up();
	hello();
	rds_path_drop(wire().path, RDS_DROP_SEND);
	sim::run_ready();
	EXPECT_EQ(path().last_reason.load(), RDS_DROP_SEND);
	sim::run_for(1000 * kMs);
	bring_up();
	hello();
	rds_transport_net_reset(net->core(), fake::ops());
	sim::run_ready();
	EXPECT_EQ(path().last_reason.load(), RDS_DROP_ADMIN);
}

/* The one before had answered a moment ago; and it was in the midst of being asked. */
TEST_F(PathFresh, WhatTheLastOneAnsweredCountsNoMore)
{
	int first, second, third;

	send();
	bring_up();
	hello();
	rds_path_accepted(wire().path, &first);
	sim::run_ready();
	EXPECT_EQ(arrive(1), 0);
	EXPECT_EQ(net->stat(RDS_S_conn_takeover_refused), 1u);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(20 * kMs);
	bring_up();
	hello();
	rds_path_accepted(wire().path, &second);
	sim::run_ready();
	EXPECT_EQ(net->stat(RDS_S_conn_takeover_refused), 1u) << "it is asked";
	/* It breaks while it is asked, and the newcomer comes up: that is asked anew. */
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kUp);
	hello();
	rds_path_accepted(wire().path, &third);
	sim::run_for(rds::kAskNs - kMs);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 0u);
	sim::run_for(2 * kMs);
	EXPECT_EQ(net->stat(RDS_S_conn_replaced), 1u);
}

/* Counters of a path, for rds-info. */
TEST_F(PathFresh, BeginningsAndEndsAreCounted)
{
	static uint64_t came_up;

	host::on_state = [](const rds_path *, unsigned int, unsigned int to, unsigned int) {
		if (to == static_cast<unsigned int>(rds::PathState::kUp))
			came_up = sim::now_ns();
	};
	send();
	bring_up();
	EXPECT_EQ(path().dial().attempts(), 1u);
	EXPECT_EQ(path().resets.load(), 0u);
	EXPECT_EQ(path().since_ns.load(), came_up);
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 0u);

	uint64_t then = sim::now_ns();

	reconnect();
	EXPECT_EQ(path().dial().attempts(), 2u);
	EXPECT_EQ(path().resets.load(), 1u);
	EXPECT_EQ(net->stat(RDS_S_conn_reset), 1u);
	EXPECT_GT(path().since_ns.load(), then);
	EXPECT_EQ(path().since_ns.load(), came_up);
	EXPECT_EQ(path().last_reason.load(), RDS_DROP_ERROR);
}

/* Up for long enough it has shown that it can be: calls begin to count anew, not one tick before.
 */
TEST_F(PathFresh, CallsAreCountedAnewAfterALongTime)
{
	for (uint64_t up_for : {rds::kSteadyNs - kMs, rds::kSteadyNs}) {
		uint32_t before;

		send();
		sim::run_ready();
		if (path().state() != PathState::kUp)
			bring_up();
		before = path().dial().calls();
		ASSERT_GT(before, 0u);
		wire().initiates = true;
		sim::run_for(path().since_ns.load() + up_for - sim::now_ns());
		ASSERT_EQ(sim::now_ns() - path().since_ns.load(), up_for);
		rds_path_drop(wire().path, RDS_DROP_ERROR);
		while (path().state() == PathState::kUp)
			sim::step();
		sim::run_for(1000 * kMs);
		EXPECT_EQ(path().dial().calls(), up_for < rds::kSteadyNs ? before + 1 : 1u);
		bring_up();
	}
}

/* Without memory for hello nothing else goes out, however often somebody wants to. */
TEST_F(PathFresh, HelloIsOwedUntilItIsSaid)
{
	send();
	sim::run_ready();
	sim::options().fail_per_1000 = 1000;
	rds_path_connected(wire().path);
	sim::run_ready();
	for (int i = 0; i < 3; i++) {
		sim::run_for(2 * rds::kRetryNs);
		EXPECT_TRUE(wire().sent.empty());
	}
	/* It ends before there is any: the next one owes its own. */
	sim::options().fail_per_1000 = 0;
	reconnect();
	ASSERT_FALSE(sent().empty());
	EXPECT_NE(rds::wire::decode_hello(sent().front().header).caps, 0u);
	sim::run_for(10 * rds::kRetryNs);

	unsigned int hellos = 0;

	for (const auto &f : sent())
		hellos += rds::wire::is_control(rds::wire::decode(f.header)) &&
			  rds::wire::decode_hello(f.header).caps;
	EXPECT_EQ(hellos, 1u);
}

/* The holder of the token is shown, and only it. */
TEST_F(PathFresh, SendingIsShown)
{
	bool during = false;

	send();
	sim::run_ready();
	EXPECT_FALSE(path().sending());
	wire().on_xmit = [&] {
		during = path().sending();
		host::info_conns(
			net->core(),
			[](void *, const struct rds_conn_info *i) { EXPECT_EQ(i->flags, 1 | 4); },
			nullptr);
	};
	bring_up();
	EXPECT_TRUE(during);
	EXPECT_FALSE(path().sending());
}

/* Room that comes in the midst of a call is a reason to look again, not to acknowledge. */
TEST_F(PathFresh, LookingAgainAcknowledgesNothing)
{
	send();
	bring_up();
	hello();
	wire().on_xmit = [] { rds_path_writable(wire().path); };
	send();
	sim::run_ready();
	EXPECT_EQ(bare_acks(), 0u);
	EXPECT_EQ(net->stat(RDS_S_send_ack_only), 0u);
}

/* Others that want path 0 do not shorten its pauses. */
TEST_F(PathFresh, AWishDoesNotEndABackoff)
{
	send();
	wire().connect_result = -111;
	sim::run_ready();
	sim::run_for(3000 * kMs);
	while (path().state() != PathState::kDown)
		sim::run_for(kMs);

	uint32_t before = path().dial().attempts();

	for (int i = 0; i < 20; i++) {
		path().post(rds::kEvWant);
		sim::run_ready();
	}
	EXPECT_LE(path().dial().attempts(), before + 2);
}

/* The map that a peer sends on a connection that begins is not undone by another one that ends: it
 * may come before we know that the connection is up. */
class PathFreshOrders : public PathFresh, public ::testing::WithParamInterface<uint64_t>
{
};

TEST_P(PathFreshOrders, AnotherThatEndsLeavesWhatHasJustBeenSaid)
{
	sim::reseed(GetParam()); /* which of the two workers is first */

	host::Bytes map(rds::kCongMapBytes);
	host::Socket second(*net);

	map[to.port / 8] = static_cast<unsigned char>(1 << to.port % 8);
	ASSERT_EQ(second.bind(host::endpoint(a2, 4000)), 0);
	send();
	ASSERT_EQ(second.send(to, pattern(10)), 0);
	sim::run_ready();
	ASSERT_EQ(fake::wires().size(), 2u);

	rds_path &ends = *fake::wires()[0]->path, &begins = *fake::wires()[1]->path;

	ASSERT_EQ(ends.conn.fcong, begins.conn.fcong);
	rds_path_drop(&ends, RDS_DROP_KNOCKED);
	rds_path_connected(&begins);
	ASSERT_EQ(fake::arrive(&begins, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	sim::run_ready();
	ASSERT_EQ(begins.state(), PathState::kUp);
	EXPECT_TRUE(begins.conn.fcong->test(to.port));
	rds_socket_cancel(second.core(), nullptr);
	rds_socket_cancel(s->core(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Of, PathFreshOrders, ::testing::Range<uint64_t>(1, 13));

/* One that was accepted and is dead counts for nothing. */
TEST_F(PathFresh, OneThatIsDeadWhenItIsTakenTellsOfNoPorts)
{
	int handle = 0;

	send();
	bring_up();
	hello();
	wire().connect_result = wire().adopt_result = -111;
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kDown);
	rds_path_accepted(wire().path, &handle);
	sim::run_ready();
	ASSERT_EQ(path().state(), PathState::kDown);
	EXPECT_EQ(path().conn.fcong->reporters.load(), 0u);
}

/* The congestion map that a dead connection's peer sent goes with it. */
TEST_F(PathFresh, ADeadConnectionTellsOfNoPorts)
{
	host::Bytes map(rds::kCongMapBytes);
	rds::CongMap &ports =
		*net->core()->cong.get(to.addr, 0, rds::Whose::kPeers, net->core()->key);

	map[to.port / 8] = static_cast<unsigned char>(1 << to.port % 8);
	send();
	bring_up();
	hello();
	EXPECT_EQ(ports.reporters.load(), 1u);
	/* Nor do attempts to call it again. */
	wire().connect_result = -111;
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_for(3000 * kMs);
	ASSERT_GT(path().dial().attempts(), 2u);
	EXPECT_EQ(ports.reporters.load(), 0u);
	wire().connect_result = 0;
	sim::run_until([this] { return path().state() == PathState::kConnecting; }, 5000 * kMs);
	bring_up();
	hello();
	EXPECT_EQ(ports.reporters.load(), 1u);
	ASSERT_EQ(fake::arrive(wire().path, 0, 0, 0, map, rds::wire::kCongBitmap), 0);
	ASSERT_TRUE(ports.test(to.port));
	rds_transport_net_exit(net->core(), fake::ops());
	EXPECT_EQ(ports.reporters.load(), 0u);
	EXPECT_FALSE(ports.test(to.port));
	net->core()->cong.put(ports);
}

/* A pause of receiving ends with the connection that it was for. */
TEST_F(PathFresh, NoPauseIsLeft)
{
	send();
	bring_up();
	rds_recv_later(wire().path);
	rds_path_drop(wire().path, RDS_DROP_ERROR);
	sim::run_ready();
	sim::run_for(kMs);
	wire().calls.clear();
	bring_up();
	sim::run_for(2 * rds::kRetryNs);
	EXPECT_EQ(wire().history(), "");
	EXPECT_EQ(net->stat(RDS_S_recv_delayed_retry), 1u);
}

} // namespace
