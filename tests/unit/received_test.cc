// SPDX-License-Identifier: GPL-2.0
/*
 * received_test.cc: what came and what the peer was told of it, without path, timer and wire.
 */
#include "fixture.h"
#include "net/rds/path/received.h"

namespace
{

using rds::Peer;
using rds::Tell;

constexpr uint32_t kGen = 77;

class ReceivedTest : public SimTest
{
protected:
	void SetUp() override
	{
		SimTest::SetUp();
		begin();
	}
	void TearDown() override
	{
		std::destroy_at(&r); /* it has memory, perhaps */
		std::construct_at(&r);
		SimTest::TearDown();
	}
	void begin()
	{
		r.begin(true);
	}
	void meet(uint32_t gen = kGen)
	{
		r.meet(gen, false);
	}
	/* A batch of @n whose headers are stamped; what they say. */
	uint64_t take(bool any = true)
	{
		return r.take(batch, any, below);
	}

	rds::Received r;
	rds::Batch batch;
	uint64_t below = ~0ull; /* acks stay below this number */
};

/* One of ours is of use from its hello on, but not on the next connection before that. */
TEST_F(ReceivedTest, OneOfOursIsOfUse)
{
	EXPECT_FALSE(r.is_of_use());
	meet();
	EXPECT_TRUE(r.is_of_use());
	begin();
	EXPECT_FALSE(r.is_of_use());
}

/* Something that came may not be acknowledged: neither it nor what is behind it. */
TEST_F(ReceivedTest, AnAckStaysBelowItsLimit)
{
	begin();
	meet();

	rds::Guard receiver(rds::kReceiver), sender(rds::kSender);

	for (uint64_t seq : {1, 2, 3})
		(void)r.add(seq, false);
	below = 2;
	EXPECT_EQ(take(), 1u);
	r.settle(batch, true);
	EXPECT_FALSE(r.all_acked());
	below = 1;
	EXPECT_EQ(take(), 0u);
	below = ~0ull;
	EXPECT_EQ(take(), 3u);
	r.settle(batch, true);
	EXPECT_TRUE(r.all_acked());
	EXPECT_TRUE(r.remembers(kGen));
	EXPECT_FALSE(r.remembers(kGen + 1));
	begin();
	meet(kGen + 1);
	EXPECT_TRUE(r.remembers(kGen));
	EXPECT_TRUE(r.remembers(kGen + 1));
}

TEST_F(ReceivedTest, TheFirstFrameSaysWhoThePeerIs)
{
	EXPECT_EQ(r.peer(), Peer::kUnknown);
	r.meet(kGen, false);
	EXPECT_EQ(r.peer(), Peer::kAcks);
	begin();
	EXPECT_EQ(r.peer(), Peer::kUnknown);
	r.meet(0, true);
	EXPECT_EQ(r.peer(), Peer::kAcks);
	begin();
	r.meet(0, false);
	EXPECT_EQ(r.peer(), Peer::kPlain);
	r.begin(false);
	EXPECT_EQ(r.peer(), Peer::kPlain);
}

TEST_F(ReceivedTest, TheCountIsOfAGeneration)
{
	EXPECT_TRUE(r.is_of(0));
	meet();
	EXPECT_TRUE(r.is_of(kGen));
	r.add(8, false);
	begin();
	EXPECT_EQ(r.last(), 0u) << "nothing came on this connection";
	meet();
	EXPECT_EQ(r.next(), 9u);
	EXPECT_EQ(r.last(), 8u) << "the same count";
	begin();
	meet(kGen + 1);
	EXPECT_EQ(r.next(), 0u);
	EXPECT_EQ(r.last(), 0u);
	EXPECT_EQ(r.generation(), kGen + 1);
}

/* Others came in between, under the same address. */
TEST_F(ReceivedTest, AGenerationIsTakenUpAgain)
{
	auto next_of = [this](uint32_t gen) {
		begin();
		meet(gen);
		return r.next();
	};

	meet();
	r.add(8, false);
	for (uint32_t i = 1; i < rds::kGenerations; i++) {
		EXPECT_EQ(next_of(kGen + i), 0u) << i;
		r.add(i, false);
	}
	EXPECT_EQ(next_of(kGen), 9u) << "the oldest of all";
	EXPECT_EQ(r.last(), 8u);
	EXPECT_EQ(next_of(0), 0u);
	r.add(5, false);
	EXPECT_EQ(next_of(0), 6u) << "the same count goes on";
	EXPECT_EQ(next_of(kGen + 1), 0u) << "four are remembered";
	EXPECT_EQ(next_of(kGen), 9u) << "nothing came of the others";
	EXPECT_EQ(next_of(0), 0u) << "without a generation each count is new";
	for (uint32_t i = 2; i < rds::kGenerations; i++)
		EXPECT_EQ(next_of(kGen + i), i + 1) << i;
	EXPECT_EQ(next_of(kGen), 9u);
}

/* Then it is forgotten, as it was when there was no other. */
TEST_F(ReceivedTest, NoMemoryForAGeneration)
{
	meet();
	r.add(8, false);
	begin();
	sim::options().fail_per_1000 = 1000;
	meet(kGen + 1);
	sim::options().fail_per_1000 = 0;
	r.add(3, false);
	begin();
	meet(kGen);
	EXPECT_EQ(r.next(), 0u);
	begin();
	meet(kGen + 1);
	EXPECT_EQ(r.next(), 4u);
}

TEST_F(ReceivedTest, WithoutGenerationOnlyThisConnectionIsTold)
{
	r.meet(0, true);
	r.add(8, false);
	EXPECT_EQ(r.last(), 8u);
	begin();
	r.meet(0, true);
	EXPECT_EQ(r.next(), 9u) << "it goes on";
	EXPECT_EQ(r.last(), 0u);
	r.repeat(5, false);
	EXPECT_EQ(r.next(), 9u);
	EXPECT_EQ(r.last(), 5u);
}

TEST_F(ReceivedTest, WhatComesAgainTakesNothingBack)
{
	meet();
	r.add(8, false);
	r.repeat(5, false);
	EXPECT_EQ(r.last(), 8u);
	r.repeat(8, false);
	EXPECT_EQ(r.last(), 8u);
}

TEST_F(ReceivedTest, GoesOnWhereAPathBeforeItEnded)
{
	EXPECT_TRUE(r.none_yet());
	{
		rds::Guard sleeps(rds::kMaySleep);
		const rds::GenCounts past = {{{7, kGen + 1}}};

		sim::fail_nth(1);
		EXPECT_FALSE(r.resume({41, kGen}, past));
		sim::fail_nth(0);
		EXPECT_TRUE(r.resume({41, kGen}, past));
	}
	EXPECT_TRUE(r.none_yet());
	EXPECT_TRUE(r.remembers(kGen + 1));
	EXPECT_FALSE(r.remembers(kGen + 2));
	meet();
	EXPECT_EQ(r.next(), 41u);
	r.add(41, false);
	EXPECT_FALSE(r.none_yet());
	EXPECT_EQ(r.past().of[0].next, 7u);
	begin();
	meet(kGen + 1);
	EXPECT_EQ(r.next(), 7u) << "of another host that had the address";
	EXPECT_EQ(r.past().of[0].gen, kGen);
}

TEST_F(ReceivedTest, APlainPeerIsToldNothing)
{
	meet(0);
	EXPECT_EQ(r.add(1, true), Tell::kLater);
	r.fall_due();
	EXPECT_EQ(take(), 0u);
	EXPECT_FALSE(batch.ack_due);
	EXPECT_TRUE(r.is_due()) << "nobody asked for it";
	EXPECT_FALSE(r.take_due());
	EXPECT_FALSE(r.is_due());
}

TEST_F(ReceivedTest, TheTimerIsArmedOnce)
{
	meet();
	EXPECT_EQ(r.add(1, false), Tell::kSoon);
	EXPECT_TRUE(r.may_arm());
	EXPECT_FALSE(r.may_arm());
	EXPECT_EQ(r.add(2, false), Tell::kLater);
	EXPECT_EQ(r.add(3, true), Tell::kAtOnce) << "armed or not";
	EXPECT_TRUE(r.timer_over());
	EXPECT_FALSE(r.timer_over()) << "it is due already";
	EXPECT_TRUE(r.may_arm());
}

TEST_F(ReceivedTest, ATimerWithoutNewsIsSilent)
{
	meet();
	r.add(1, false);
	EXPECT_TRUE(r.may_arm());
	EXPECT_EQ(take(), 1u);
	r.settle(batch, true);
	EXPECT_FALSE(r.timer_over());
	EXPECT_EQ(r.add(2, false), Tell::kSoon) << "it is not armed any more";
}

TEST_F(ReceivedTest, OneCallerSeesToIt)
{
	meet();
	EXPECT_TRUE(r.fall_due());
	EXPECT_FALSE(r.fall_due());
	EXPECT_TRUE(r.take_due());
	EXPECT_FALSE(r.take_due());
	EXPECT_TRUE(r.fall_due());
}

TEST_F(ReceivedTest, AHeaderThatLeavesTells)
{
	meet();
	r.add(9, false);
	r.fall_due();
	EXPECT_FALSE(r.all_acked());
	EXPECT_EQ(take(), 9u);
	EXPECT_FALSE(r.is_due());
	EXPECT_FALSE(r.all_acked()) << "it has not left";
	r.settle(batch, true);
	EXPECT_TRUE(r.all_acked());
}

TEST_F(ReceivedTest, AHeaderThatStaysTellsNothing)
{
	meet();
	r.add(9, false);
	r.fall_due();
	take();
	r.settle(batch, false);
	EXPECT_TRUE(r.is_due());
	EXPECT_FALSE(r.all_acked());

	/* It was not due: nor is it now. */
	EXPECT_TRUE(r.take_due());
	take();
	r.settle(batch, false);
	EXPECT_FALSE(r.is_due());
}

TEST_F(ReceivedTest, AMessageHalfSentCarriesNone)
{
	meet();
	r.add(9, false);
	r.fall_due();
	EXPECT_EQ(take(false), 0u);
	EXPECT_TRUE(r.is_due());
	r.settle(batch, true);
	EXPECT_FALSE(r.all_acked());
}

TEST_F(ReceivedTest, NothingCameIsNoNumber)
{
	meet();
	EXPECT_EQ(take(), 0u);
	r.settle(batch, true);
	EXPECT_TRUE(r.all_acked());
	/* Number 0 is one. */
	r.add(0, false);
	EXPECT_FALSE(r.all_acked());
	EXPECT_EQ(take(), 0u);
	r.settle(batch, true);
	EXPECT_TRUE(r.all_acked());
}

} // namespace
