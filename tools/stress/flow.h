/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One task's view of one task on the other side. RDS promises order per pair of sockets, so
 * sequence numbers must come one by one, and an ack always answers the oldest request. That
 * makes the whole state a ring of send times and a few counters, whatever the run time.
 */
#ifndef RDSTOOLS_STRESS_FLOW_H
#define RDSTOOLS_STRESS_FLOW_H

#include <cstdint>
#include <optional>
#include <vector>

namespace rdstools
{

class Flow
{
public:
	/* depth 0: one way, no acks are expected and nothing limits requests but the kernel. */
	explicit Flow(unsigned depth) : sent_at_(depth)
	{
	}

	bool may_request() const
	{
		return sent_at_.empty() || outstanding() < sent_at_.size();
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

	/* The round trip time, or nothing if this is not the ack that must come next. */
	std::optional<std::uint64_t> ack_received(std::uint64_t sequence, std::uint64_t now)
	{
		if (sent_at_.empty() || sequence != next_ack() || acked_ == sent_)
			return std::nullopt;
		return now - sent_at_[acked_++ % sent_at_.size()];
	}
	std::uint64_t next_ack() const
	{
		return acked_ + 1;
	}

	/* False if it is not the request that must come next, or more than depth are unanswered. */
	bool request_received(std::uint64_t sequence)
	{
		if (sequence != received_ + 1 ||
		    (!sent_at_.empty() && received_ - answered_ >= sent_at_.size()))
			return false;
		received_++;
		return true;
	}
	std::uint64_t next_expected() const
	{
		return received_ + 1;
	}

	bool ack_due() const
	{
		return !sent_at_.empty() && answered_ < received_;
	}
	std::uint64_t due_ack() const
	{
		return answered_ + 1;
	}
	void ack_sent()
	{
		answered_++;
	}

	std::uint64_t outstanding() const
	{
		return sent_at_.empty() ? 0 : sent_ - acked_;
	}
	std::uint64_t sent() const
	{
		return sent_;
	}
	std::uint64_t received() const
	{
		return received_;
	}

	/* The kernel answered ENOBUFS; set and cleared by the worker. */
	bool congested = false;

private:
	std::vector<std::uint64_t> sent_at_;
	std::uint64_t sent_ = 0;
	std::uint64_t acked_ = 0;
	std::uint64_t received_ = 0;
	std::uint64_t answered_ = 0;
};

} // namespace rdstools

#endif
