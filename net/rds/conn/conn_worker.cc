// SPDX-License-Identifier: GPL-2.0
/*
 * conn_worker.cc: the turns of a connection: its paths' events, coming back to one path, its end.
 *
 * One work item takes all that was posted, path by path: the further paths first and path 0 last,
 * as messages move.  The fold, the end of an idle connection and its death are the whole
 * connection's: each is one turn in which nothing else happens.  They wait for nobody but the
 * senders that have a path's token: a turn that meets one ends, and the token's return begins the
 * next (rds_path::release_token()).
 */
#include "conn_table.h"
#include "../path/path.h"

rds_conn::rds_conn(rds::Net &net, const struct rds_transport &t, const struct rds_addr &laddr,
		   const struct rds_addr &faddr, uint32_t scope, uint8_t tos)
	: refs(1), net(net), trans(t), laddr(laddr), faddr(faddr), scope(scope),
	  gen(rds_random() | 1), max_paths(t.max_paths), tos(tos),
	  fan(laddr.w[0] != faddr.w[0] ? laddr.w[0] < faddr.w[0] : laddr.w[1] < faddr.w[1])
{
	rds_work_init(&work_, work_fn, RDS_WORK_LEAF);
}

void rds_conn::kill()
{
	killed_.store(true);
	wake_worker();
}

void rds_conn::wake_worker()
{
	/* It is reaped, its work cancelled, a grace period after its death. */
	rds::RcuReader rcu;

	if (!dead_.load())
		rds_work_queue(&work_, net.os);
}

void rds_conn::work_fn(struct rds_work *w)
{
	rds::Guard turn(rds::kWorker), sleeps(rds::kMaySleep);

	rds::container_of(w, &rds_conn::work_)->run();
}

void rds_conn::run()
{
	if (killed_.load() && !dead_.load() && !die())
		return;
	for (unsigned int i = rds::kMaxPaths; i-- > 0;) {
		rds::Path *p = paths[i].load_acquire();

		/* Path 0 has to have the others' messages before it does anything. */
		if (p && (i || fold_if_due()))
			p->turn();
	}
	(void)fold_if_due(); /* path 0 has gone down for it just now */
	look_after();
}

/* Path @index and those above it take no new sender; false while one is at it. */
bool rds_conn::quiesce_from(unsigned int index)
{
	bool quiet = true;

	for (unsigned int i = index; i < rds::kMaxPaths; i++)
		if (rds::Path *p = paths[i].load_acquire())
			quiet = p->quiesce() && quiet;
	return quiet;
}

/* Path 0 is down, and the others are to give it their queues.  False: a sender is at it. */
bool rds_conn::fold_if_due()
{
	if (!fan.is_folding() || first().state() != rds::PathState::kDown)
		return true;
	if (!quiesce_from(1))
		return false;
	fold();
	return true;
}

void rds_conn::fold()
{
	rds::Path &to = first();
	rds::SendQueue::Fold f;
	{
		/* A path that is made after this stays empty: enqueue() asks again. */
		rds::Guard table(net.conns.paths_lock);
		rds::Guard g(to.lock);

		to.begin_fold_locked(f);
		fan.close();
	}
	net.count(RDS_S_conn_fold);
	for (unsigned int i = 1; i < rds::kMaxPaths; i++)
		if (rds::Path *p = paths[i].load_acquire()) {
			p->step_own(RDS_EV_fold);
			to.take_over(*p, f);
		}
	to.end_fold(f);
	to.post(rds::kEvWant);
}

/* False: a sender is at it. */
bool rds_conn::die()
{
	if (!quiesce_from(0))
		return false;
	for (unsigned int i = rds::kMaxPaths; i-- > 0;)
		if (rds::Path *p = paths[i].load_acquire())
			p->step_own(RDS_EV_die);
	if (!dead_.exchange(true))
		net.conns.reap_later(*this);
	return true;
}

