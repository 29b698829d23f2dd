/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path_due.h: what the timers of a path are armed for that no room of its own decides on.
 *
 * StateLimit: how long a path may stay in a state before kEvTimer comes; the worker decides.
 * RecvPause: when a transport that has stopped receiving is to go on.  Retry: when the path looks
 * again for what it could not do yet.  Each look is at all of that (memory_over()), and each thing
 * that cannot be done once more arms the timer again: one purpose may shorten another's time, and
 * never puts it off.
 */
#ifndef RDS_PATH_DUE_H
#define RDS_PATH_DUE_H

#include "../limits.h"
#include "deadline.h"

namespace rds
{

struct StateLimit final {
	/* The peer that was called does not answer: @ms of rds_transport::call_ms. */
	static Due<StateLimit> call(unsigned int ms) RDS_REQUIRES(kWorker)
	{
		return Due<StateLimit>(ms * 1000ull * 1000);
	}
	/* The peer does not end as well. */
	static Due<StateLimit> drain() RDS_REQUIRES(kWorker)
	{
		return Due<StateLimit>(kDrainTimeoutNs);
	}
	/* A live peer would have answered by then. */
	static Due<StateLimit> answer() RDS_REQUIRES(kWorker)
	{
		return Due<StateLimit>(kAskNs);
	}
	/* The peer is to be called in @ns. */
	static Due<StateLimit> pause(uint64_t ns) RDS_REQUIRES(kWorker)
	{
		return Due<StateLimit>(ns);
	}
};

struct RecvPause final {
	static Due<RecvPause> end()
	{
		return Due<RecvPause>(kRetryNs);
	}
};

struct Retry final {
	/* There was no memory, or the news that is missing is on its way. */
	static Due<Retry> soon()
	{
		return Due<Retry>(kRetryNs);
	}
	/* A map may wait for @ns (map_pause.h). */
	static Due<Retry> map(uint64_t ns) RDS_REQUIRES(kSender)
	{
		return Due<Retry>(ns);
	}
};
template <>
struct TimerOf<Retry> {
	using Type = SoonestDeadline<Retry>;
};

} // namespace rds
#endif
