// SPDX-License-Identifier: GPL-2.0
/*
 * path_hold.cc: messages for a full port step aside (held.h), so that the path goes on.
 *
 * They leave the queue when their turn to be sent comes, and come back with new numbers at its end.
 * So only those may go that no peer has seen: what has begun to leave, or was sent on an earlier
 * connection, stays.  While path 0 is being emptied for a fan-out its numbers say when that is done
 * (path_fan.cc): nothing steps aside, and nothing fans out while something waits.  Sockets with
 * ordering hints count by numbers, too (order.h): theirs stay.
 *
 * (1) We say in the map that somebody waits, (2) we look at its bit again; whoever clears the bit
 * looks afterwards whether somebody waits (CongTable::port_cleared()).
 */
#include "path.h"

#include "../cong.h"

namespace
{

uint16_t port_of(const rds::Message &m)
{
	return rds::wire::get16(m.hdr.dport);
}

/* No peer has seen any of it, but for the part that may be leaving now. */
bool is_new(const rds::Message &m)
{
	return !m.end_off && !(m.hdr.flags & rds::wire::kRetransmitted);
}

} // namespace

bool rds_path::may_hold_locked(const rds::Message &m)
{
	return m.sock && is_new(m) && !queue_.is_leaving(m) && !rds::sender_has_flows(*m.sock);
}

/* The port of @m, which is the next to be sent, is full: it steps aside, and so does all for that
 * port that is behind it.  False: it has to go. */
bool rds_path::step_aside_locked(rds::Message *m)
{
	uint16_t port = port_of(*m);

	if (!may_hold_locked(*m) || !conn.fcong->test(port) || (!index && conn.fan.is_gated()))
		return false;

	bool first = !full_ports_.holds(port);
	rds::HeldPort *h = full_ports_.hold(port);
	rds::Message *next;
	rds::MsgList older;

	if (!h)
		return false;
	for (; m; m = next) {
		next = queue_.next(m);
		if (port_of(*m) != port || !may_hold_locked(*m))
			continue;
		queue_.remove(m);
		older.push_back(m);
	}
	/* Those that were with the transport, which took none of them, come after the others. */
	older.splice_back(h->msgs);
	h->msgs.splice_back(older);
	if (first) {
		conn.fcong->held.fetch_add(1);
		rds::full_fence();
		if (!conn.fcong->test(port))
			port_news_.store(true);
	}
	return true;
}

/* @m is for a port that others wait for: so does it. */
bool rds_path::join_held_locked(rds::Message *m)
{
	rds::HeldPort *h = m->sock ? full_ports_.find(port_of(*m)) : nullptr;

	if (!h || (m->flow() && !h->epoch))
		return false;
	rds::wire::put64(m->hdr.sequence, 0);
	h->msgs.push_back(m);
	return true;
}

/* Ports that are not full any more, which need so many of @frames to say so (RESUME); and @all that
 * still are, without a word.  Their messages are queued again, as if they were new. */
void rds_path::return_held_locked(bool all, rds::MsgList &frames, rds::HeldPorts::Ports &gone)
{
	auto returns = [&](const rds::HeldPort &h) RDS_NO_TSA {
		return all || (!conn.fcong->test(h.port) && (!h.epoch || resume_locked(h, frames)));
	};

	full_ports_.take(returns, gone);
	for (rds::HeldPort *h = gone.front(); h; h = gone.next(h)) {
		rds::count_down(conn.fcong->held,
				"messages wait no more for a port that was not counted");
		while (rds::Message *m = h->msgs.pop_front()) {
			m->hdr.flags &= static_cast<uint8_t>(
				~(rds::wire::kRetransmitted | rds::wire::kAckRequired));
			if (all)
				m->flags &= static_cast<uint16_t>(~rds::kMsgRefused);
			else if (RDS_UNLIKELY(m->end_off))
				m->flags |= rds::kMsgRefused;
			m->end_off = 0;
			queue_.append(m);
		}
	}
	full_ports_.returned(queue_.next_number() - 1);
}

/* Takes off what @s sent to @to_port (< 0: to any).  The port stays held until it is clear. */
uint32_t rds_path::cancel_held_locked(const rds::Socket &s, int to_port, rds::MsgList &done)
{
	uint32_t count = 0;

	full_ports_.for_each([&](rds::HeldPort &h) {
		rds::Message *next;

		for (rds::Message *m = h.msgs.front(); m; m = next) {
			next = h.msgs.next(m);
			if (m->sock != &s || (to_port >= 0 && h.port != to_port))
				continue;
			/* It was sent and refused: the transport may read its pages still. */
			if (RDS_UNLIKELY(m->zcopy()) &&
			    (m->end_off || m->flags & rds::kMsgRefused) && !rds::sender_is_gone(s))
				continue;
			h.msgs.remove(m);
			done.push_back(m);
			count++;
		}
	});
	return count;
}

bool rds_path::holds(uint16_t port)
{
	rds::Guard g(lock);

	return full_ports_.holds(port);
}

void rds_path::port_cleared()
{
	port_news_.store(true);
	kick();
}
