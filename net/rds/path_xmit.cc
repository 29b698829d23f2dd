// SPDX-License-Identifier: GPL-2.0
/*
 * path_xmit.cc: the one sender of a path: collect a batch, hand it to the transport, settle.
 */
#include "path.h"

#include "cong.h"
#include "connection.h"
#include "rdma.h"

namespace rds
{
/* Module parameter: messages that one caller transmits in a row. */
extern "C" unsigned int rds_send_batch_count;
unsigned int rds_send_batch_count = kSendBatchDefault;
} // namespace rds

void rds_path::take_token_locked()
{
	sending_ = true;
	sending_flag_.store(true);
}

bool rds_path::take_token()
{
	rds::Guard g(lock);

	if (!open_ || sending_ || blocked_) {
		/* The token's holder may have passed what the caller wants sent: once more. */
		room_came_ = true;
		return false;
	}
	take_token_locked();
	return true;
}

/* The worker may be waiting for it (quiesce). */
void rds_path::release_token()
{
	sending_ = false;
	sending_flag_.store(false);
	if (!open_)
		rds_work_queue(&work_);
}

void rds_path::transmit()
{
	unsigned int budget = rds::rds_send_batch_count;
	Batch b;

	while (collect(b)) {
		struct rds_xmit x = {b.msgs, b.n, b.off, b.more};

		if (!settle(b, conn.trans.xmit(priv, &x)))
			return;
		if (budget > b.n) {
			budget -= b.n;
			continue;
		}
		/* Others want this processor too; the worker goes on. */
		{
			rds::Guard g(lock);
			release_token();
		}
		conn.net.count(RDS_S_send_delayed_retry);
		post(rds::kEvSend);
		return;
	}
}

inline void rds_path::add(Batch &b, rds::Message *m)
{
	m->flags |= rds::kMsgInXmit;
	b.msgs[b.n++] = m;
	b.bytes += rds::wire::kHeaderBytes + m->len;
}

/* Not all that is queued may go.  The message at which the batch ends. */
__attribute__((noinline)) rds::Message *rds_path::mark_some_locked(Batch &b, bool gated, bool mute)
{
	rds::Message *m = unsent_;

	while (m && b.n < rds::kXmitBatch) {
		if (gated && m->sock)
			break; /* the kernel's own overtake nobody's message */
		if (mute && rds::wire::get64(m->hdr.sequence))
			break; /* not hello */
		if (conn.fcong->test(rds::wire::get16(m->hdr.dport)) && step_aside_locked(m)) {
			/* Others behind it may have gone with it. */
			m = b.n ? queue_.next(b.msgs[b.n - 1]) : unsent_;
			continue;
		}
		add(b, m);
		m = queue_.next(m);
	}
	return m;
}

bool rds_path::mark_batch(Batch &b)
{
	bool gated = index && (conn.gated.load_acquire() || conn.is_folding());
	bool mute = is_silent();
	rds::Message *m = unsent_;

	b.n = 0;
	b.off = cursor_;
	b.bytes = 0;
	if (RDS_UNLIKELY(gated || mute || conn.fcong->any()))
		m = mark_some_locked(b, gated, mute);
	else
		for (; m && b.n < rds::kXmitBatch; m = queue_.next(m))
			add(b, m);
	if (!b.n)
		return false;
	b.bytes -= b.off;
	b.more = m && !gated && !mute;
	stamp_acks(b);
	room_came_ = false;
	return true;
}

/* Marks the next messages that may go; false when there are none: then the token is given back. */
bool rds_path::collect(Batch &b)
{
	for (;;) {
		queue_cong_update();
		if (RDS_UNLIKELY(port_cleared_.load()))
			return_held();
		{
			rds::Guard g(lock);

			held_ = false;
			if (open_ && unsent_ && mark_batch(b))
				return true;
			/* A request that came after the looks above: look again (take_token). */
			if (!open_ || (!room_came_ && !ack_due_.load() && !port_cleared_.load())) {
				release_token();
				return false;
			}
			room_came_ = false;
		}
		queue_ack();
	}
}

