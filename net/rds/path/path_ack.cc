// SPDX-License-Identifier: GPL-2.0
/*
 * path_ack.cc: delivery acks: what the peer's RDS has, and telling it what ours has.
 *
 * h_ack of any header is the last number that the receiver has dealt with: queued to a socket, or
 * known to be wanted by nobody.  It goes with whatever is sent; a bare ack is made only when
 * nothing is: at once when the sender asked (ACK_REQUIRED), else after kAckDelayNs.  At most one
 * waits for the transport.  received.h keeps what is to be told, delivered.h what the peer told and
 * when it is asked; here they meet the queue, the timer and the worker.
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

void rds_path::ack_over()
{
	if (received_.timer_over())
		kick();
}

/* Before anything else on a new connection; false without memory.  Worker. */
bool rds_path::say_hello()
{
	if (!(conn.trans.caps & RDS_CAP_DELIVERY_ACK))
		return true;

	rds::Message *m = rds::message_create(0, rds::may_sleep());

	if (!m)
		return false;
	rds::wire::encode_hello(
		m->hdr,
		{conn.gen,
		 rds::wire::kCapDeliveryAck | rds::wire::kCapOrder | rds::wire::kCapChanges |
			 (rds::may_refuse(conn.trans.caps) ? rds::wire::kCapRefuse : 0u),
		 static_cast<uint16_t>(conn.max_paths), index});
	m->flags = rds::kMsgOnce;
	queue_first(m);
	return true;
}

/*
 * Opens the way for messages.  Without memory for hello they wait, and it is tried again; the
 * peer's are read meanwhile: one of mainline's sends nothing again that our host's TCP has
 * acknowledged.
 */
void rds_path::greet()
{
	hello_due_ = !say_hello();
	if (hello_due_) {
		memory_timer_.arm(rds::Retry::soon());
		return;
	}
	if (conn.trans.caps & RDS_CAP_PROBE)
		send_probe();

	rds_path *end = conn.trans.other_end ? conn.trans.other_end(priv) : nullptr;
	{
		rds::Guard g(lock);

		open_ = true;
		other_end_ = end;
	}
	kick();
}

/* The first header of a connection: what it says of the peer, and what follows from that. */
bool rds_path::meet(const rds::wire::Header &h, const rds::wire::Fields &f)
{
	rds::wire::Hello hello;

	if (rds::wire::is_control(f))
		hello = rds::wire::decode_hello(h);
	if (!(hello.caps & rds::wire::kCapDeliveryAck))
		hello = {};
	if (!conn.on_hello(*this, hello))
		return false;
	count_as(hello);
	map_news_.meet(hello.caps);
	/* Messages that the transport reported meanwhile go; or those sent meanwhile that the peer
	 * had acknowledged before they were: nobody will say that again. */
	let_go();
	return true;
}

void rds_path::peer_has(uint64_t seq)
{
	if (peer() != rds::Peer::kAcks)
		return;

	rds::RcuReader rcu;
	rds::MsgList done;
	bool more;
	{
		rds::Guard g(lock);

		/* A number that is only queued, believed, would be dropped at the next reset. */
		if (!queue_.may_have_left(seq)) {
			conn.net.count(RDS_S_recv_bad_ack);
			return;
		}
		delivered_.has(seq);
		delivered_.allow(unacked_limits());
		more = collect_acked(done);
	}
	finish(done);
	if (RDS_UNLIKELY(more || port_news_.load()))
		let_go();
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

		if (open_ || received_.generation() || !delivered_.any() ||
		    seq > queue_.begun_before())
			return;
		while (rds::Message *m = queue_.front()) {
			if (rds::wire::get64(m->hdr.sequence) > seq)
				break;
			queue_.remove(m);
			done.push_back(m);
		}
		delivered_.had(seq);
	}
	finish(done);
}

/* Any context. */
void rds_path::arrange_ack(rds::Tell when)
{
	if (when == rds::Tell::kAtOnce) {
		conn.net.count(RDS_S_recv_ack_required);
		if (received_.fall_due())
			kick();
	} else if (received_.may_arm()) {
		ack_timer_.arm(rds::Received::ack_due());
	}
}

/* An ack is due and no message there to carry it. */
void rds_path::queue_ack()
{
	if (!received_.take_due())
		return;

	rds::Message *m = rds::message_create(0, rds::may_sleep());

	if (!m) {
		arrange_ack(rds::Tell::kSoon);
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
	const unsigned int first = b.off ? 1 : 0;
	const bool numbered = conn.trans.caps & RDS_CAP_NUMBERED;
	const uint64_t ack = received_.take(b, first < b.n, refused_.ack_limit());

	for (unsigned int i = first; i < b.n; i++) {
		rds::wire::put64(b.msgs[i]->hdr.ack, ack);
		if (RDS_UNLIKELY(b.msgs[i]->flow() != nullptr))
			rds::flow_stamp(*b.msgs[i], peer_has_gen() && conn.orders.load());
	}
	/* A peer that nothing came of yet acknowledges by number there, whatever its kind. */
	if (first == b.n || peer() == rds::Peer::kPlain ||
	    (peer() == rds::Peer::kUnknown && !numbered))
		return;
	/* Mainline's say what they have when they are asked, and only then: what nothing follows
	 * would fill the queues of those that sent it, for ever.  The message that would follow may
	 * be cancelled before it goes. */
	if (!delivered_.ask(b, first, numbered && !received_.generation()))
		return;
	delivered_.allow(unacked_limits());
	conn.net.count(RDS_S_send_ack_required);
}

/* @bytes of the batch were taken. */
void rds_path::settle_acks(const rds::Batch &b, uint64_t bytes)
{
	const uint64_t begun = b.off ? rds::wire::kHeaderBytes + b.msgs[0]->len - b.off : 0;

	received_.settle(b, bytes > begun);
}

rds::Delivered::Limits rds_path::unacked_limits() const
{
	return {rds::read_once(conn.net.tun.max_unacked_packets),
		rds::read_once(conn.net.tun.max_unacked_bytes)};
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
	return path->last_received();
}

} // extern "C"
