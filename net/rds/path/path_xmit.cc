// SPDX-License-Identifier: GPL-2.0
/*
 * path_xmit.cc: the one sender of a path: collect a batch, hand it to the transport, settle.
 */
#include "path.h"

#include "../cong.h"
#include "../rdma.h"

namespace rds
{
/* Module parameter: messages that one caller transmits in a row. */
extern "C" unsigned int rds_send_batch_count;
unsigned int rds_send_batch_count = kSendBatchDefault;

namespace
{

/* Grows with each message of the peer's, whichever path it takes. */
uint64_t came_over(const rds_conn &c)
{
	uint64_t n = 0;

	c.for_each_path([&](Path &p) { n += p.next_rx_seq(); });
	return n;
}

} // namespace
} // namespace rds

void rds_path::take_token_locked()
{
	if (RDS_CHECKS_ALL && sending_)
		bug("two send on a path");
	sending_ = true;
	sending_flag_.store(true);
}

bool rds_path::take_token()
{
	rds::Guard g(lock);

	end_hold_locked();
	if (!open_ || sending_ || blocked_)
		return false;
	take_token_locked();
	return true;
}

/* The worker may be waiting for it (quiesce). */
void rds_path::release_token()
{
	if (RDS_CHECKS_ALL && !sending_)
		bug("a path's token is given back by one that has it not");
	sending_ = false;
	queue_.end_promise();
	sending_flag_.store(false);
	if (!open_)
		conn.wake_worker();
}

/* The sender whose message was just queued: it gets the token, and with it the first batch, unless
 * there is something to do before. */
void rds_path::begin_locked(rds::Batch &b)
{
	take_token_locked();

	rds::Guard sender(rds::kSender); /* ... which was taken just now */

	b.n = 0;
	if (!must_prepare_locked())
		(void)mark_batch(b);
}

void rds_path::transmit()
{
	rds::Batch b;

	transmit(b);
}

void rds_path::transmit(rds::Batch &b)
{
	rds::Guard sender(rds::kSender); /* as the caller's token says */
	unsigned int left = rds::rds_send_batch_count;
	/* A message that steps aside is work as one that goes.  True: that was enough. */
	auto spend = [&](unsigned int n) {
		n += b.aside;
		b.aside = 0;

		const bool all = n && left <= n;

		left -= n;
		return all;
	};
	Next next = b.n ? Next::kXmit : Next::kPrepare;

	while (next != Next::kStop) {
		if (next == Next::kXmit) {
			/* A message that was marked has made @lends true before it was queued. */
			const bool acks = peer() != rds::Peer::kAcks || conn.lends.load();
			const bool last = spend(b.n), more = b.next && !last;
			struct rds_xmit x = {b.msgs, b.n, b.off, more, acks};

			next = settle(b, conn.trans.xmit(priv, &x), last);
			continue;
		}
		if (next == Next::kAck) {
			if (spend(0))
				break;
			queue_ack();
		}
		next = prepare(b);
	}
	if (next == Next::kStop)
		return;
	{
		rds::Guard g(lock);

		release_token();
	}
	leave_rest();
}

/* The sender has done enough, and others want its processor, too. */
void rds_path::leave_rest()
{
	conn.net.count(RDS_S_send_delayed_retry);
	kick();
}

/* Not all that is queued may go.  The message behind the batch, if that goes for certain. */
__attribute__((noinline)) rds::Message *rds_path::mark_some_locked(rds::Batch &b, bool gated,
								   bool mute)
{
	rds::Message *m = queue_.ready();
	auto is_held_up = [this](const rds::Message &msg) RDS_NO_TSA {
		const uint16_t port = rds::wire::get16(msg.hdr.dport);

		return conn.fcong->test(port) || full_ports_.holds(port);
	};

	while (m && b.n < rds::kXmitBatch) {
		if (gated && m->sock)
			return nullptr; /* the kernel's own overtake nobody's message */
		if (mute && rds::wire::get64(m->hdr.sequence))
			return nullptr; /* not hello */

		rds::Message *next = queue_.next_ready(m);

		if (is_held_up(*m) && step_aside_locked(m)) {
			if (++b.aside == rds::kQueueStep) {
				room_came_ = true; /* the lock is given up, and we look again */
				return nullptr;
			}
		} else {
			queue_.add(b, m);
		}
		m = next;
	}
	return m && !gated && !mute && !is_held_up(*m) ? m : nullptr;
}

bool rds_path::mark_batch(rds::Batch &b)
{
	bool gated = index && (conn.fan.is_gated() || conn.fan.is_folding());
	bool mute = is_silent();
	rds::Message *m = queue_.ready();

	if (RDS_CHECKS_ALL && !sending_)
		bug("a batch without the path's token");
	queue_.begin(b);
	if (RDS_UNLIKELY(gated || mute || conn.fcong->any() || !full_ports_.empty()))
		m = mark_some_locked(b, gated, mute);
	else
		for (; m && b.n < rds::kXmitBatch; m = queue_.next_ready(m))
			queue_.add(b, m);
	if (!b.n)
		return false;
	b.bytes -= b.off;
	if (m)
		queue_.promise(b, *m);
	stamp_acks(b);
	room_came_ = false;
	return true;
}

