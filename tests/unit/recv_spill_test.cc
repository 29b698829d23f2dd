// SPDX-License-Identifier: GPL-2.0
/*
 * Of several peers a full socket takes messages beyond its hard limit, and each is given back
 * however it leaves (net/rds/peer_shares.h).
 */
#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using rds::Deliver;

constexpr uint32_t kLimit = 100; /* of the receive buffer: its hard limit is 3200 bytes */
constexpr uint32_t kSpill = 256 * 1024;

class RecvSpill : public SocketTest<0>
{
protected:
	void SetUp() override
	{
		SocketTest::SetUp();
		s->sock().rcvbuf = kLimit;
		rds_net_tunables(net->core())->recv_spill_bytes = kSpill;
	}
	/* An empty message of @peer's. */
	Deliver deliver(unsigned int peer, bool spills = true)
	{
		rds::RcuReader rcu;
		rds::Atomic<uint64_t> arriving;
		rds::Message *m = rds::message_create(0, RDS_ATOMIC);

		rds::wire::encode(m->hdr, 0, 5000, 4000, 0);
		m->saddr = host::addr4(peer);

		rds::Socket *to = net->core()->bind.find(host::addr4(1), 0, 4000, net->core()->key);
		const Deliver how = to ? to->deliver(m, arriving, spills) : Deliver::kClosed;

		if (how != Deliver::kTaken)
			rds::message_put(m);
		return how;
	}
	/* Until it has its share.  One charge of some is refused: then it is tried again. */
	unsigned int flood(unsigned int peer)
	{
		const uint64_t before = net->stat(RDS_S_recv_spill_share);
		unsigned int n = 0, tries = 0;

		for (; tries < 10000 && net->stat(RDS_S_recv_spill_share) == before; tries++)
			n += deliver(peer) == Deliver::kTaken;
		EXPECT_LT(tries, 10000u);
		return n;
	}
	bool has_spill()
	{
		rds::Guard g(s->core()->recv_lock);

		return s->core()->spill;
	}
	uint64_t share(unsigned int peer)
	{
		rds::Guard g(s->core()->recv_lock);
		const rds::PeerShares *spill = s->core()->spill;

		return spill ? spill->bytes_of(host::addr4(peer), 0) : 0;
	}
	uint64_t mem()
	{
		return s->core()->rcv_mem.used();
	}
	void read_all()
	{
		while (s->recv())
			;
	}
};

TEST_F(RecvSpill, NothingIsCountedBelowTheHardLimit)
{
	while (mem() / rds::kHardMemFactor <= kLimit)
		ASSERT_EQ(deliver(9), Deliver::kTaken);
	EXPECT_FALSE(has_spill());
	EXPECT_EQ(deliver(9, false), Deliver::kFull);
	EXPECT_FALSE(has_spill());
	ASSERT_EQ(deliver(9), Deliver::kTaken);
	EXPECT_EQ(share(9), sizeof(rds::Message));
	read_all();
	EXPECT_FALSE(has_spill());
}

/* Where there is just room for one more it is a question of shares, and not before. */
TEST_F(RecvSpill, ItsEndIsReached)
{
	uint32_t &most = rds_net_tunables(net->core())->recv_spill_bytes;

	while (mem() < 2ull * kLimit * rds::kHardMemFactor) /* more than an eighth beyond that */
		ASSERT_EQ(deliver(9), Deliver::kTaken);
	most = static_cast<uint32_t>(mem() + sizeof(rds::Message)) - 1;
	EXPECT_EQ(deliver(9), Deliver::kFull);
	EXPECT_EQ(net->stat(RDS_S_recv_spill_share), 0u);
	most++;
	EXPECT_EQ(deliver(9), Deliver::kFull);
	EXPECT_EQ(net->stat(RDS_S_recv_spill_share), 1u);
	read_all();
}

TEST_F(RecvSpill, AFloodLeavesRoomForOthers)
{
	flood(9);
	EXPECT_EQ(net->stat(RDS_S_recv_spill_share), 1u);
	EXPECT_NEAR(static_cast<double>(share(9)), kSpill / 2., kSpill / 50.);
	for (unsigned int peer = 20; peer < 40; peer++)
		EXPECT_EQ(deliver(peer), Deliver::kTaken) << peer;
	EXPECT_EQ(deliver(9), Deliver::kFull);
	EXPECT_EQ(share(20), sizeof(rds::Message));
	EXPECT_LE(mem(), kSpill);
	read_all();
	EXPECT_FALSE(has_spill());
	EXPECT_EQ(mem(), 0u);
	EXPECT_EQ(deliver(9), Deliver::kTaken);
	read_all();
}

