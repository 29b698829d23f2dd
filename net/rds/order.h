/* SPDX-License-Identifier: GPL-2.0 */
/*
 * order.h: ordering hints: messages of one socket to one destination that may overtake others.
 *
 * A message is ordered, half-ordered or un-ordered (rds.7, docs/ordering.md).  May the second
 * overtake the first?
 *
 *			second ordered	half-ordered	un-ordered
 *	first ordered	no		no		no
 *	half-ordered	no		no		yes
 *	un-ordered	no		no		yes
 *
 * Nothing is known of the order here as long as a connection has one path: that keeps it.  Over
 * several, a message's home is the path that its ports choose, and an un-ordered one may leave it
 * for whichever open path has least in flight.  From the first that might, the destination has a
 * Flow, which knows what is under way:
 *
 *	home	messages on their home path, which keeps their order among each other
 *	away	messages on other paths
 *	waiting	messages on no path yet: those that must not overtake what is away, and what
 *		must not overtake those
 *	late	messages that have waited and are on a path since: the younger ones that did
 *		not have to are in front of them there, and an order by numbers has no place
 *		for them but a list of their own
 *
 * An un-ordered message may leave when no ordered one is under way.  The others go home when
 * nothing that was sent before them is away: that was delivered, by the peer's word (path_ack.cc),
 * or will never arrive.  So what has begun to leave is not taken back by RDS_CANCEL_SENT_TO.
 *
 * A reset, a fan-out and a fold need nothing of this: a message stays on its path, or is moved by
 * path_fan.cc, which keeps the order of what is ordered on one path; an un-ordered message is away
 * only while there is none of those.
 *
 * One lock for a socket's flows, outside of the paths'.  A flow that has messages stays, and they
 * keep the table: they may leave their path after the socket is gone.
 */
#ifndef RDS_ORDER_H
#define RDS_ORDER_H

#include "bug.h"
#include "list.h"
#include "lock.h"
#include "message.h"
#include "path/path.h"
#include "ref.h"
#include "result.h"

namespace rds
{

/* RDS_ORDER_* of the UAPI; the glue asserts that they agree. */
enum class Order : uint32_t { kOrdered = 0, kHalf = 1, kUnordered = 2 };

RDS_INLINE void set_order(Message &m, Order order)
{
	m.flags &= static_cast<uint16_t>(~(kMsgHalf | kMsgUnordered));
	if (order == Order::kHalf)
		m.flags |= kMsgHalf;
	else if (order == Order::kUnordered)
		m.flags |= kMsgUnordered;
}

class Flows;

/* Guarded by the lock of its socket's Flows. */
struct Flow final {
	Flow(Flows &owner, const Conn &c, uint16_t port, const Path &home);
	~Flow()
	{
		bug_on(!home.empty() || !away.empty() || !waiting.empty() || !late.empty() ||
			       late_away || ordered_home || ordered_else,
		       "a flow is destroyed that has messages");
	}

	using Messages = List<Message, &Message::recv_link>;

	ListNode link; /* in its bucket */
	Flows &owner;
	/* The connection, while it is that generation; and whom there. */
	const Conn *const conn;
	const uint32_t gen;
	const uint16_t port;
	/* The messages sent before there was a flow: on this path, up to this number. */
	const uint8_t old_path;
	const uint64_t old_seq;
	bool furnished = false; /* all paths were asked for, once */
	uint32_t next;		/* number of the next message */
	/* No message below it is under way.  Written under the lock. */
	Atomic<uint32_t> low;
	Messages home, away, waiting, late; /* each in order of their numbers */
	uint32_t late_away = 0;		    /* late ones that are away */
	uint32_t ordered_home = 0;	    /* ordered ones at home */
	uint32_t ordered_else = 0;	    /* and elsewhere */
};

class Flows final
{
public:
	/* Messages of the socket whose flows are @of are going to be sent in @order (RDS_ORDER_*).
	 * -EINVAL: there is no such; -ENOMEM.  Process. */
	static Status expect(Atomic<Flows *> &of, uint32_t order) RDS_SLEEPS;
	~Flows();
	void put();

	/* As rds_path::enqueue() on the path where @m's order is kept, which becomes @path; or
	 * keeps @m until there is one.  kMoved: not queued, for a path has to be made first.
	 * Process, RCU reader. */
	Result<Queued> enqueue(Conn &c, Message *m, bool more, Path *&path, Batch &batch)
		RDS_EXCLUDES(lock_) RDS_READS(kRcu);
	/* Takes back what waits for @c (@to_port < 0: to any port). */
	void cancel(Conn &c, int to_port) RDS_SLEEPS RDS_EXCLUDES(lock_);
	/* @m, of @f, has left its path's queue: see flow_left(). */
	void depart(Flow &f, Message &m, Conn &c, MsgList &done) RDS_EXCLUDES(lock_)
		RDS_READS(kRcu);
	/* Snapshot of what waits.  @fn may not sleep. */
	template <typename F>
	void for_each_waiting(F fn) RDS_EXCLUDES(lock_);

private:
	static constexpr unsigned int kBuckets = 16;
	static constexpr unsigned int kFewFlows = 64;
	using Bucket = List<Flow, &Flow::link>;

	Flows() : refs_(2) /* the socket's, and settle_fn()'s */
	{
	}
	static Status make(Atomic<Flows *> &of) RDS_SLEEPS;
	static void settle_fn(struct rds_rcu_head *h);
	Bucket &bucket(const Conn &c, uint16_t port) RDS_REQUIRES(lock_);
	Flow *find(const Conn &c, uint16_t port) RDS_REQUIRES(lock_);
	Flow *begin(const Conn &c, uint16_t port, const Path &home, Bucket &gone)
		RDS_REQUIRES(lock_);
	/* They are the caller's to destroy, without the lock. */
	void forget_idle(Bucket &gone) RDS_REQUIRES(lock_);
	Result<Queued> enqueue_locked(Conn &c, Message *m, bool more, Path *&path, Batch &batch,
				      Bucket &gone) RDS_REQUIRES(lock_);
	Result<Queued> enter(Flow &f, Conn &c, Message *m, bool more, Path *&path, Batch &batch)
		RDS_REQUIRES(lock_);
	Result<Queued> place(Flow &f, Message *m, bool more, Batch *batch, Path &path,
			     const Path *home) RDS_REQUIRES(lock_);
	void wait(Flow &f, Conn &c, Message *m) RDS_REQUIRES(lock_);
	void cancel_some(Flow &f, Conn &c, unsigned int &left, MsgList &done) RDS_REQUIRES(lock_);
	bool release(Flow &f, Conn &c, MsgList &dropped) RDS_REQUIRES(lock_);

	RefCount refs_;
	struct rds_rcu_head rcu_ = {};
	/* Nobody sends any more who did not know of us. */
	Atomic<bool> settled_;
	Spinlock<RDS_RANK_ORDER> lock_;
	Bucket buckets_[kBuckets] RDS_GUARDED_BY(lock_);
	unsigned int count_ RDS_GUARDED_BY(lock_) = 0;
	unsigned int many_ RDS_GUARDED_BY(lock_) = kFewFlows; /* time to forget some */
};

template <typename F>
void Flows::for_each_waiting(F fn)
{
	Guard g(lock_);

	for (Bucket &b : buckets_)
		for (Flow *f = b.front(); f; f = b.next(f))
			for (Message *m = f->waiting.front(); m; m = f->waiting.next(m))
				fn(*f, *m);
}

} // namespace rds
#endif
