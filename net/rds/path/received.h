/* SPDX-License-Identifier: GPL-2.0 */
/*
 * received.h: what has come of one path's messages, and how much of that the peer was told.
 *
 * Two counts, each of them the number behind the last message that was dealt with.  next() goes on
 * from one connection to the next, in the count of the peer's generation.  The other is what may be
 * acknowledged: with a peer that has no generation only what came on this connection, for such a
 * peer, restarted, would take the rest for news of what it sends.
 *
 * Generations.  Any host that has the peer's address may come in between, with another generation
 * or none.  The counts of the last kGenerations are kept, so that what the peer sends again when it
 * is back is known.  Who has none counts anew each time: that is what mainline's do.
 *
 * The peer, as the first frame of a connection says it:
 *
 *	any --begin()--> kUnknown, or kPlain on a transport without acks
 *	kUnknown --meet()--> kPlain, kAcks
 *
 * An ack is due at once when the peer has asked for it, else a moment after something came.  It
 * goes in the header of whatever is sent (take(), settle()), or in a frame of its own.
 *
 * It knows neither path nor connection and has no timer: it answers whether the path is to send or
 * to arm one.  The one caller that receives on the path calls add(), repeat() and meet(); the
 * holder of the transmit token take() and settle(); begin() and resume() while neither is there.
 * Any context may read.  An ack against its timer: docs/locking.md.
 */
#ifndef RDS_RECEIVED_H
#define RDS_RECEIVED_H

#include "../gen_counts.h"
#include "../ref.h"
#include "deadline.h"
#include "send_queue.h"

namespace rds
{

/* The kind of peer, as the first frame of a connection told it. */
enum class Peer : uint32_t {
	kUnknown, /* nothing came yet */
	kPlain,	  /* what the transport acknowledged counts as delivered */
	kAcks,	  /* its RDS acknowledges by number, and wants the same of us */
};

/* When the peer is to hear of what came. */
enum class Tell : uint8_t {
	kLater,	 /* with what was arranged before, or never */
	kAtOnce, /* it has asked: see fall_due() */
	kSoon,	 /* a timer is to run: see may_arm() */
};

class Received final
{
public:
	Received() = default;
	Received(const Received &) = delete;
	Received &operator=(const Received &) = delete;
	~Received();

	/* Before a connection begins: what was said and heard on the last one is void.  @acks: its
	 * peer may be one that acknowledges. */
	void begin(bool acks);
	/* The counts of a path before this one go on: @now, and @past of generations before.
	 * False: no memory for these. */
	bool resume(const GenCount &now, const GenCounts &past) RDS_SLEEPS RDS_NO_TSA;
	/* The first frame names the peer's generation, 0: none.  @numbered: such a peer, too,
	 * acknowledges by number on this transport. */
	void meet(uint32_t gen, bool numbered) RDS_REQUIRES(kReceiver);

	/* Message @seq was dealt with: delivered, or nobody wants it.  @asked: ACK_REQUIRED. */
	RDS_INLINE Tell add(uint64_t seq, bool asked) RDS_REQUIRES(kReceiver)
	{
		/* A peer may say 0 in any message. */
		bug_on(RDS_CHECKS_ALL && seq && seq < next_.load() && gen_.load(),
		       "a message counts as new that came before");
		next_.store(seq + 1);
		return say(seq + 1, asked);
	}
	/* It came again. */
	RDS_INLINE Tell repeat(uint64_t seq, bool asked) RDS_REQUIRES(kReceiver)
	{
		const uint64_t had = known_.load();

		return say(seq < had ? had : seq + 1, asked);
	}
	/* The next header is to carry an ack.  True: nothing had said so, the caller sees to it
	 * that something is sent. */
	bool fall_due()
	{
		return !due_.exchange(true);
	}
	/* True: the caller arms the timer of the ack. */
	RDS_INLINE bool may_arm()
	{
		return !armed_.load() && !armed_.exchange(true);
	}
	static constexpr Due<Received> ack_due()
	{
		return Due<Received>(kAckDelayNs);
	}
	/* The timer has run out.  True: there is something to tell, as of fall_due(). */
	bool timer_over();

