/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ack_clock.h: how long a message that asks for an ack waits for it.
 *
 * It begins when the message is handed to the transport and ends when the peer's RDS says that it
 * has it: the time for which it waits for the transport's room, the way there, the peer's RDS, and
 * the way back.  One message is timed at a time, of those that ask anyway; and where none does, for
 * each has its ack with the peer's answer, one a second is made to (is_due(), which looks at the
 * time that the message has with it).  So the clock is read for what is timed alone.  Smoothed as
 * TCP smooths its own: each new one is an eighth of the result.
 *
 * It knows numbers and times alone; the caller's lock guards it (delivered.h).
 */
#ifndef RDS_ACK_CLOCK_H
#define RDS_ACK_CLOCK_H

#include "../limits.h"
#include "../ref.h"

namespace rds
{

class AckClock final
{
public:
	/* A message that was queued at @ms (rds_coarse_ms()) is to ask, to be timed; one that was
	 * queued before the last that was, for it comes back from a full port, as well. */
	RDS_INLINE bool is_due(uint32_t ms) const
	{
		return !timed_ && (!smoothed_ns_ || ms - begun_ms_ >= kAckTimedMs);
	}
	/* Message @seq, not 0, of that time, is handed to the transport and asks. */
	void asks(uint64_t seq, uint32_t ms)
	{
		if (timed_)
			return;
		timed_ = seq;
		begun_ms_ = ms;
		since_ns_ = rds_now_ns();
	}
	/* The peer has all up to @seq. */
	RDS_INLINE void acked(uint64_t seq)
	{
		if (timed_ && seq >= timed_)
			end();
	}
	/* Message @seq does not go after all. */
	void forget(uint64_t seq)
	{
		if (timed_ == seq)
			timed_ = 0;
	}
	/* Microseconds, 1 at least; 0: none was acknowledged yet. */
	uint32_t smoothed_us() const
	{
		const uint64_t us = (smoothed_ns_ + 999) / 1000;

		return us < UINT32_MAX ? static_cast<uint32_t>(us) : UINT32_MAX;
	}

private:
	void end()
	{
		const uint64_t took = rds_now_ns() - since_ns_;

		timed_ = 0;
		smoothed_ns_ = smoothed_ns_ ? smoothed_ns_ - smoothed_ns_ / 8 + took / 8 : took;
		smoothed_ns_ += !smoothed_ns_; /* of a coarse clock; 0 is "none" */
	}

	uint64_t timed_ = 0; /* the number of the message; 0: none is */
	uint64_t since_ns_ = 0, smoothed_ns_ = 0;
	uint32_t begun_ms_ = 0; /* when the last one was queued */
};

} // namespace rds
#endif
