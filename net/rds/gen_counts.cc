// SPDX-License-Identifier: GPL-2.0
#include "gen_counts.h"

namespace rds
{

bool GenCounts::has(uint32_t gen) const
{
	bool found = false;

	for (const GenCount &one : of)
		found = found || (gen && one.gen == gen);
	return found;
}

uint64_t GenCounts::change(const GenCount &last, uint32_t gen)
{
	unsigned int at = 0;

	/* Its place, or the first of those that are free, or that of the oldest. */
	while (at < kPlaces - 1 && of[at].gen && of[at].gen != gen)
		at++;

	const uint64_t next = gen && of[at].gen == gen ? of[at].next : 0;

	if (last.gen) {
		for (; at; at--)
			of[at] = of[at - 1];
		of[0] = last;
	} else if (next) {
		for (; at < kPlaces - 1; at++)
			of[at] = of[at + 1];
		of[at] = {};
	}
	return next;
}

GenCount GenCounts::take_first()
{
	const GenCount first = of[0];

	for (unsigned int at = 0; at < kPlaces - 1; at++)
		of[at] = of[at + 1];
	of[kPlaces - 1] = {};
	return first;
}

} // namespace rds
