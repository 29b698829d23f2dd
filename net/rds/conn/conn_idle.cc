// SPDX-License-Identifier: GPL-2.0
/*
 * conn_idle.cc: connections that nobody uses end, and give their memory back: the sweep.
 *
 * A connection between two of ours that has sent and received nothing for idle_timeout_ms ends in
 * order: each path that is up says so by the end of its stream, and both hosts read what is before
 * it.  When all paths have drained like this (rds_path.drained), neither host is owed anything: all
 * that was sent was acknowledged, and the other side knows.  Then, and only then, may a host
 * forget the numbers; who speaks first again begins with a new object and a new generation.  Each
 * host finds that out by itself:
 *
 *	who ended it	its queue was empty, it had told all that it had, nothing came since, and
 *			the peer's FIN says that it was heard to its end
 *	the other	has read up to the FIN of one that had nothing to say
 *
 * The sweep is one work item of the namespace, which passes over the table in steps.  It finds the
 * connections that may have to go, and hands each to its worker (rds_conn::look_after()).  That
 * ends in order what is up, and decides in one turn when all paths have drained: it also adopts and
 * connects, so no path comes up behind the decision.  A sender or an accepted connection that needs
 * it calls it off (lifecycle.h); if it is too late for that, there is another connection or will
 * be.  Those that are dead wait for a grace period together, and are reaped.
 *
 * Loopback's ends are two connections of one namespace.  Neither owes the other anything when its
 * own queue is empty, so one that is down may go, unless the other is up, which delivers to it and
 * has a reference.  Each goes down by itself, and the one that was held goes with a later look.
 *
 * Of a user that was refused a connection for it has too many (users.h), some that were idle for
 * kDueIdleNs end as well.
 *
 * A connection that did not end in order (the host died) stays for its numbers, if a socket here
 * has sent over it.  Of those that only peers wanted less has to be kept: conn_strangers.cc.
 */
#include "conn_table.h"
#include "../path/path.h"

