/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unread_since.h: since when a socket has a message that nobody has read.
 *
 * A message has no room for the time at which it came.  Those that lie in one queue have one time,
 * that of the first of them: exact until a reader takes one of them, too long by what lies between
 * the two from then on, and exact again once the reader has come to the end of what it took.
 *
 * Writers: whoever puts a message into the queue of those that arrived, and the reader that takes
 * them all, under the socket's recv_lock.  Readers: any context, without a lock; a time is stored
 * before the flag that says that there is a message, so none is another queue's.
 */
#ifndef RDS_UNREAD_SINCE_H
#define RDS_UNREAD_SINCE_H

#include "../coarse_time.h"

namespace rds
{

class UnreadSince final
{
public:
	/* A message comes into an empty queue. */
	RDS_INLINE void arrives()
	{
		arrived_at_.set_to_now();
		arrived_.store_release(true);
	}
	/* The reader takes all that have arrived, to those that it has. */
	RDS_INLINE void taken()
	{
		if (!reading_.load())
			reading_at_.set_to(arrived_at_);
		/* A task that sees none that arrived any more sees them here: any(). */
		reading_.store_release(true);
		arrived_.store_release(false);
	}
	/* The reader has read the last one that it had. */
	RDS_INLINE void all_read()
	{
		reading_.store(false);
	}
	/* All are thrown away. */
	void dropped()
	{
		arrived_.store(false);
		reading_.store(false);
	}
	RDS_INLINE bool has_arrived() const
	{
		return arrived_.load_acquire();
	}
	RDS_INLINE bool any() const
	{
		return has_arrived() || reading_.load();
	}
	/* Milliseconds.  Only of a socket that has any(). */
	uint32_t age_ms() const
	{
		return (reading_.load_acquire() ? reading_at_ : arrived_at_).age_ms();
	}

private:
	Atomic<bool> arrived_, reading_; /* there is one there */
	CoarseTime arrived_at_, reading_at_;
};

} // namespace rds
#endif
