/* SPDX-License-Identifier: GPL-2.0 */
/*
 * held.h: messages of one path that wait for a full port of the peer.
 *
 * A socket that does not read must not stand in the way of others.  When the peer's congestion map
 * says that its port is full, each message for it that has not begun to leave steps aside when its
 * turn to be sent comes.  Once none of them is queued any more, later ones join at once, so that
 * the order among them is kept.  When the port clears, and none is queued, or the connection ends
 * (and with it what its map said), they go back to the end of the queue.
 *
 * A peer of ours may refuse a port (refused.h): then what it has refused, which was sent, waits
 * here as well, before what is later, and the port is held in the peer's epoch.  Each comes when
 * the peer acknowledges it, in the order of their numbers; the port does not go back before the
 * last of them is here.
 *
 * So nobody looks for them in a queue that others' messages are in: each is moved when it is met.
 *
 * It knows neither path nor map: path_hold.cc moves the messages.  Guarded by the path's lock.  A
 * path has the table from the first time that it holds something until it is destroyed.
 */
#ifndef RDS_HELD_H
#define RDS_HELD_H

#include "../bug.h"
#include "../coarse_time.h"
#include "../message.h"
#include "../ref.h"

namespace rds
{

/* One such port, and its messages, oldest first: those that were sent, those that were not by the
 * numbers that they had, and those that never had one. */
struct HeldPort {
	explicit HeldPort(uint16_t p) : port(p)
	{
	}
	/* @m, whose turn to be sent has come.  Those that a transport had, and took none of, are
	 * older than some that are here. */
	void put_aside(Message *m);
	Message *front() const
	{
		return sent.empty() ? msgs.front() : sent.front();
	}
	/* The one after @m. */
	Message *next(const Message *m) const;

	ListNode link;
	ListNode back_link; /* while it goes back (path_hold.cc) */
	const uint16_t port;
	bool goes_back = false;
	bool refused_late = false; /* while it went back */
	bool waits = false;	   /* it may, but for messages that are not here yet */
	bool owes = false;  /* some of what is here has to arrive before flows may go (order.h) */
	uint32_t epoch = 0; /* of the peer's, that has refused it; 0: the port is full, no more */
	CoarseTime refused_since; /* with such an epoch */
	uint64_t first = 0;	  /* number that it has refused first */
	uint64_t last_sent = 0;	  /* of those that it has refused none was sent after this one */
	uint64_t last_queued = 0; /* none that is queued has a number above this */
	uint64_t last_aside = 0;  /* the highest number that put_aside() has met */
	MsgList sent, msgs;
};

class HeldPorts final
{
public:
	using Ports = List<HeldPort, &HeldPort::link>;
	using Back = List<HeldPort, &HeldPort::back_link>; /* those that go back */
	/* A walk over all messages, port by port.  The lock may be given up between two steps.  It
	 * meets what is here all the time exactly once.  A message that leaves for the queue, and
	 * steps aside again, it meets at least once, if whoever walks has met all of the queue
	 * before each step: the message comes back to its port, which the walk has not left. */
	class Walk final
	{
	public:
		Walk() = default;
		Walk(const Walk &) = delete;
		Walk &operator=(const Walk &) = delete;
		~Walk()
		{
			bug_on(in_, "a walk is left in a path's full ports");
		}
		/* The port of the message that it has met just now. */
		HeldPort *port() const
		{
			return port_;
		}

	private:
		friend class HeldPorts;

		const HeldPorts *in_ = nullptr; /* between its first step and its last */
		unsigned int bucket_ = ~0u;
		HeldPort *port_ = nullptr; /* nullptr: no more in this bucket */
		bool entered_ = false;
		Message *at_ = nullptr; /* the next one of the port that it has entered */
		Walk *other_ = nullptr;
	};

	HeldPorts() = default;
	HeldPorts(const HeldPorts &) = delete;
	HeldPorts &operator=(const HeldPorts &) = delete;
	/* None is held any more. */
	~HeldPorts();

	RDS_INLINE bool empty() const
	{
		return !count_;
	}
	bool is_full() const
	{
		return count_ >= kMaxHeldPorts;
	}
	RDS_INLINE bool holds(uint16_t port) const
	{
		return count_ && table_->is_held[port / 64] >> (port % 64) & 1;
	}
	/* The held port @port; nullptr: it is not. */
	HeldPort *find(uint16_t port);
	/* The same, held from now on; nullptr without memory.  Any context. */
	HeldPort *hold(uint16_t port);
	/* @h, which is held, is refused. */
	void refuse(HeldPort &h, uint32_t epoch, uint64_t first);
	RDS_INLINE uint32_t refused() const
	{
		return refused_;
	}
	/* Messages of @h had numbers that somebody counts by, and get others. */
	void owe(HeldPort &h);
	/* Such messages, and refused ones, are delivered when the peer has all up to this number;
	 * ~0: they wait here.  Asked after what the peer has.  Any context, without the lock. */
	RDS_INLINE uint64_t owed() const
	{
		return owed_.load();
	}
	/* Its oldest message. */
	Message *pop_front(HeldPort &h);
	void take_off(HeldPort &h, Message *m);
	/* @h has gone back, and what it had has numbers up to @last: it is not held any more, for
	 * the caller to destroy without a lock. */
	void drop(HeldPort &h, uint64_t last);
	/* It has, but was refused meanwhile: it is held. */
	void stay(HeldPort &h);
	/* The next message of @w; nullptr: there was none at this step. */
	Message *step(Walk &w) const;
	bool is_over(const Walk &w) const
	{
		return !table_ || w.bucket_ == kBuckets;
	}
	void stop(Walk &w) const;
	/* HeldPort.waits of one, perhaps one that has gone back since. */
	RDS_INLINE bool waits() const
	{
		return waits_;
	}
	void set_waits(bool waits)
	{
		waits_ = waits;
	}
	template <typename F>
	void for_each(F fn) const;

private:
	static constexpr unsigned int kBuckets = 64;
	struct Table {
		uint64_t is_held[65536 / 64];
		Ports buckets[kBuckets];
		Walk *walks;
	};

	void insert(HeldPort &h);
	void remove(HeldPort &h);

	Table *table_ = nullptr;
	uint32_t count_ = 0;
	uint32_t refused_ = 0;
	uint32_t owing_ = 0; /* ports with HeldPort.owes */
	bool waits_ = false;
	Atomic<uint64_t> owed_;
};

template <typename F>
void HeldPorts::for_each(F fn) const
{
	for (unsigned int i = 0; count_ && i < kBuckets; i++)
		for (HeldPort *h = table_->buckets[i].front(); h; h = table_->buckets[i].next(h))
			fn(*h);
}

} // namespace rds
#endif
