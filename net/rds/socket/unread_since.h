/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unread_since.h: since when a socket has a message that nobody has read.
 *
 * A message has no room for the time at which it came.  Those that a reader takes together have one
 * time, that of the first of them: exact until it has read one of them, and too long by what lies
 * between the two from then on, until it has read the last of them.  It may take others before
 * that: then two times are known, and those that it takes as the third have the second.
 *
 * Writers: a path that puts a message into the queue of those that arrived, under the socket's
 * recv_lock, and the reader, which takes them all, under that too.  Readers: any context, without a
 * lock; a time is stored before the flag that says that there is a message.
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
	/* The reader takes all that have arrived, behind @last of those that it has (nullptr: it
	 * has none). */
	RDS_INLINE void taken(const void *last)
	{
		if (!last) {
			reading_at_.set_to(arrived_at_);
		} else if (!last_) {
			last_ = last;
			behind_at_.set_to(arrived_at_);
		}
		/* A task that sees none that arrived any more sees them here: any(). */
		reading_.store_release(true);
		arrived_.store_release(false);
	}
	/* The reader has read @m; @all: and has no other. */
	RDS_INLINE void read(const void *m, bool all)
	{
		if (RDS_UNLIKELY(m == last_)) {
			last_ = nullptr;
			reading_at_.set_to(behind_at_);
		}
		if (all)
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
	/* The reader's: the last one whose time reading_at_ is, and that of those behind it;
	 * nullptr: it is the time of all. */
	CoarseTime behind_at_;
	const void *last_ = nullptr;
};

} // namespace rds
#endif
