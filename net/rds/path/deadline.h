/* SPDX-License-Identifier: GPL-2.0 */
/*
 * deadline.h: a timer that its owner alone arms.
 *
 * A timer that is armed again forgets what it was armed for.  So each purpose has a timer of its
 * own, and an owner: the class that decides what falls due, and when.  The owner says so by a Due,
 * which no other class can make, and a Deadline takes the Due of no other owner.  Rooms that have
 * no timer (coalesce.h, received.h) answer with a Due; the path, which has the timers, passes it
 * on.
 */
#ifndef RDS_DEADLINE_H
#define RDS_DEADLINE_H

#include "../ref.h"
#include "../rights.h"

namespace rds
{

template <typename Owner>
class Deadline;
template <typename Owner>
class SoonestDeadline;

/* So long from now, ns. */
template <typename Owner>
class [[nodiscard]] Due final
{
	friend Owner;
	friend class Deadline<Owner>;
	friend class SoonestDeadline<Owner>;

	explicit constexpr Due(uint64_t ns) : ns_(ns)
	{
	}

	uint64_t ns_;
};

template <typename Owner>
class Deadline final
{
public:
	/* @over runs in hard interrupt, with what of() wants. */
	explicit Deadline(void (*over)(struct rds_timer *t))
	{
		rds_timer_init(&timer_, over);
	}
	Deadline(const Deadline &) = delete;
	Deadline &operator=(const Deadline &) = delete;

	/* Any context.  What it was armed for before is forgotten. */
	RDS_INLINE void arm(Due<Owner> due)
	{
		rds_timer_arm(&timer_, due.ns_);
	}
	/* Does not run any more, nor will it, unless it is armed. */
	void cancel() RDS_SLEEPS
	{
		rds_timer_cancel_sync(&timer_);
	}
	static Deadline *of(struct rds_timer *t)
	{
		return container_of(t, &Deadline::timer_);
	}

private:
	struct rds_timer timer_;
};

/* The same for an owner with several reasons, each of which is looked at when it is over: a reason
 * that is less urgent does not put off another, however often it comes. */
template <typename Owner>
class SoonestDeadline final
{
public:
	explicit SoonestDeadline(void (*over)(struct rds_timer *t)) : timer_(over)
	{
	}
	/* Any context.  What it was armed for before stays, if that is sooner. */
	void arm(Due<Owner> due)
	{
		const uint64_t at = rds_now_ns() + due.ns_;
		uint64_t other;

		/* The reason is stored before: the look behind over() finds it, or we arm anew. */
		full_fence();
		other = at_ns_.load();
		do
			if (other && other <= at)
				return;
		while (!at_ns_.compare_exchange(other, at));
		timer_.arm(due);
	}
	/* First thing when it is over. */
	void over()
	{
		at_ns_.exchange(0);
	}
	void cancel() RDS_SLEEPS
	{
		timer_.cancel();
		over();
	}
	static SoonestDeadline *of(struct rds_timer *t)
	{
		return container_of(Deadline<Owner>::of(t), &SoonestDeadline::timer_);
	}

private:
	Deadline<Owner> timer_;
	Atomic<uint64_t> at_ns_; /* 0: not armed */
};

/* The kind of timer that an owner has; specialised beside the owner. */
template <typename Owner>
struct TimerOf {
	using Type = Deadline<Owner>;
};

} // namespace rds
#endif
