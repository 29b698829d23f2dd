// SPDX-License-Identifier: GPL-2.0
/*
 * ib_beat_linux.c: is the other host there?  The works behind keepalives and heartbeats
 * (ib_link_beat.cc), from the connection's beginning to its end.
 */
#include <linux/random.h>

#include "ib_linux.h"

/*
 * Has the adapter had frames, the keepalive's at least, and done nothing for a while?  It is to
 * send them again, and to say so when that is in vain.  But soft-RoCE whose interface goes down
 * with a full queue may do neither, ever; and a peer that posts no buffer so long and says nothing
 * is no better.  One that speaks has no room for now: it is waited for, as long as an administrator
 * wants.  Where buffers are counted a frame that finds none is not with the adapter.
 */
static bool rds_ib_stuck(struct rds_ib_path *tp)
{
	const unsigned long patience = READ_ONCE(rds_ib_slow_peer_secs) * HZ;
	const bool takes = !rds_ib_link_owed(&tp->link) || tp->link.done != tp->done_seen;
	const bool speaks = tp->link.arrived != tp->arrived_seen;
	const bool dry = rds_ib_link_dry(&tp->link);

	tp->done_seen = tp->link.done;
	tp->arrived_seen = tp->link.arrived;
	tp->still = takes || speaks ? 0 : tp->still + 1;
	if (dry ? tp->link.given != tp->given_seen : takes)
		tp->took = jiffies;
	tp->given_seen = tp->link.given;
	return tp->still == RDS_IB_STUCK ||
	       (patience && time_after_eq(jiffies, tp->took + patience));
}

static void rds_ib_keepalive(struct work_struct *work)
{
	struct rds_ib_path *tp = container_of(to_delayed_work(work), struct rds_ib_path, keepalive);

	rds_ib_insist(tp);
	spin_lock_bh(&tp->lock);
	if (tp->live && tp->left) {
		rds_ib_link_broken(&tp->link, RDS_DROP_ERROR);
	} else if (tp->live && rds_ib_stuck(tp)) {
		rds_ib_count(RDS_IB_S_tx_stuck);
		rds_ib_link_broken(&tp->link, RDS_DROP_ERROR);
	} else if (tp->live) {
		if (tp->link.deaf)
			rds_ib_trim(tp);
		rds_ib_link_keepalive(&tp->link);
	}
	spin_unlock_bh(&tp->lock);
	queue_delayed_work(rds_ib_wq, &tp->keepalive, RDS_IB_KEEPALIVE);
}

/*
 * How long to wait for an answer.  In the queue of its adapter it is behind what the peer sends,
 * which can be seen to come, and behind what the peer's operations do to memory of this host's,
 * which cannot: 60 MiB at once over a bad line may take minutes.
 */
static unsigned long rds_ib_patience(const struct rds_ib_path *tp, unsigned long timeout)
{
	return rds_ib_mrs_in_use(tp->dev) ? timeout * RDS_IB_OPS_PATIENCE : timeout;
}

/*
 * When to look again, in jiffies.  A peer is gone that had the question, and time, and was found
 * silent by two looks: before the first this host itself may have been too slow to hear it.
 */
static unsigned long rds_ib_beat_locked(struct rds_ib_path *tp, unsigned long timeout)
{
	struct rds_ib_link *l = &tp->link;
	const unsigned long interval = READ_ONCE(rds_ib_heartbeat_interval_secs) * HZ;
	const unsigned long due = tp->asked + interval;

	if (rds_ib_link_spoke(l))
		tp->spoke = jiffies;
	if (rds_ib_link_unanswered(l) &&
	    time_after_eq(jiffies, tp->spoke + rds_ib_patience(tp, timeout))) {
		if (tp->silent++) {
			rds_ib_count(RDS_IB_S_heartbeat_timeout);
			rds_ib_link_broken(l, RDS_DROP_ERROR);
		}
		return HZ;
	}
	tp->silent = 0;
	if (!l->asked && time_before(jiffies, due))
		return due - jiffies;
	if (rds_ib_link_ask(l))
		tp->asked = tp->spoke = jiffies;
	return l->asked ? timeout : interval;
}

static void rds_ib_beat(struct work_struct *work)
{
	struct rds_ib_path *tp = container_of(to_delayed_work(work), struct rds_ib_path, beat);
	const unsigned long timeout = READ_ONCE(rds_ib_heartbeat_timeout_secs) * HZ;
	unsigned long next = RDS_IB_KEEPALIVE;

	spin_lock_bh(&tp->lock);
	if (tp->live && tp->probe)
		rds_ib_link_probe(&tp->link);
	tp->probe = false;
	if (tp->live && timeout)
		next = rds_ib_beat_locked(tp, timeout);
	spin_unlock_bh(&tp->lock);
	queue_delayed_work(rds_ib_wq, &tp->beat, next);
}

