/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rdma.h: what a socket lets its peers do to its memory, and what its messages do to theirs.
 *
 * RdmaSide is a socket's part in it, made when it is first needed: the table of the memory regions
 * that it registered, and the notifications that wait to be read.  Operations that are under way
 * outlive their socket; they keep the side, and the side forgets the socket when that is released.
 * One spin lock guards everything of a side; it is the innermost of the core, and nothing is freed,
 * woken or called under it.
 *
 * A region (Mr) is in the table until it is freed, used up (USE_ONCE: a peer's message says that it
 * has carried out an operation on it) or its socket is released.  Its last reference gives it back
 * to the transport.
 *
 * MsgRdma is what a message has to do with it: an operation, or the cookie of a region that it
 * tells the receiver of.  An operation is decided once, by the first word about it:
 *
 *	the transport		rds_op_done(): done, failed, or dropped with its connection
 *	the peer's ack		of a write whose message was delivered
 *	the queue		the message left it before the operation was begun: cancelled, or
 *				dropped because the path is destroyed
 *
 * and that word is what its notification says.  A message and its operation are one: a message
 * whose operation failed is not sent again, one whose operation succeeded is sent again without it
 * (docs/decisions/018-rdma.md).
 */
#ifndef RDS_RDMA_H
#define RDS_RDMA_H

#include "bug.h"
#include "list.h"
#include "lock.h"
#include "message.h"
#include "netns.h"
#include "rds_core.h"
#include "transport.h"

namespace rds
{

/* RDS_RDMA_* of the UAPI; the glue asserts that they agree. */
enum RdmaFlag : uint32_t {
	kRdmaReadWrite = 0x01,
	kRdmaFence = 0x02,
	kRdmaInvalidate = 0x04,
	kRdmaUseOnce = 0x08,
	kRdmaNotifyMe = 0x20,
	kRdmaSilent = 0x40,
};

/* A notification on its way to recvmsg.  Its side holds room for it (hold()) until it is freed. */
struct OpNotice {
	ListNode link;
	struct rds_notice n = {};
};
static_assert(sizeof(OpNotice) <= kOpNoteBytes);

/* A memory region. */
struct Mr final {
	Mr(const struct rds_transport &t, uint64_t flags)
		: refs(1), trans(t), once(flags & kRdmaUseOnce), invalidate(flags & kRdmaInvalidate)
	{
	}

	ListNode link; /* in its bucket, while it is in the table */
	RefCount refs;
	const struct rds_transport &trans;
	void *handle = nullptr; /* the transport's */
	uint32_t key = 0;
	const bool once;
	const bool invalidate;
};

class RdmaSide;

/* A socket's part in it (socket.h). */
struct RdmaSeat {
	Atomic<RdmaSide *> side;  /* made when first needed; the socket's until that is destroyed */
	Atomic<uint32_t> notices; /* of operations, to be read */
};
/* Wakes the reader of the socket of @s: defined above, in socket_rdma.cc.  RCU reader,
 * no lock. */
void wake_reader(RdmaSeat &s) RDS_READS(kRcu);
/* The same of its send queue: room is held for a notification, whatever there is; @n of them hold
 * theirs no longer. */
void hold_note_room(RdmaSeat &s);
void give_note_room(RdmaSeat &s, uint32_t n) RDS_READS(kRcu);

class RdmaSide final
{
public:
	/* That of @s, made if there is none; nullptr without memory.  Process. */
	static RdmaSide *make(RdmaSeat &s) RDS_SLEEPS;
	~RdmaSide();
	void get()
	{
		refs_.get();
	}
	void put();
	/* The socket is released: its regions go, notifications are for nobody.  Process. */
	void detach() RDS_EXCLUDES(lock_);

	/* -- regions -- */
	void add(Mr *mr) RDS_SLEEPS RDS_EXCLUDES(lock_);
	/* Takes it out of the table: the reference is the caller's.  nullptr: there is none. */
	Mr *take(uint32_t key) RDS_EXCLUDES(lock_);
	/* A reference on it, to be given back in the same RCU section. */
	Mr *find(uint32_t key) RDS_EXCLUDES(lock_) RDS_READS(kRcu);
	/* A peer's message that is about to be delivered says that it used @key.  True: that may be
	 * used once, and used() is to be called when the message was delivered.  Any context, RCU
	 * reader. */
	bool sync(uint32_t key) RDS_EXCLUDES(lock_) RDS_READS(kRcu);
	/* Such a message was delivered.  As sync(). */
	void used(uint32_t key) RDS_EXCLUDES(lock_) RDS_READS(kRcu);

