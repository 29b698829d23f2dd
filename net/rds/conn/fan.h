/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fan.h: over how many paths a connection sends, and which of them takes a message.
 *
 *	one --no_room() kFanBlocks times--> gated --open_gate()--> spread
 *	gated, spread --agree() on another number--> folding --close(), folded()--> one
 *
 * one: path 0 carries everything.  gated: what is new is queued on its own path, which sends none
 * of it before path 0 has delivered what it had.  spread: each path sends for itself.  folding: the
 * peer is another one than before, and further paths send no message until path 0 has what they
 * had (docs/decisions/014-multipath.md).
 *
 * Which path carries a message follows from its port at one of the two ends, the same for both
 * directions, so that acks need no frames of their own.
 *
 * A Fan knows no path.  All that changes it is called under the lock of path 0; any context may
 * read.  A sender reads the number of paths again under its path's lock, inside of which a fold
 * takes what is queued: so nothing is queued on the wrong side of a change.
 */
#ifndef RDS_FAN_H
#define RDS_FAN_H

#include "../bug.h"
#include "../limits.h"
#include "../ref.h"

namespace rds
{

class Fan final
{
public:
	/* @by_sport: our end's port chooses the path; of one end of a connection it does. */
	explicit Fan(bool by_sport) : by_sport_(by_sport)
	{
	}

	/* -- any context -- */
	/* The path of messages from port @sport to @dport, and of those back. */
	RDS_INLINE unsigned int index_for(uint16_t sport, uint16_t dport) const
	{
		const uint32_t n = n_paths_.load_acquire();

		if (n == 1)
			return 0;
		return ((by_sport_ ? sport : dport) * 0x9e3779b1u >> 29) & (n - 1);
	}
	/* That we send on: 1, or as many as agreed(). */
	RDS_INLINE uint32_t n_paths() const
	{
		return n_paths_.load_acquire();
	}
	/* That both ends may use. */
	RDS_INLINE uint32_t agreed() const
	{
		return agreed_.load_acquire();
	}
	/* Further paths hold messages back: older ones are on path 0. */
	RDS_INLINE bool is_gated() const
	{
		return gated_.load_acquire();
	}
	/* Further paths have sent messages, and to agree() on @n would bring them back. */
	bool would_bring_back(uint32_t n) const
	{
		return n_paths() > 1 && n != agreed() && !is_gated() && !is_folding();
	}
	/* Their queues go to path 0: messages sent meanwhile would go out twice. */
	RDS_INLINE bool is_folding() const
	{
		return folding_.load_acquire();
	}
	/* The number of the last message that has to be delivered before the gate opens; while it
	 * is shut, and under path 0's lock. */
	uint64_t gate_number() const
	{
		return gate_number_;
	}

	/* -- under path 0's lock -- */
	/* Path 0 met a peer that may use @n paths with us.  False: the others have to give path 0
	 * what they have first. */
	bool agree(uint32_t n);
	/* Path 0 had no room.  True: messages are spread from now on, behind a gate that opens when
	 * all up to number @last is delivered. */
	bool no_room(uint64_t last);
	void open_gate()
	{
		gated_.store(false);
	}
	/* All paths are down, and path 0 takes all that is queued from now on. */
	void close();
	/* Path 0 has it. */
	void folded()
	{
		folding_.store(false);
	}

private:
	Atomic<uint8_t> agreed_{1};  /* powers of two */
	Atomic<uint8_t> n_paths_{1}; /* the same */
	Atomic<bool> gated_;
	Atomic<bool> folding_;
	const bool by_sport_;
	uint8_t blocks_ = 0; /* times that path 0 had no room */
	uint64_t gate_number_ = 0;
};

} // namespace rds
#endif
