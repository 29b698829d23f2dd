// SPDX-License-Identifier: GPL-2.0
/*
 * path_queue.cc: messages get onto a path's queue and off it: by ack, by cancel, by reset.
 */
#include "path.h"

#include "connection.h"
#include "rdma.h"

namespace
{

RDS_INLINE uint32_t wire_bytes(const rds::Message &m)
{
	return rds::wire::kHeaderBytes + m.len;
}

} // namespace

/* May @m be queued here?  Under the lock, inside of which a fold takes what is. */
bool rds_path::carries_locked(const rds::Message &m, bool away)
{
	if (!m.sock)
		return true;
	if (away)
		return index < conn.n_paths.load_acquire();
	return conn.index_for(rds::wire::get16(m.hdr.sport), rds::wire::get16(m.hdr.dport)) ==
	       index;
}

rds::Result<rds::Queued> rds_path::enqueue(rds::Message *m, bool more, bool may_send, bool away)
{
	rds::Queued what = rds::Queued::kDone;
	bool kick = false;
	{
		rds::Guard g(lock);

		if (RDS_UNLIKELY(end_ == rds::PathEnd::kRetired && m->sock) && !take_back_locked())
			return rds::Queued::kMoved;
		if (RDS_UNLIKELY(end_ != rds::PathEnd::kNone))
			return rds::Status::fail(rds::err::kEnetunreach);
		if (!carries_locked(*m, away))
			return rds::Queued::kMoved;
		if (RDS_UNLIKELY(!full_ports_.empty()) && join_held_locked(m))
			return what;
		number_and_queue_locked(m);
		if (open_ && !blocked_ && !sending_) {
			kick = !may_send;
			if (may_send && !hold_locked(more)) {
				take_token_locked();
				what = rds::Queued::kTransmit;
			}
		}
	}
	if (kick)
		post(rds::kEvSend);
	else if (what == rds::Queued::kDone)
		want();
	return what;
}

bool rds_path::count_waiting()
{
	rds::Guard g(lock);

	if (RDS_UNLIKELY(end_ == rds::PathEnd::kRetired) && !take_back_locked())
		return false;
	conn.waiting.fetch_add(1);
	return true;
}

/* At the end of the queue. */
void rds_path::number_and_queue_locked(rds::Message *m)
{
	uint64_t seq = tx_seq_.load();

	tx_seq_.store(seq + 1);
	rds::wire::put64(m->hdr.sequence, seq);
	queue_.push_back(m);
	if (!unsent_)
		unsent_ = m;
	unsent_bytes_ += wire_bytes(*m);
}

/*
 * Counts the message that was just queued: is the path a one-way stream?  What was heard in a
 * window is taken off what was said: question and answer are none, however fast they are.
 */
bool rds_path::stream_locked()
{
	uint64_t now = rds_now_ns();
	uint64_t age = now - window_ns_;

	window_count_++;
	if (age < rds::kHoldWindowNs)
		return stream_;

	uint64_t rx = next_rx_seq.load();
	uint64_t heard = rx - window_rx_;
	bool busy = window_count_ > heard + rds::kHoldBurst;

	/* Its flush may take the processor from the sender when a window has just begun: a stream's
	 * window goes on until it has its messages. */
	if (stream_ && !busy && !heard && age < rds::kHoldPauseNs)
		return true;
	stream_ = busy && age < rds::kHoldPauseNs;
	window_ns_ = now;
	window_rx_ = rx;
	window_count_ = 0;
	return stream_;
}

/*
 * Shall the message that was just queued wait for company?  Only while the path is a stream, or
 * when the caller says that more follows, and never longer than until flush_ fires.
 */
bool rds_path::hold_locked(bool more)
{
	if (!(conn.trans.caps & RDS_CAP_COALESCE) || unsent_bytes_ >= rds::kHoldBytes)
		return false;
	if (!more && !stream_locked())
		return false;
	if (!held_) {
		held_ = true;
		rds_timer_arm(&flush_, rds::kHoldWindowNs);
	}
	conn.net.count(RDS_S_send_held);
	return true;
}

/* Off the queue, cursor and byte count kept true. */
void rds_path::unlink_locked(rds::Message *m)
{
	if (!m->end_off)
		unsent_bytes_ -= wire_bytes(*m);
	if (m == unsent_) {
		unsent_ = queue_.next(m);
		cursor_ = 0;
	}
	queue_.remove(m);
	if (m->flags & rds::kMsgPong)
		pongs.fetch_sub(1);
}

/*
 * A frame without number overtakes all that have one, but never into the middle of a message and
 * never another of its kind: hello is the first of a connection.  Token holder or worker.
 */
