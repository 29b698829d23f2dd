/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gen_counts.h: how far several generations of one peer's were counted.
 *
 * A generation is one life of the peer's connection; another host that has the peer's address for a
 * while has its own.  A path counts in that of the peer that was met last (received.h), and keeps
 * the counts of those before it here, as a tombstone does when the path is gone (tombs.h): so each
 * of them may come back, and what it sends again is known.
 *
 * No lock: guarded by that of its owner.
 */
#ifndef RDS_GEN_COUNTS_H
#define RDS_GEN_COUNTS_H

#include "limits.h"

namespace rds
{

/* The number behind the last message that was dealt with. */
struct GenCount {
	uint64_t next;
	uint32_t gen; /* 0: none */
};

/* Those that were met before; the one met last comes first, and places that are free come last. */
struct GenCounts {
	static constexpr unsigned int kPlaces = kGenerations - 1;

	GenCount of[kPlaces] = {};

	bool any() const
	{
		return of[0].gen;
	}
	bool has(uint32_t gen) const;
	/* The peer counts in @gen now, and in that of @last no more, which is remembered if it has
	 * any.  How far @gen had come, which leaves; 0: it is not known. */
	uint64_t change(const GenCount &last, uint32_t gen);
	/* The one that was met last leaves.  All 0: there was none. */
	GenCount take_first();
};

} // namespace rds
#endif