	/* An ack is due, and nothing else to carry it.  True: it is due no more, the caller makes a
	 * frame for it. */
	bool take_due() RDS_REQUIRES(kSender)
	{
		return due_.exchange(false) && peer() == Peer::kAcks;
	}
	/* The h_ack of the headers of @b, which is to stay below number @below.  @any: one of them
	 * has not begun to leave. */
	RDS_INLINE uint64_t take(Batch &b, bool any, uint64_t below) RDS_REQUIRES(kSender)
	{
		const bool acks = any && peer() == Peer::kAcks;
		const uint64_t known = known_.load();

		b.ack_due = acks && due_.exchange(false);
		b.ack = acks ? (known < below ? known : below) : 0;
		return b.ack ? b.ack - 1 : 0;
	}
	/* The peer is told only by a header that has begun to leave (@left): what did not may be
	 * taken back by its socket, and the ack with it. */
	RDS_INLINE void settle(const Batch &b, bool left) RDS_REQUIRES(kSender)
	{
		if (left && b.ack)
			acked_.store(b.ack);
		else if (!left && b.ack_due)
			due_.store(true);
	}

	/* -- any context -- */
	RDS_INLINE Peer peer() const
	{
		return peer_.load();
	}
	/* One of ours says in which generation it counts, and acknowledges by number.  Mainline's
	 * does neither over TCP, and over queue pairs the latter only. */
	bool is_ours() const
	{
		return peer() == Peer::kAcks && generation();
	}
	/* On this connection: it is one of ours, or a message of it was dealt with. */
	bool is_of_use() const
	{
		return known_.load() || is_ours();
	}
	/* Of next()'s count; 0: none. */
	RDS_INLINE uint32_t generation() const
	{
		return gen_.load();
	}
	/* The peer that was met last, on this connection or one before, counts in @gen. */
	bool is_of(uint32_t gen) const
	{
		return gen_.load_acquire() == gen;
	}
	/* The numbers of @gen are remembered. */
	bool remembers(uint32_t gen) const RDS_REQUIRES(kReceiver);
	/* Generations that were met before.  Nobody receives. */
	GenCounts past() const RDS_NO_TSA
	{
		return past_ ? *past_ : GenCounts();
	}
	RDS_INLINE uint64_t next() const
	{
		return next_.load();
	}
	/* Nothing has come since the path was made. */
	bool none_yet() const
	{
		return next_.load() == first_;
	}
	/* The last number that the peer may be told; 0: none. */
	uint64_t last() const
	{
		const uint64_t known = known_.load();

		return known ? known - 1 : 0;
	}
	RDS_INLINE bool is_due() const
	{
		return due_.load();
	}
	/* The peer was told of all that came. */
	bool all_acked() const
	{
		return acked_.load() == known_.load();
	}

private:
	/* A timer that runs out now sees it, or we see that it is not armed any more. */
	RDS_INLINE Tell say(uint64_t known, bool asked)
	{
		if (peer() != Peer::kAcks) {
			known_.store(known);
			return Tell::kLater;
		}

		const bool armed = announce_then_look([&] { known_.store(known); },
						      [&] { return armed_.load(); });

		if (asked)
			return Tell::kAtOnce;
		return armed ? Tell::kLater : Tell::kSoon;
	}

	uint64_t change_generation(uint32_t gen) RDS_REQUIRES(kReceiver);

	Atomic<uint64_t> next_;
	Atomic<uint64_t> known_; /* may be acknowledged; receiving */
	Atomic<uint64_t> acked_; /* ... and was; token holder */
	uint64_t first_ = 0;	 /* next() when the path was made */
	AtomicEnum<Peer> peer_;	 /* written while nobody or one receives */
	Atomic<uint32_t> gen_;
	Atomic<bool> due_;   /* the next header is to carry an ack, at once */
	Atomic<bool> armed_; /* the timer is */
	/* Made when there is one to remember: most peers are never another. */
	GenCounts *past_ RDS_GUARDED_BY(kReceiver) = nullptr;
};

} // namespace rds
#endif