/* The transport took @n bytes of @b, or said why not.  False: the token was given back. */
bool rds_path::settle(Batch &b, long n)
{
	bool broken = n < 0 && n != -rds::err::kEagain;
	uint64_t bytes = n > 0 ? static_cast<uint64_t>(n) : 0;
	bool go_on = true, fanned;
	rds::RcuReader rcu;
	rds::MsgList done;

	if (bytes > b.bytes) {
		rds_bug("transport accepted more than it was given");
		bytes = b.bytes;
		broken = true;
	}
	{
		rds::Guard g(lock);

		settle_acks(b, bytes);
		settle_batch(b, bytes, done);
		collect_acked(done);
		fanned = !index && bytes < b.bytes && fan_out_locked();
		/* Loopback knows no other way to say that it is one socket that has no room. */
		bool aside = bytes < b.bytes && unsent_ && step_aside_locked(unsent_);

		if (broken || (bytes < b.bytes && !room_came_ && !aside)) {
			blocked_ = !broken;
			go_on = false;
			release_token();
		}
	}
	if (fanned)
		conn.net.count(RDS_S_conn_fan_out);
	finish(done); /* looks at the gate, too */
	if (broken)
		drop(RDS_DROP_SEND);
	return go_on;
}

/* The transport took the first byte of @m, and with it its operation. */
void rds_path::note_op(rds::Message &m)
{
	rds::MsgRdma &r = *m.part;

	if (!r.has_op || r.begun)
		return;
	r.begun = true;
	conn.net.count(RDS_S_send_rdma);
	conn.net.count(RDS_S_send_rdma_bytes, r.op.bytes);
}

/* Moves the cursor over @bytes; what nobody waits for leaves, unless it is half out. */
void rds_path::settle_batch(Batch &b, uint64_t bytes, rds::MsgList &done)
{
	tx_off_ += bytes;

	uint64_t off = tx_off_ - bytes;

	for (unsigned int i = 0; i < b.n; i++) {
		rds::Message *m = b.msgs[i];
		uint32_t size = rds::wire::kHeaderBytes + m->len;
		uint32_t before = i ? 0 : b.off;

		m->flags &= static_cast<uint16_t>(~rds::kMsgInXmit);
		if (uint64_t seq = bytes ? rds::wire::get64(m->hdr.sequence) : 0)
			sent_seq_ = seq;
		if (RDS_UNLIKELY(m->rdma()) && bytes)
			note_op(*m);
		if (bytes >= size - before) {
			bytes -= size - before;
			off += size - before;
			unsent_bytes_ -= size;
			m->end_off = off;
			unsent_ = queue_.next(m);
			cursor_ = 0;
		} else {
			if (m == unsent_)
				cursor_ = before + static_cast<uint32_t>(bytes);
			bytes = 0;
		}
		bool going =
			m->flags & rds::kMsgCancelled || (m->flags & rds::kMsgOnce && m->end_off);

		if (going && !(m == unsent_ && cursor_)) {
			unlink_locked(m);
			done.push_back(m);
		}
	}
}

/* The peer gets our map before the next message whenever it changed.  Token holder. */
void rds_path::queue_cong_update()
{
	if (conn.trans.caps & RDS_CAP_SHARED_CONG || index || is_silent())
		return;

	uint32_t version = conn.lcong->version();

	if (!cong_due_ && version == cong_sent_)
		return;

	rds::Message *m = rds::CongTable::make_update(*conn.lcong);

	if (!m) {
		conn.net.count(RDS_S_cong_send_error);
		rds_timer_arm(&map_timer_, rds::kRetryNs);
		return;
	}
	conn.net.count(RDS_S_cong_update_queued);
	cong_sent_ = version;
	cong_due_ = false;
	queue_first(m);
}
