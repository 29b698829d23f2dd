/* SPDX-License-Identifier: GPL-2.0 */
/*
 * send_queue.h: the messages of one path, in the order of their numbers, and how far they got.
 *
 * One list with a cursor.  Messages before unsent() were accepted by the transport and wait for
 * their ack; unsent() and those behind it were not, but for the cursor's bytes of unsent().  A
 * restart moves the cursor to the front and marks as retransmitted those that had been sent.
 *
 * Numbers are the path's: append() gives the next one, and none is used twice.  Frames of the
 * kernel (hello, a map, a bare ack) have none and overtake all that do.
 *
 * Of those that are not sent the last may wait for company (coalesce.h): they are held.  All others
 * are ready, and before them.
 *
 * A batch is with the transport: its messages are marked kMsgInXmit, and nobody removes them before
 * settle() said how many bytes the transport took.  One batch at a time.  A transport that is told
 * of a next batch keeps the end of this one back for it, so the message that begins it is marked,
 * too: it was promised.
 *
 * A walk looks at some messages at a time, and the lock may be given up between: it then stands
 * before a message, and the queue moves it on when that one leaves.
 *
 * It knows neither path nor peer: who is asked says whether a message is delivered.  Guarded by the
 * path's lock, but for next_number(), which anybody may read.
 */
#ifndef RDS_SEND_QUEUE_H
#define RDS_SEND_QUEUE_H

#include "../bug.h"
#include "../limits.h"
#include "../message.h"

namespace rds
{

/* Messages that are handed to the transport in one call. */
struct Batch {
	Batch() /* leaves it as it is, but for the two: it is large, and on each sendmsg's stack */
	{
	}

	Message *msgs[kXmitBatch];
	unsigned int n = 0;
	unsigned int aside = 0; /* so many stepped aside while it was made */
	uint32_t off;		/* bytes of msgs[0] that the transport accepted before */
	uint64_t bytes;		/* of all of them, without off */
	Message *next;		/* promised: it begins the next batch; nullptr: none is */
	bool ack_due;		/* an ack was due when the headers got theirs ... */
	uint64_t ack;		/* ... which is the number before this; 0: none (received.h) */
};

class SendQueue final
{
public:
	struct Fold;
	/* A walk from the front to the end.  It meets what is there all the time exactly once, and
	 * a message that left and came back at least once. */
	class Walk final
	{
	public:
		Walk() = default;
		Walk(const Walk &) = delete;
		Walk &operator=(const Walk &) = delete;
		~Walk()
		{
			bug_on(queue_, "a walk is left in its queue");
		}

	private:
		friend class SendQueue;

		const SendQueue *queue_ = nullptr; /* between its first step and its last */
		Message *at_ = nullptr;		   /* the next one; nullptr: none is left */
		Walk *other_ = nullptr;		   /* another walk through the queue */
	};

	/* @first: the number of the first message. */
	explicit SendQueue(uint64_t first) : next_number_(first)
	{
	}
	SendQueue(const SendQueue &) = delete;
	SendQueue &operator=(const SendQueue &) = delete;
	~SendQueue()
	{
		bug_on(!msgs_.empty(), "a path is destroyed that has to send");
		bug_on(walks_, "a path is destroyed that somebody looks at");
	}

	RDS_INLINE bool empty() const
	{
		return msgs_.empty();
	}
	RDS_INLINE Message *front() const
	{
		return msgs_.front();
	}
	RDS_INLINE Message *next(const Message *m) const
	{
		return msgs_.next(m);
	}
	/* The first message that the transport has not accepted whole; nullptr: it has all. */
	RDS_INLINE Message *unsent() const
	{
		return unsent_;
	}
	/* The same of those that are ready. */
	RDS_INLINE Message *ready() const
	{
		return unsent_ == held_ ? nullptr : unsent_;
	}
	RDS_INLINE Message *next_ready(const Message *m) const
	{
		Message *n = msgs_.next(m);

		return n == held_ ? nullptr : n;
	}
	RDS_INLINE bool holds_any() const
	{
		return held_;
	}
	/* Bytes of unsent() that it has accepted. */
	RDS_INLINE uint32_t cursor() const
	{
		return cursor_;
	}
	/* Header and payload of unsent() and of all behind it. */
	RDS_INLINE uint64_t unsent_bytes() const
	{
		return unsent_bytes_;
	}
	/* The transport has accepted nothing on this connection. */
	RDS_INLINE bool took_nothing() const
	{
		return !tx_off_;
	}
	RDS_INLINE bool is_half_sent(const Message &m) const
	{
		return &m == unsent_ && cursor_;
	}
	/* The transport has it, or a part of it: it has to be finished. */
	RDS_INLINE bool is_leaving(const Message &m) const
	{
		return m.flags & kMsgInXmit || is_half_sent(m);
	}
	/* The number that the next message gets.  Any context, without the lock. */
	RDS_INLINE uint64_t next_number() const
	{
		return next_number_.load();
	}
	/* A number that no message gets. */
	uint64_t skip_number();
	/* The last number that began to leave on this connection; 0: none did. */
	RDS_INLINE uint64_t begun() const
	{
		return begun_;
	}
	/* ... and on those before it. */
	RDS_INLINE uint64_t begun_before() const
	{
		return begun_before_;
	}
	/* A peer may have message @seq: it has begun to leave, on any connection; or it is with the
	 * transport just now, whose answer may come after the peer's. */
	bool may_have_left(uint64_t seq) const;
	/* The last number of those that have begun to leave, or are with the transport. */
	uint64_t last_leaving() const;

