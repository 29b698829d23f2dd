// SPDX-License-Identifier: GPL-2.0
/*
 * path_fan.cc: one connection over several paths: fan-out, and back to one (fan.h).
 *
 * Fanning out must not let a message overtake an older one of the same socket that is still on
 * path 0: what is new is queued on its own path at once, but that path sends no message before path
 * 0 has none left of those that it had (the gate).  That is delivery, not a TCP acknowledgement:
 * only a peer that acknowledges has several paths.
 *
 * Folding brings every queue behind what path 0 had then, and before what it got since, with new
 * numbers.  It is one turn of the worker, in which all paths are down, so nothing of this is with a
 * transport.  It happens when the peer is another one than before: mainline's, or with other
 * settings.  Anybody on the peer's host can say that he is, so those paths that are up are asked
 * first, and he is sent away; he may come again when none is.
 */
#include "path.h"

namespace
{

/* A power of two, so that the index is a mask away. */
uint32_t usable(uint32_t n)
{
	uint32_t p = 1;

	while (p * 2 <= n && p * 2 <= rds::kMaxPaths)
		p *= 2;
	return p;
}

} // namespace

bool rds_conn::on_hello(rds::Path &p, const rds::wire::Hello &hello)
{
	uint32_t theirs = hello.gen ? hello.paths : 1;
	uint32_t n = usable(theirs < max_paths ? theirs : max_paths);

	if (hello.index != p.index || p.index >= n) {
		net.count(RDS_S_conn_wrong_path);
		/* The peer may have come back with fewer paths, or somebody else on its host calls:
		 * path 0 is asked, and goes on if its peer is there (path_takeover.cc). */
		if (p.index >= n)
			first().post(rds::kEvKnocked);
		p.drop(RDS_DROP_PATHS);
		return false;
	}
	/* Another than path 0 knows: that has to meet it first. */
	if (p.index && !first().knows(hello.gen)) {
		net.count(RDS_S_conn_wrong_path);
		p.drop(RDS_DROP_PATHS);
		return false;
	}
	if (p.index)
		return true;
	if (fan.would_bring_back(n) && doubt_others()) {
		net.count(RDS_S_conn_takeover_refused);
		p.drop(RDS_DROP_PATHS);
		return false;
	}
	if (!agree(n, hello.caps & rds::wire::kCapOrder))
		p.drop(RDS_DROP_PATHS);
	nudge_others(true);
	return true;
}

/* Path 0 met a peer that may use @n with us.  False: what is on the others has to come back first,
 * and be it an answer to a ping. */
bool rds_conn::agree(uint32_t n, bool peer_orders)
{
	rds::Guard g(first().lock);

	orders.store(peer_orders);
	return fan.agree(n);
}

/* A peer with another number of paths is to be sent again, over path 0, all that further paths have
 * sent: not while the one lives that has it, perhaps.  False: none is up whose peer has spoken. */
bool rds_conn::doubt_others()
{
	bool any = false;

	for_each_path([&any](rds::Path &p) {
		if (p.index && p.state() == rds::PathState::kUp && !p.is_silent()) {
			p.post(rds::kEvDoubted);
			any = true;
		}
	});
	return any;
}

void rds_conn::open_gate()
{
	{
		rds::Path &p = first();
		rds::Guard g(p.lock);

		if (!fan.is_gated() || !p.delivered_all_locked(fan.gate_number()))
			return;
		fan.open_gate();
	}
	for_each_path([](rds::Path &p) {
		if (p.index)
			p.kick();
	});
}

void rds_conn::nudge_others(bool waiting)
{
	for_each_path([waiting](rds::Path &p) {
		if (p.index && (p.state() == rds::PathState::kUp ||
				(waiting && (p.has_queued() || p.dial().owes()))))
			p.post(rds::kEvKnocked);
	});
}

/* ---- what it takes of a path ---- */

/* Path 0 had no room; true: messages fan out from now on. */
bool rds_path::fan_out_locked()
{
	return full_ports_.empty() && conn.fan.no_room(queue_.next_number() - 1);
}

/*
 * No message up to number @seq can arrive any more: none is queued, and what was sent and is not
 * queued any more (it was cancelled on its way) has arrived.  On a connection that the peer has
 * met: it has then read, or thrown away, what came on the one before.
 */
bool rds_path::delivered_all_locked(uint64_t seq)
{
	rds::Message *m = queue_.front();

	/* Refused messages have other numbers now, or none. */
	if (full_ports_.owed() > seq)
		seq = full_ports_.owed();
	if (full_ports_.refused())
		return false;
	while (m && !rds::wire::get64(m->hdr.sequence))
		m = queue_.next(m);
	if (m && rds::wire::get64(m->hdr.sequence) <= seq)
		return false;
	return open_ && peer() == rds::Peer::kAcks &&
	       delivered_.up_to() >= (queue_.begun() < seq ? queue_.begun() : seq);
}

bool rds_path::has_all(uint64_t seq) const RDS_NO_TSA /* counters that anybody may read */
{
	const uint64_t has = delivered();

	return has >= seq && has >= full_ports_.owed();
}

void rds_path::call()
{
	uint64_t now = rds_now_ns();

	if (state() == rds::PathState::kDown && dial_.may_ask(now))
		want();
}

/* One that is up is asked by each knock whether it lives. */
bool rds_path::heeds_knock()
{
	return state() != rds::PathState::kDown || dial_.heeds_knock(rds_now_ns());
}

/* A further path may connect: its peer knows, or will know at once, which path it is called for. */
bool rds_path::may_connect()
{
	rds_path &p = conn.first();

	if (!index || (p.state() == rds::PathState::kUp && p.peer() == rds::Peer::kAcks &&
		       !conn.fan.is_folding()))
		return true;
	p.post(rds::kEvWant);
	return false;
}

bool rds_path::has_queued()
{
	rds::Guard g(lock);

	return !queue_.empty() || !full_ports_.empty();
}

void rds_path::begin_fold_locked(Fold &f)
{
	queue_.begin_fold(f);
}

void rds_path::take_over(rds_path &from, Fold &f)
{
	for (bool more = true; more; rds::let_others_run()) {
		rds::RcuReader rcu;
		rds::MsgList done;
		{
			rds::Guard outer(from.lock);
			rds::Guard g(lock);

			if (open_ || sending_ || from.open_ || from.sending_ ||
			    !from.full_ports_.empty())
				bug("messages move from or to a path that is up");
			/* A pong, or cancelled: of that connection. */
			more = queue_.take_some(
				f, from.queue_, [](const rds::Message &m) { return !m.sock; },
				done);
		}
		from.finish(done);
	}
}

void rds_path::end_fold(Fold &f)
{
	for (bool more = true; more; rds::let_others_run()) {
		rds::Guard g(lock);

		more = queue_.renumber_some(f);
		if (!more)
			conn.fan.folded();
	}
}
