// SPDX-License-Identifier: GPL-2.0
/*
 * path_queue.cc: messages get onto a path's queue and off it: by ack, by cancel, by reset.
 */
#include "path.h"

#include "../rdma.h"
#include "queue_walk.h"

/* May @m be queued here?  Under the lock, inside of which a fold takes what is. */
bool rds_path::carries_locked(const rds::Message &m, bool away)
{
	if (!m.sock)
		return true;
	if (away)
		return index < conn.fan.n_paths();
	return conn.fan.index_for(rds::wire::get16(m.hdr.sport), rds::wire::get16(m.hdr.dport)) ==
	       index;
}

rds::Result<rds::Queued> rds_path::enqueue(rds::Message *m, bool more, rds::Batch *batch, bool away)
{
	rds::Queued what = rds::Queued::kDone;
	bool go = false;

	m->order.queued_ms = rds_coarse_ms();
	{
		rds::Guard g(lock);

		if (RDS_UNLIKELY(dead_ || conn.life.is_ending())) {
			/* A pong is to keep loopback's: its peer is up, and asks only once. */
			const bool needs = !dead_ && (m->sock || conn.is_local());
			const bool kept = needs && conn.life.call_off();

			if (!kept && (dead_ || !m->sock))
				return rds::Status::fail(rds::err::kEnetunreach);
			if (!kept)
				return rds::Queued::kMoved;
		}
		if (!carries_locked(*m, away))
			return rds::Queued::kMoved;
		if (RDS_UNLIKELY(!full_ports_.empty()) && join_held_locked(m))
			return what;
		const bool goes = open_ && !blocked_ && !sending_;
		const bool waits = queue_locked(*m, more, batch && goes);

		go = goes && !batch;
		if (batch && goes && !waits) {
			begin_locked(*batch);
			what = rds::Queued::kTransmit;
		}
	}
	if (go)
		kick();
	else if (what == rds::Queued::kDone)
		want();
	return what;
}

bool rds_path::count_waiting()
{
	rds::Guard g(lock);

	if (RDS_UNLIKELY(conn.life.is_ending()) && !conn.life.call_off())
		return false;
	conn.waiting.fetch_add(1);
	return true;
}

/* A frame without number, before all that have one.  Token holder or worker. */
void rds_path::queue_first(rds::Message *m)
{
	rds::RcuReader rcu;
	rds::MsgList done;
	{
		rds::Guard g(lock);

		queue_.put_first(m, done);
	}
	finish(done);
}

/* Delivered, by the word of the peer that the first frame chose?  @last: the peer has all up to
 * this number.  @taken: the transport's end has acknowledged all of it. */
RDS_INLINE bool rds_path::is_done(rds::Message &m, rds::Peer who, uint64_t last, bool taken)
{
	bool gone = who == rds::Peer::kPlain && taken;

	/* The transport may read lent pages until the other end of it has them, whatever the peer's
	 * RDS says. */
	if (who == rds::Peer::kAcks)
		gone = rds::wire::get64(m.hdr.sequence) <= last && (taken || !m.zcopy());

	/* An operation without message is nothing that a peer could acknowledge, nor is one that
	 * failed, whose message does not go (docs/decisions/018-rdma.md). */
	if (RDS_UNLIKELY(m.rdma())) {
		if (rds::op_alone(m))
			gone = rds::op_decided(m);
		else if (rds::op_spent(m))
			gone = true;
		else if (gone)
			m.rdma_side->delivered = true;
	}
	return gone;
}

/* True: there may be more, for somebody who has given up the lock meanwhile.  A batch that was just
 * settled is fewer than go at once. */
bool rds_path::collect_acked(rds::MsgList &done)
{
	const rds::Peer who = peer();
	int room = rds::kQueueStep;

	static_assert(rds::kXmitBatch < rds::kQueueStep);
	queue_.collect(
		[&, last = delivered()](rds::Message &m, bool taken) {
			return is_done(m, who, last, taken) && --room >= 0;
		},
		done);
	if (RDS_UNLIKELY(!full_ports_.empty())) {
		if (full_ports_.refused())
			keep_refused_locked(done);
		look_at_waits_locked();
	}
	return room < 0;
}

