// SPDX-License-Identifier: GPL-2.0
#include "calls.h"

namespace rds
{
namespace
{

/* Takes one of @burst tokens that come back after @ticks each.  @full is when all are there; a time
 * that is past, or much further away than it can be, is an idle bucket's: another task's clock may
 * be a little ahead. */
bool take(Atomic<uint32_t> &full, uint32_t now, uint32_t ticks, uint32_t burst)
{
	uint32_t was = full.load(), ahead;

	do {
		ahead = was - now;
		if (ahead > 2 * ticks * burst)
			ahead = 0;
		if (ahead > ticks * (burst - 1))
			return false;
	} while (!full.compare_exchange(was, now + ahead + ticks));
	return true;
}

} // namespace

bool Calls::admit(const struct rds_addr &faddr, uint32_t scope, uint64_t now_ns, const HashKey &key)
{
	const auto now = static_cast<uint32_t>(now_ns / kCallTickNs);
	const struct rds_addr prefix = prefix_of(faddr);
	const uint64_t words[] = {prefix.w[0], prefix.w[1], scope};
	const uint32_t slot = hash_words(words, 3, key) % kCallSlots;

	return take(prefixes_[slot], now, kPrefixCallTicks, kPrefixCalls) &&
	       take(all_, now, kCallTicks, kCalls);
}

} // namespace rds
