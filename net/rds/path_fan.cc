// SPDX-License-Identifier: GPL-2.0
/*
 * path_fan.cc: one connection over several paths: fan-out, and back to one.
 *
 * Fanning out must not let a message overtake an older one of the same socket that is still on
 * path 0: what is new is queued on its own path at once, but that path sends no message before path
 * 0 has none left of those that it had (the gate).  That is delivery, not a TCP acknowledgement:
 * only a peer that acknowledges has several paths.
 *
 * Folding brings every queue behind what path 0 had then, and before what it got since, with new
 * numbers.  Path 0 and the path that gives are both down meanwhile, so nothing of this is with a
 * transport.  It happens when the peer is another one than before: mainline's, or with other
 * settings.
 */
#include "path.h"

#include "connection.h"

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

bool rds_conn::met(rds::Path &p, const rds::wire::Hello &hello)
{
	uint32_t theirs = hello.gen ? hello.paths : 1;
	uint32_t n = usable(theirs < max_paths ? theirs : max_paths);

	if (hello.index != p.index || p.index >= n) {
		net.count(RDS_S_conn_wrong_path);
		/* It is not whom path 0 met: that has to ask again. */
		if (p.index >= n)
			first().drop(RDS_DROP_PATHS);
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
	bool same = agreed.load() == n;

	orders.store(peer_orders);
	fold_wanted.store(!same && agreed.load() > 1);
	if (fold_wanted.load())
		return false;
	agreed.store_release(n);
	return true;
}

void rds_conn::open_gate()
{
	{
		rds::Path &p = first();
		rds::Guard g(p.lock);

		if (!gated.load() || !p.delivered_all_locked(fan_seq))
			return;
		gated.store(false);
	}
	for_each_path([](rds::Path &p) {
		if (p.index)
			p.post(rds::kEvSend);
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

void rds_conn::begin_fold()
{
	rds::Path *others[rds::kMaxPaths];
	uint32_t n = 0;
	{
		rds::Path &p = first();
		rds::Guard g(p.lock);

		fold_seq = p.skip_number_locked();
		gated.store(false);
		n_paths.store_release(1);
		agreed.store(1);
	}
	net.count(RDS_S_conn_fold);
	/* A path that is made now stays empty: enqueue() asks again. */
	for_each_path([&](rds::Path &p) {
		if (p.index)
			others[n++] = &p;
	});
	folding.store(n);
	for (uint32_t i = 0; i < n; i++)
		others[i]->post(rds::kEvFold);
}

void rds_conn::folded()
{
	rds::Path &p = first();
	{
		/* Path 0 connects as soon as none folds: each number is there once by then. */
		rds::Guard g(p.lock);
		uint32_t left = folding.load() - 1;

		rds::bug_on(left >= rds::kMaxPaths, "a path folds that was not counted");
		if (!left)
			p.renumber_locked(fold_seq);
		folding.store(left);
		if (left)
			return;
	}
	p.post(rds::kEvWant);
}

/* ---- what it takes of a path ---- */

/*
 * Path 0 had no room; true: messages fan out from now on.  One connection is the cheapest way as
 * long as it has room: who sends next finds company there.  One that is full for some time is the
 * network's or a processor's limit, and more of them go further.
 */
bool rds_path::fan_out_locked()
{
	if (conn.n_paths.load() > 1 || conn.agreed.load() == 1 || !full_ports_.empty() ||
	    ++conn.blocks < rds::kFanBlocks)
		return false;
	conn.blocks = 0;
	conn.fan_seq = queue_.next_number() - 1;
	conn.gated.store(true);
	conn.n_paths.store_release(conn.agreed.load());
	return true;
}

/*
 * No message up to number @seq can arrive any more: none is queued, and what was sent and is not
 * queued any more (it was cancelled on its way) has arrived.  On a connection that the peer has
 * met: it has then read, or thrown away, what came on the one before.
 */
bool rds_path::delivered_all_locked(uint64_t seq)
{
	rds::Message *m = queue_.front();

	while (m && !rds::wire::get64(m->hdr.sequence))
		m = queue_.next(m);
	if (m && rds::wire::get64(m->hdr.sequence) <= seq)
		return false;
	return open_ && peer() == rds::Peer::kAcks &&
	       delivered_.up_to() >= (queue_.begun() < seq ? queue_.begun() : seq);
}

void rds_path::call()
{
	uint64_t now = rds_now_ns();

	if (state() == rds::PathState::kDown && dial_.may_ask(now))
		want();
}

/* A further path may connect: its peer knows, or will know at once, which path it is called for. */
bool rds_path::led()
{
	rds_path &p = conn.first();

	if (!index || (p.state() == rds::PathState::kUp && p.peer() == rds::Peer::kAcks &&
		       !conn.is_folding()))
		return true;
	p.post(rds::kEvWant);
	return false;
}

bool rds_path::has_queued()
{
	rds::Guard g(lock);

	return !queue_.empty() || !full_ports_.empty();
}

/* Path 0 takes what @from has, to stand where number @seq would.  Neither has a connection. */
void rds_path::take_over(rds_path &from, uint64_t seq)
{
	rds::RcuReader rcu;
	rds::MsgList done;
	{
		rds::Guard outer(from.lock);
		rds::Guard g(lock);

		const bool dead = end_ == rds::PathEnd::kDead;

		bug_on(open_ || sending_ || from.open_ || from.sending_,
		       "messages move from or to a path that is up");
		/* A pong, or cancelled: of that connection.  Or of none. */
		queue_.take_over(
			from.queue_, seq, [dead](const rds::Message &m) { return !m.sock || dead; },
			done);
	}
	from.finish(done);
}

/* Worker: all that this path has is path 0's from here on. */
uint32_t rds_path::step_fold(uint32_t ev)
{
	if (!quiesce())
		return ev;
	close_down(RDS_DROP_PATHS);
	reset_queue(false);
	disarm();
	discard(accepted_.take());
	dial_.stop();
	dial_.owe_nothing();
	conn.first().take_over(*this, conn.fold_seq);
	/* The peer whose numbers these were is no more. */
	parted.store(true);
	conn.folded();
	if (ev & rds::kEvRetire)
		step_retire();
	return 0;
}
