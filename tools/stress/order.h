/* SPDX-License-Identifier: GPL-2.0 */
/*
 * --order: ordering hints of requests, and what may arrive when. rds(7) has the table that is
 * checked here. Acks go to the same sockets as the other direction's requests: ordered ones
 * would keep those from overtaking anything.
 */
#ifndef RDSTOOLS_STRESS_ORDER_H
#define RDSTOOLS_STRESS_ORDER_H

#include <linux/rds.h>

#include <cstdint>
#include <set>
#include <string>

namespace rdstools
{

inline constexpr unsigned most_order_every = 1 << 20;

struct OrderPlan {
	bool unordered = false; /* requests are; else everything is ordered */
	unsigned every = 0;	/* but for each so-manieth (0: none), ... */
	bool half = true;	/* ... which is half-ordered; else ordered */

	bool is_barrier(std::uint64_t sequence) const
	{
		return !unordered || (every && sequence % every == 0);
	}
	/* RDS_ORDER_*. */
	std::uint32_t hint(std::uint64_t sequence) const
	{
		if (!is_barrier(sequence))
			return RDS_ORDER_UNORDERED;
		return unordered && half ? RDS_ORDER_HALF : RDS_ORDER_ORDERED;
	}
	std::uint32_t ack_hint() const
	{
		return unordered ? RDS_ORDER_UNORDERED : RDS_ORDER_ORDERED;
	}
	/* The last ordered one before @sequence, 0: none. */
	std::uint64_t ordered_before(std::uint64_t sequence) const
	{
		if (!unordered)
			return sequence - 1;
		return every && !half ? (sequence - 1) / every * every : 0;
	}
};

/* ordered, unordered, half:N, ordered:N. Throws Error. */
OrderPlan parse_order(const std::string &text);

/* Numbers from 1 on, each of which comes once. */
class Arrivals
{
public:
	/* False: it was here before. */
	bool take(std::uint64_t sequence)
	{
		if (sequence <= all_)
			return false;
		if (sequence != all_ + 1)
			return beyond_.insert(sequence).second;
		for (all_++; !beyond_.empty() && *beyond_.begin() == all_ + 1; all_++)
			beyond_.erase(beyond_.begin());
		return true;
	}
	/* All up to it have come. */
	std::uint64_t all() const
	{
		return all_;
	}
	std::uint64_t count() const
	{
		return all_ + beyond_.size();
	}

private:
	std::uint64_t all_ = 0;
	std::set<std::uint64_t> beyond_;
};

} // namespace rdstools

#endif
