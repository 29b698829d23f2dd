// SPDX-License-Identifier: GPL-2.0
/* Acks at their bounds: who is told what, and that nobody is told twice. */
#include "ack_fixture.h"

namespace
{

using fake::wire;
using rds::Peer;

class AckBounds : public AckTest
{
protected:
	uint64_t told_alone()
	{
		return net->stat(RDS_S_send_ack_only);
	}
};

/* One without generation sends again what it was not told to be here: all of it is told, number by
 * number. */
TEST_F(AckBounds, WhatComesAgainIsToldToTheLast)
{
	numbered();
	send();
	bring_up();
	for (uint64_t seq : {1, 2, 3})
		EXPECT_EQ(arrive(seq), 0);
	reconnect();
	EXPECT_EQ(bare_ack(0), RDS_RECV_SKIP);
	for (uint64_t seq : {1, 2, 3}) {
		EXPECT_EQ(arrive(seq, rds::wire::kRetransmitted), RDS_RECV_SKIP);
		EXPECT_EQ(rds_path_received(&path()), seq);
	}
}

/* The header behind a message that was half out carries the ack, wherever that was cut. */
TEST_F(AckBounds, TheNextHeaderTells)
{
	send();
	bring_up();
	hello();
	for (uint64_t cut : {1u, 20u, 68u, 147u}) {
		uint64_t seq = path().last_received() + 1;

		wire().room = cut;
		send(2);
		ASSERT_EQ(arrive(seq), 0);
		wire().room = SIZE_MAX;
		rds_path_writable(&path());
		sim::run_ready();
		EXPECT_EQ(sent().back().ack, seq);
		sim::run_for(2 * rds::kAckDelayNs);
		EXPECT_EQ(told_alone(), 0u) << "it was told already: " << cut;
	}
}

/* A header that has begun to leave is as good as one that has left. */
TEST_F(AckBounds, OneByteTells)
{
	send();
	bring_up();
	hello();
	wire().room = 0;
	send();
	ASSERT_EQ(arrive(1), 0);
	wire().room = 1;
	rds_path_writable(&path());
	sim::run_ready();
	wire().room = SIZE_MAX;
	rds_path_writable(&path());
	sim::run_ready();
	EXPECT_EQ(sent().back().ack, 1u);
	sim::run_for(2 * rds::kAckDelayNs);
	EXPECT_EQ(told_alone(), 0u);
}

/* The rest of that message alone tells nothing. */
TEST_F(AckBounds, ABegunHeaderTellsNothing)
{
	send();
	bring_up();
	hello();
	wire().room = rds::wire::kHeaderBytes + 20;
	send();
	ASSERT_EQ(arrive(1), 0);
	wire().room = SIZE_MAX;
	rds_path_writable(&path());
	sim::run_ready();
	EXPECT_EQ(sent().back().ack, 0u);
	sim::run_for(2 * rds::kAckDelayNs);
	EXPECT_EQ(sent().back().ack, 1u);
	EXPECT_EQ(told_alone(), 1u);
}

/* Of whom nothing came is told nothing. */
TEST_F(AckBounds, NothingIsOwedForNothing)
{
	numbered();
	send();
	bring_up();
	EXPECT_EQ(bare_ack(0), RDS_RECV_SKIP);
	ASSERT_EQ(path().peer(), Peer::kAcks);
	EXPECT_FALSE(path().owes_ack());
	EXPECT_TRUE(path().peer_knows_all());
}

/* A hello without acknowledgements says nothing else that counts. */
TEST_F(AckBounds, WhoDoesNotAcknowledgeIsPlain)
{
	rds::wire::Header h;

	send();
	bring_up();
	rds::wire::encode_hello(h, {77, 0, 8, 0});
	EXPECT_EQ(fake::arrive(&path(), h), RDS_RECV_SKIP);
	EXPECT_EQ(path().peer(), Peer::kPlain);
	EXPECT_FALSE(path().peer_has_gen());
	EXPECT_FALSE(path().knows(77));
	EXPECT_EQ(path().conn.fan.agreed(), 1u);
}

/* Pongs that the peer is known to have leave room for others, also while it is called. */
TEST_F(AckBounds, APongMayBeDeliveredWhileConnecting)
{
	numbered();
	send();
	bring_up();
	ASSERT_EQ(fake::arrive(&path(), 1, 5000, rds::kPingPort, {}), RDS_RECV_SKIP);
	sim::run_ready();
	ASSERT_EQ(bare_ack(1), RDS_RECV_SKIP);
	ASSERT_EQ(path().pongs.load(), 1u);
	wire().room = 0;
	reconnect();
	rds_path_drop(&path(), RDS_DROP_ERROR);
	sim::run_for(1000 * kMs);
	rds_path_delivered(&path(), 2);
	EXPECT_FALSE(path().has_queued());
	EXPECT_EQ(path().pongs.load(), 0u);
}

} // namespace
