// SPDX-License-Identifier: GPL-2.0
#include "fan.h"

namespace rds
{

bool Fan::agree(uint32_t n)
{
	if (bug_on(!n || n > kMaxPaths || n & (n - 1), "ports cannot choose among so many paths"))
		n = 1;

	const bool same = agreed_.load() == n;

	folding_.store(!same && agreed_.load() > 1);
	if (folding_.load())
		return false;
	agreed_.store_release(static_cast<uint8_t>(n));
	return true;
}

/*
 * One connection is the cheapest way as long as it has room: the next sender finds company there.
 * One that is full for some time is the network's or a processor's limit, and more of them go
 * further.
 */
bool Fan::no_room(uint64_t last)
{
	if (n_paths_.load() > 1 || agreed_.load() == 1 || ++blocks_ < kFanBlocks)
		return false;
	blocks_ = 0;
	gate_number_ = last;
	gated_.store(true);
	n_paths_.store_release(agreed_.load());
	return true;
}

void Fan::close()
{
	gated_.store(false);
	n_paths_.store_release(1);
	agreed_.store(1);
}

} // namespace rds