bool rds_path::owes_map() const
{
	return map_news_.owes(*conn.lcong);
}

/* The peer gets our map before the next message whenever it changed: before a message of ours, and
 * by itself, if not at once (map_pause.h). */
RDS_INLINE bool rds_path::map_is_due() const
{
	if (conn.trans.caps & RDS_CAP_SHARED_CONG || index || is_silent())
		return false;
	return map_news_.is_due(*conn.lcong);
}

/* Nothing else is to go, and the peer may hear of our map later: the timer sees to that. */
bool rds_path::map_may_wait_locked()
{
	if (queue_.ready())
		return false;

	const uint64_t left = map_news_.left(*conn.lcong, rds_now_ns(), rds::came_over(conn));

	if (left)
		memory_timer_.arm(rds::Retry::map(left));
	return left;
}

/* It may have been told that the port is clear, or nothing yet. */
void rds_path::port_is_full()
{
	if (!owes_map())
		return;
	map_news_.speaks(rds_now_ns());
	kick();
}

/* The next batch has to wait for prepare(). */
RDS_INLINE bool rds_path::must_prepare_locked() const
{
	return RDS_UNLIKELY(map_is_due() || port_news_.load());
}

/* Marks the next messages that may go; or the token is given back, for there are none. */
rds_path::Next rds_path::next_locked(rds::Batch &b)
{
	if (open_ && queue_.ready() && mark_batch(b))
		return Next::kXmit;
	if (RDS_UNLIKELY(!full_ports_.empty()))
		look_at_waits_locked();
	if (!open_ || (!room_came_ && !received_.is_due() && !port_news_.load())) {
		release_token();
		return Next::kStop;
	}
	room_came_ = false;
	return Next::kAck;
}

/*
 * Messages for ports that are not full any more, and our map, get onto the queue first.
 *
 * The token goes back in the hold of the lock that saw nothing more to do, or a frame without
 * memory, for which there is a timer.  So whoever has something to do, and finds that another
 * sends, may leave it to that one.
 */
rds_path::Next rds_path::prepare(rds::Batch &b)
{
	if (RDS_UNLIKELY(port_news_.load()))
		hear_port_news();
	{
		rds::Guard g(lock);

		if (RDS_LIKELY(!map_is_due()) || map_may_wait_locked())
			return next_locked(b);
	}
	queue_cong_update();

	rds::Guard g(lock);

	return next_locked(b);
}

/* The transport took @n bytes of @b, or said why not; the next batch becomes @b.  @last: its sender
 * leaves the rest. */
rds_path::Next rds_path::settle(rds::Batch &b, long n, bool last)
{
	bool broken = n < 0 && n != -rds::err::kEagain;
	uint64_t bytes = n > 0 ? static_cast<uint64_t>(n) : 0;
	Next next = Next::kStop;
	bool fanned;
	rds::RcuReader rcu;
	rds::MsgList done;

	if (rds::bug_on(bytes > b.bytes, "transport accepted more than it was given")) {
		bytes = b.bytes;
		broken = true;
	}
	{
		rds::Guard g(lock);

		settle_acks(b, bytes);
		note_ops(b, queue_.settle(b, bytes, done));
		if (RDS_UNLIKELY(refused_any()))
			settle_ports_locked(done);
		(void)collect_acked(done);
		fanned = !index && bytes < b.bytes && fan_out_locked();

		rds::Message *m = queue_.unsent();
		/* Loopback knows no other way to say that it is one socket that has no room. */
		bool aside = bytes < b.bytes && m && step_aside_locked(m);

		blocked_ = !broken && bytes < b.bytes && !room_came_ && !aside;
		last = last && !broken && !blocked_;
		if (broken || blocked_ || last)
			release_token();
		else
			next = must_prepare_locked() ? Next::kPrepare : next_locked(b);
	}
	if (fanned)
		conn.net.count(RDS_S_conn_fan_out);
	finish(done); /* looks at the gate, too */
	if (broken)
		drop(RDS_DROP_SEND);
	if (last)
		leave_rest();
	return next;
}

void rds_path::note_op(rds::Message &m)
{
	rds::MsgRdma &r = *m.rdma_side;

	if (!r.has_op || r.begun)
		return;
	r.begun = true;
	conn.net.count(RDS_S_send_rdma);
	conn.net.count(RDS_S_send_rdma_bytes, r.op.bytes);
}

/* The transport took the first byte of @n messages of @b, and with it their operations. */
RDS_INLINE void rds_path::note_ops(const rds::Batch &b, unsigned int n)
{
	if (!(conn.trans.caps & RDS_CAP_RDMA))
		return;
	for (unsigned int i = 0; i < n; i++)
		if (RDS_UNLIKELY(b.msgs[i]->rdma() != nullptr))
			note_op(*b.msgs[i]);
}

void rds_path::queue_cong_update()
{
	bool unsent;
	{
		rds::Guard g(lock);

		unsent = queue_.has_unsent_news();
	}
	rds::Message *m = map_news_.make(*conn.lcong, unsent, rds_now_ns(), rds::came_over(conn));

	if (!m) {
		conn.net.count(RDS_S_send_no_memory);
		memory_timer_.arm(rds::Retry::soon());
		return;
	}
	conn.net.count(RDS_S_cong_update_queued);
	queue_first(m);
}
