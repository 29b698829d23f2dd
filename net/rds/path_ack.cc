// SPDX-License-Identifier: GPL-2.0
/*
 * path_ack.cc: delivery acks: what the peer's RDS has, and telling it what ours has.
 *
 * h_ack of any header is the last number that the receiver has dealt with: queued to a socket, or
 * known to be wanted by nobody.  It goes with whatever is sent; a bare ack is made only when
 * nothing is: at once when the sender asked (ACK_REQUIRED), else after kAckDelayNs.  At most one
 * waits for the transport.  The sender asks when max_unacked_packets (calls of xmit: messages that
 * go together are one) or max_unacked_bytes went without any ack, when a socket's send queue is
 * half full, and for pages that were lent; mainline's over queue pairs, which tell only then, with
 * every batch.
 *
 * Numbers are a connection object's: its generation, in hello, says which.  A receiver that
 * meets another generation begins to count anew, so what is sent again after a restart of either
 * side is neither taken for old nor acknowledged by a number of before
 * (docs/decisions/012-delivery-ack.md).
 *
 * Over queue pairs (RDS_CAP_NUMBERED) mainline's acknowledge like that too, without hello and
 * generation.  One that was restarted counts from 1 and does not tell: it is told only what came on
 * the connection at hand.
 */
#include "path.h"

#include "connection.h"
#include "rdma.h"

void rds_path::ack_fn(struct rds_timer *t)
{
	rds_path *p = rds::container_of(t, &rds_path::ack_timer_);

	bool news = rds::announce_then_look([p] { p->ack_armed_.store(false); },
					    [p] { return p->told_.load() != p->have_.load(); });

	if (news && !p->ack_due_.exchange(true))
		p->post(rds::kEvSend);
}

/* Before anything else on a new connection; false without memory.  Worker. */
bool rds_path::say_hello()
{
	if (!(conn.trans.caps & RDS_CAP_DELIVERY_ACK))
		return true;

	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	if (!m)
		return false;
	rds::wire::encode_hello(m->hdr,
				{conn.gen, rds::wire::kCapDeliveryAck | rds::wire::kCapOrder,
				 static_cast<uint16_t>(conn.max_paths), index});
	m->flags = rds::kMsgOnce;
	queue_first(m);
	return true;
}

/*
 * Opens the way for messages.  Without memory for hello they wait, and it is tried again; the
 * peer's are read meanwhile: one of mainline's sends nothing again that our host's TCP has
 * acknowledged.  Worker.
 */
void rds_path::greet()
{
	hello_due_ = !say_hello();
	if (hello_due_) {
		rds_timer_arm(&map_timer_, rds::kRetryNs);
		return;
	}
	if (conn.trans.caps & RDS_CAP_PROBE)
		send_probe();
	{
		rds::Guard g(lock);
		open_ = true;
	}
	if (take_token())
		transmit();
}

/* The first header of a connection: what it says of the peer, and what follows from that. */
bool rds_path::meet(const rds::wire::Header &h, const rds::wire::Fields &f)
{
	rds::wire::Hello hello;

	if (rds::wire::is_control(f))
		hello = rds::wire::decode_hello(h);
	if (!(hello.caps & rds::wire::kCapDeliveryAck))
		hello = {};
	if (!conn.met(*this, hello))
		return false;
	if (hello.gen != peer_gen_.load()) {
		next_rx_seq.store(0);
		peer_gen_.store_release(hello.gen); /* what was agreed comes before: knows() */
	}
	if (hello.gen || conn.trans.caps & RDS_CAP_NUMBERED) {
		have_.store(hello.gen ? next_rx_seq.load() : 0);
		peer_.store(static_cast<uint32_t>(rds::Peer::kAcks));
	} else {
		peer_.store(static_cast<uint32_t>(rds::Peer::kPlain));
	}
	/* Messages that the transport reported meanwhile go; or those sent meanwhile that the peer
	 * had acknowledged before they were: nobody will say that again. */
	let_go();
	return true;
}

void rds_path::peer_has(uint64_t seq)
{
	if (peer() != rds::Peer::kAcks)
		return;
	if (seq >= next_tx_seq()) {
		conn.net.count(RDS_S_recv_bad_ack);
		return;
	}

	rds::RcuReader rcu;
	rds::MsgList done;
	{
		rds::Guard g(lock);

		delivered_.store(seq);
		stay_quiet();
		collect_acked(done);
	}
	finish(done);
}

/*
 * As peer_has(), of earlier connections, and of a peer that cannot say whose numbers it means: what
 * never left is not what it has, and who has acknowledged nothing yet may speak of numbers that
 * were used before us.
 */
