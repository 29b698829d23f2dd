// SPDX-License-Identifier: GPL-2.0
/*
 * path_hold.cc: messages for a full port step aside (held.h), so that the path goes on.
 *
 * They leave the queue when their turn to be sent comes, and come back with new numbers at its end.
 * So only those may go that no peer has seen: what has begun to leave, or was sent on an earlier
 * connection, stays.  While path 0 is being emptied for a fan-out its numbers say when that is done
 * (path_fan.cc): nothing steps aside, and nothing fans out while something waits.  Sockets with
 * ordering hints count by numbers, too (order.h): theirs make no port be held.  Of one that is they
 * step aside as all others do, those of a flow and those from before it, or some would pass others.
 *
 * (1) We say in the map that somebody waits, (2) we look at its bit again; whoever clears the bit
 * looks afterwards whether somebody waits (CongTable::port_cleared()).
 */
#include "path.h"

#include "../cong.h"
#include "queue_walk.h"

namespace
{

uint16_t port_of(const rds::Message &m)
{
	return rds::wire::get16(m.hdr.dport);
}

uint64_t number_of(const rds::Message &m)
{
	return rds::wire::get64(m.hdr.sequence);
}

} // namespace

bool rds_path::may_hold_locked(const rds::Message &m)
{
	return m.sock && m.is_new() && !queue_.is_leaving(m) && !rds::sender_has_flows(*m.sock);
}

/* The held port that @m, which is queued, has to wait for; nullptr: for none. */
rds::HeldPort *rds_path::waits_for_locked(const rds::Message &m)
{
	rds::HeldPort *h = m.sock ? full_ports_.find(port_of(m)) : nullptr;

	if (!h || queue_.is_leaving(m))
		return nullptr;
	return (h->epoch ? number_of(m) >= h->first : m.is_new()) ? h : nullptr;
}

/* The port of @m is held from now on, if it is full, and @m may wait for it. */
rds::HeldPort *rds_path::hold_port_locked(const rds::Message &m)
{
	const uint16_t port = port_of(m);

	if (!may_hold_locked(m) || full_ports_.holds(port) || !conn.fcong->test(port) ||
	    full_ports_.is_full() || (!index && conn.fan.is_gated()))
		return nullptr;

	rds::HeldPort *h = full_ports_.hold(port);

	if (!h)
		return nullptr;
	h->last_queued = queue_.next_number() - 1;
	if (!rds::announce_then_look([this] { conn.fcong->held.fetch_add(1); },
				     [&] { return conn.fcong->test(port); }))
		port_news_.store(true);
	return h;
}

/* @m is the next to be sent, and its port is full, or held: it steps aside.  False: it has to go.
 */
bool rds_path::step_aside_locked(rds::Message *m)
{
	rds::HeldPort *h = waits_for_locked(*m);

	if (!h)
		h = hold_port_locked(*m);
	if (!h)
		return false;
	queue_.remove(m);
	delivered_.taken_back(*m);
	put_aside_locked(*h, *m);
	return true;
}

/* @m, which was queued and not sent.  Its sender may count by numbers since it was queued. */
void rds_path::put_aside_locked(rds::HeldPort &h, rds::Message &m)
{
	h.put_aside(&m);
	if (RDS_UNLIKELY(rds::sender_has_flows(*m.sock)))
		full_ports_.owe(h);
}

/* None that is queued, and was not sent, is for @h. */
bool rds_path::none_unsent_locked(const rds::HeldPort &h)
{
	const rds::Message *m = queue_.unsent();

	return !m || number_of(*m) > h.last_queued;
}

/* @m is for a port that others wait for: so does it.  False: it is to be queued, because some of
 * them are. */
bool rds_path::join_held_locked(rds::Message *m)
{
	rds::HeldPort *h = m->sock ? full_ports_.find(port_of(*m)) : nullptr;

	if (!h)
		return false;
	if (!h->goes_back && !none_unsent_locked(*h)) {
		h->last_queued = queue_.next_number();
		return false;
	}
	rds::wire::put64(m->hdr.sequence, 0);
	h->msgs.push_back(m);
	return true;
}