/* Another of the same kind may be queued. */
void rds_path::own_left(const rds::Message &m)
{
	if (m.flags & rds::kMsgPong)
		pongs.fetch_sub(1);
	if (m.flags & rds::kMsgProbe)
		probe_waits_.store(false);
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
			rds::sender_done(*s, bytes, mem, rds::message_complete(*m));
			s = nullptr;
		}
		if (RDS_UNLIKELY(m->flags & (rds::kMsgPong | rds::kMsgProbe)))
			own_left(*m);
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

/* All that was acknowledged, now that it is known whose word counts, or the rest of it: others have
 * the lock in between. */
void rds_path::let_go()
{
	bool more = true;

	while (more) {
		rds::RcuReader rcu;
		rds::MsgList done;
		{
			rds::Guard g(lock);

			more = collect_acked(done);
		}
		finish(done); /* looks at the gate, too */
	}
	if (RDS_UNLIKELY(port_news_.load()))
		kick();
}

void rds_path::acked(uint64_t bytes)
{
	/* The peer itself tells; only lent pages wait for the transport, too. */
	if (peer() == rds::Peer::kAcks && !conn.lends.load())
		return;

	rds::RcuReader rcu;
	rds::MsgList done;
	bool more;
	{
		rds::Guard g(lock);

		queue_.set_acked(bytes);
		more = collect_acked(done);
	}
	finish(done);
	if (RDS_UNLIKELY(more || port_news_.load()))
		let_go();
}

void rds_path::writable()
{
	bool go;
	{
		rds::Guard g(lock);

		/* Also when what waited was taken back: a new map may have been asked for. */
		go = blocked_ && open_;
		room_came_ = true; /* for a sender that is about to find no room */
		blocked_ = false;
	}
	if (go)
		kick();
}

namespace rds
{

/* The messages that a socket wants back from one path, a step at a time. */
struct Cancelled {
	bool is_for(const Message &m) const
	{
		return m.sock == &sock && (to_port < 0 || wire::get16(m.hdr.dport) == to_port);
	}

	Socket &sock;
	int to_port; /* < 0: any */
	QueueWalk walk = {};
	uint32_t count = 0;
	MsgList done = {}; /* of this step: they left the queue */
	/* Of those that go on without their socket. */
	List<ZcopyNote, &ZcopyNote::link> notes = {};
	uint32_t bytes = 0, mem = 0;
};

} // namespace rds

/*
 * A message that is half on the wire, or in a batch with the transport, must be finished: it only
 * loses its socket.  All others leave at once; but of a socket that goes on, two kinds stay what
 * they are.  Of a flow, what has ever begun to leave: others wait until it has arrived, which it
 * may do by a connection that is gone here.  And a program's pages that the transport may read
 * until they are acknowledged.
 */
void rds_path::cancel_one_locked(rds::Message &m, rds::Cancelled &c)
{
	rds::HeldPort *port = c.walk.port;
	const bool half = queue_.is_leaving(m);
	const bool out = half || m.end_off;
	const bool stays = (m.flow() && (out || !m.is_new())) || (m.zcopy() && out);

	if (port) {
		/* The peer has thrown away what it has of it.  The port stays held until it is
		 * clear. */
		c.count++;
		full_ports_.take_off(*port, &m);
		c.done.push_back(&m);
		return;
	}
	if (stays && !rds::sender_is_gone(c.sock))
		return;
	c.count++;
	/* Also of a batch: the transport may take none of it. */
	delivered_.taken_back(m);
	if (!half) {
		queue_.remove(&m);
		c.done.push_back(&m);
		return;
	}
	m.flags |= rds::kMsgCancelled;
	m.sock = nullptr;
	c.bytes += m.len;
	c.mem += m.charge;
	if (m.zcopy())
		c.notes.push_back(rds::message_complete(m));
}

/* True: there may be more. */
bool rds_path::cancel_some(rds::Cancelled &c)
{
	rds::RcuReader rcu;
	{
		rds::Guard g(lock);

		if (rds::sender_is_done(c.sock))
			c.walk.end(queue_, full_ports_);
		for (unsigned int n = 0; !c.walk.is_over && n < rds::kCancelStep; n++) {
			rds::Message *m = step_locked(c.walk);

			if (m && c.is_for(*m))
				cancel_one_locked(*m, c);
		}
		if (c.walk.is_over)
			look_at_waits_locked();
	}
	finish(c.done, rds::kRdmaCanceled);
	if (c.mem)
		rds::sender_done(c.sock, c.bytes, c.mem, nullptr);
	c.bytes = c.mem = 0;
	while (rds::ZcopyNote *n = c.notes.pop_front())
		rds::sender_done(c.sock, 0, 0, n);
	return !c.walk.is_over;
}

