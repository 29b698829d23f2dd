// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/path/coalesce.h"
#include "net/rds/path/path_due.h"
#include "net/rds/path/received.h"

#include <type_traits>

namespace
{

using rds::Coalesce;
using rds::Deadline;
using rds::Due;
using rds::Received;
using rds::RecvPause;
using rds::Retry;
using rds::StateLimit;

template <typename Owner, typename D>
concept Takes = requires(Deadline<Owner> &deadline, D due)
{
	deadline.arm(due);
};

/* The deadline of each owner takes what is due of that owner's, and of nobody else's. */
template <typename Owner, typename... Others>
constexpr bool only_its_own()
{
	return Takes<Owner, Due<Owner>> && (!Takes<Owner, Due<Others>> && ...) &&
	       !Takes<Owner, uint64_t> && !std::is_constructible_v<Due<Owner>, uint64_t>;
}

static_assert(only_its_own<StateLimit, Coalesce, RecvPause, Retry, Received>());
static_assert(only_its_own<Coalesce, StateLimit, RecvPause, Retry, Received>());
static_assert(only_its_own<RecvPause, StateLimit, Coalesce, Retry, Received>());
static_assert(only_its_own<Retry, StateLimit, Coalesce, RecvPause, Received>());
static_assert(only_its_own<Received, StateLimit, Coalesce, RecvPause, Retry>());

/* A deadline where a path has its own: inside of something. */
struct Clock {
	static void over(struct rds_timer *t)
	{
		rds::container_of(Deadline<StateLimit>::of(t), &Clock::deadline)->ran++;
	}

	unsigned int ran = 0;
	Deadline<StateLimit> deadline{over};
};

class DeadlineTest : public SimTest
{
protected:
	unsigned int ran_after(uint64_t ns)
	{
		sim::run_for(ns);
		return clock.ran;
	}

	Clock clock;
};

TEST_F(DeadlineTest, RunsOnceWhenItIsDue)
{
	clock.deadline.arm(StateLimit::pause(1000));
	EXPECT_EQ(ran_after(999), 0u);
	EXPECT_EQ(ran_after(1), 1u);
	EXPECT_EQ(ran_after(10000), 1u);
}

TEST_F(DeadlineTest, ForgetsWhatItWasArmedForBefore)
{
	clock.deadline.arm(StateLimit::pause(1000));
	clock.deadline.arm(StateLimit::pause(3000));
	EXPECT_EQ(ran_after(2999), 0u);
	EXPECT_EQ(ran_after(1), 1u);
	clock.deadline.arm(StateLimit::pause(3000));
	clock.deadline.arm(StateLimit::pause(1000));
	EXPECT_EQ(ran_after(1000), 2u);
	EXPECT_EQ(ran_after(10000), 2u);
}

TEST_F(DeadlineTest, ACancelledOneDoesNotRun)
{
	clock.deadline.arm(StateLimit::answer());
	clock.deadline.cancel();
	EXPECT_EQ(ran_after(2 * rds::kAskNs), 0u);
}

TEST_F(DeadlineTest, EachOwnerSaysHowLong)
{
	clock.deadline.arm(StateLimit::call(5000));
	EXPECT_EQ(ran_after(5'000'000'000 - 1), 0u);
	EXPECT_EQ(ran_after(1), 1u);
	clock.deadline.arm(StateLimit::drain());
	EXPECT_EQ(ran_after(rds::kDrainTimeoutNs - 1), 1u);
	EXPECT_EQ(ran_after(1), 2u);
	clock.deadline.arm(StateLimit::answer());
	EXPECT_EQ(ran_after(rds::kAskNs - 1), 2u);
	EXPECT_EQ(ran_after(1), 3u);
}

/* The same of one with several reasons. */
struct SharedClock {
	static void over(struct rds_timer *t)
	{
		auto *c = rds::container_of(rds::SoonestDeadline<Retry>::of(t),
					    &SharedClock::deadline);

		c->deadline.over();
		c->ran++;
	}

	unsigned int ran = 0;
	rds::SoonestDeadline<Retry> deadline{over};
};

TEST_F(DeadlineTest, AReasonThatIsLessUrgentPutsNothingOff)
{
	rds::Guard sender(rds::kSender);
	SharedClock c;

	c.deadline.arm(Retry::soon());
	for (int i = 0; i < 4; i++) {
		sim::run_for(rds::kRetryNs / 5);
		c.deadline.arm(Retry::map(4 * rds::kRetryNs));
	}
	EXPECT_EQ(c.ran, 0u);
	sim::run_for(rds::kRetryNs / 5);
	EXPECT_EQ(c.ran, 1u);
	sim::run_for(10 * rds::kRetryNs);
	EXPECT_EQ(c.ran, 1u) << "each look is at all";
	/* One that is more urgent counts, and one that was called off is forgotten. */
	c.deadline.arm(Retry::map(4 * rds::kRetryNs));
	c.deadline.arm(Retry::soon());
	sim::run_for(rds::kRetryNs);
	EXPECT_EQ(c.ran, 2u);
	c.deadline.arm(Retry::soon());
	c.deadline.cancel();
	c.deadline.arm(Retry::map(2 * rds::kRetryNs));
	sim::run_for(rds::kRetryNs);
	EXPECT_EQ(c.ran, 2u);
	sim::run_for(rds::kRetryNs);
	EXPECT_EQ(c.ran, 3u);
}

} // namespace
