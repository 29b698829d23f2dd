/* SPDX-License-Identifier: GPL-2.0 */
/*
 * delivered.h: how far the peer's RDS has one path's messages, and when it is asked for that.
 *
 * up_to() is the last number that the peer's RDS has dealt with, on any connection of the path.
 * The sender asks, by ACK_REQUIRED in a header, when so many calls of xmit (messages that go
 * together are one), or bytes, went without any ack (Limits); when a socket's send queue is half
 * full; for pages that were lent; and with each message where the peer says what it has only when
 * it is asked (mainline's over queue pairs).  How long the answer takes is measured, for which one
 * message a second asks, too (ack_clock.h).
 *
 * It knows neither path nor connection: it is told the limits and the kind of peer.  Guarded by the
 * path's lock, but for up_to(), which anybody may read.
 */
#ifndef RDS_DELIVERED_H
#define RDS_DELIVERED_H

#include "../ref.h"
#include "ack_clock.h"
#include "send_queue.h"

namespace rds
{

class Delivered final
{
public:
	/* So much may go without an ack: max_unacked_packets and max_unacked_bytes. */
	struct Limits {
		int64_t packets, bytes;
	};

	/* @first: the number of the first message. */
	explicit Delivered(uint64_t first) : up_to_(first - 1), first_(first)
	{
	}
	RDS_INLINE uint64_t up_to() const
	{
		return up_to_.load_acquire();
	}
	/* The peer has acknowledged a message of this path. */
	bool any() const
	{
		return up_to_.load() >= first_;
	}
	/* The peer has all up to @seq. */
	void has(uint64_t seq)
	{
		bug_on_hot(seq < up_to_.load(), "what was delivered is not any more");
		up_to_.store_release(seq); /* what it refused of that, was noted */
		clock_.acked(seq);
	}
	/* It has told, or is asked: so much more may go before it is asked again. */
	void allow(const Limits &l)
	{
		left_ = l;
	}
	/* The same, of what went on earlier connections. */
	void had(uint64_t seq)
	{
		if (seq > up_to_.load())
			up_to_.store(seq);
	}
	/* The connection is gone: the first message to go asks at once what has come. */
	void restart()
	{
		left_ = {0, 0};
		asked_ = 0;
		clock_ = {};
	}
	/* @b goes out, and no header of its messages before @first is to change.  @always: each
	 * message asks, for those behind it may never go.  True: the last asks, for all before it;
	 * the caller allows more. */
	bool ask(Batch &b, unsigned int first, bool always);
	/* @m may leave the queue, and its number never be used. */
	void taken_back(const Message &m)
	{
		clock_.forget(wire::get64(m.hdr.sequence));
	}
	/* Microseconds that an answer takes on this connection, smoothed; 0: none came yet. */
	uint32_t answer_us() const
	{
		return clock_.smoothed_us();
	}

private:
	Atomic<uint64_t> up_to_;
	const uint64_t first_;
	uint64_t asked_ = 0;   /* last number that asked for an ack */
	Limits left_ = {0, 0}; /* may still go without one */
	AckClock clock_;
};

} // namespace rds
#endif