void rds_path::delivered_before(uint64_t seq)
{
	rds::RcuReader rcu;
	rds::MsgList done;
	{
		rds::Guard g(lock);

		if (open_ || peer_gen_.load() || delivered_.load() < first_seq_ ||
		    seq > queue_.begun_before())
			return;
		while (rds::Message *m = queue_.front()) {
			if (rds::wire::get64(m->hdr.sequence) > seq)
				break;
			queue_.remove(m);
			done.push_back(m);
		}
		if (seq > delivered_.load())
			delivered_.store(seq);
	}
	finish(done);
}

/* Any context. */
void rds_path::want_ack(bool now)
{
	if (now) {
		conn.net.count(RDS_S_recv_ack_required);
		if (!ack_due_.exchange(true))
			post(rds::kEvSend);
	} else if (!ack_armed_.load() && !ack_armed_.exchange(true)) {
		rds_timer_arm(&ack_timer_, rds::kAckDelayNs);
	}
}

/* An ack is due and no message there to carry it.  Token holder. */
void rds_path::queue_ack()
{
	if (!ack_due_.exchange(false) || peer() != rds::Peer::kAcks)
		return;

	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	if (!m) {
		want_ack(false);
		return;
	}
	rds::wire::encode_control(m->hdr);
	m->flags = rds::kMsgOnce;
	conn.net.count(RDS_S_send_ack_only);
	queue_first(m);
}

/* Every header that has not begun to leave says what we have; the last may ask for the same. */
void rds_path::stamp_acks(rds::Batch &b)
{
	unsigned int first = b.off ? 1 : 0;
	bool acks = peer() == rds::Peer::kAcks && first < b.n;
	/* The peer, of whatever kind, acknowledges by number. */
	bool will = peer() == rds::Peer::kUnknown && conn.trans.caps & RDS_CAP_NUMBERED;

	b.due = acks && ack_due_.exchange(false);
	b.told = acks ? have_.load() : 0;
	for (unsigned int i = first; i < b.n; i++) {
		rds::wire::put64(b.msgs[i]->hdr.ack, b.told ? b.told - 1 : 0);
		if (RDS_UNLIKELY(b.msgs[i]->flow() != nullptr))
			rds::flow_stamp(*b.msgs[i], peer_has_gen() && conn.orders.load());
	}
	if (acks || (will && first < b.n))
		ask_for_ack(b, first);
}

/*
 * @bytes of the batch were taken.  The peer is told only by a header that has begun to leave: what
 * did not may be taken back by its socket, and the ack with it.
 */
void rds_path::settle_acks(const rds::Batch &b, uint64_t bytes)
{
	uint64_t begun = b.off ? rds::wire::kHeaderBytes + b.msgs[0]->len - b.off : 0;

	if (bytes <= begun) {
		if (b.due)
			ack_due_.store(true);
	} else if (b.told) {
		told_.store(b.told);
	}
}

/* An ack came or was asked for: so much may go without. */
void rds_path::stay_quiet()
{
	quiet_packets_ = rds::read_once(conn.net.tun.max_unacked_packets);
	quiet_bytes_ = rds::read_once(conn.net.tun.max_unacked_bytes);
}

/* The last message of a batch, from @first on, asks for all before it. */
void rds_path::ask_for_ack(rds::Batch &b, unsigned int first)
{
	unsigned int n = b.n;

	quiet_packets_--;
	quiet_bytes_ -= static_cast<int64_t>(b.bytes);
	while (n > first && RDS_UNLIKELY(rds::op_alone(*b.msgs[n - 1])))
		n--;
	if (n == first)
		return; /* no frame at all: the next batch asks */

	rds::Message &last = *b.msgs[n - 1];
	uint64_t seq = rds::wire::get64(last.hdr.sequence);
	/* A sender who will soon have to wait, or who wants his pages back, and no answer on its
	 * way. */
	bool hurry = asked_ <= delivered_.load() &&
		     (last.zcopy() || (last.sock && rds::sender_short_of_room(*last.sock)));
	/* Mainline's say what they have when they are asked, and only then: what nothing follows
	 * would fill the queues of those who sent it, for ever.  The message that would follow may
	 * be cancelled before it goes. */
	bool tail = !peer_gen_.load() && conn.trans.caps & RDS_CAP_NUMBERED;

	if (!seq || (quiet_packets_ > 0 && quiet_bytes_ > 0 && !hurry && !tail))
		return; /* a map or a bare ack has none */
	last.hdr.flags |= rds::wire::kAckRequired;
	asked_ = seq;
	stay_quiet();
	conn.net.count(RDS_S_send_ack_required);
}

extern "C" {

void rds_path_acked(struct rds_path *path, uint64_t bytes)
{
	path->acked(bytes);
}

void rds_path_delivered(struct rds_path *path, uint64_t seq)
{
	path->delivered_before(seq);
}

uint64_t rds_path_received(const struct rds_path *path)
{
	return path->received();
}

} // extern "C"
