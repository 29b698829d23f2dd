// SPDX-License-Identifier: GPL-2.0
#include <algorithm>

#include "fixture.h"
#include "net/rds/path/dial.h"

namespace
{

using rds::Dial;

constexpr uint64_t kMs = 1000 * 1000;
constexpr uint32_t kLeastMs = 100, kMostMs = 350;

class DialTest : public SimTest
{
protected:
	/* Of the end that calls, with a peer of ours that a socket here has sent to. */
	static Dial::Terms caller(unsigned int why)
	{
		return {.why = why,
			.waiting = false,
			.initiates = true,
			.drained = false,
			.passive = false,
			.stranger = false,
			.acks = true,
			.least_ms = kLeastMs,
			.most_ms = kMostMs};
	}
	/* Of the other end. */
	static Dial::Terms called(unsigned int why)
	{
		Dial::Terms t = caller(why);

		t.initiates = false;
		return t;
	}
	Dial::Plan ended(Dial::Terms t, bool waiting = false)
	{
		t.waiting = waiting;
		return dial.ended([t] { return t; });
	}
	Dial::What what(const Dial::Terms &t, bool waiting = false)
	{
		return ended(t, waiting).what;
	}

	Dial dial;
};

TEST_F(DialTest, OneOfThoseThatWantItPosts)
{
	EXPECT_TRUE(dial.is_idle());
	EXPECT_TRUE(dial.want());
	EXPECT_FALSE(dial.is_idle());
	EXPECT_FALSE(dial.is_waiting()) << "the worker is to call at once";
	EXPECT_FALSE(dial.want()) << "the first has posted";
	dial.begin();
	EXPECT_FALSE(dial.want()) << "a call is under way";
	dial.stop();
	EXPECT_TRUE(dial.is_idle());
	EXPECT_TRUE(dial.want());
}

/* The order of the two is what no sender may fall into: first kIdle, then the look. */
TEST_F(DialTest, ASenderSeesIdleBeforeTheWorkerLooks)
{
	dial.begin();

	Dial::Plan plan = dial.ended([this] {
		EXPECT_TRUE(dial.is_idle());
		EXPECT_TRUE(dial.want()) << "a sender that comes at this moment posts";
		return called(RDS_DROP_CONNECT);
	});

	EXPECT_EQ(plan.what, Dial::kRest);
	EXPECT_FALSE(dial.is_idle()) << "its wish is kept";
	EXPECT_FALSE(dial.is_waiting()) << "and is heeded at once";
}

TEST_F(DialTest, NoWishCutsAPauseShort)
{
	dial.begin();
	EXPECT_EQ(what(caller(RDS_DROP_ERROR)), Dial::kCall);
	EXPECT_TRUE(dial.is_waiting());
	EXPECT_FALSE(dial.want());
	EXPECT_TRUE(dial.is_waiting());
	dial.begin();
	EXPECT_FALSE(dial.is_waiting());
}

/* The same when a sender came between the look and the decision. */
TEST_F(DialTest, APauseOutweighsAWish)
{
	Dial::Plan plan = dial.ended([this] {
		EXPECT_TRUE(dial.want());
		return caller(RDS_DROP_ERROR);
	});

	EXPECT_EQ(plan.what, Dial::kCall);
	EXPECT_TRUE(dial.is_waiting());
}

TEST_F(DialTest, TheEndThatNeedNotCallDoesForMessages)
{
	EXPECT_EQ(what(called(RDS_DROP_CONNECT)), Dial::kRest);
	EXPECT_TRUE(dial.is_idle());
	EXPECT_EQ(what(called(RDS_DROP_CONNECT), true), Dial::kCall);
	EXPECT_TRUE(dial.is_waiting());
	EXPECT_EQ(what(called(RDS_DROP_CONNECT)), Dial::kRest) << "they were taken back";
	EXPECT_TRUE(dial.is_idle()) << "the next sender asks anew";
}

TEST_F(DialTest, PartedNeitherCalls)
{
	Dial::Terms t = caller(RDS_DROP_IDLE);

	t.drained = true;
	EXPECT_EQ(what(t), Dial::kRest);
	EXPECT_FALSE(dial.owes());
	EXPECT_EQ(what(t, true), Dial::kCall) << "but for messages";
}

/* The peer may wait for acks: it is told of the end, once. */
TEST_F(DialTest, ABrokenConnectionIsTold)
{
	Dial::Plan plan = ended(called(RDS_DROP_ERROR));

	EXPECT_EQ(plan.what, Dial::kTell);
	EXPECT_EQ(plan.in_ns, rds::kOwedPauseNs);
	EXPECT_TRUE(dial.owes());
	EXPECT_TRUE(dial.is_idle()) << "a sender does not wait for that";
	EXPECT_EQ(what(called(RDS_DROP_NONE)), Dial::kRest) << "path 0 has to be up first";
	EXPECT_TRUE(dial.owes()) << "the debt stays";
	dial.owe_nothing();
	EXPECT_FALSE(dial.owes());
}

TEST_F(DialTest, ACallIsOwedForWhatThePeerMayNotKnow)
{
	for (unsigned int why = RDS_DROP_NONE; why <= RDS_DROP_DESTROY; why++)
		for (bool acks : {false, true})
			for (bool drained : {false, true}) {
				Dial::Terms t = called(why);
				bool owed =
					acks && (why == RDS_DROP_ERROR || why == RDS_DROP_ADMIN ||
						 (why == RDS_DROP_IDLE && !drained));

				t.acks = acks;
				t.drained = drained;
				dial.owe_nothing();
				EXPECT_EQ(what(t), owed ? Dial::kTell : Dial::kRest) << why;
				EXPECT_EQ(dial.owes(), owed) << why;
			}
}

/* None, then a part of the least, of twice that, and of the longest for good. */
TEST_F(DialTest, PausesDoubleUpToTheLongest)
{
	const uint64_t limits[] = {0, kLeastMs, 2 * kLeastMs, kMostMs, kMostMs};
	uint64_t longest[5] = {};

	for (int i = 0; i < 100; i++) {
		dial.answered();
		for (uint64_t &l : longest)
			l = std::max(l, ended(caller(RDS_DROP_CONNECT)).in_ns);
	}
	for (unsigned int i = 0; i < 5; i++) {
		EXPECT_LE(longest[i], limits[i] * kMs) << i;
		EXPECT_GE(longest[i], limits[i] * kMs * 9 / 10) << i;
	}
}

/* A millisecond is cut into parts as well. */
TEST_F(DialTest, TheShortestPauseIsSome)
{
	Dial::Terms t = caller(RDS_DROP_CONNECT);
	uint64_t longest = 0;

	t.least_ms = t.most_ms = 1;
	EXPECT_EQ(ended(t).in_ns, 0u);
	for (int i = 0; i < 100; i++)
		longest = std::max(longest, ended(t).in_ns);
	EXPECT_LT(longest, kMs);
	EXPECT_GT(longest, kMs / 2);
}

TEST_F(DialTest, AnAnsweredKnockLeavesThePeerTimeToCall)
{
	EXPECT_EQ(ended(caller(RDS_DROP_KNOCKED), true).in_ns, rds::kKnockPauseNs);
	EXPECT_EQ(ended(caller(RDS_DROP_KNOCKED), true).in_ns, rds::kKnockPauseNs);
}

TEST_F(DialTest, AStrangerIsCalledSoOften)
{
	Dial::Terms t = caller(RDS_DROP_CONNECT);

	t.passive = t.stranger = true;
	for (uint32_t n = 1; n <= rds::kStrangerCalls; n++) {
		EXPECT_EQ(what(t), Dial::kCall) << n;
		dial.begin();
		EXPECT_EQ(dial.calls(), n);
	}
	EXPECT_EQ(what(t), Dial::kRest);
	EXPECT_EQ(what(t, true), Dial::kCall) << "not if a socket sends";
	t.stranger = false;
	EXPECT_EQ(what(t), Dial::kCall) << "nor if it has brought something";
	t.stranger = true;
	dial.knocked();
	EXPECT_EQ(dial.calls(), 0u);
	EXPECT_EQ(what(t), Dial::kCall) << "it has asked for it";
	EXPECT_EQ(dial.attempts(), rds::kStrangerCalls);
}

TEST_F(DialTest, AnEvictedHostIsNotCalledBack)
{
	Dial::Terms t = caller(RDS_DROP_EVICTED);

	EXPECT_EQ(what(t), Dial::kCall) << "a socket has used it meanwhile";
	t.passive = true;
	EXPECT_EQ(what(t), Dial::kRest);
}

TEST_F(DialTest, OnlyALongConnectionForgivesCalls)
{
	dial.begin();
	dial.up();
	dial.was_up(rds::kSteadyNs - 1);
	EXPECT_EQ(dial.calls(), 1u);
	dial.was_up(rds::kSteadyNs);
	EXPECT_EQ(dial.calls(), 0u);
	EXPECT_EQ(dial.attempts(), 1u);
}

/* Twice as long each time, and no knock makes it shorter. */
TEST_F(DialTest, ABadAnswerIsNoAnswer)
{
	for (int i = 0; i < 2; i++) {
		for (uint64_t s : {2, 4, 8, 16, 32, 60, 60}) {
			Dial::Plan plan = ended(caller(RDS_DROP_PROTOCOL));

			EXPECT_EQ(plan.what, Dial::kCall);
			EXPECT_EQ(plan.in_ns, s * 1000 * kMs);
			EXPECT_TRUE(dial.is_waiting());
			dial.knocked();
		}
		EXPECT_EQ(ended(caller(RDS_DROP_CONNECT)).in_ns, 0u) << "the first after a knock";
		if (!i)
			dial.answered();
	}
	dial.was_up(rds::kSteadyNs - 1);
	EXPECT_EQ(ended(caller(RDS_DROP_PROTOCOL)).in_ns, rds::kMaxFaultPauseNs);
	dial.was_up(rds::kSteadyNs);
	EXPECT_EQ(ended(caller(RDS_DROP_PROTOCOL)).in_ns, rds::kFaultPauseNs);
}

TEST_F(DialTest, AKnockLoopIsNotAnsweredEachTime)
{
	const uint64_t first = 5;

	EXPECT_TRUE(dial.heeds_knock(first));
	EXPECT_FALSE(dial.heeds_knock(first + 1));
	EXPECT_FALSE(dial.heeds_knock(first + rds::kKnockAgainNs - 1));
	EXPECT_TRUE(dial.heeds_knock(first + rds::kKnockAgainNs));
	EXPECT_FALSE(dial.heeds_knock(first + 2 * rds::kKnockAgainNs - 1));
	dial.answered();
	EXPECT_TRUE(dial.heeds_knock(first + 2 * rds::kKnockAgainNs - 1)) << "it was of use";
}

/* It has brought something, and is not there: not for ever. */
TEST_F(DialTest, AKnownHostIsCalledSoOften)
{
	Dial::Terms t = caller(RDS_DROP_CONNECT);

	t.passive = true;
	for (uint32_t n = 1; n <= rds::kKnownCalls; n++) {
		ASSERT_EQ(what(t), Dial::kCall) << n;
		dial.begin();
	}
	EXPECT_EQ(what(t), Dial::kRest);
	t.passive = false;
	EXPECT_EQ(what(t), Dial::kCall) << "a socket has sent to it";
	t.passive = true;
	dial.knocked();
	EXPECT_EQ(what(t), Dial::kCall);
}

TEST_F(DialTest, AKnockEndsTheBackOff)
{
	for (int i = 0; i < 4; i++)
		(void)ended(caller(RDS_DROP_CONNECT));
	dial.knocked();
	EXPECT_EQ(ended(caller(RDS_DROP_CONNECT)).in_ns, 0u);
}

/* The peer has called in the midst of a pause: nobody else does. */
TEST_F(DialTest, WhatIsUpIsNotCalled)
{
	(void)ended(caller(RDS_DROP_CONNECT));
	dial.up();
	EXPECT_FALSE(dial.is_waiting());
	EXPECT_FALSE(dial.want());
}

TEST_F(DialTest, CallsForCompanyPause)
{
	EXPECT_TRUE(dial.may_ask(7));
	EXPECT_FALSE(dial.may_ask(7 + rds::kCallPauseNs - 1));
	EXPECT_TRUE(dial.may_ask(7 + rds::kCallPauseNs));
	EXPECT_FALSE(dial.may_ask(8 + rds::kCallPauseNs));
	EXPECT_TRUE(dial.is_idle()) << "to want() is another thing";
}

} // namespace