/* The sweep has found that it may have to go (conn_idle.cc), before this turn or an earlier one. */
void rds_conn::look_after()
{
	const bool first = life.take();

	if (!life.is_looked_after())
		return;

	const rds::Care care = life.care();

	switch (drain(care, first)) {
	case Draining::kEnding:
		break; /* the end of the last path is a turn, which looks again */
	case Draining::kStays:
		life.give_back();
		break;
	case Draining::kDrained:
		if (!retire(care))
			life.keep(rds_now_ns(), rds::kSweepAgainNs);
		else if (!die())
			rds::bug_on(true, "a connection retires that sends");
		break;
	}
}

/* Whether no path is up, and what each owes or is owed may be forgotten.  Those that are up and
 * idle end in order; those of a connection that is to make room end. */
rds_conn::Draining rds_conn::drain(rds::Care care, bool first)
{
	bool drained = true, refused = false, ending = false;

	for (auto &at : paths) {
		rds::Path *p = at.load_acquire();

		if (!p)
			continue;
		if (first && care == rds::Care::kIdle && p->peer_drains())
			p->step_own(RDS_EV_idle);
		refused = refused || (p->state() == rds::PathState::kUp && p->peer_drains());
		ending = ending || p->state() == rds::PathState::kDisconnecting;
		drained = drained && p->has_drained(care);
	}
	if (drained)
		return Draining::kDrained;

	const uint64_t now = rds_now_ns();

	if (care == rds::Care::kMute || care == rds::Care::kRoom)
		evict(care, now);
	else if (ending)
		return Draining::kEnding;
	else if (refused)
		life.rest_until(now + rds::kSweepAgainNs);
	else
		life.used(now); /* for those that may not go the others must not wait for ever */
	return Draining::kStays;
}

/* Up, or calling: it is to end.  One of ours ends in order, if it does when it is first asked. */
void rds_conn::evict(rds::Care care, uint64_t now)
{
	const bool first = life.evict(), in_order = first && care != rds::Care::kMute;

	if (first)
		net.count(RDS_S_conn_evicted);
	/* Then it is down, or refuses; or is at it, for kDrainTimeoutNs at most. */
	life.rest_until(now + rds::kStrangerSweepNs);
	for (auto &at : paths) {
		rds::Path *p = at.load_acquire();

		if (!p)
			continue;
		if (p->state() == rds::PathState::kUp && p->peer_drains() && in_order)
			p->step_own(RDS_EV_idle);
		else if (p->state() == rds::PathState::kUp ||
			 p->state() == rds::PathState::kConnecting)
			p->drop(RDS_DROP_EVICTED);
	}
}

/* Of loopback: it delivers here.  Or a task has looked the connection up, and is about to. */
bool rds_conn::is_other_end_up() const
{
	return is_local() && !refs.only_one();
}

/* All paths have drained.  True: nothing keeps the connection, and nobody finds it any more. */
bool rds_conn::retire(rds::Care care)
{
	bool free = true, owed = false;

	if (care == rds::Care::kRoom && life.evict())
		net.count(RDS_S_conn_evicted);
	{
		/* The paths that there are now are all that there are, or it is called off. */
		rds::Guard g(net.conns.paths_lock);

		life.retire();
	}
	/* Then we look whether something was accepted (rds_path::accepted()), or loopback's other
	 * end has come (rds_conn_get()). */
	rds::full_fence();
	for (auto &at : paths)
		if (rds::Path *p = at.load_acquire()) {
			p->step_own(RDS_EV_retire);
			free = free && p->is_free();
		}
	if (!free || waiting.load() || fan.is_folding() || is_other_end_up())
		return false;
	/* Its paths count no further: nobody receives on them.  Before another may be made. */
	if (!net.conns.leave_tomb(*this, owed).ok() || !life.die())
		return false;
	net.conns.outdate();
	net.count(RDS_S_conn_tombstone, owed);
	return true;
}

/* ---- the end ---- */

void rds_conn::await_turn()
{
	rds_work_flush(&work_);
}

/* A task that posts sees that it is dead from now on; one that saw less has posted before the grace
 * period ended. */
void rds_conn::reap()
{
	rds::bug_on(!dead_.load(), "a connection is reaped alive");
	for_each_path([](rds::Path &p) RDS_NO_TSA { p.reap(); });
	rds_work_cancel_sync(&work_);
}
