// SPDX-License-Identifier: GPL-2.0
/*
 * coalesce.cc: is a path a one-way stream?
 */
#include "coalesce.h"

#include "../../platform/platform.h"

namespace rds
{

/*
 * Counts the message that was just queued: is the path a one-way stream?  The messages that came in
 * a window are taken off those that went: question and answer are none, however fast they are.
 */
bool Coalesce::is_stream(uint64_t received)
{
	uint64_t now = rds_now_ns();
	uint64_t age = now - window_ns_;

	window_count_++;
	if (age < kHoldWindowNs)
		return stream_;

	uint64_t heard = received - window_received_;
	bool busy = window_count_ > kHoldBurst && window_count_ - kHoldBurst > heard;

	/* The end of its wait may take the processor from the sender when a window has just begun:
	 * a stream's window goes on until it has its messages. */
	if (stream_ && !busy && !heard && age < kHoldPauseNs)
		return true;
	stream_ = busy && age < kHoldPauseNs;
	window_ns_ = now;
	window_received_ = received;
	window_count_ = 0;
	return stream_;
}

} // namespace rds
