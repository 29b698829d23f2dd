// SPDX-License-Identifier: GPL-2.0
/*
 * conn_idle.cc: connections that nobody uses end, and give their memory back: the sweep.
 *
 * A connection between two of ours that has sent and received nothing for idle_timeout_ms ends in
 * order: each path that is up says so by the end of its stream, and both hosts read what is before
 * it.  When all paths have parted like this (rds_path.parted), neither host is owed anything: all
 * that was sent was acknowledged, and the other side knows.  Then, and only then, may a host
 * forget the numbers; who speaks first again begins with a new object and a new generation.  Each
 * host finds that out by itself:
 *
 *	who ended it	its queue was empty, it had told all that it had, nothing came since, and
 *			the peer's FIN says that it was heard to its end
 *	the other	has read up to the FIN of one that had nothing to say
 *
 *	kWatched --idle, all parted--> kRetiring: every path is asked to take nothing more
 *	kRetiring --one refuses, or somebody needs it--> kWatched
 *	kRetiring --all agree--> kDying: nobody finds it --all are dead--> out of the table
 *
 * A path answers in its worker, where it also adopts and connects, so none comes up behind its
 * answer.  A user of a path that has retired (a sender, an accepted connection) calls it off; if it
 * is too late for that, there is another connection or will be.
 *
 * A connection that did not end in order (the host died) stays for its numbers, if a socket here
 * has sent over it.  Of those that only peers wanted less has to be kept: conn_strangers.cc.
 *
 * The sweep is one work item of the namespace.  For what takes long it does not wait, but looks
 * again a little later; of what it looks after at a time all that is dead shares a grace period.
 */
#include "conn_table.h"
#include "path.h"

