// SPDX-License-Identifier: GPL-2.0
/*
 * path_refuse.cc: a full socket stops its messages and nobody else's: refused, and sent again.
 *
 * The receiver (refused.h).  A message that its socket cannot take refuses its port, and REFUSED
 * tells the sender: of this port, no socket has any from this number on.  It goes in a frame
 * without number before whatever else is sent, and until that has left acks stay below the number.
 * Later messages for the port are thrown away at their header, until RESUME comes.
 *
 * The sender (held.h).  What was sent to the port from that number on waits there as the peer
 * acknowledges it, what was not, when its turn comes.  When the peer's map says that the port is
 * not full, and all of them are there, RESUME goes out, and behind it all of them with new numbers.
 * Those under way are before RESUME in the same stream, and so are thrown away.
 *
 * A reset.  The sender forgets the epoch, and what waited is queued as new.  The receiver does not:
 * it tells of the port again once it has met its peer, and whatever comes before that is heard is
 * refused, or an old number.  So nothing but the receiver's table has to be right, and RESUME is
 * said at most once for each REFUSED, on the same connection: none that was lost is missed.
 *
 * Over queue pairs it is not done: an operation would be carried out again (decisions/030).
 */
#include "path.h"

#include "../cong.h"

namespace
{

/* Ports of the peer's have filled or cleared, says @h.  0; -ENOMEM.  @agreed: it may say so. */
int hear_changes(rds::Conn &conn, bool agreed, const rds::wire::Header &h)
{
	const rds::wire::MapChanges changes = rds::wire::decode_changes(h);

	if (agreed && changes.n)
		return rds::CongTable::heard(conn.net, *conn.fcong, changes).code();
	conn.net.count(RDS_S_recv_drop_bad_cong);
	return 0;
}

} // namespace

/* ---- the receiver ---- */

bool rds_path::refuse(const rds::wire::Fields &f)
{
	{
		rds::Guard g(lock);

		if (!refused_.refuse(f.dport, f.seq))
			return false;
	}
	look_at_ports();
	return true;
}

bool rds_path::refuses(uint16_t port)
{
	rds::Guard g(lock);

	return refused_.refuses(port);
}

/* The transmitter has something to say of ports, or to do. */
void rds_path::look_at_ports()
{
	port_news_.store(true);
	kick();
}

/* The first frame has said in which generation the peer counts.  What was refused to that one is
 * told again, and no ack goes before it is; what nobody remembers the numbers of comes as new. */
void rds_path::count_as(const rds::wire::Hello &hello)
{
	const bool agreed = hello.caps & rds::wire::kCapRefuse && rds::may_refuse(conn.trans.caps);
	{
		rds::Guard g(lock);

		refused_.meet(agreed ? hello.gen : 0);
	}
	received_.meet(hello.gen, conn.trans.caps & RDS_CAP_NUMBERED);
	{
		rds::Guard g(lock);

		if (RDS_UNLIKELY(!refused_.none_kept()))
			refused_.forget([this](uint32_t gen)
						RDS_NO_TSA { return received_.remembers(gen); });
	}
	if (RDS_UNLIKELY(refused_any()))
		look_at_ports();
}

/* REFUSED of each port of which the peer was not told on this connection. */
void rds_path::tell_refused()
{
	for (;;) {
		{
			rds::Guard g(lock);

			if (!refused_.has_to_tell())
				return;
		}

		rds::Message *m = rds::message_create(0, rds::may_sleep());
		rds::wire::Refusal r;
		rds::MsgList none;

		if (!m) {
			memory_timer_.arm(rds::Retry::soon());
			return;
		}
		m->flags = rds::kMsgOnce;
		{
			rds::Guard g(lock);

			if (refused_.tell(r)) {
				rds::wire::encode_refusal(m->hdr, r);
				queue_.put_first(m, none);
				m = nullptr;
			}
		}
		if (m)
			rds::message_put(m);
	}
}

/* The transport has taken a batch, of which frames are @done: the peer is told of refused ports,
 * and acks that waited for that may go on. */
void rds_path::settle_ports_locked(const rds::MsgList &done)
{
	const uint64_t limit = refused_.ack_limit();

	for (rds::Message *m = done.front(); m; m = done.next(m)) {
		const rds::wire::Refusal r = rds::wire::decode_refusal(m->hdr);

		if (m->flags & rds::kMsgOnce && m->end_off && r.what == rds::wire::Ext::kRefused)
			refused_.frame_left(r.epoch);
	}
	if (refused_.ack_limit() != limit)
		(void)received_.fall_due();
}

