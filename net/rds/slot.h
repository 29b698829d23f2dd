/* SPDX-License-Identifier: GPL-2.0 */
/*
 * slot.h: a mailbox for one thing, that its owner closes for good.
 *
 *	empty --put--> full --put--> full (the older comes back) --take--> empty
 *	empty, full --close--> closed --put--> closed (it comes back at once)
 *
 * Any context puts; one owner takes and closes.  The newest counts.  A closed slot has a tombstone
 * in it, so nobody has to look whether the owner still lives, before or after: every thing that is
 * put comes out once, of put(), take() or close(), and is that caller's to adopt or to discard.
 *
 * All that change the word are read-modify-writes: what the task that put had stored before is seen
 * by the one that the thing comes out to.  It needs no lock, and puts may interrupt each other.
 */
#ifndef RDS_SLOT_H
#define RDS_SLOT_H

#include "ref.h"

namespace rds
{

template <typename T>
class Slot final
{
public:
	/* nullptr: @newer lies there.  Else what the caller has to discard: the older one, or
	 * @newer itself if the slot is closed.  Any context. */
	[[nodiscard]] RDS_INLINE T *put(T *newer)
	{
		T *older = at_.load();

		do
			if (older == tombstone())
				return newer;
		while (!at_.compare_exchange(older, newer));
		return older;
	}
	/* -- the owner -- */
	/* nullptr: nothing lies there, or it is closed. */
	[[nodiscard]] RDS_INLINE T *take()
	{
		return is_closed() ? nullptr : at_.exchange(nullptr);
	}
	/* The same, and from now on nothing ever does. */
	[[nodiscard]] RDS_INLINE T *close()
	{
		return is_closed() ? nullptr : at_.exchange(tombstone());
	}
	RDS_INLINE bool empty() const
	{
		T *now = at_.load_acquire();

		return !now || now == tombstone();
	}

private:
	/* An address that no other thing has. */
	RDS_INLINE T *tombstone() const
	{
		return reinterpret_cast<T *>(const_cast<Slot *>(this));
	}
	RDS_INLINE bool is_closed() const
	{
		return at_.load() == tombstone();
	}

	Atomic<T *> at_;
};

} // namespace rds
#endif