void rds_path::queue_first(rds::Message *m)
{
	rds::RcuReader rcu;
	rds::MsgList done;
	{
		rds::Guard g(lock);
		bool map = m->hdr.flags == rds::wire::kCongBitmap;
		rds::Message *at = cursor_ ? queue_.next(unsent_) : unsent_, *next;

		for (; at && !rds::wire::get64(at->hdr.sequence); at = next) {
			next = queue_.next(at);
			/* An older map must not be the last word. */
			if (!map || at->hdr.flags != rds::wire::kCongBitmap)
				continue;
			unlink_locked(at);
			done.push_back(at);
		}
		queue_.insert_before(at, m);
		if (unsent_ == at)
			unsent_ = m;
		unsent_bytes_ += wire_bytes(*m);
	}
	finish(done);
}

/* Collects delivered messages, by the peer's word or the transport's: its first frame chose
 * which. */
void rds_path::collect_acked(rds::MsgList &done)
{
	const rds::Peer who = peer();
	const uint64_t last = delivered_.load();

	while (rds::Message *m = queue_.front()) {
		if (m == unsent_)
			return;

		bool taken = m->end_off <= acked_off_;
		bool gone = who == rds::Peer::kPlain && taken;

		/* The transport may read lent pages until the other end of it has them, whatever
		 * the peer's RDS says. */
		if (who == rds::Peer::kAcks)
			gone = rds::wire::get64(m->hdr.sequence) <= last && (taken || !m->zcopy());

		/* An operation without message is nothing that a peer could acknowledge. */
		if (RDS_UNLIKELY(m->rdma())) {
			if (rds::op_alone(*m))
				gone = rds::op_decided(*m);
			else if (gone)
				m->part->delivered = true;
		}
		if (!gone)
			return;
		queue_.remove(m);
		if (RDS_UNLIKELY(m->flags & rds::kMsgPong))
			pongs.fetch_sub(1);
		done.push_back(m);
	}
}

/*
 * The last act of messages that left the queue.  No lock; the RCU section of their unlinking.  A
 * socket is told once of those that follow each other.  @unbegun: how operations end that were not
 * begun.
 */
void rds_path::finish(rds::MsgList &done, int unbegun)
{
	rds::MessageBin bin;
	rds::Socket *s = nullptr;
	uint32_t bytes = 0, mem = 0;

	while (rds::Message *m = done.pop_front()) {
		if (m->sock != s || RDS_UNLIKELY(m->zcopy())) {
			if (s)
				rds::sender_done(*s, bytes, mem, nullptr);
			s = m->sock;
			bytes = mem = 0;
		}
		bytes += m->len;
		mem += m->charge;
		if (RDS_UNLIKELY(s && m->zcopy())) {
			rds::sender_done(*s, bytes, mem, m->note);
			m->has = rds::MsgHas::kNothing;
			s = nullptr;
		}
		if (RDS_UNLIKELY(m->rdma()))
			rds::op_left(*m, unbegun);
		if (RDS_UNLIKELY(m->flow() != nullptr))
			rds::flow_left(*m, conn, done);
		bin.put(m);
	}
	if (s)
		rds::sender_done(*s, bytes, mem, nullptr);
	conn.look_at_gate();
}

/* All that was acknowledged, now that it is known whose word counts. */
void rds_path::let_go()
{
	rds::RcuReader rcu;
	rds::MsgList done;
	{
		rds::Guard g(lock);

		collect_acked(done);
	}
	finish(done); /* looks at the gate, too */
}

void rds_path::acked(uint64_t bytes)
{
	/* The peer itself tells; only lent pages wait for the transport, too. */
	if (peer() == rds::Peer::kAcks && !conn.lends.load())
		return;

	rds::RcuReader rcu;
	rds::MsgList done;
	{
		rds::Guard g(lock);

		if (bytes > acked_off_)
			acked_off_ = bytes;
		collect_acked(done);
	}
	finish(done);
}

void rds_path::writable()
{
	bool kick;
	{
		rds::Guard g(lock);

		/* Also when what waited was taken back: a new map may have been asked for. */
		kick = blocked_ && open_;
		room_came_ = true; /* for a sender that is about to find no room */
		blocked_ = false;
	}
	if (kick)
		post(rds::kEvSend);
}

/*
 * A message that is half on the wire, or in a batch with the transport, must be finished: it only
 * loses its socket.  All others leave at once; but of a socket that goes on, what has begun to
 * leave stays what it is if it belongs to a flow, for others wait until it has arrived, or if its
 * pages are the program's: the transport may read them until they are acknowledged.
 */
