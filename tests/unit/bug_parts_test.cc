// SPDX-License-Identifier: GPL-2.0
/*
 * bug_parts_test.cc: the parts of a path and of a connection tell what their owner asks of them at
 * the wrong time.
 */
#include "fixture.h"
#include "net/rds/cong.h"
#include "net/rds/path/coalesce.h"
#include "net/rds/path/dial.h"
#include "net/rds/conn/fan.h"
#include "net/rds/conn/lifecycle.h"
#include "net/rds/path/received.h"

namespace
{

using rds::Care;

class PartsBug : public SimTest
{
};

TEST_F(PartsBug, HandedOverTwice)
{
	rds::Lifecycle life;

	life.hand_over(Care::kIdle);
	EXPECT_EQ(told(), "");
	life.hand_over(Care::kIdle);
	EXPECT_EQ(told(), "a connection is handed over that its worker has");
}

TEST_F(PartsBug, GivenBackByWhoHasItNot)
{
	rds::Lifecycle life;

	life.give_back();
	EXPECT_EQ(told(), "a connection is given back that its worker has not");
	life.hand_over(Care::kIdle);
	life.give_back();
	EXPECT_EQ(told(), "a connection is given back that its worker has not");
	EXPECT_TRUE(life.take()) << "it is still for the worker";
}

/* The dead stay dead. */
TEST_F(PartsBug, KeptAfterItsDeath)
{
	rds::Lifecycle life;

	life.hand_over(Care::kIdle);
	EXPECT_TRUE(life.take());
	life.retire();
	EXPECT_TRUE(life.die());
	EXPECT_EQ(told(), "");
	life.keep(0, 0);
	EXPECT_EQ(told(), "a connection is given back that its worker has not");
	EXPECT_TRUE(life.is_dying());
}

/* Counted, or on any of the lists. */
TEST_F(PartsBug, DestroyedWhileItWaitsForAPort)
{
	const std::string said = "a socket is destroyed that waits for a port";

	{
		rds::CongWatch idle;
	}
	EXPECT_EQ(told(), "");
	{
		rds::CongWatch waits;

		waits.n_waits = 1;
	}
	EXPECT_EQ(told(), said);
	for (auto link : {&rds::CongWatch::any_link, &rds::CongWatch::monitor_link,
			  &rds::CongWatch::waking_link}) {
		{
			rds::CongWatch listed;

			(listed.*link).next = &(listed.*link);
		}
		EXPECT_EQ(told(), said);
	}
}

TEST_F(PartsBug, AHoldWindowWithNothingInIt)
{
	rds::Coalesce c;

	ASSERT_EQ(c.ask(true, 100, 0), rds::Hold::kBegin);
	(void)c.window();
	EXPECT_EQ(told(), "");
	c.end();
	(void)c.window();
	EXPECT_EQ(told(), "a hold window begins, and nothing waits");
}

TEST_F(PartsBug, RetiresInUse)
{
	rds::Lifecycle life;

	life.retire();
	EXPECT_EQ(told(), "a connection retires that nobody looks after");
	EXPECT_TRUE(life.is_in_use());
}

TEST_F(PartsBug, CallsInTheMidstOfACall)
{
	rds::Dial dial;

	dial.begin();
	dial.stop();
	dial.begin();
	EXPECT_EQ(told(), "");
	dial.begin();
	EXPECT_EQ(told(), "a call begins while there is another");
}

TEST_F(PartsBug, PathsThatNoPortChooses)
{
	for (uint32_t n : {0u, 3u, 16u}) {
		rds::Fan fan(false);

		EXPECT_TRUE(fan.agree(n));
		EXPECT_EQ(told(), "ports cannot choose among so many paths") << n;
		EXPECT_EQ(fan.agreed(), 1u) << n;
	}
}

TEST_F(PartsBug, APeerThatIsMetTwice)
{
	rds::Received r;

	r.begin(true);
	r.meet(7, false);
	EXPECT_EQ(told(), "");
	r.meet(8, false);
	EXPECT_EQ(told(), "a peer is met that is known");
}

TEST_F(PartsBug, AMessageThatCameBefore)
{
	rds::Received r;

	r.begin(true);
	r.meet(7, false);
	r.add(5, false);
	r.add(6, false);
	r.repeat(5, false);
	r.add(0, false); /* a peer may say so */
	EXPECT_EQ(told(), "");
	r.add(6, false);
	r.add(6, false);
	EXPECT_EQ(told(), "a message counts as new that came before");
}

/* Mainline's begin anew at 1, and do not say so. */
TEST_F(PartsBug, NoneInAPeerWithoutGeneration)
{
	rds::Received r;

	r.begin(true);
	r.meet(0, true);
	r.add(5, false);
	r.add(1, false);
	EXPECT_EQ(told(), "");
}

} // namespace