/* Between two steps the walk stands in the queue, and @s is the caller's: nothing else is held. */
void rds_path::cancel(rds::Socket &s, int to_port)
{
	rds::Cancelled c{.sock = s, .to_port = to_port};

	while (cancel_some(c))
		rds::let_others_run();
	if (RDS_UNLIKELY(port_news_.load()))
		kick();
	conn.net.count(RDS_S_send_cancelled, c.count);
}

/*
 * The peer, one that never uses a number twice, has @m: it said so on this connection before @m's
 * turn to be sent again had come.  Sent on the next one, perhaps to a host that was restarted
 * meanwhile, @m would count as delivered before it is there.
 */
bool rds_path::is_delivered(rds::Message &m)
{
	uint64_t seq = rds::wire::get64(m.hdr.sequence);

	if (!seq || !received_.generation() || seq > delivered() || RDS_UNLIKELY(rds::op_alone(m)))
		return false;
	if (RDS_UNLIKELY(m.rdma() != nullptr))
		m.rdma_side->delivered = true;
	return true;
}

/* The connection is gone: @m does not stay, to go out again. */
bool rds_path::leaves_at_reset_locked(rds::Message &m)
{
	return m.flags & (rds::kMsgOnce | rds::kMsgCancelled) || RDS_UNLIKELY(rds::op_spent(m)) ||
	       waits_for_locked(m) || is_delivered(m);
}

/* The transport has taken nothing, nor the peer acknowledged what is queued: all is as it has to
 * be, however often a host is called that is not there. */
bool rds_path::is_untouched_locked() const
{
	const rds::Message *m = queue_.front();

	return queue_.took_nothing() && !(conn.trans.caps & RDS_CAP_RDMA) && full_ports_.empty() &&
	       (!m || rds::wire::get64(m->hdr.sequence) > delivered());
}

/* It has left: if others wait for its port it goes back with them. */
void rds_path::left_at_reset_locked(rds::Message &m, rds::MsgList &done)
{
	rds::HeldPort *h = waits_for_locked(m);

	if (!h)
		done.push_back(&m);
	else if (m.end_off)
		h->sent.push_back(&m);
	else
		put_aside_locked(*h, m);
}

/*
 * The connection is gone.  Everything goes out again, but for the kernel's own one-time messages.
 * @purge: nothing will ever go out again, and of a connection that was collected another one takes
 * what still comes.  Nobody sends meanwhile: the path is not open.
 */
void rds_path::reset_queue(bool purge)
{
	rds::SendQueue::Walk walk;
	rds::HeldPorts::Back back;
	uint32_t again = 0;
	bool more;
	{
		rds::Guard g(lock);

		more = purge || !is_untouched_locked();
		rds::bug_on(open_ || sending_, "a queue begins anew while somebody may send");
		dead_ = dead_ || (purge && !conn.life.is_dying());
		queue_.begin_restart();
		if (purge)
			begin_return_locked(back);
	}
	return_held(back);
	auto leaves = [&](rds::Message &m) RDS_NO_TSA {
		rds::bug_on(purge && conn.life.is_dying() && m.sock,
			    "a connection is collected that has to send");
		return purge || leaves_at_reset_locked(m);
	};
	for (; more; rds::let_others_run()) {
		rds::RcuReader rcu;
		rds::MsgList done;
		auto left = [&](rds::Message &m) RDS_NO_TSA { left_at_reset_locked(m, done); };
		{
			rds::Guard g(lock);

			more = queue_.restart_some(walk, leaves, left, again);
			/* None is queued any more that waits for a port: none may follow. */
			if (!more)
				begin_return_locked(back);
		}
		finish(done);
	}
	return_held(back);
	conn.net.count(RDS_S_send_retransmitted, again);

	rds::Guard g(lock);

	delivered_.restart();
	blocked_ = room_came_ = false;
	coalesce_.end();
}