/* ---- the way back ---- */

/* @h is not full any more, and all that waits for it is here. */
bool rds_path::may_go_back_locked(const rds::HeldPort &h)
{
	const rds::Message *m = queue_.front();

	/* Those that were sent are in front, and a frame without number is in front of none. */
	return !conn.fcong->test(h.port) && none_unsent_locked(h) &&
	       (!h.epoch || !m || number_of(*m) > h.last_sent);
}

/* Something has left the queue: a port may wait no more for what is here now. */
void rds_path::look_at_waits_locked()
{
	if (RDS_LIKELY(!full_ports_.waits()))
		return;
	full_ports_.for_each([this](const rds::HeldPort &h) RDS_NO_TSA {
		if (h.waits && may_go_back_locked(h))
			port_news_.store(true);
	});
}

/* Some messages of @h are queued again, as if they were new.  True: there are more. */
bool rds_path::return_some_locked(rds::HeldPort &h)
{
	end_hold_locked();
	for (unsigned int n = 0; n < rds::kQueueStep; n++) {
		rds::Message *m = full_ports_.pop_front(h);

		if (!m)
			return false;
		m->hdr.flags &= static_cast<uint8_t>(
			~(rds::wire::kRetransmitted | rds::wire::kAckRequired));
		m->end_off = 0;
		queue_.append(m);
	}
	return true;
}

/* Ports that are not full any more go back; some need one of @frames to say so (RESUME). */
void rds_path::return_clear(rds::MsgList &frames)
{
	rds::HeldPorts::Back back;
	{
		rds::Guard g(lock);
		bool waits = false;

		full_ports_.for_each([&](rds::HeldPort &h) RDS_NO_TSA {
			h.goes_back = may_go_back_locked(h);
			h.waits = !h.goes_back && !conn.fcong->test(h.port);
			waits = waits || h.waits;
			if (h.goes_back)
				back.push_back(&h);
		});
		full_ports_.set_waits(waits);
		/* All were looked at: this changes what is in front. */
		for (rds::HeldPort *h = back.front(), *next; h; h = next) {
			next = back.next(h);
			h->goes_back = !h->epoch || resume_locked(*h, frames);
			if (!h->goes_back)
				back.remove(h);
		}
	}
	return_held(back);
}

/* All go back, without a word: the connection that they were held on is gone. */
void rds_path::begin_return_locked(rds::HeldPorts::Back &back)
{
	full_ports_.for_each([&](rds::HeldPort &h) {
		h.goes_back = true;
		back.push_back(&h);
	});
}

/*
 * Messages for the ports of @back are queued again, by the token's holder or by the worker, so
 * nothing is sent meanwhile.  What is sent to such a port joins it until it has gone.  If the peer
 * refuses it meanwhile it stays, and what has gone back comes again when its turn to be sent does.
 */
void rds_path::return_held(rds::HeldPorts::Back &back)
{
	for (rds::HeldPort *h; (h = back.front()); rds::let_others_run()) {
		{
			rds::Guard g(lock);

			if (return_some_locked(*h))
				continue;
			back.remove(h);
			h->last_queued = queue_.next_number() - 1;
			if (RDS_UNLIKELY(h->refused_late)) {
				full_ports_.stay(*h);
				continue;
			}
			full_ports_.drop(*h, h->last_queued);
		}
		rds::destroy(h);
		rds::count_down(conn.fcong->held,
				"messages wait no more for a port that was not counted");
	}
}

/* The next message of @w; nullptr: none at this step. */
rds::Message *rds_path::step_locked(rds::QueueWalk &w)
{
	rds::Message *m = queue_.go_on(w.queued);

	w.port = nullptr;
	if (m)
		return m;
	m = full_ports_.step(w.held);
	if (m) {
		w.port = w.held.port();
	} else if (full_ports_.is_over(w.held)) {
		w.end(queue_, full_ports_);
	}
	return m;
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
