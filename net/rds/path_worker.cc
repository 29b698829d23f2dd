// SPDX-License-Identifier: GPL-2.0
/*
 * path_worker.cc: how anybody reaches the worker of a path, and how the path ends.
 *
 * Any context posts events; the work item takes all that there are and makes one turn of them
 * (step() in path.cc).  Each timer posts the event of what it was armed for.
 */
#include "path.h"

#include "connection.h"

rds_path::rds_path(struct rds_conn &conn, unsigned int index)
	: conn(conn), index(static_cast<uint8_t>(index)),
	  lock(index ? RDS_RANK_LANE : RDS_RANK_PATH),
	  queue_(index ? 1 : conn.net.first_seq.load()), delivered_(queue_.next_number())
{
	rds_work_init(&work_, work_fn, RDS_WORK_LEAF);
	rds_timer_init(&timer_, timer_fn);
	rds_timer_init(&flush_, flush_fn);
	rds_timer_init(&pause_, pause_fn);
	rds_timer_init(&map_timer_, map_fn);
	rds_timer_init(&ack_timer_, ack_fn);
	fresh_stream();
}

rds_path::~rds_path()
{
	/* One that was never seen is not dead, but has nothing either. */
	rds::bug_on(!queue_.empty() || sending_ || tells_ || !accepted_.empty(),
		    "a path is destroyed that is in use");
}

/* ---- from any context (timers: hardirq) ---- */

void rds_path::post(uint32_t events)
{
	/* A path is buried, its work cancelled, a grace period after its death. */
	rds::RcuReader rcu;

	if (state() == rds::PathState::kDead)
		return;
	events_.fetch_or(events);
	rds_work_queue(&work_);
}

void rds_path::drop(enum rds_drop_reason why)
{
	/* That it is to end in order is no news for one that ends, and must not hide what is. */
	if (why == RDS_DROP_ADMIN)
		end_in_order(why);
	else
		drop_reason_.store(why);
	post(rds::kEvDrop);
}

void rds_path::end_in_order(unsigned int why)
{
	uint32_t none = RDS_DROP_NONE;

	(void)drop_reason_.compare_exchange(none, why);
}

void rds_path::accepted(void *handle)
{
	/* The newest is the one that the peer still has; a dead path has none. */
	discard(accepted_.put(static_cast<rds::Accepted *>(handle)));
	post(rds::kEvAccepted);
}

void rds_path::pause_recv()
{
	rds_timer_arm(&pause_, rds::kRetryNs);
}

void rds_path::work_fn(struct rds_work *w)
{
	rds::container_of(w, &rds_path::work_)->run();
}

void rds_path::timer_fn(struct rds_timer *t)
{
	rds::container_of(t, &rds_path::timer_)->post(rds::kEvTimer);
}

void rds_path::flush_fn(struct rds_timer *t)
{
	rds::container_of(t, &rds_path::flush_)->post(rds::kEvSend);
}

void rds_path::pause_fn(struct rds_timer *t)
{
	rds::container_of(t, &rds_path::pause_)->post(rds::kEvRecvRetry);
}

void rds_path::map_fn(struct rds_timer *t)
{
	rds::container_of(t, &rds_path::map_timer_)->post(rds::kEvSend);
}

/* ---- the worker ---- */

void rds_path::run()
{
	uint32_t rest = step(events_.exchange(0));

	/* Left for when the token comes back: its release queues us again. */
	if (rest)
		events_.fetch_or(rest);
}

/* A timer event of an earlier state must not be taken for this one's. */
void rds_path::disarm()
{
	rds_timer_cancel_sync(&timer_);
	events_.fetch_and(~uint32_t{rds::kEvTimer});
}

void rds_path::arm(uint64_t ns)
{
	disarm();
	rds_timer_arm(&timer_, ns);
}

/* ---- the end ---- */

void rds_path::await_death()
{
	while (state() != rds::PathState::kDead) {
		rds_work_flush(&work_);
		if (state() != rds::PathState::kDead)
			rds_rcu_sync(); /* a sender has the token: give it time */
	}
}

/* A poster sees kDead from now on; one that saw less has posted before the grace period ended. */
void rds_path::bury()
{
	rds::bug_on(state() != rds::PathState::kDead, "a path is buried alive");
	rds_timer_cancel_sync(&timer_);
	rds_timer_cancel_sync(&flush_);
	rds_timer_cancel_sync(&pause_);
	rds_timer_cancel_sync(&map_timer_);
	rds_timer_cancel_sync(&ack_timer_);
	rds_work_cancel_sync(&work_);
}
