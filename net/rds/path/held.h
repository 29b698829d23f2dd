/* SPDX-License-Identifier: GPL-2.0 */
/*
 * held.h: messages of one path that wait for a full port of the peer.
 *
 * A socket that does not read must not stand in the way of others.  When the peer's congestion map
 * says that its port is full, messages for it that are queued and have not begun to leave step
 * aside, and later ones join them, so that the order among them is kept.  When the port clears, or
 * the connection ends (and with it what its map said), they go back to the end of the queue.
 *
 * A peer of ours may refuse a port (refused.h): then what it has refused, which was sent, waits
 * here as well, before what is later, and the port is held in the peer's epoch.  What of it is with
 * the transport at that moment is late: it joins once the transport has it, at its place.
 *
 * It knows neither path nor map: path_hold.cc moves the messages.  Guarded by the path's lock.  A
 * path has the table from the first time that it holds something until it is destroyed.
 */
#ifndef RDS_HELD_H
#define RDS_HELD_H

#include "../message.h"
#include "../ref.h"

namespace rds
{

/* One such port, and its messages, oldest first: by the numbers that they had, then those that
 * never had one. */
struct HeldPort {
	explicit HeldPort(uint16_t p) : port(p)
	{
	}
	/* @m, which had a number.  @at: where to begin to look for its place, which moves there. */
	void insert(Message *m, Message *&at);

	ListNode link;
	const uint16_t port;
	bool late = false;  /* refused, and some is not here yet */
	uint32_t epoch = 0; /* of the peer's, that has refused it; 0: the port is full, no more */
	uint64_t first = 0; /* number that it has refused first */
	MsgList msgs;
};

class HeldPorts final
{
public:
	using Ports = List<HeldPort, &HeldPort::link>;

	HeldPorts() = default;
	HeldPorts(const HeldPorts &) = delete;
	HeldPorts &operator=(const HeldPorts &) = delete;
	/* None is held any more. */
	~HeldPorts();

	RDS_INLINE bool empty() const
	{
		return !count_;
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
	/* Refused messages are delivered when the peer has all up to this number; ~0: they wait
	 * here.  Asked after what the peer has.  Any context, without the lock. */
	RDS_INLINE uint64_t owed() const
	{
		return owed_.load();
	}
	/* Ports were taken, and what they had has numbers up to @last. */
	void returned(uint64_t last)
	{
		if (!refused_ && owed_.load() == ~0ull)
			owed_.store(last);
	}
	/* Ports for which @which is true move to @out, for the caller to destroy without a lock. */
	template <typename F>
	void take(F which, Ports &out);
	/* Without a lock. */
	static void destroy(Ports &ports);
	template <typename F>
	void for_each(F fn) const;

private:
	static constexpr unsigned int kBuckets = 64;
	struct Table {
		uint64_t is_held[65536 / 64];
		Ports buckets[kBuckets];
	};

	Table *table_ = nullptr;
	uint32_t count_ = 0;
	uint32_t refused_ = 0;
	Atomic<uint64_t> owed_;
};

template <typename F>
void HeldPorts::take(F which, Ports &out)
{
	for (unsigned int i = 0; count_ && i < kBuckets; i++) {
		Ports &b = table_->buckets[i];
		HeldPort *next;

		for (HeldPort *h = b.front(); h; h = next) {
			next = b.next(h);
			if (!which(*h))
				continue;
			b.remove(h);
			table_->is_held[h->port / 64] &= ~(1ull << (h->port % 64));
			count_--;
			refused_ -= h->epoch != 0;
			out.push_back(h);
		}
	}
}

template <typename F>
void HeldPorts::for_each(F fn) const
{
	for (unsigned int i = 0; count_ && i < kBuckets; i++)
		for (HeldPort *h = table_->buckets[i].front(); h; h = table_->buckets[i].next(h))
			fn(*h);
}

} // namespace rds
#endif