void rds_path::cancel(rds::Socket &s, int to_port)
{
	rds::RcuReader rcu;
	rds::MsgList done;
	rds::List<rds::ZcopyNote, &rds::ZcopyNote::link> notes;
	uint32_t bytes = 0, mem = 0, count = 0;
	{
		rds::Guard g(lock);
		rds::Message *next;

		for (rds::Message *m = queue_.front(); m; m = next) {
			next = queue_.next(m);
			if (m->sock != &s ||
			    (to_port >= 0 && rds::wire::get16(m->hdr.dport) != to_port))
				continue;

			bool half = m->flags & rds::kMsgInXmit || (m == unsent_ && cursor_);

			if (RDS_UNLIKELY(m->flow() != nullptr || m->zcopy()) &&
			    (half || m->end_off) && !rds::sender_is_gone(s))
				continue;
			count++;
			if (!half) {
				unlink_locked(m);
				done.push_back(m);
				continue;
			}
			m->flags |= rds::kMsgCancelled;
			m->sock = nullptr;
			bytes += m->len;
			mem += m->charge;
			if (m->zcopy()) {
				notes.push_back(m->note);
				m->has = rds::MsgHas::kNothing;
			}
		}
		if (RDS_UNLIKELY(!full_ports_.empty()))
			count += cancel_held_locked(s, to_port, done);
	}
	conn.net.count(RDS_S_send_cancelled, count);
	finish(done, rds::kRdmaCanceled);
	if (mem)
		rds::sender_done(s, bytes, mem, nullptr);
	while (rds::ZcopyNote *n = notes.pop_front())
		rds::sender_done(s, 0, 0, n);
}

/*
 * The peer, one that never uses a number twice, has @m: it said so on this connection before @m's
 * turn to be sent again had come.  Sent on the next one, perhaps to a host that was restarted
 * meanwhile, @m would count as delivered before it is there.
 */
bool rds_path::is_delivered_locked(rds::Message &m)
{
	uint64_t seq = rds::wire::get64(m.hdr.sequence);

	if (!seq || !peer_gen_.load() || seq > delivered_.load() || RDS_UNLIKELY(rds::op_alone(m)))
		return false;
	if (RDS_UNLIKELY(m.rdma() != nullptr))
		m.part->delivered = true;
	return true;
}

/* Nothing is with the transport: the cursor is at the front. */
void rds_path::rewind_locked()
{
	unsent_ = queue_.front();
	unsent_bytes_ = 0;
	for (rds::Message *m = unsent_; m; m = queue_.next(m))
		unsent_bytes_ += wire_bytes(*m);
	cursor_ = 0;
}

/*
 * The connection is gone.  Everything goes out again from its first byte, what was (or may have
 * been) sent before with the retransmit flag; the kernel's own one-time messages do not.  @purge:
 * nothing will ever go out again.
 */
void rds_path::reset_queue(bool purge)
{
	rds::RcuReader rcu;
	rds::MsgList done;
	rds::HeldPorts::Ports gone;
	uint32_t again = 0;
	{
		rds::Guard g(lock);

		if (RDS_UNLIKELY(!full_ports_.empty()))
			return_held_locked(true, gone);

		rds::Message *old_unsent = unsent_, *next;
		bool sent = true;

		/* Of one that was collected another connection takes what still comes. */
		if (purge && (end_ == rds::PathEnd::kNone || conn.fate.load() != rds::Fate::kDying))
			end_ = rds::PathEnd::kDead;
		for (rds::Message *m = queue_.front(); m; m = next) {
			next = queue_.next(m);
			if (m == old_unsent && !cursor_)
				sent = false;
			if (purge || m->flags & (rds::kMsgOnce | rds::kMsgCancelled) ||
			    RDS_UNLIKELY(rds::op_spent(*m)) || is_delivered_locked(*m)) {
				queue_.remove(m);
				if (m->flags & rds::kMsgPong)
					pongs.fetch_sub(1);
				done.push_back(m);
			} else if (sent) {
				m->hdr.flags |= rds::wire::kRetransmitted;
				m->hdr.flags &= static_cast<uint8_t>(~rds::wire::kAckRequired);
				m->end_off = 0;
				again++;
			}
			if (m == old_unsent)
				sent = false;
		}
		rewind_locked();
		tx_off_ = acked_off_ = 0;
		quiet_packets_ = quiet_bytes_ = 0; /* the first to go asks at once what has come */
		sent_before_ = sent_seq_ > sent_before_ ? sent_seq_ : sent_before_;
		asked_ = sent_seq_ = 0;
		blocked_ = room_came_ = held_ = false;
	}
	conn.net.count(RDS_S_send_retransmitted, again);
	finish(done);
	destroy_ports(gone);
}