/* Each that reads makes room for whoever has the least. */
TEST_F(RecvSpill, WhatIsReadIsRoomForAll)
{
	const unsigned int n = flood(9);

	flood(10);
	ASSERT_EQ(deliver(10), Deliver::kFull);
	for (unsigned int i = 0; i < n; i++)
		ASSERT_TRUE(s->recv());
	EXPECT_EQ(share(9), 0u);
	EXPECT_EQ(deliver(10), Deliver::kTaken);
	EXPECT_EQ(deliver(9), Deliver::kTaken);
	read_all();
	EXPECT_FALSE(has_spill());
}

TEST_F(RecvSpill, CloseGivesItBack)
{
	flood(9);
	flood(10);
	ASSERT_TRUE(has_spill());
	s->close();
}

/* Its hard limit is far beyond recv_spill: an eighth of that is there all the same. */
TEST_F(RecvSpill, ALargeBufferHasASpill)
{
	constexpr uint32_t kLarge = 1u << 20;
	const uint64_t hard = uint64_t{kLarge} * rds::kHardMemFactor;
	rds::MemAccount &account = s->core()->rcv_mem;

	s->sock().rcvbuf = kLarge;
	account.add(static_cast<uint32_t>(hard + rds::kHardMemFactor));
	ASSERT_TRUE(account.pay(s->core(), kSpill, RDS_MAY_SLEEP).ok());
	flood(9);
	EXPECT_NEAR(static_cast<double>(share(9)), kSpill / rds::kLeastSpillPart / 2.,
		    kSpill / 100.);
	EXPECT_EQ(deliver(10), Deliver::kTaken);
	EXPECT_EQ(deliver(9), Deliver::kFull);
	EXPECT_LE(mem(), hard + kSpill / rds::kLeastSpillPart);
	rds_net_tunables(net->core())->recv_spill_bytes = 0;
	EXPECT_EQ(deliver(11), Deliver::kFull) << "none is wanted";
	account.sub(static_cast<uint32_t>(hard + rds::kHardMemFactor));
	read_all();
	EXPECT_FALSE(has_spill());
}

/* The third allocation is the share: the first two are the message and the spill. */
TEST_F(RecvSpill, WithoutMemoryTheMessageWaits)
{
	while (mem() / rds::kHardMemFactor <= kLimit)
		ASSERT_EQ(deliver(9), Deliver::kTaken);
	for (unsigned int nth = 2; nth <= 3; nth++) {
		const uint64_t before = net->stat(RDS_S_recv_no_memory), held = mem();

		sim::fail_nth(nth);
		EXPECT_EQ(deliver(9), Deliver::kFull) << nth;
		sim::fail_nth(0);
		EXPECT_EQ(net->stat(RDS_S_recv_no_memory), before + 1) << nth;
		EXPECT_EQ(mem(), held);
		EXPECT_EQ(share(9), 0u);
	}
	EXPECT_EQ(net->stat(RDS_S_recv_spill_share), 0u);
	EXPECT_TRUE(has_spill()) << "empty, it goes with its next message";
	EXPECT_EQ(deliver(9), Deliver::kTaken);
	read_all();
	EXPECT_FALSE(has_spill());
}

/* The same, and the socket is closed while its spill is empty. */
TEST_F(RecvSpill, AnEmptySpillGoesWithItsSocket)
{
	while (mem() / rds::kHardMemFactor <= kLimit)
		ASSERT_EQ(deliver(9), Deliver::kTaken);
	sim::fail_nth(3);
	EXPECT_EQ(deliver(9), Deliver::kFull);
	sim::fail_nth(0);
	EXPECT_TRUE(has_spill());
	s->close();
}

/* Several peers deliver while one reads and, at some moment, the socket closes: whoever comes too
 * late is told so, and nothing is left of any. */
TEST_F(RecvSpill, ACloseBetweenTwoDeliveries)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		TearDown();
		options = {.seed = seed, .preempt_per_1000 = 300};
		SetUp();
		for (unsigned int peer = 20; peer < 23; peer++)
			sim::spawn("delivers", [this, peer] {
				for (int i = 0; i < 200; i++)
					if (deliver(peer) == Deliver::kClosed)
						return;
			});
		sim::spawn("closes", [this, seed] {
			for (uint64_t i = 0; i < 5 * seed; i++)
				(void)s->recv();
			s->close();
		});
		sim::run_ready();
		EXPECT_EQ(net->core()->bind.find(host::addr4(1), 0, 4000, net->core()->key),
			  nullptr);
	}
}

} // namespace
