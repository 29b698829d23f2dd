// SPDX-License-Identifier: GPL-2.0
#include "shares.h"

namespace rds
{
namespace
{

constexpr uint32_t bit(Rank r)
{
	return 1u << static_cast<unsigned int>(r);
}

constexpr uint32_t kStrangers = bit(Rank::kStrangerDown) | bit(Rank::kStrangerSilent) |
				bit(Rank::kStrangerBusy) | bit(Rank::kStrangerNew);
constexpr uint32_t kMostCounted = 0xffff;
constexpr uint32_t kEverybody = bit(Rank::kLast) - 1;

} // namespace

void Shares::count(const struct rds_addr &faddr, uint32_t scope, Rank r)
{
	uint16_t &n = slot_of(faddr, scope).there[static_cast<uint8_t>(r)];

	n += n != kMostCounted;
}

bool Shares::take(const struct rds_addr &faddr, uint32_t scope, Rank r)
{
	uint16_t &n = slot_of(faddr, scope).go[static_cast<uint8_t>(r)];

	if (!n)
		return false;
	n--;
	return true;
}

/* A slot weighs what it has of the ranks @of. */
void Shares::weigh(uint32_t of)
{
	for (Slot &s : slots_) {
		s.weight = 0;
		for (unsigned int r = 0; r < kRanks; r++)
			s.weight += of >> r & 1 ? s.there[r] : 0;
	}
}

uint64_t Shares::above(uint32_t level) const
{
	uint64_t n = 0;

	for (const Slot &s : slots_)
		n += s.weight > level ? s.weight - level : 0;
	return n;
}

/* The highest level above which there are @needed; no less than @least. */
uint32_t Shares::level(uint32_t needed, uint32_t least) const
{
	uint32_t low = least, high = kRanks * kMostCounted;

	while (low < high) {
		const uint32_t mid = low + (high - low + 1) / 2;

		if (above(mid) >= needed)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* Plans @n of @s, of the ranks @of. */
void Shares::plan_in(Slot &s, uint32_t n, uint32_t of, uint32_t (&all)[kRanks])
{
	s.weight -= n;
	for (unsigned int r = 0; r < kRanks && n; r++) {
		const uint32_t some = !(of >> r & 1) ? 0 : s.there[r] < n ? s.there[r] : n;

		s.there[r] = static_cast<uint16_t>(s.there[r] - some);
		s.go[r] = static_cast<uint16_t>(s.go[r] + some);
		all[r] -= some;
		n -= some;
	}
}

/* Plans @needed of the ranks @of, of the slots that have most of them, until each has @least.  All
 * come down to one above the level, and then some to the level. */
uint32_t Shares::cut(uint32_t needed, uint32_t least, uint32_t of, uint32_t (&all)[kRanks])
{
	uint32_t left = needed;

	if (!needed)
		return 0;
	weigh(of);

	const uint32_t lowest = level(needed, least);

	for (uint32_t upto = lowest + 2; upto-- > lowest;)
		for (Slot &s : slots_) {
			const uint32_t more = s.weight > upto ? s.weight - upto : 0;
			const uint32_t n = more < left ? more : left;

			plan_in(s, n, of, all);
			left -= n;
		}
	return needed - left;
}

uint32_t Shares::plan(uint32_t needed, uint32_t share, uint32_t (&all)[kRanks])
{
	const uint32_t greedy = cut(needed, share, kEverybody, all);

	return greedy + cut(needed - greedy, 1, kStrangers, all);
}

} // namespace rds
