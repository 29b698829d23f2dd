/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One task's view of one task on the other side. RDS promises order per pair of sockets, so
 * sequence numbers must come one by one, and an ack answers the oldest request, unless --order lets
 * some overtake others. That makes the state a ring of send times and a few counters, and whatever
 * has overtaken others.
 */
#ifndef RDSTOOLS_STRESS_FLOW_H
#define RDSTOOLS_STRESS_FLOW_H

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "order.h"

namespace rdstools
{

class Flow
{
public:
	/* depth 0: one way, no acks are expected and nothing limits requests but the kernel. */
	explicit Flow(unsigned depth, const OrderPlan &order = {}) : order_(order), sent_at_(depth)
	{
	}

	/* No more than depth behind the oldest that is not answered. */
	bool may_request(std::uint64_t beside = 0) const /* so many that will be sent before */
	{
		return sent_at_.empty() || sent_ + beside - acked_.all() < sent_at_.size();
	}
	std::uint64_t next_request() const
	{
		return sent_ + 1;
	}
	void request_sent(std::uint64_t now)
	{
		if (!sent_at_.empty())
			sent_at_[sent_ % sent_at_.size()] = now;
		sent_++;
	}

	/* The round trip time, or nothing if this is not an ack that may come now. */
	std::optional<std::uint64_t> ack_received(std::uint64_t sequence, std::uint64_t now)
	{
		if (sent_at_.empty() || sequence > sent_ ||
		    (!order_.unordered && sequence != next_ack()) || !acked_.take(sequence))
			return std::nullopt;
		return now - sent_at_[(sequence - 1) % sent_at_.size()];
	}
	std::uint64_t next_ack() const
	{
		return acked_.all() + 1;
	}

	/* False if it was here before, has overtaken what it must not, or more than depth are
	 * unanswered. */
	bool request_received(std::uint64_t sequence)
	{
		if (order_.is_barrier(sequence) ? sequence != received_.all() + 1
						: order_.ordered_before(sequence) > received_.all())
			return false;
		if ((!sent_at_.empty() && due_.size() >= sent_at_.size()) ||
		    !received_.take(sequence))
			return false;
		if (!sent_at_.empty())
			due_.push_back(sequence);
		return true;
	}
	std::uint64_t next_expected() const
	{
		return received_.all() + 1;
	}

	bool ack_due() const
	{
		return !due_.empty();
	}
	std::uint64_t due_ack() const
	{
		return due_.front();
	}
	void ack_sent()
	{
		due_.pop_front();
	}

	std::uint64_t outstanding() const
	{
		return sent_at_.empty() ? 0 : sent_ - acked_.count();
	}
	std::uint64_t sent() const
	{
		return sent_;
	}
	std::uint64_t received() const
	{
		return received_.count();
	}

	/* The kernel answered ENOBUFS; set and cleared by the worker. */
	bool congested = false;

private:
	OrderPlan order_;
	std::vector<std::uint64_t> sent_at_;
	std::uint64_t sent_ = 0;
	Arrivals acked_, received_;
	std::deque<std::uint64_t> due_; /* requests, as they came */
};

} // namespace rdstools

#endif
