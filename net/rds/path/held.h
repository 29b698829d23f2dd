/* SPDX-License-Identifier: GPL-2.0 */
/*
 * held.h: messages of one path that wait for a full port of the peer.
 *
 * A socket that does not read must not stand in the way of others.  When the peer's congestion map
 * says that its port is full, messages for it that are queued and have not begun to leave step
 * aside, and later ones join them, so that the order among them is kept.  When the port clears, or
 * the connection ends (and with it what its map said), they go back to the end of the queue.
 *
 * It knows neither path nor map: path_hold.cc moves the messages.  Guarded by the path's lock.  A
 * path has the table from the first time that it holds something until it is destroyed.
 */
#ifndef RDS_HELD_H
#define RDS_HELD_H

#include "../message.h"

namespace rds
{

/* One such port, and its messages, oldest first.  They have no number. */
struct HeldPort {
	explicit HeldPort(uint16_t p) : port(p)
	{
	}
	ListNode link;
	const uint16_t port;
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
	/* Ports for which @which is true move to @out, for the caller to destroy without a lock. */
	template <typename F>
	void take(F which, Ports &out);
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
