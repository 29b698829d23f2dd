// SPDX-License-Identifier: GPL-2.0
/* The judges of stories themselves: what they must complain of, and what they must let pass. */
#include <gtest/gtest.h>

#include "check_loss.h"
#include "check_order.h"

namespace check
{
namespace
{

TEST(Judges, WhatOneSocketReadNoOtherReads)
{
	for (Hint hint : {Hint::kOrdered, Hint::kUnordered}) {
		Order o;

		for (uint32_t n = 0; n < 3; n++)
			o.sent(1, n, hint);
		o.received(1, 0, 1);
		o.received(1, 1, 1);
		o.received(1, 2, 2);
		EXPECT_EQ(o.complaint(), "");
		o.received(1, 1, 2);
		EXPECT_NE(o.complaint(), "");
	}
}

TEST(Judges, AHostThatBootsMayReadAgain)
{
	Order o;

	o.sent(1, 0);
	o.received(1, 0, 1);
	o.forget(1);
	o.received(1, 0, 2);
	EXPECT_EQ(o.complaint(), "");
}

/* Messages of flow 1 from host 0 to host 1: 0, two empty ones, 1, an empty one. */
struct Mixed {
	Mixed()
	{
		loss.flow(1, 0, 1);
		loss.sent(1, 0);
		loss.sent_empty(7, 1, 1);
		loss.sent_empty(7, 1, 1);
		loss.sent(1, 1);
		loss.sent_empty(7, 1, 2);
		loss.received(1, 0);
	}
	Loss loss;
};

TEST(Judges, EmptyMessagesThatCome)
{
	Mixed m;

	m.loss.received_empty(7);
	m.loss.received_empty(7);
	m.loss.received(1, 1);
	m.loss.received_empty(7);
	m.loss.rest();
	EXPECT_EQ(m.loss.complaint(), "");
	m.loss.received_empty(7);
	EXPECT_NE(m.loss.complaint(), "");
}

TEST(Judges, AnEmptyMessageIsLost)
{
	Mixed m;

	m.loss.received_empty(7);
	m.loss.received(1, 1);
	EXPECT_NE(m.loss.complaint(), "");
}

TEST(Judges, AnEmptyMessageOvertakes)
{
	Mixed m;

	for (int i = 0; i < 3; i++)
		m.loss.received_empty(7);
	m.loss.received(1, 1);
	EXPECT_NE(m.loss.complaint(), "");
}

TEST(Judges, TheLastEmptyMessageIsLost)
{
	Mixed m;

	m.loss.received_empty(7);
	m.loss.received_empty(7);
	m.loss.received(1, 1);
	EXPECT_EQ(m.loss.complaint(), "");
	m.loss.rest();
	EXPECT_NE(m.loss.complaint(), "");
}

TEST(Judges, EmptyMessagesThatWereTakenBack)
{
	Mixed m;

	m.loss.excuse(1);
	m.loss.received(1, 1);
	m.loss.rest();
	EXPECT_EQ(m.loss.complaint(), "");
}

/* Host 1 speaks mainline's protocol, as it does until 6.x. */
struct Neighbours {
	Neighbours()
	{
		loss.set_strict();
		loss.plain(1, Plain::kForgetsLives);
		for (uint32_t f : {0, 1, 2}) {
			loss.flow(f, f != 0, f == 0);
			loss.sent(f, 0);
		}
		loss.flow(2, 0, 2);
		loss.sent(2, 0);
	}
	Loss loss;
};

TEST(Judges, AConnectionOfOursExcusesNothing)
{
	Neighbours n;

	n.loss.closed(0, 2, tube::Left::kUnread);
	n.loss.closed(2, 0, tube::Left::kUnread);
	n.loss.excuse(0);
	n.loss.excuse(1);
	n.loss.rest();
	EXPECT_NE(n.loss.complaint(), "");
}

TEST(Judges, MainlinesLoseWhatTheyHaveNotRead)
{
	Neighbours n;

	n.loss.closed(1, 0, tube::Left::kUnread);
	n.loss.excuse(1);
	n.loss.excuse(2);
	n.loss.rest();
	EXPECT_EQ(n.loss.complaint(), "");
}

TEST(Judges, OursReadWhatMainlinesSent)
{
	for (tube::Left left : {tube::Left::kAtReset, tube::Left::kUnheard, tube::Left::kNoRoom,
				tube::Left::kUnread}) {
		Neighbours n;

		n.loss.closed(0, 1, left);
		n.loss.excuse(0);
		n.loss.excuse(2);
		n.loss.rest();
		EXPECT_EQ(n.loss.complaint().empty(), left == tube::Left::kAtReset);
	}
}

} // namespace
} // namespace check