namespace rds
{
namespace
{

bool is_idle(Conn &c, uint64_t now)
{
	uint64_t limit = uint64_t{read_once(c.net.tun.idle_timeout_ms)} * 1000 * 1000;
	uint64_t mark = 0;
	const bool tells = c.trans.caps & RDS_CAP_DELIVERY_ACK && c.trans.midway;
	bool busy = !limit || c.waiting.load();
	bool gone = c.passive.load(); /* only its peer wanted it, and does no more */

	c.for_each_path([&](Path &p) {
		mark += p.next_tx_seq() + p.next_rx_seq();
		busy = busy || p.has_messages() || p.owes_ack();
		gone = gone && p.is_resting();
	});
	busy = busy || !(tells || c.is_local() || gone);
	return c.life.is_idle(mark, busy, limit, now) ||
	       (c.user && c.user->due.load() && c.life.is_idle(mark, busy, kDueIdleNs, now) &&
		Users::take_due(*c.user));
}

/* No care is needed for a peer that has died in the midst of a frame: TCP may take its end for a
 * pause for ever. */
void end_stalled(Conn &c, uint64_t now)
{
	if (!c.trans.wants)
		return;
	c.for_each_path([&](Path &p) {
		if (!p.is_stalled(now))
			return;
		c.net.count(RDS_S_conn_stalled);
		p.drop(RDS_DROP_STALLED);
	});
}

/* Messages wait for the first frame of a peer that has called, and while it is up nobody calls it:
 * so whoever reaches our port from the peer's host could stop them. */
void end_silent(Conn &c, uint64_t now)
{
	c.for_each_path([&](Path &p) {
		if (!p.holds_up(now))
			return;
		c.net.count(RDS_S_conn_evicted);
		p.drop(RDS_DROP_EVICTED);
	});
}

/* The care that @c needs; notes when it was used last. */
Care care_for(Conn &c, uint64_t now)
{
	bool idle = is_idle(c, now), resting = true, mute = false;

	if (c.life.rests(now))
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
	rds_work_init(&reap_work_, reap_fn, RDS_WORK_WAITS);
	rds_work_init(&maps_work_, maps_fn, RDS_WORK_LEAF);
	rds_work_init(&addrs_work_, addrs_fn, RDS_WORK_WAITS);
	rds_timer_init(&addrs_timer_, addrs_timer_fn);
	rds_timer_init(&sweep_timer_, sweep_timer_fn);
	return table_.init();
}

void ConnTable::sweep_timer_fn(struct rds_timer *t)
{
	ConnTable *table = container_of(t, &ConnTable::sweep_timer_);

	rds_work_queue(&table->sweep_work_, table->net_->os);
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
	/* Either may start the other once more, a work that had looked before. */
	rds_timer_cancel_sync(&sweep_timer_);
	rds_work_cancel_sync(&sweep_work_);
	rds_timer_cancel_sync(&sweep_timer_);
	rds_work_cancel_sync(&sweep_work_);
	rds_work_cancel_sync(&addrs_work_); /* it begins no timer any more */
	rds_timer_cancel_sync(&addrs_timer_);
	rds_work_cancel_sync(&addrs_work_);
	rds_work_cancel_sync(&reap_work_);
	rds_work_cancel_sync(&maps_work_);
	destroy(pass_.shares);
	pass_.shares = nullptr;
}

void ConnTable::sweep()
{
	if (swept_.load())
		return;
	if (!pass_.at && !pass_.evicts) {
		Guard sleeps(kMaySleep); /* a work item */

		hurried_.exchange(false);
		prepare();
	}
	switch (step()) {
	case Step::kMore:
		rds_work_queue(&sweep_work_, net_->os);
		return;
	case Step::kPause:
		rds_timer_arm(&sweep_timer_, kSweepSoonNs);
		return;
	case Step::kEnd:
		destroy(pass_.shares);
		pass_ = Pass();
		await_next_pass();
		return;
	}
}

/* The table is looked through, once, and once more if there is no other way to make room: a bit of
 * it. */
ConnTable::Step ConnTable::step()
{
	RcuReader rcu;
	const uint64_t now = rds_now_ns();

	for (unsigned int n = 0; pass_.at < kWalkEnd || make_room(); n++) {
		if (pass_.handed_over >= kSweepBatch) {
			pass_.handed_over = 0;
			return Step::kPause;
		}
		if (n == kSweepStep)
			return Step::kMore;
		pass_.at = table_.walk(pass_.at, [&](Conn &c) {
			if (pass_.evicts)
				evict(c, now);
			else
				look_at(c, now);
		});
	}
	return Step::kEnd;
}

void ConnTable::look_at(Conn &c, uint64_t now)
{
	const bool in_use = c.life.is_in_use(), passive = c.passive.load();

	end_stalled(c, now);
	end_silent(c, now);
	const Care care = in_use ? care_for(c, now) : Care::kNone;

	if (care != Care::kNone)
		hand_over(c, care);
	if (passive &&
	    (!in_use || care == Care::kGone || (c.life.is_evicted() && c.life.rests(now))))
		pass_.going++;
	else if (passive && care == Care::kNone)
		rank(c, now);
}

void ConnTable::await_next_pass()
{
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
	rds_timer_arm(&sweep_timer_, pause < kSweepSoonNs ? kSweepSoonNs : pause);
	/* hurry() may have armed it in between, and not for so late: then we see its call. */
	if (hurried_.load())
		rds_timer_arm(&sweep_timer_, kStrangerSweepNs);
}

void ConnTable::hand_over(Conn &c, Care care)
{
	pass_.handed_over++;
	c.life.hand_over(care);
	c.wake_worker();
}

/* ---- the dead ---- */

void ConnTable::reap_later(Conn &c)
{
	c.refs.get();
	c.next_dead = dead_.load();
	while (!dead_.compare_exchange(c.next_dead, &c))
		;
	rds_work_queue(&reap_work_, net_->os);
}

void ConnTable::reap_fn(struct rds_work *w)
{
	Guard sleeps(kMaySleep);

	container_of(w, &ConnTable::reap_work_)->reap();
}

/* All that are dead share a grace period. */
void ConnTable::reap()
{
	Conn *next, *c = dead_.exchange(nullptr);

	if (c)
		rds_rcu_sync();
	for (; c; c = next) {
		next = c->next_dead;
		c->reap();
		bug_on(!table_.remove(c), "a connection is reaped that the table has not");
		if (c->life.is_dying()) {
			net_->count(RDS_S_conn_collected);
			net_->count(RDS_S_conn_stranger_gone, c->is_stranger());
		} else {
			outdate(); /* no sooner: a socket that closes finds its messages */
		}
		c->put(); /* ours */
		c->put(); /* the table's */
	}
}

} // namespace rds

/* ---- what it takes of a path ---- */

bool rds_path::peer_drains() const
{
	return conn.is_local() || (peer_has_gen() && conn.trans.midway);
}

/* The peer is told of all that came; loopback's end was when it came. */
bool rds_path::peer_knows_all() const
{
	return conn.is_local() || (peer() == rds::Peer::kAcks && received_.all_acked());
}

/* Up, and the peer does not know what we have: it is told now. */
bool rds_path::owes_ack()
{
	if (peer() != rds::Peer::kAcks || state() != rds::PathState::kUp || peer_knows_all())
		return false;
	if (received_.fall_due())
		kick();
	return true;
}

/* The mark says where the stream is: 21 bits of what is missing, the others of the number that
 * comes next, so no steady stream is taken for one that stands. */
bool rds_path::is_stalled(uint64_t now)
{
	const uint32_t now_ms = static_cast<uint32_t>(now / (1000 * 1000));
	const uint32_t want = state() == rds::PathState::kUp ? conn.trans.wants(priv) : 0;
	const uint32_t mark = want ? want | static_cast<uint32_t>(next_rx_seq()) << 21 : 0;

	if (mark && mark == stall_mark)
		return now_ms - stalled_since_ms >= rds::kStallNs / (1000 * 1000);
	stall_mark = mark;
	stalled_since_ms = now_ms;
	return false;
}

/* Never up, and nothing of the peer's came: that may do so before the worker knows that the path is
 * up. */
bool rds_path::unheard() const
{
	return !resets.load() && received_.none_yet();
}

bool rds_path::has_drained(rds::Care care) const
{
	rds::PathState now = state();

	/* A call of loopback's is never in vain: it is up in a moment. */
	if (conn.is_local())
		return now == rds::PathState::kDown;
	if (now != rds::PathState::kDown && now != rds::PathState::kConnecting)
		return false;
	return drained.load() || unheard() ||
	       (conn.passive.load() && (care != rds::Care::kIdle || !is_calling()));
}

/* Neither end is owed anything, or what is owed fits a tombstone. */
bool rds_path::may_retire() const
{
	if (drained.load() || conn.is_local())
		return true;
	return conn.passive.load() ? is_resting() || conn.life.is_evicted() : unheard();
}

bool rds_path::is_free()
{
	if (state() != rds::PathState::kDown || !may_retire() || !accepted_.empty())
		return false;

	rds::Guard g(lock);

	rds::bug_on(!full_ports_.empty(), "messages wait for a port on a path that is down");
	return queue_.empty() || conn.passive.load();
}
