// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/path/coalesce.h"
#include "net/rds/limits.h"

namespace
{

using rds::Hold;

constexpr uint64_t kUs = 1000;

class CoalesceTest : public SimTest
{
protected:
	Hold ask(bool more = false, uint32_t unsent = 100)
	{
		return c.ask(more, unsent, received);
	}
	/* A window of so many messages, of which the last begins a new one. */
	Hold window(unsigned int messages)
	{
		for (unsigned int i = 1; i < messages; i++)
			(void)ask();
		sim::run_for(rds::kHoldWindowNs);
		return ask();
	}

	rds::Coalesce c;
	uint64_t received = ~0ull - 1; /* it wraps soon */
};

TEST_F(CoalesceTest, ALoneMessageGoes)
{
	for (unsigned int i = 0; i < 20; i++) {
		EXPECT_EQ(ask(), Hold::kNone);
		sim::run_for(rds::kHoldWindowNs);
	}
}

TEST_F(CoalesceTest, AnnouncedCompanyIsWaitedFor)
{
	EXPECT_EQ(ask(true), Hold::kBegin);
	EXPECT_EQ(ask(true), Hold::kJoin);
	EXPECT_EQ(ask(), Hold::kNone);
	c.end();
	EXPECT_EQ(ask(true), Hold::kBegin);
}

TEST_F(CoalesceTest, EnoughGoes)
{
	EXPECT_EQ(ask(true, rds::kHoldBytes - 1), Hold::kBegin);
	EXPECT_EQ(ask(true, rds::kHoldBytes), Hold::kNone);
}

TEST_F(CoalesceTest, ManyInAWindowAreAStream)
{
	window(1);
	EXPECT_EQ(window(rds::kHoldBurst), Hold::kNone);
	EXPECT_EQ(window(rds::kHoldBurst + 1), Hold::kBegin);
	EXPECT_EQ(ask(), Hold::kJoin);
	c.end();
	EXPECT_EQ(ask(), Hold::kBegin) << "still one";
}

TEST_F(CoalesceTest, QuestionsAndAnswersAreNone)
{
	window(1);
	for (unsigned int i = 0; i < 20; i++) {
		received += 10;
		EXPECT_EQ(window(10), Hold::kNone);
	}
	received += 9 - rds::kHoldBurst;
	EXPECT_EQ(window(10), Hold::kBegin) << "more questions than answers";
}

/* A window in which too little was said goes on, until it has its messages or is too old. */
TEST_F(CoalesceTest, AStreamOutlivesAShortPause)
{
	window(1);
	ASSERT_EQ(window(10), Hold::kBegin);
	c.end();
	sim::run_for(rds::kHoldPauseNs - 1 * kUs);
	EXPECT_EQ(ask(), Hold::kBegin);
	c.end();
	sim::run_for(1 * kUs);
	EXPECT_EQ(ask(), Hold::kNone);
}

TEST_F(CoalesceTest, AnAnswerEndsAStream)
{
	window(1);
	ASSERT_EQ(window(10), Hold::kBegin);
	c.end();
	received++;
	sim::run_for(rds::kHoldWindowNs);
	EXPECT_EQ(ask(), Hold::kNone);
}

} // namespace
