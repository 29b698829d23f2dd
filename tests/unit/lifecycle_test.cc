// SPDX-License-Identifier: GPL-2.0
/* How long a connection lives, without any: every state, every call, each limit to the nanosecond.
 */
#include "fixture.h"
#include "net/rds/conn/lifecycle.h"

namespace
{

using rds::Care;
using rds::Lifecycle;

enum class In { kInUse, kHandedOver, kLookedAfter, kRetiring, kDying, kNone };

constexpr In kAll[] = {In::kInUse, In::kHandedOver, In::kLookedAfter, In::kRetiring, In::kDying};
constexpr Care kCares[] = {Care::kNone, Care::kIdle, Care::kGone, Care::kMute, Care::kRoom};

/* The way to @in from the beginning. */
void bring(Lifecycle &l, In in, Care why = Care::kIdle)
{
	if (in >= In::kHandedOver)
		l.hand_over(why);
	if (in >= In::kLookedAfter) {
		ASSERT_TRUE(l.take());
	}
	if (in >= In::kRetiring)
		l.retire();
	if (in >= In::kDying) {
		ASSERT_TRUE(l.die());
	}
}

/* The state in which all that can be asked agrees. */
In state(const Lifecycle &l)
{
	if (l.is_in_use())
		return l.is_looked_after() || l.is_ending() || l.is_dying() ? In::kNone
									    : In::kInUse;
	if (l.is_looked_after())
		return l.is_ending() || l.is_dying() ? In::kNone : In::kLookedAfter;
	if (l.is_ending())
		return l.is_dying() ? In::kDying : In::kRetiring;
	return In::kHandedOver;
}

TEST(Lifecycle, BeginsInUse)
{
	Lifecycle l;

	EXPECT_EQ(state(l), In::kInUse);
	EXPECT_EQ(l.care(), Care::kNone);
	EXPECT_FALSE(l.is_evicted());
	EXPECT_FALSE(l.rests(0));
	EXPECT_EQ(l.silent_ns(0), 0u);
	EXPECT_EQ(l.silent_ns(7), 7u);
}

TEST(Lifecycle, EachStateIsToldFromTheOthers)
{
	for (In in : kAll) {
		Lifecycle l;

		bring(l, in);
		EXPECT_EQ(state(l), in) << static_cast<int>(in);
	}
}

/* The worker is told why, and that stays until the sweep says something else. */
TEST(Lifecycle, HandsOverWithAReason)
{
	Lifecycle l;

	for (Care why : kCares) {
		l.hand_over(why);
		EXPECT_EQ(state(l), In::kHandedOver);
		EXPECT_EQ(l.care(), why);
		EXPECT_TRUE(l.take());
		EXPECT_EQ(l.care(), why);
		l.retire();
		EXPECT_EQ(l.care(), why);
		EXPECT_TRUE(l.call_off());
		EXPECT_EQ(l.care(), why);
		l.give_back();
		EXPECT_EQ(state(l), In::kInUse);
		EXPECT_EQ(l.care(), why);
	}
	for (Care why : kCares) {
		Lifecycle other;

		bring(other, In::kDying, why);
		EXPECT_EQ(other.care(), why);
	}
}

/* Each handing over is taken once, and nothing else is. */
TEST(Lifecycle, IsTakenOnce)
{
	for (In in : kAll) {
		Lifecycle l;

		bring(l, in);
		EXPECT_EQ(l.take(), in == In::kHandedOver) << static_cast<int>(in);
		EXPECT_FALSE(l.take());
		EXPECT_EQ(state(l), in == In::kHandedOver ? In::kLookedAfter : in);
	}
}

/* ---- the one decision ---- */

/* It is needed: it stays, unless it is dying. */
TEST(Lifecycle, IsCalledOffInAnyStateButTheLast)
{
	for (In in : kAll) {
		Lifecycle l;

		bring(l, in);
		/* The second one of them finds what the first has left. */
		for (int i = 0; i < 2; i++) {
			EXPECT_EQ(l.call_off(), in != In::kDying) << static_cast<int>(in);
			EXPECT_EQ(state(l), in == In::kRetiring ? In::kLookedAfter : in)
				<< static_cast<int>(in);
		}
	}
}

/* It ends after it was said to retire, and in no other case. */
TEST(Lifecycle, DiesOnlyOfRetiring)
{
	for (In in : kAll) {
		Lifecycle l;

		bring(l, in);
		EXPECT_EQ(l.die(), in == In::kRetiring) << static_cast<int>(in);
		EXPECT_EQ(state(l), in == In::kRetiring ? In::kDying : in) << static_cast<int>(in);
	}
}

/* Of the one that needs it and the worker that ends it the first one gets it. */
TEST(Lifecycle, TheFirstOneWins)
{
	Lifecycle kept, ended;

	bring(kept, In::kRetiring);
	EXPECT_TRUE(kept.call_off());
	EXPECT_FALSE(kept.die());
	EXPECT_EQ(state(kept), In::kLookedAfter);
	/* Another try is as good as the first. */
	kept.retire();
	EXPECT_EQ(state(kept), In::kRetiring);
	EXPECT_TRUE(kept.die());

	bring(ended, In::kRetiring);
	EXPECT_TRUE(ended.die());
	EXPECT_FALSE(ended.call_off());
	EXPECT_EQ(state(ended), In::kDying);
}

/* All that may still be called by somebody who has it. */
TEST(Lifecycle, WhatDiesDoesNotComeBack)
{
	Lifecycle l;

	bring(l, In::kDying);
	for (int i = 0; i < 3; i++) {
		EXPECT_FALSE(l.call_off());
		EXPECT_FALSE(l.die());
		(void)l.evict();
		(void)l.is_idle(static_cast<uint64_t>(i), i == 1, 0, 100);
		l.used(100);
		l.rest_until(200);
		EXPECT_EQ(state(l), In::kDying);
	}
}

TEST(Lifecycle, IsGivenBack)
{
	Lifecycle l;

	bring(l, In::kLookedAfter);
	l.give_back();
	EXPECT_EQ(state(l), In::kInUse);
	EXPECT_TRUE(l.call_off()) << "there is nothing to call off";
	EXPECT_FALSE(l.die());
	EXPECT_EQ(state(l), In::kInUse);
}

/* ---- what is remembered ---- */

/* Once, until it is kept. */
TEST(Lifecycle, IsEvictedOnce)
{
	Lifecycle l;

	bring(l, In::kLookedAfter, Care::kRoom);
	EXPECT_TRUE(l.evict());
	EXPECT_TRUE(l.is_evicted());
	EXPECT_FALSE(l.evict());
	EXPECT_TRUE(l.is_evicted());
	EXPECT_EQ(state(l), In::kLookedAfter) << "evicted is no state";
	l.retire();
	EXPECT_TRUE(l.call_off());
	l.give_back();
	l.hand_over(Care::kRoom);
	EXPECT_TRUE(l.take());
	EXPECT_TRUE(l.is_evicted()) << "it may be in the midst of its end";
	EXPECT_FALSE(l.evict());
	l.keep(0, 0);
	EXPECT_FALSE(l.is_evicted());
	EXPECT_TRUE(l.evict());
}

/* Kept, be it that somebody needed it or that something stood in the way: as if it was used now. */
TEST(Lifecycle, IsKept)
{
	constexpr uint64_t kNow = 5000, kPause = 300, kLimit = 700;

	for (In in : {In::kLookedAfter, In::kRetiring}) {
		Lifecycle l;

		EXPECT_FALSE(l.is_idle(1, false, kLimit, 1000));
		bring(l, in);
		(void)l.evict();
		l.keep(kNow, kPause);
		EXPECT_EQ(state(l), In::kInUse);
		EXPECT_FALSE(l.is_evicted());
		EXPECT_TRUE(l.rests(kNow));
		EXPECT_TRUE(l.rests(kNow + kPause - 1));
		EXPECT_FALSE(l.rests(kNow + kPause));
		EXPECT_FALSE(l.is_idle(1, false, kLimit, kNow + kLimit - 1));
		EXPECT_TRUE(l.is_idle(1, false, kLimit, kNow + kLimit));
		EXPECT_EQ(l.silent_ns(kNow), kNow - 1000) << "nothing was said";
	}
}

TEST(Lifecycle, RestsUntilThen)
{
	Lifecycle l;

	for (uint64_t ns : {uint64_t{1000}, uint64_t{500}, ~uint64_t{0}}) {
		l.rest_until(ns);
		EXPECT_TRUE(l.rests(ns - 1)) << ns;
		EXPECT_FALSE(l.rests(ns)) << ns;
	}
	l.rest_until(0);
	EXPECT_FALSE(l.rests(0));
	EXPECT_EQ(state(l), In::kInUse);
}

TEST(Lifecycle, IsIdleWhenItsTimeIsOver)
{
	Lifecycle l;

	EXPECT_FALSE(l.is_idle(5, false, 100, 1000)) << "something was said";
	EXPECT_FALSE(l.is_idle(5, false, 100, 1000));
	EXPECT_FALSE(l.is_idle(5, false, 100, 1099));
	EXPECT_TRUE(l.is_idle(5, false, 100, 1100));
	EXPECT_TRUE(l.is_idle(5, false, 100, 1101));
	/* To look is not to use. */
	EXPECT_TRUE(l.is_idle(5, false, 100, 1100));
	/* The limit is that of the moment. */
	EXPECT_FALSE(l.is_idle(5, false, 101, 1100));
	EXPECT_FALSE(l.is_idle(5, false, ~uint64_t{0}, ~uint64_t{0}));
	EXPECT_EQ(state(l), In::kInUse) << "it is the sweep that decides";
}

/* The number that comes is not always a higher one: paths begin anew. */
TEST(Lifecycle, EveryOtherMarkIsNews)
{
	Lifecycle l;
	uint64_t now = 1000;

	for (uint64_t mark : {uint64_t{5}, uint64_t{6}, uint64_t{5}, uint64_t{0}, ~uint64_t{0}}) {
		now += 1000;
		EXPECT_FALSE(l.is_idle(mark, false, 0, now)) << mark << " even without limit";
		EXPECT_EQ(l.silent_ns(now), 0u) << mark;
		EXPECT_EQ(l.silent_ns(now + 9), 9u) << mark;
		EXPECT_TRUE(l.is_idle(mark, false, 0, now)) << mark << " and no more news";
		EXPECT_FALSE(l.is_idle(mark, false, 100, now + 99)) << mark;
		EXPECT_TRUE(l.is_idle(mark, false, 100, now + 100)) << mark;
	}
}

/* A connection with something to say is not idle, though it is silent. */
TEST(Lifecycle, TheBusyAreNotIdle)
{
	Lifecycle l;

	EXPECT_FALSE(l.is_idle(5, true, 100, 1000));
	EXPECT_EQ(l.silent_ns(1000), 0u);
	for (uint64_t now : {1500u, 2000u, 3000u}) {
		EXPECT_FALSE(l.is_idle(5, true, 100, now));
		EXPECT_EQ(l.silent_ns(now), now - 1000);
	}
	/* From then on, and that mark was seen. */
	EXPECT_FALSE(l.is_idle(5, false, 100, 3099));
	EXPECT_TRUE(l.is_idle(5, false, 100, 3100));
	EXPECT_EQ(l.silent_ns(3100), 2100u);
}

/* Used without a number: its time begins anew, its silence goes on. */
TEST(Lifecycle, UsedIsNotSaid)
{
	Lifecycle l;

	EXPECT_FALSE(l.is_idle(5, false, 100, 1000));
	l.used(1060);
	EXPECT_FALSE(l.is_idle(5, false, 100, 1159));
	EXPECT_TRUE(l.is_idle(5, false, 100, 1160));
	EXPECT_EQ(l.silent_ns(1160), 160u);
	EXPECT_FALSE(l.rests(1060));
	EXPECT_EQ(state(l), In::kInUse);
}

/* The sweep's memory does not depend on what becomes of the connection. */
TEST(Lifecycle, ItsMemoryOutlivesALook)
{
	Lifecycle l;

	EXPECT_FALSE(l.is_idle(5, false, 100, 1000));
	l.rest_until(1500);
	bring(l, In::kRetiring);
	EXPECT_TRUE(l.call_off());
	l.give_back();
	EXPECT_TRUE(l.rests(1499));
	EXPECT_FALSE(l.rests(1500));
	EXPECT_EQ(l.silent_ns(1050), 50u);
	EXPECT_FALSE(l.is_idle(5, false, 100, 1099));
	EXPECT_TRUE(l.is_idle(5, false, 100, 1100));
}

} // namespace