	/* A peer is going to be told of @key, and may look as soon as it knows.  False: there is
	 * none. */
	bool announce(uint32_t key) RDS_EXCLUDES(lock_);

	/* -- notifications -- */
	/* Room is held for one more, in a call of the socket's program ... */
	void hold() RDS_EXCLUDES(lock_);
	/* ... and given back for @n that are freed.  Any context. */
	void let_go(uint32_t n) RDS_EXCLUDES(lock_);
	void tell(OpNotice *n) RDS_EXCLUDES(lock_);
	unsigned int peek(struct rds_notice *to, unsigned int max) RDS_EXCLUDES(lock_);
	void drop(unsigned int n) RDS_EXCLUDES(lock_);

private:
	static constexpr unsigned int kFirstBuckets = 16;
	static constexpr unsigned int kMostBuckets = 4096; /* 64 KiB */
	using Bucket = List<Mr, &Mr::link>;

	explicit RdmaSide(RdmaSeat &s);
	void grow() RDS_SLEEPS RDS_EXCLUDES(lock_);
	Mr *look_up(uint32_t key) RDS_REQUIRES(lock_);
	void remove_locked(Mr *mr) RDS_REQUIRES(lock_);
	Bucket &bucket(uint32_t key) RDS_REQUIRES(lock_);

	RefCount refs_;
	Spinlock<RDS_RANK_RDMA> lock_;
	RdmaSeat *seat_ RDS_GUARDED_BY(lock_); /* nullptr: the socket was released */
	List<OpNotice, &OpNotice::link> notices_ RDS_GUARDED_BY(lock_);
	Bucket few_[kFirstBuckets];
	Bucket *buckets_ RDS_GUARDED_BY(lock_) = few_;
	unsigned int n_buckets_ RDS_GUARDED_BY(lock_) = kFirstBuckets; /* a power of two */
	unsigned int count_ RDS_GUARDED_BY(lock_) = 0;
	uint32_t held_ RDS_GUARDED_BY(lock_) = 0; /* notifications that have room */
};

/* Drops a reference.  @now, of one that was taken out of the table: no peer reaches it any more
 * when this returns; process, no RCU reader. */
void mr_put(Mr *mr, bool now);

struct MsgRdma final {
	uint64_t cookie = 0; /* of a region that the receiver is told of; 0: none */
	bool has_op = false;

	struct rds_op op = {};
	RdmaSide *side = nullptr;   /* whom the notification is for; referenced */
	OpNotice *notice = nullptr; /* nullptr: nobody wants to know, or it was told */
	bool only_errors = false;
	bool begun = false;	  /* xmit has taken it; the path's lock */
	bool delivered = false;	  /* its message was acknowledged; the path's lock */
	Atomic<uint32_t> outcome; /* 0: not decided; else 1 + RdmaStatus */
};

/* Writes what belongs into the header of a message that is about to be queued. */
void msg_rdma_stamp(Message &m);
/* Decides @m's operation; false: it was already, or there is none. */
bool op_decide(Message &m, int status);
/* @m is off its queue; @unbegun: what an operation that was not begun ends with. */
void op_left(Message &m, int unbegun);
/* An operation without message: it is all that keeps this one queued. */
RDS_INLINE bool op_alone(const Message &m)
{
	return m.rdma() && m.rdma_side->has_op && m.rdma_side->op.alone;
}
RDS_INLINE bool op_decided(const Message &m)
{
	return m.rdma_side->outcome.load_acquire() != 0;
}
/* After a reset: nothing of @m is to be sent again. */
RDS_INLINE bool op_spent(const Message &m)
{
	const MsgRdma *r = m.rdma();
	uint32_t outcome = r && r->has_op ? r->outcome.load_acquire() : 0;

	return outcome && (outcome != 1 + kRdmaSuccess || r->op.alone);
}

/* The memory of @s that a message names: the message is about to be delivered to @s.  True:
 * rdma_arrived() is to be called afterwards. */
bool rdma_sync(RdmaSeat &s, const wire::Header &h) RDS_READS(kRcu);
/* The message was delivered, in @net. */
void rdma_arrived(Net &net, RdmaSeat &s, const wire::Header &h) RDS_READS(kRcu);
/* The cookie that came with it, 0: none. */
uint64_t rdma_cookie(const wire::Header &h);

} // namespace rds
#endif
