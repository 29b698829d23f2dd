/* SPDX-License-Identifier: GPL-2.0 */
/*
 * coalesce.h: shall a message that was just queued wait for company?
 *
 * More than kHoldBurst messages sent within kHoldWindowNs, beyond those received, make a stream.  A
 * stream's messages wait until the window ends or kHoldBytes are together, and then go out in one
 * call (docs/decisions/005-coalescing.md).  So do those of a caller that says that more follows.
 *
 * It knows neither path nor queue: it is given what they know, and answers.  The path's timer ends
 * the wait, and the path says so by end().  Guarded by the path's lock.
 */
#ifndef RDS_COALESCE_H
#define RDS_COALESCE_H

#include "../bug.h"
#include "../limits.h"
#include "deadline.h"

namespace rds
{

enum class Hold : uint8_t {
	kNone,	/* it goes now, with all that is queued */
	kBegin, /* it waits, the first to do so: until kHoldWindowNs from now at most */
	kJoin,	/* it waits with others */
};

class Coalesce final
{
public:
	/* @unsent: bytes on the queue that were not sent, with those of the message.  @more: the
	 * caller has another for us.  @received: messages that have come, ever; they may wrap. */
	RDS_INLINE Hold ask(bool more, uint64_t unsent, uint64_t received)
	{
		if (unsent >= kHoldBytes || (!more && !is_stream(received)))
			return Hold::kNone;
		if (held_)
			return Hold::kJoin;
		held_ = true;
		return Hold::kBegin;
	}
	/* All that waits from now on goes then. */
	RDS_INLINE Due<Coalesce> window() const
	{
		bug_on_hot(!held_, "a hold window begins, and nothing waits");
		return Due<Coalesce>(kHoldWindowNs);
	}
	/* The messages that waited are being sent, or nobody will send them. */
	RDS_INLINE void end()
	{
		held_ = false;
	}

private:
	bool is_stream(uint64_t received);

	bool held_ = false;
	bool stream_ = false; /* the last window was busy */
	uint32_t window_count_ = 0;
	uint64_t window_ns_ = 0;       /* when it began */
	uint64_t window_received_ = 0; /* how many had come then */
};

} // namespace rds
#endif