namespace rds
{
namespace
{

bool at_rest(Conn &c, uint64_t now)
{
	uint64_t limit = uint64_t{read_once(c.net.tun.idle_timeout_ms)} * 1000 * 1000;
	uint64_t mark = 0;
	bool busy = !limit || !(c.trans.caps & RDS_CAP_DELIVERY_ACK) || !c.trans.midway ||
		    c.waiting.load();

	c.for_each_path([&](Path &p) {
		mark += p.next_tx_seq() + p.next_rx_seq();
		busy = busy || p.has_messages() || p.owes_ack();
	});
	if (mark != c.idle_mark)
		c.silent_since_ns = now;
	if (busy || mark != c.idle_mark) {
		c.idle_mark = mark;
		c.idle_since_ns = now;
		return false;
	}
	return now - c.idle_since_ns >= limit;
}

/* The care that @c needs; notes when it was used last. */
Care care_for(Conn &c, uint64_t now)
{
	bool idle = at_rest(c, now), resting = true, mute = false;

	c.idle_asked = c.idle_asked && idle;
	if (now < c.not_before_ns)
		return Care::kNone;
	c.for_each_path([&](Path &p) {
		resting = resting && p.is_resting();
		mute = mute || p.is_mute(now);
	});
	if (resting && c.is_stranger())
		return Care::kGone;
	if (mute && c.passive.load())
		return Care::kMute;
	return idle ? Care::kIdle : Care::kNone;
}

} // namespace

Status ConnTable::init(Net &net)
{
	net_ = &net;
	rds_work_init(&sweep_work_, sweep_fn, RDS_WORK_WAITS);
	rds_timer_init(&sweep_timer_, sweep_timer_fn);
	return table_.init();
}

void ConnTable::sweep_timer_fn(struct rds_timer *t)
{
	rds_work_queue(&container_of(t, &ConnTable::sweep_timer_)->sweep_work_);
}

void ConnTable::sweep_fn(struct rds_work *w)
{
	container_of(w, &ConnTable::sweep_work_)->sweep();
}

void ConnTable::start_sweep()
{
	/* It is in the table, then we look; the sweep that ends says so, and looks at the table. */
	full_fence();
	if (!sweeping_.load() && !sweeping_.exchange(true))
		rds_timer_arm(&sweep_timer_, kSweepSoonNs);
}

void ConnTable::stop_sweep()
{
	swept_.store(true);
	/* Either may start the other once more. */
	rds_timer_cancel_sync(&sweep_timer_);
	rds_work_cancel_sync(&sweep_work_);
	rds_timer_cancel_sync(&sweep_timer_);
}

void ConnTable::sweep()
{
	if (swept_.load())
		return;
	hurried_.exchange(false);

	unsigned int n = pick();
	bool soon = n == kSweepBatch;

	for (unsigned int i = 0; i < n; i++)
		soon = look_after(*picked_[i]) || soon;
	bury(n);
	for (unsigned int i = 0; i < n; i++)
		picked_[i]->put();
	if (swept_.load())
		return;
	if (!table_.count()) {
		sweeping_.store(false);
		full_fence();
		/* A task that made a connection meanwhile has found us sweeping. */
		if (table_.count())
			start_sweep();
		return;
	}

	uint64_t pause = uint64_t{read_once(net_->tun.idle_timeout_ms)} * 1000 * 1000 / 4;

	pause = pause && pause < kSweepNs ? pause : kSweepNs;
	if (excess() && pause > kStrangerSweepNs)
		pause = kStrangerSweepNs;
	rds_timer_arm(&sweep_timer_, soon || pause < kSweepSoonNs ? kSweepSoonNs : pause);
	/* hurry() may have armed it in between, and not for so late: then we see its call. */
	if (hurried_.load() && !soon)
		rds_timer_arm(&sweep_timer_, kStrangerSweepNs);
}

bool ConnTable::take(Conn &c, unsigned int &n)
{
	if (n == kSweepBatch || !c.refs.get_unless_zero())
		return false;
	picked_[n++] = &c;
	return true;
}

/* First what is on its way out: others may be waiting for that. */
unsigned int ConnTable::pick()
{
	RcuReader rcu;
	uint64_t now = rds_now_ns();
	unsigned int n = 0;

	table_.for_each([&](Conn &c) {
		if (c.asked)
			take(c, n);
	});
	table_.for_each([&](Conn &c) {
		if (c.asked)
			return;
		c.care = care_for(c, now);
		if (c.care != Care::kNone)
			take(c, n);
	});
	return excess() ? pick_evicted(n) : n;
}

/* True: to be looked at again soon. */
bool ConnTable::look_after(Conn &c)
{
	if (!c.asked)
		return part(c);
	switch (c.fate.load()) {
	case Fate::kWatched:
		keep(c);
		return false;
	case Fate::kRetiring:
		return condemn(c);
	case Fate::kDying:
		return true; /* bury() */
	}
	return false;
}

bool ConnTable::part(Conn &c)
{
	bool parted = true, parting = false, ending = false;

	c.for_each_path([&](Path &p) {
		PathState now = p.state();
		bool ends = now == PathState::kUp && p.peer_parts();

		if (ends && c.care == Care::kIdle)
			p.post(kEvIdle);
		parting = parting || ends;
		ending = ending || now == PathState::kDisconnecting;
		parted = parted && (now == PathState::kDown || now == PathState::kConnecting) &&
			 (p.parted.load() || p.unheard() ||
			  (c.passive.load() && (c.care != Care::kIdle || !p.is_calling())));
	});
	if (!parted && (c.care == Care::kMute || c.care == Care::kRoom)) {
		urge(c);
		return false;
	}
	if (!parted) {
		/* For those that may not go the others must not wait for ever. */
		if (!parting && !ending)
			c.idle_since_ns = rds_now_ns();
		/* Asked to end in order, and still up. */
		if (!ending && c.idle_asked)
			c.not_before_ns = rds_now_ns() + kSweepAgainNs;
		c.idle_asked = parting;
		return false;
	}
	if (c.care == Care::kRoom && !c.urged.exchange(true))
		net_->count(RDS_S_conn_evicted);
	c.asked = true;
	{
		/* The paths that there are now are all that there are, or it is called off. */
		Guard g(paths_lock);

		c.fate.store(Fate::kRetiring);
	}
	c.for_each_path([](Path &p) { p.retire(); });
	return true;
}

bool ConnTable::condemn(Conn &c)
{
	Fate retiring = Fate::kRetiring;
	bool answered = true, granted = true, owed = false;

	c.for_each_path([&](Path &p) {
		Retirement r = p.retirement.load();

		answered = answered && r != Retirement::kAsked;
		granted = granted && r == Retirement::kGranted;
	});
	if (!answered)
		return true;
	/* They count no further: nobody receives on them.  Before anybody may make another. */
	if (!granted || !leave_tomb(c, owed).ok() ||
	    !c.fate.compare_exchange(retiring, Fate::kDying)) {
		keep(c);
		return false;
	}
	gen_.fetch_add(1);
	net_->count(RDS_S_conn_tombstone, owed);
	c.for_each_path([](Path &p) { p.post(kEvDie); });
	return true;
}

void ConnTable::keep(Conn &c)
{
	c.fate.store(Fate::kWatched);
	c.for_each_path([](Path &p) { p.reinstate(); });
	c.asked = false;
	c.urged.store(false);
	c.idle_since_ns = rds_now_ns();
	c.not_before_ns = c.idle_since_ns + kSweepAgainNs;
}

/* Of the @n that are picked those that are dead. */
void ConnTable::bury(unsigned int n)
{
	auto dead = [](Conn &c) {
		bool all = c.fate.load() == Fate::kDying;

		c.for_each_path([&](Path &p) { all = all && p.state() == PathState::kDead; });
		return all;
	};
	unsigned int last = 0;

	/* They come to the front. */
	for (unsigned int i = 0; i < n; i++)
		if (dead(*picked_[i])) {
			Conn *c = picked_[i];

			picked_[i] = picked_[last];
			picked_[last++] = c;
		}
	if (!last)
		return;
	rds_rcu_sync();
	for (unsigned int i = 0; i < last; i++) {
		Conn &c = *picked_[i];

		c.for_each_path([](Path &p) { p.bury(); });
		/* The table itself may be about to end, and have done it. */
		if (!table_.remove(&c))
			continue;
		net_->count(RDS_S_conn_collected);
		if (c.is_stranger())
			net_->count(RDS_S_conn_stranger_gone);
		c.put();
	}
}

} // namespace rds

