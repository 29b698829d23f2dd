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
			port_cleared_.store(true);
	}
	return true;
}

/* @m is for a port that others wait for: so does it. */
bool rds_path::join_held_locked(rds::Message *m)
{
	rds::HeldPort *h = m->sock && !m->flow() ? full_ports_.find(port_of(*m)) : nullptr;

	if (h)
		h->msgs.push_back(m);
	return h;
}

/* Messages for ports that are not full any more (@all: or still are) are queued again. */
void rds_path::return_held_locked(bool all, rds::HeldPorts::Ports &gone)
{
	port_cleared_.store(false);
	rds::full_fence();
	full_ports_.take([&](const rds::HeldPort &h) { return all || !conn.fcong->test(h.port); },
			 gone);
	for (rds::HeldPort *h = gone.front(); h; h = gone.next(h)) {
		rds::count_down(conn.fcong->held,
				"messages wait no more for a port that was not counted");
		while (rds::Message *m = h->msgs.pop_front())
			queue_.append(m);
	}
}

void rds_path::return_held()
{
	rds::HeldPorts::Ports gone;
	{
		rds::Guard g(lock);

		return_held_locked(false, gone);
	}
	destroy_ports(gone);
}

void rds_path::destroy_ports(rds::HeldPorts::Ports &gone)
{
	while (rds::HeldPort *h = gone.pop_front())
		rds::destroy(h);
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
	port_cleared_.store(true);
	kick();
}
