/* SPDX-License-Identifier: GPL-2.0 */
/*
 * coarse_time.h: when something happened, by a clock that costs nothing to read and goes in ticks
 * of 10 ms at most, for those who look at the state of things.  Any context; ages wrap after 49
 * days.
 */
#ifndef RDS_COARSE_TIME_H
#define RDS_COARSE_TIME_H

#include "ref.h"

namespace rds
{

class CoarseTime final
{
public:
	RDS_INLINE void set_to_now()
	{
		ms_.store(rds_coarse_ms());
	}
	RDS_INLINE void set_to(const CoarseTime &other)
	{
		ms_.store(other.ms_.load());
	}
	/* Milliseconds.  The clock is read last, so that no age is below 0. */
	uint32_t age_ms() const
	{
		const uint32_t then = ms_.load_acquire();

		return rds_coarse_ms() - then;
	}

private:
	Atomic<uint32_t> ms_;
};

} // namespace rds
#endif
