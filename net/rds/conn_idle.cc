// SPDX-License-Identifier: GPL-2.0
/*
 * conn_idle.cc: connections that nobody uses end, and give their memory back.
 *
 * A connection between two of ours that has sent and received nothing for idle_timeout_ms ends in
 * order: each path that is up says so by the end of its stream, and both hosts read what is before
 * it.  When all paths have parted like this (rds_path.parted), neither host is owed anything: all
 * that was sent was acknowledged, and the other side knows.  Then, and only then, may a host
 * forget the numbers; who speaks first again begins with a new object and a new generation.  Each
 * host finds that out by itself.
 *
 *	kWatched --idle, all parted--> kRetiring: every path is asked to take nothing more
 *	kRetiring --one refuses--> kWatched
 *	kRetiring --all agree--> kDying --all are dead--> out of the table
 *
 * A path answers in its worker, where it also adopts and connects, so none comes up behind its
 * answer.  A sender who meets a retired path looks the connection up again.
 *
 * The sweep is one work item of the namespace: it may not wait for other work, and looks again a
 * little later instead.  A connection that did not end in order (the host died) stays.
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
	bool busy = !limit || !(c.trans.caps & RDS_CAP_DELIVERY_ACK);

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
	rds_work_init(&sweep_work_, sweep_fn);
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
		bool wanted = c.idle_phase != IdlePhase::kWatched || at_rest(c, now);

		if (wanted && n < kSweepBatch && c.refs.get_unless_zero())
			out[n++] = &c;
	});
	return n;
}

/* True: to be looked at again soon. */
bool ConnTable::look_after(Conn &c)
{
	switch (c.idle_phase) {
	case IdlePhase::kWatched:
		return part(c);
	case IdlePhase::kRetiring:
		return retired(c);
	case IdlePhase::kDying:
		return bury(c);
	}
	return false;
}

bool ConnTable::part(Conn &c)
{
	bool parted = true, parting = false;

	c.for_each_path([&](Path &p) {
		if (p.state() == PathState::kUp && p.peer() == Peer::kAcks) {
			p.post(kEvIdle);
			parting = true;
		}
		parted = parted && p.state() == PathState::kDown &&
			 (p.parted.load() || p.untouched());
	});
	if (!parted)
		return parting;
	{
		Guard g(paths_lock);

		c.retiring.store(1);
	}
	c.idle_phase = IdlePhase::kRetiring;
	c.for_each_path([](Path &p) { p.retire(); });
	return true;
}

bool ConnTable::retired(Conn &c)
{
	bool answered = true, granted = true;

	c.for_each_path([&](Path &p) {
		auto r = static_cast<Retirement>(p.retirement.load());

		answered = answered && r != Retirement::kAsked;
		granted = granted && r == Retirement::kGranted;
	});
	if (!answered)
		return true;
	if (!granted) {
		keep(c);
		return false;
	}
	c.idle_phase = IdlePhase::kDying;
	c.for_each_path([](Path &p) { p.post(kEvDie); });
	return true;
}

void ConnTable::keep(Conn &c)
{
	c.for_each_path([](Path &p) { p.reinstate(); });
	c.retiring.store(0);
	c.idle_phase = IdlePhase::kWatched;
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
		gen_.fetch_add(1);
		c.net.count(RDS_S_conn_collected);
		c.put();
	}
	return false;
}

} // namespace rds

/* ---- what it takes of a path ---- */

/* Up, and the peer does not know what we have: it is told now. */
bool rds_path::owes_ack()
{
	if (peer() != rds::Peer::kAcks || state() != rds::PathState::kUp ||
	    told_.load() == next_rx_seq.load())
		return false;
	if (!ack_due_.exchange(1))
		post(rds::kEvSend);
	return true;
}

/* No connection was ever begun. */
bool rds_path::untouched() const
{
	return !attempts.load() && !resets.load();
}

void rds_path::retire()
{
	retirement.store(static_cast<uint8_t>(rds::Retirement::kAsked));
	post(rds::kEvRetire);
}

/* In the worker: nothing is adopted or called meanwhile. */
void rds_path::step_retire()
{
	bool granted = state() == rds::PathState::kDown && (parted.load() || untouched()) &&
		       !accepted_.load_acquire();

	if (granted) {
		rds::Guard g(lock);

		granted = queue_.empty();
		if (granted)
			end_ = rds::PathEnd::kRetired;
	}
	retirement.store(static_cast<uint8_t>(granted ? rds::Retirement::kGranted :
							rds::Retirement::kRefused));
}

void rds_path::reinstate()
{
	{
		rds::Guard g(lock);

		if (end_ == rds::PathEnd::kRetired)
			end_ = rds::PathEnd::kNone;
	}
	retirement.store(static_cast<uint8_t>(rds::Retirement::kNone));
	/* What came meanwhile was not looked at. */
	post(rds::kEvAccepted | rds::kEvWant);
}
