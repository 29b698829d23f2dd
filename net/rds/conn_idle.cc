// SPDX-License-Identifier: GPL-2.0
/*
 * conn_idle.cc: connections that nobody uses end, and give their memory back.
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
 * answer.  Who needs a path that has retired (a sender, what was accepted) calls it off; if it is
 * too late for that, there is another connection or will be.
 *
 * The sweep is one work item of the namespace.  For what takes long it does not wait, but looks
 * again a little later.  A connection that did not end in order (the host died) stays.
 */
#include "net.h"

namespace rds
{
namespace
{

/* Of those that are looked after, at a time. */
constexpr unsigned int kSweepBatch = 32;

bool at_rest(Conn &c, uint64_t now)
{
	uint64_t limit = uint64_t{read_once(c.net.tun.idle_timeout_ms)} * 1000 * 1000;
	uint64_t mark = 0;
	bool busy = !limit || !(c.trans.caps & RDS_CAP_DELIVERY_ACK) || !c.trans.midway ||
		    c.waiting.load();

	c.for_each_path([&](Path &p) {
		mark += p.next_tx_seq() + p.next_rx_seq.load();
		busy = busy || p.has_queued() || p.owes_ack();
	});
	if (busy || mark != c.idle_mark) {
		c.idle_mark = mark;
		c.idle_since_ns = now;
		return false;
	}
	return now - c.idle_since_ns >= limit;
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
	if (!sweeping_.load() && !sweeping_.exchange(1))
		rds_timer_arm(&sweep_timer_, kSweepSoonNs);
}

void ConnTable::stop_sweep()
{
	swept_.store(1);
	/* Either may start the other once more. */
	rds_timer_cancel_sync(&sweep_timer_);
	rds_work_cancel_sync(&sweep_work_);
	rds_timer_cancel_sync(&sweep_timer_);
}

void ConnTable::sweep()
{
	Conn *idle[kSweepBatch];
	unsigned int n = pick_idle(idle);
	bool soon = n == kSweepBatch;

	for (unsigned int i = 0; i < n; i++) {
		soon = look_after(*idle[i]) || soon;
		idle[i]->put();
	}
	if (swept_.load())
		return;
	if (!table_.count()) {
		sweeping_.store(0);
		full_fence();
		/* Who made one meanwhile has found us sweeping. */
		if (table_.count())
			start_sweep();
		return;
	}

	uint64_t pause = uint64_t{read_once(net_->tun.idle_timeout_ms)} * 1000 * 1000 / 4;

	pause = pause && pause < kSweepNs ? pause : kSweepNs;
	rds_timer_arm(&sweep_timer_, soon || pause < kSweepSoonNs ? kSweepSoonNs : pause);
}

/* With a reference each. */
unsigned int ConnTable::pick_idle(Conn **out)
{
	RcuReader rcu;
	uint64_t now = rds_now_ns();
	unsigned int n = 0;

	table_.for_each([&](Conn &c) {
		bool wanted = c.asked || at_rest(c, now);

		if (wanted && n < kSweepBatch && c.refs.get_unless_zero())
			out[n++] = &c;
	});
	return n;
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
		return bury(c);
	}
	return false;
}

bool ConnTable::part(Conn &c)
{
	bool parted = true, parting = false;

	c.for_each_path([&](Path &p) {
		PathState now = p.state();
		bool ends = now == PathState::kUp && p.peer_parts();

		if (ends)
			p.post(kEvIdle);
		parting = parting || ends || now == PathState::kDisconnecting;
		parted = parted && (now == PathState::kDown || now == PathState::kConnecting) &&
			 (p.parted.load() || p.unheard());
	});
	if (!parted) {
		/* For those that may not go the others must not wait for ever. */
		if (!parting)
			c.idle_since_ns = rds_now_ns();
		return false;
	}
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
	bool answered = true, granted = true;

	c.for_each_path([&](Path &p) {
		Retirement r = p.retirement.load();

		answered = answered && r != Retirement::kAsked;
		granted = granted && r == Retirement::kGranted;
	});
	if (!answered)
		return true;
	if (!granted || !c.fate.compare_exchange(retiring, Fate::kDying)) {
		keep(c);
		return false;
	}
	gen_.fetch_add(1);
	c.for_each_path([](Path &p) { p.post(kEvDie); });
	return true;
}

void ConnTable::keep(Conn &c)
{
	c.fate.store(Fate::kWatched);
	c.for_each_path([](Path &p) { p.reinstate(); });
	c.asked = false;
	c.idle_since_ns = rds_now_ns();
}

bool ConnTable::bury(Conn &c)
{
	bool dead = true;

	c.for_each_path([&](Path &p) { dead = dead && p.state() == PathState::kDead; });
	if (!dead)
		return true;
	rds_rcu_sync();
	c.for_each_path([](Path &p) { p.bury(); });
	/* The table itself may be about to end, and have done it. */
	if (table_.remove(&c)) {
		c.net.count(RDS_S_conn_collected);
		c.put();
	}
	return false;
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
	return peer() == rds::Peer::kAcks && told_.load() == have_.load();
}

/* Up, and the peer does not know what we have: it is told now. */
bool rds_path::owes_ack()
{
	if (peer() != rds::Peer::kAcks || state() != rds::PathState::kUp || peer_knows_all())
		return false;
	if (!ack_due_.exchange(1))
		post(rds::kEvSend);
	return true;
}

/* Nothing of the peer's was ever delivered.  What comes first may do so before the worker knows
 * that the path is up. */
bool rds_path::unheard() const
{
	return !resets.load() && !next_rx_seq.load();
}

void rds_path::retire()
{
	retirement.store(rds::Retirement::kAsked);
	post(rds::kEvRetire);
}

/* In the worker: nothing is adopted or called meanwhile. */
void rds_path::step_retire()
{
	/* Who calls in vain, perhaps; once that is ended, nothing comes any more. */
	if (state() == rds::PathState::kConnecting && (parted.load() || unheard())) {
		conn.trans.close(priv);
		go_down(RDS_DROP_IDLE);
	}

	bool may = state() == rds::PathState::kDown && (parted.load() || unheard()) &&
		   !accepted_.load_acquire();

	{
		rds::Guard g(lock);

		if (retirement.load() != rds::Retirement::kAsked)
			return; /* called off meanwhile */
		may = may && queue_.empty() && !conn.waiting.load();
		retirement.store(may ? rds::Retirement::kGranted : rds::Retirement::kRefused);
		if (may) {
			end_ = rds::PathEnd::kRetired;
			wanted_.store(0); /* who takes it back says so anew */
		}
	}
	if (may) {
		disarm(); /* nobody would hear it */
		retry_armed_ = false;
	}
}

/* Retired, and something happens: is that none of its business any more?  Worker. */
bool rds_path::stays_retired(uint32_t ev)
{
	rds::Guard g(lock);

	return !(ev & (rds::kEvAccepted | rds::kEvKnocked)) || !take_back_locked();
}

bool rds_path::take_back_locked()
{
	if (!conn.call_off())
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
	/* What came meanwhile was not looked at. */
	post(rds::kEvAccepted | rds::kEvWant);
}

bool rds_conn::call_off()
{
	rds::Fate f = rds::Fate::kRetiring;

	return fate.compare_exchange(f, rds::Fate::kWatched) || f == rds::Fate::kWatched;
}