static void rds_ib_answer(struct work_struct *work)
{
	struct rds_ib_path *tp = container_of(work, struct rds_ib_path, answer);

	spin_lock_bh(&tp->lock);
	if (tp->live)
		rds_ib_link_answer(&tp->link);
	spin_unlock_bh(&tp->lock);
}

void rds_ib_hw_asked(void *hw)
{
	struct rds_ib_path *tp = hw;

	queue_work(rds_ib_wq, &tp->answer);
}

/* A call that is older than @age_ns is made anew: rdma_cm asks again when it pleases.  False: there
 * is none. */
static bool rds_ib_renew(struct rds_ib_path *tp, u64 age_ns)
{
	if (READ_ONCE(tp->phase) != RDS_IB_CALLING ||
	    ktime_get_ns() - READ_ONCE(tp->called_ns) < age_ns)
		return false;
	rds_ib_count(RDS_IB_S_call_renewed);
	rds_path_drop(tp->path, RDS_DROP_CONNECT);
	return true;
}

void rds_ib_others_got_through(struct rds_ib_path *tp)
{
	const u8 n = READ_ONCE(tp->renewed);

	if (n < RDS_IB_RENEWALS && rds_ib_renew(tp, RDS_IB_RENEW_NS << n))
		WRITE_ONCE(tp->renewed, n + 1);
}

static void rds_ib_probe(struct rds_ib_path *tp)
{
	spin_lock(&tp->lock);
	if (tp->live) {
		tp->probe = true;
		mod_delayed_work(rds_ib_wq, &tp->beat, 0);
	}
	spin_unlock(&tp->lock);
}

void rds_ib_happened(struct rds_ib_path *tp, const struct ib_event *event)
{
	if (event->event == IB_EVENT_DEVICE_FATAL) {
		rds_path_drop(tp->path, RDS_DROP_ERROR);
	} else if (event->element.port_num != tp->id->port_num) {
		return;
	} else if (rds_ib_left_adapter(tp)) {
		return;
	} else if (event->event != IB_EVENT_PORT_ACTIVE || !rds_ib_renew(tp, RDS_IB_CALL_NS)) {
		rds_ib_probe(tp);
	}
}

void rds_ib_dry(struct rds_ib_path *tp)
{
	/* There a frame that finds no buffer would be the connection's end. */
	if (!rds_ib_is_iwarp(tp->id))
		queue_delayed_work(rds_ib_wq, &tp->doubt, RDS_IB_DOUBT);
}

static void rds_ib_doubt(struct work_struct *work)
{
	struct rds_ib_path *tp = container_of(to_delayed_work(work), struct rds_ib_path, doubt);

	spin_lock_bh(&tp->lock);
	if (tp->live) {
		rds_ib_link_doubt(&tp->link);
		if (rds_ib_link_dry(&tp->link))
			rds_ib_dry(tp);
	}
	spin_unlock_bh(&tp->lock);
}

void rds_ib_beats_init(struct rds_ib_path *tp)
{
	INIT_DELAYED_WORK(&tp->doubt, rds_ib_doubt);
	INIT_DELAYED_WORK(&tp->keepalive, rds_ib_keepalive);
	INIT_DELAYED_WORK(&tp->beat, rds_ib_beat);
	INIT_WORK(&tp->answer, rds_ib_answer);
}

/* A thousand connections may begin at once: their heartbeats do not come at once. */
void rds_ib_beats_begin(struct rds_ib_path *tp)
{
	const u64 interval = READ_ONCE(rds_ib_heartbeat_interval_secs) * HZ;

	tp->silent = 0;
	tp->took = jiffies;
	WRITE_ONCE(tp->renewed, 0);
	queue_delayed_work(rds_ib_wq, &tp->keepalive, RDS_IB_KEEPALIVE);
	queue_delayed_work(rds_ib_wq, &tp->beat, interval * get_random_u32() >> 32);
}

void rds_ib_beats_end(struct rds_ib_path *tp)
{
	cancel_delayed_work_sync(&tp->keepalive);
	cancel_delayed_work_sync(&tp->beat);
	cancel_delayed_work_sync(&tp->doubt);
	cancel_work_sync(&tp->answer);
}
