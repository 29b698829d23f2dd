// SPDX-License-Identifier: GPL-2.0
/*
 * path_worker.cc: how anybody reaches the worker of a path's connection, and how the path ends.
 *
 * Any context posts events; the connection's worker takes all that there are (turn() in path.cc).
 * A timer that is over posts what it was armed for.  To transmit there is a work item of the
 * path's own: it takes the token as any sender does, and waits for no turn.
 */
#include "path.h"

rds_path::rds_path(struct rds_conn &conn, unsigned int index)
	: conn(conn), index(static_cast<uint8_t>(index)),
	  lock(index ? RDS_RANK_FURTHER_PATH : RDS_RANK_PATH),
	  queue_(index ? 1 : conn.net.first_seq.load()), delivered_(queue_.next_number())
{
	rds_work_init(&send_work_, send_fn, RDS_WORK_LEAF);
	received_.begin(conn.trans.caps & RDS_CAP_DELIVERY_ACK);
}

rds_path::~rds_path()
{
	/* One that was never seen is not dead, but has nothing either. */
	const bool idle = state() == rds::PathState::kDead || state() == rds::PathState::kDown;

	rds::bug_on(!idle || !queue_.empty() || open_ || sending_ || !accepted_.empty(),
		    "a path is destroyed that is in use");
}

/* ---- from any context (timers: hardirq) ---- */

void rds_path::post(uint32_t events)
{
	rds::bug_on(events & rds::kOwnEvents, "an event of the worker's own is posted");
	events_.fetch_or(events);
	conn.wake_worker();
}

void rds_path::kick()
{
	/* The path is reaped, its work cancelled, a grace period after its death. */
	rds::RcuReader rcu;

	if (state() != rds::PathState::kDead)
		rds_work_queue(&send_work_, conn.net.os);
}

void rds_path::drop(enum rds_drop_reason why)
{
	/* That it is to end in order is no news for one that ends, and must not hide what is; a
	 * peer that said nonsense and hangs up is one that said nonsense. */
	if (why == RDS_DROP_ADMIN)
		end_in_order(why);
	else if (drop_reason_.load() != RDS_DROP_PROTOCOL)
		drop_reason_.store(why);
	post(rds::kEvDrop);
}

void rds_path::bug(const char *what)
{
	rds_bug(what);
	drop(RDS_DROP_ERROR);
}

void rds_path::end_in_order(unsigned int why)
{
	uint32_t none = RDS_DROP_NONE;

	(void)drop_reason_.compare_exchange(none, why);
}

bool rds_path::accepted(void *handle)
{
	/* The newest is the one that the peer still has; a dead path has none. */
	discard(accepted_.put(static_cast<rds::Accepted *>(handle)));
	/* It waits, then we look whether the connection retires, which looks whether something
	 * waits after it has said so. */
	rds::full_fence();

	const bool in_time = conn.life.call_off();

	post(rds::kEvAccepted);
	return in_time;
}

void rds_path::pause_recv()
{
	pause_timer_.arm(rds::RecvPause::end());
}

void rds_path::send_fn(struct rds_work *w)
{
	rds_path *p = rds::container_of(w, &rds_path::send_work_);

	rds::Guard sleeps(rds::kMaySleep);

	if (p->take_token())
		p->transmit();
}

/* ---- timers; hard interrupt ---- */

#define RDS_X(name, owner, text)                                                                   \
	void rds_path::name##_timer_fn(struct rds_timer *t)                                        \
	{                                                                                          \
		rds::container_of(rds::TimerOf<rds::owner>::Type::of(t), &rds_path::name##_timer_) \
			->name##_over();                                                           \
	}
RDS_PATH_TIMERS(RDS_X)
#undef RDS_X

void rds_path::state_over()
{
	post(rds::kEvTimer);
}

void rds_path::pause_over()
{
	post(rds::kEvRecvRetry);
}

void rds_path::memory_over()
{
	memory_timer_.over();
	post(rds::kEvHello);
	look_at_ports();
}

/* ---- the worker ---- */

/* A timer event of an earlier state must not be taken for this one's. */
void rds_path::disarm()
{
	state_timer_.cancel();
	events_.fetch_and(~uint32_t{rds::kEvTimer});
}

void rds_path::arm(rds::Due<rds::StateLimit> due)
{
	disarm();
	state_timer_.arm(due);
}

/* ---- the end ---- */

void rds_path::reap()
{
	rds::bug_on(state() != rds::PathState::kDead, "a path is reaped alive");
#define RDS_X(name, owner, text) name##_timer_.cancel();
	RDS_PATH_TIMERS(RDS_X)
#undef RDS_X
	rds_work_cancel_sync(&send_work_);
}
