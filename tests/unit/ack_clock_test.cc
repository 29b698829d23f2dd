// SPDX-License-Identifier: GPL-2.0
/*
 * ack_clock_test.cc: how long acks take, by the simulated clock.
 */
#include "fixture.h"
#include "net/rds/path/ack_clock.h"

namespace
{

constexpr uint64_t kUs = 1000;

class AckClockTest : public SimTest
{
protected:
	/* Message @seq asks and is acknowledged after so long. */
	void answer(uint64_t seq, uint64_t ns)
	{
		clock.asks(seq, 0);
		sim::run_for(ns);
		clock.acked(seq);
	}

	rds::AckClock clock;
};

TEST_F(AckClockTest, NothingIsKnownBeforeTheFirstAck)
{
	EXPECT_EQ(clock.smoothed_us(), 0u);
	clock.asks(1, 0);
	sim::run_for(5 * kUs);
	EXPECT_EQ(clock.smoothed_us(), 0u);
	clock.acked(1);
	EXPECT_EQ(clock.smoothed_us(), 5u);
}

TEST_F(AckClockTest, EachIsAnEighthOfTheResult)
{
	answer(1, 8000 * kUs);
	answer(2, 16000 * kUs);
	EXPECT_EQ(clock.smoothed_us(), 9000u);
	answer(3, 1000 * kUs);
	EXPECT_EQ(clock.smoothed_us(), 8000u);
	for (uint64_t seq = 4; seq < 200; seq++)
		answer(seq, 40 * kUs);
	EXPECT_NEAR(clock.smoothed_us(), 40, 1);
}

TEST_F(AckClockTest, OneIsTimedAtATime)
{
	clock.asks(5, 0);
	sim::run_for(10 * kUs);
	clock.asks(6, 0);
	sim::run_for(10 * kUs);
	clock.acked(6);
	EXPECT_EQ(clock.smoothed_us(), 20u) << "of the fifth";
	sim::run_for(10 * kUs);
	clock.acked(7);
	EXPECT_EQ(clock.smoothed_us(), 20u) << "none is timed any more";
}

TEST_F(AckClockTest, AnAckOfOnesBeforeItIsNotItsAck)
{
	clock.asks(5, 0);
	sim::run_for(10 * kUs);
	clock.acked(4);
	EXPECT_EQ(clock.smoothed_us(), 0u);
	sim::run_for(20 * kUs);
	clock.acked(5);
	EXPECT_EQ(clock.smoothed_us(), 30u);
}

TEST_F(AckClockTest, OneThatDoesNotGoIsNotWaitedFor)
{
	clock.asks(5, 0);
	clock.forget(4);
	sim::run_for(10 * kUs);
	clock.acked(5);
	EXPECT_EQ(clock.smoothed_us(), 10u) << "another had been taken back";
	clock.asks(6, 0);
	clock.forget(6);
	sim::run_for(50000 * kUs);
	clock.acked(7);
	EXPECT_EQ(clock.smoothed_us(), 10u);
	answer(8, 90 * kUs);
	EXPECT_EQ(clock.smoothed_us(), 20u);
}

TEST_F(AckClockTest, OneIsDueEachSecond)
{
	EXPECT_TRUE(clock.is_due(500)) << "none came yet";
	clock.asks(1, 500);
	EXPECT_FALSE(clock.is_due(5000)) << "one is timed";
	clock.acked(1);
	EXPECT_FALSE(clock.is_due(1499));
	EXPECT_TRUE(clock.is_due(1500));
	EXPECT_TRUE(clock.is_due(499)) << "queued before it";
	clock.asks(2, ~0u);
	clock.acked(2);
	EXPECT_FALSE(clock.is_due(998));
	EXPECT_TRUE(clock.is_due(999)) << "milliseconds wrap";
	clock.asks(3, 999);
	clock.forget(3);
	EXPECT_FALSE(clock.is_due(1998)) << "it had asked";
}

/* A clock may be coarse, or stopped. */
TEST_F(AckClockTest, AnAckThatTakesNoTimeIsKnown)
{
	clock.asks(1, 0);
	clock.acked(1);
	EXPECT_EQ(clock.smoothed_us(), 1u);
}

} // namespace