	/* At the end, with the next number. */
	RDS_INLINE void append(Message *m)
	{
		uint64_t number = next_number_.load();

		next_number_.store(number + 1);
		wire::put64(m->hdr.sequence, number);
		link(nullptr, m);
		if (!unsent_)
			unsent_ = m;
		unsent_bytes_ += wire_bytes(*m);
	}
	/* The last one waits for company. */
	RDS_INLINE void hold(Message *m)
	{
		bug_on_hot(msgs_.next(m) != nullptr, "a message is held before one that is not");
		if (!held_)
			held_ = m;
	}
	/* All that wait go. */
	RDS_INLINE void release()
	{
		held_ = nullptr;
	}
	/* Before those that are held, which get other numbers.  False: @m is to be appended, for
	 * none is held, or too many are, or one is of the same sender, or one may not be passed. */
	bool overtake(Message *m, bool (*may_pass)(const Message &waits));
	/* A frame without number overtakes all that have one, but never into the middle of a
	 * message and never another of its kind: hello is the first of a connection.  An older map
	 * must not be the last word: where @m is a whole one, older news goes to @replaced.  Token
	 * holder or worker. */
	void put_first(Message *m, MsgList &replaced);
	/* News of the map is queued that has not begun to leave. */
	bool has_unsent_news() const;
	/* One that is not leaving. */
	void remove(Message *m);
	/* Messages at the head that were sent and of which @gone(message, accepted whole) is true
	 * go to @done, up to the first of which it is not. */
	template <typename F>
	void collect(F gone, MsgList &done);
	/* The next message of @w, which the caller may remove.  nullptr: that was all. */
	Message *step(Walk &w);
	/* The same, but at the end it stays for what comes there, until stop(). */
	Message *go_on(Walk &w);
	/* @w ends before that. */
	void stop(Walk &w);
	/* The peer's end of the transport has the first @bytes of this connection. */
	RDS_INLINE void set_acked(uint64_t bytes)
	{
		if (bytes > acked_off_)
			acked_off_ = bytes;
	}

	/* ---- a batch ---- */
	/* An empty batch, from the cursor on. */
	RDS_INLINE void begin(Batch &b) const RDS_REQUIRES(kSender)
	{
		b.n = b.aside = 0;
		b.off = cursor_;
		b.bytes = 0;
		b.next = nullptr;
	}
	RDS_INLINE static void add(Batch &b, Message *m) RDS_REQUIRES(kSender)
	{
		m->flags |= kMsgInXmit;
		b.msgs[b.n++] = m;
		b.bytes += wire_bytes(*m);
	}
	/* @m begins the batch after @b: nobody takes it back before that.  Not a frame without
	 * number, which another may replace. */
	RDS_INLINE static void promise(Batch &b, Message &m) RDS_REQUIRES(kSender)
	{
		if (!wire::get64(m.hdr.sequence))
			return;
		b.next = &m;
		m.flags |= kMsgInXmit;
	}
	/* There is no next batch for now. */
	RDS_INLINE void end_promise()
	{
		if (unsent_)
			unmark(*unsent_);
	}
	/* The transport took @bytes of @b: the cursor moves over them.  Messages that nobody waits
	 * for go to @done, unless they are half out.  How many have begun to leave. */
	unsigned int settle(Batch &b, uint64_t bytes, MsgList &done) RDS_REQUIRES(kSender);

