/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "../lib/socket.h"

#include <chrono>
#include <deque>

namespace rdstest
{

/*
 * Two sockets that nobody wants harm. One message goes each way in each turn; each has to come
 * once, in order, and no more than so many turns later.
 */
class Witness
{
public:
	Witness(Fd here, Fd there, uint32_t bound);

	/* Returns when the first messages are through. */
	void meet();
	void turn(uint32_t now);
	/* All that was sent has come. */
	void finish(std::chrono::milliseconds patience = std::chrono::seconds(10));

	uint32_t slowest() const
	{
		return slowest_;
	}
	uint64_t count() const
	{
		return ways_[0].received + ways_[1].received;
	}

private:
	struct Way {
		int from, to;
		Address target;
		uint64_t sent = 0, received = 0;
		std::deque<uint32_t> turns; /* of those that are under way */
	};
	void send(Way &way, uint32_t now);
	void receiveAll(Way &way, uint32_t now);

	Fd here_, there_;
	Way ways_[2];
	uint32_t bound_, slowest_ = 0;
};

} // namespace rdstest