/* ---- the sender ---- */

/* Messages that the peer has refused wait for their port, acknowledged or not. */
void rds_path::keep_refused_locked(rds::MsgList &done)
{
	rds::Message *next;

	for (rds::Message *m = done.front(); m; m = next) {
		next = done.next(m);

		rds::HeldPort *h = waits_for_locked(*m);

		if (!h || !h->epoch)
			continue;
		done.remove(m);
		h->sent.push_back(m);
	}
}

/* Port @r.port is refused.  0; -EINVAL: the peer cannot mean that; -ENOMEM. */
int rds_path::refused_locked(const rds::wire::Refusal &r)
{
	const bool first = !full_ports_.holds(r.port);
	rds::HeldPort *h = full_ports_.find(r.port);

	if (r.port < rds::kFirstPort || !r.epoch || !r.number || !refused_.is_agreed() ||
	    !queue_.may_have_left(r.number) || (h && h->epoch) ||
	    full_ports_.refused() == rds::kMaxRefusedPorts)
		return -rds::err::kEinval;
	h = full_ports_.hold(r.port);
	if (!h)
		return -rds::err::kEnomem;
	full_ports_.refuse(*h, r.epoch, r.number);
	h->refused_late = h->goes_back;
	h->last_sent = queue_.last_leaving();
	h->last_queued = queue_.next_number() - 1;
	if (first)
		conn.fcong->held.fetch_add(1);
	return 0;
}

int rds_path::hear_of_port(const rds::wire::Header &h)
{
	if (rds::wire::is_changes(h))
		return hear_changes(conn, map_news_.takes_changes(), h);

	const rds::wire::Refusal r = rds::wire::decode_refusal(h);
	int err;
	{
		rds::Guard g(lock);

		if (r.what == rds::wire::Ext::kRefused)
			err = refused_locked(r);
		else
			err = refused_.resume(r.port, r.epoch) ? 0 : -rds::err::kEinval;
	}
	if (err == -rds::err::kEnomem)
		return err;
	if (err) {
		conn.net.count(RDS_S_recv_bad_refusal);
	} else if (r.what == rds::wire::Ext::kRefused) {
		conn.net.count(RDS_S_send_refused);
		/* It is held, then we look whether it is full.  If not, the map is on its way, or
		 * unknown while path 0 is down: then all would be refused again at once. */
		rds::full_fence();
		if (!conn.fcong->test(r.port))
			memory_timer_.arm(rds::Retry::soon());
	} else if (received_.fall_due()) {
		/* Acks may go on, and the frame that told of the port may not be settled yet. */
		kick();
	}
	return 0;
}

/* @h is to be sent again, which one of @frames says before. */
bool rds_path::resume_locked(const rds::HeldPort &h, rds::MsgList &frames)
{
	rds::Message *m = frames.pop_front();
	rds::MsgList none;

	if (!m) {
		memory_timer_.arm(rds::Retry::soon());
		return false;
	}
	rds::wire::encode_refusal(
		m->hdr, {.what = rds::wire::Ext::kResume, .port = h.port, .epoch = h.epoch});
	m->flags = rds::kMsgOnce;
	queue_.put_first(m, none);
	return true;
}

/* As many frames as ports have been refused that are not full any more. */
void rds_path::make_frames(rds::MsgList &frames)
{
	unsigned int n = 0;
	{
		rds::Guard g(lock);

		if (full_ports_.refused())
			full_ports_.for_each([&](const rds::HeldPort &h) RDS_NO_TSA {
				n += h.epoch && may_go_back_locked(h);
			});
	}
	for (; n; n--) {
		rds::Message *m = rds::message_create(0, rds::may_sleep());

		if (!m) {
			memory_timer_.arm(rds::Retry::soon());
			return;
		}
		frames.push_back(m);
	}
}

/* Messages for ports that are not full any more get onto the queue, and what the peer is to hear of
 * ours. */
void rds_path::hear_port_news()
{
	rds::MsgList frames;

	port_news_.store(false);
	rds::full_fence();
	make_frames(frames);
	return_clear(frames);
	while (rds::Message *m = frames.pop_front())
		rds::message_put(m);
	tell_refused();
}