/* ---- what it takes of a path ---- */

bool rds_path::peer_parts() const
{
	return peer_has_gen() && conn.trans.midway;
}

/* The peer is told of all that came. */
bool rds_path::peer_knows_all() const
{
	return peer() == rds::Peer::kAcks && received_.is_told();
}

/* Up, and the peer does not know what we have: it is told now. */
bool rds_path::owes_ack()
{
	if (peer() != rds::Peer::kAcks || state() != rds::PathState::kUp || peer_knows_all())
		return false;
	if (received_.fall_due())
		post(rds::kEvSend);
	return true;
}

/* Never up, and nothing of the peer's came: that may do so before the worker knows that the path is
 * up. */
bool rds_path::unheard() const
{
	return !resets.load() && received_.none_yet();
}

/* Neither end is owed anything, or what is owed fits a tombstone. */
bool rds_path::may_retire() const
{
	if (parted.load())
		return true;
	return conn.passive.load() ? is_resting() || conn.urged.load() : unheard();
}

void rds_path::retire()
{
	retirement.store(rds::Retirement::kAsked);
	post(rds::kEvRetire);
}

/* In the worker: nothing is adopted or called meanwhile. */
void rds_path::step_retire()
{
	/* The path calls in vain, perhaps; once the call is ended, nothing comes any more. */
	if (state() == rds::PathState::kConnecting && may_retire()) {
		conn.trans.close(priv);
		go_down(RDS_DROP_IDLE);
	}

	bool may = state() == rds::PathState::kDown && may_retire() && accepted_.empty();

	{
		rds::Guard g(lock);

		if (retirement.load() != rds::Retirement::kAsked)
			return; /* called off meanwhile */
		may = may && (queue_.empty() || conn.passive.load()) && !conn.waiting.load() &&
		      !conn.is_folding(); /* others' messages are about to come here */
		retirement.store(may ? rds::Retirement::kGranted : rds::Retirement::kRefused);
		if (may) {
			end_ = rds::PathEnd::kRetired;
			dial_.stop(); /* a task that takes it back says so anew */
		}
	}
	if (may)
		disarm(); /* nobody would hear it */
}

/* Retired, and something happens: is that none of its business any more?  Worker. */
bool rds_path::stays_retired(uint32_t ev)
{
	rds::Guard g(lock);

	/* A sender took it back meanwhile, and relies on a wish that it found, one of @ev. */
	if (retirement.load() != rds::Retirement::kGranted)
		return false;
	if (ev & (rds::kEvAccepted | rds::kEvKnocked) && take_back_locked())
		return false;
	dial_.stop(); /* a wish that came, of call(), is void: the next one posts again */
	return true;
}

bool rds_path::take_back_locked()
{
	if (end_ == rds::PathEnd::kDead || !conn.call_off())
		return false;
	if (end_ == rds::PathEnd::kRetired)
		end_ = rds::PathEnd::kNone;
	retirement.store(rds::Retirement::kNone);
	return true;
}

void rds_path::reinstate()
{
	{
		rds::Guard g(lock);

		take_back_locked();
	}
	/* Connections and messages that came meanwhile were not looked at. */
	post(rds::kEvAccepted | (has_messages() ? uint32_t{rds::kEvWant} : 0));
}

bool rds_conn::call_off()
{
	rds::Fate f = rds::Fate::kRetiring;

	return fate.compare_exchange(f, rds::Fate::kWatched) || f == rds::Fate::kWatched;
}