	/* ---- no connection: nothing is with the transport ---- */
	/* Each of these is done a few messages at a time, between which the lock may be given up:
	 * true says that there may be more. */
	/* Everything goes out again from its first byte, with the retransmit flag if it was (or may
	 * have been) sent before; but those of which @leaves is true are given to @left.  @again
	 * counts those that go out again. */
	void begin_restart();
	template <typename F, typename G>
	bool restart_some(Walk &w, F leaves, G left, uint32_t &again);
	/* Messages of other queues come behind all that is here now, and before what will be; but
	 * those of which @leaves is true go to @done.  Then they, and all behind, are numbered. */
	void begin_fold(Fold &f);
	template <typename F>
	bool take_some(Fold &f, SendQueue &from, F leaves, MsgList &done);
	bool renumber_some(Fold &f);

private:
	RDS_INLINE static uint32_t wire_bytes(const Message &m)
	{
		return wire::kHeaderBytes + m.len;
	}
	/* Puts @m before @at, or at the end (nullptr).  Walks that stand there meet it. */
	RDS_INLINE void link(Message *at, Message *m)
	{
		msgs_.insert_before(at, m);
		for (Walk *w = walks_; RDS_UNLIKELY(w); w = w->other_)
			if (w->at_ == at)
				w->at_ = m;
	}
	RDS_INLINE void unlink(Message *m)
	{
		for (Walk *w = walks_; RDS_UNLIKELY(w); w = w->other_)
			if (w->at_ == m)
				w->at_ = msgs_.next(m);
		msgs_.remove(m);
	}
	RDS_INLINE static void unmark(Message &m)
	{
		m.flags &= static_cast<uint16_t>(~kMsgInXmit);
	}
	/* The first message that has not begun to leave. */
	Message *unbegun() const
	{
		return cursor_ ? msgs_.next(unsent_) : unsent_;
	}
	/* A batch is with the transport: unsent() is its first. */
	bool is_out() const
	{
		return unsent_ && unsent_->flags & kMsgInXmit;
	}
	void begin_walk(Walk &w, Message *at);

	MsgList msgs_;
	Walk *walks_ = nullptr;
	Message *unsent_ = nullptr;
	Message *held_ = nullptr; /* the first that waits for company */
	uint32_t cursor_ = 0;
	uint64_t unsent_bytes_ = 0;
	uint64_t tx_off_ = 0;	 /* bytes that the transport accepted on this connection */
	uint64_t acked_off_ = 0; /* bytes of it that were acknowledged */
	uint64_t begun_ = 0;
	uint64_t begun_before_ = 0;
	Atomic<uint64_t> next_number_; /* written under the lock */
};

template <typename F>
RDS_INLINE void SendQueue::collect(F gone, MsgList &done)
{
	while (Message *m = msgs_.front()) {
		if (m == unsent_ || !gone(*m, m->end_off <= acked_off_))
			return;
		bug_on_hot(!m->end_off, "a message is delivered that was not sent");
		bug_on_hot(m->zcopy() && m->end_off > acked_off_,
			   "lent pages come back that a transport may read");
		unlink(m);
		done.push_back(m);
	}
}

/* Two walks begin where the others' messages come: @first meets them and all behind, and @at stays
 * before what comes last. */
struct SendQueue::Fold {
	Walk at, first;
	uint64_t number = 0; /* that the next one gets */
};

template <typename F, typename G>
bool SendQueue::restart_some(Walk &w, F leaves, G left, uint32_t &again)
{
	for (unsigned int n = 0; n < kQueueStep; n++) {
		Message *m = step(w);

		if (!m)
			return false;
		if (leaves(*m)) {
			remove(m);
			left(*m);
		} else if (m->end_off) {
			m->hdr.flags |= wire::kRetransmitted;
			m->hdr.flags &= static_cast<uint8_t>(~wire::kAckRequired);
			m->end_off = 0;
			unsent_bytes_ += wire_bytes(*m);
			again++;
		}
	}
	return true;
}

template <typename F>
bool SendQueue::take_some(Fold &f, SendQueue &from, F leaves, MsgList &done)
{
	if (bug_on(cursor_ || unsent_ != front() || is_out() || from.cursor_ ||
			   from.unsent_ != from.front() || from.is_out(),
		   "messages move while a transport has some of them"))
		return false;
	for (unsigned int n = 0; n < kQueueStep; n++) {
		Message *m = from.front(), *at = f.at.at_;

		if (!m)
			return false;
		from.remove(m);
		if (leaves(*m)) {
			done.push_back(m);
			continue;
		}
		wire::put64(m->hdr.sequence, f.number);
		m->hdr.flags = 0;
		link(at, m);
		f.at.at_ = at;
		unsent_ = front();
		unsent_bytes_ += wire_bytes(*m);
	}
	return true;
}

} // namespace rds
#endif
