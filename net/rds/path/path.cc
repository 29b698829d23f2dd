// SPDX-License-Identifier: GPL-2.0
/*
 * path.cc: the state machine of a path: the turns of its connection's worker, one at a time.  Each
 * act_...() is an action of the table (path_table.h), which says when it is called and where it may
 * lead.  How a connection begins and ends is in path_stream.cc.
 */
#include "path.h"

using rds::PathState;

namespace
{

bool is_orderly(uint32_t why)
{
	return why == RDS_DROP_ADMIN || why == RDS_DROP_IDLE;
}

} // namespace

void rds_path::turn()
{
	uint32_t ev = events_.exchange(0), kept = 0;

	/* A connection that waits is seen in its slot, before its event came or after. */
	ev &= ~uint32_t{rds::kEvAccepted};
	if (!accepted_.empty())
		ev |= rds::kEvAccepted;
	while (ev && state() != PathState::kDead) {
		const auto e = static_cast<unsigned int>(__builtin_ctz(ev));
		const PathState from = state();
		const Went went = step(e);

		if (went == Went::kWait)
			break;
		ev &= ev - 1;
		if (went == Went::kKept)
			kept |= 1u << e;
		/* On the way up something may have come already; the rest was of the call. */
		if (state() == PathState::kUp && from != PathState::kUp) {
			ev = kept | (ev & rds::kEvAccepted);
			kept = 0;
		} else if (went == Went::kOver) {
			ev = kept = 0;
		}
	}
	events_.fetch_or(ev | kept);
}

rds_path::Went rds_path::step(unsigned int e)
{
	const PathState from = state();

	if (from == PathState::kDead)
		return Went::kOver;

	const rds::PathEntry &entry = rds::path_entry(e, from);
	const Went went = act(entry.act);

	rds_trace_event(this, e, static_cast<unsigned int>(from));
	if (state() != from && !rds::may_lead_to(entry, state()))
		bug("an event that leads where the table does not");
	return went;
}

void rds_path::step_own(unsigned int e)
{
	rds::bug_on(!(rds::kOwnEvents & 1u << e), "the worker takes an event that nobody posted");
	(void)step(e);
}

rds_path::Went rds_path::act(rds::PathAct a)
{
	switch (a) {
#define RDS_X(name, text)                                                                          \
	case rds::PathAct::name:                                                                   \
		return act_##name();
		RDS_PATH_ACTS(RDS_X)
#undef RDS_X
	}
	return Went::kOn;
}

rds_path::Went rds_path::act_none()
{
	return Went::kOn;
}

rds_path::Went rds_path::act_keep()
{
	return Went::kKept;
}

/* ---- down ---- */

rds_path::Went rds_path::act_adopt()
{
	if (adopt())
		come_up();
	else
		schedule_retry(RDS_DROP_ERROR); /* it died while it waited */
	return Went::kOver;
}

rds_path::Went rds_path::act_answer_knock()
{
	dial_.knocked();
	return act_call();
}

rds_path::Went rds_path::act_want()
{
	return dial_.is_waiting() ? Went::kOn : act_call();
}

rds_path::Went rds_path::act_call()
{
	if (may_connect())
		start_connect();
	else
		schedule_retry(RDS_DROP_NONE);
	return Went::kOver;
}

/* ---- connecting ---- */

rds_path::Went rds_path::act_end_call()
{
	conn.trans.close(priv);
	go_down(drop_reason_.load());
	return Went::kOver;
}

rds_path::Went rds_path::act_stop_call()
{
	const unsigned int why =
		conn.trans.unanswered ? conn.trans.unanswered(priv) : RDS_DROP_CONNECT;

	conn.trans.close(priv);
	go_down(why);
	return Went::kOver;
}

/* The path calls in vain, perhaps; once the call is ended, nothing comes any more. */
rds_path::Went rds_path::act_retire()
{
	if (!may_retire())
		return Went::kOn;
	conn.trans.close(priv);
	go_down(RDS_DROP_IDLE);
	return Went::kOver;
}

rds_path::Went rds_path::act_come_up()
{
	come_up();
	return Went::kOn;
}

/* Both called: the accepted one wins, see tcp_duel.h. */
rds_path::Went rds_path::act_adopt_instead()
{
	conn.trans.close(priv);
	if (adopt())
		come_up();
	else
		go_down(RDS_DROP_ERROR);
	return Went::kOver;
}

/* ---- up ---- */

rds_path::Went rds_path::act_end()
{
	if (!quiesce())
		return Went::kWait;
	end_connection(drop_reason_.load());
	return Went::kOver;
}

rds_path::Went rds_path::act_end_idle()
{
	if ((conn.trans.midway && conn.trans.midway(priv)) || !quiesce_idle())
		return Went::kOn;
	conn.net.count(RDS_S_conn_idle);
	end_connection(RDS_DROP_IDLE);
	return Went::kOver;
}

/* If the peer has no such connection, this finds it out. */
rds_path::Went rds_path::act_probe()
{
	send_probe();
	kick();
	return Went::kOn;
}

rds_path::Went rds_path::act_greet()
{
	if (hello_due_)
		greet();
	return Went::kOn;
}

rds_path::Went rds_path::act_receive()
{
	conn.trans.recv_retry(priv);
	return Went::kOn;
}

/* ---- disconnecting ---- */

rds_path::Went rds_path::act_end_drain()
{
	const uint32_t why = drop_reason_.load();

	/* The peer's end came while ours began, and was taken for one that we had to answer. */
	return is_orderly(why) ? Went::kOn : finish_drain(why == RDS_DROP_PEER_CLOSED);
}

rds_path::Went rds_path::act_finish()
{
	return finish_drain(true);
}

rds_path::Went rds_path::act_stop_drain()
{
	conn.net.count(RDS_S_conn_drain_timeout);
	return finish_drain(false);
}

/* @answered: the peer had read our acks before it ended, too. */
rds_path::Went rds_path::finish_drain(bool answered)
{
	if (answered && peer_drains() && peer_knows_all())
		drained.store(true);
	conn.trans.close(priv);
	go_down(drop_reason_.load());
	return Went::kOver;
}

/* ---- any ---- */

/* No sender has the token of any path. */
rds_path::Went rds_path::act_die()
{
	close_down(RDS_DROP_DESTROY);
	reset_queue(true);
	enter(PathState::kDead, RDS_DROP_DESTROY);
	discard(accepted_.close());
	return Went::kOver;
}

/* No sender has the token; path 0 is down and takes what is queued.  The peer whose numbers these
 * were is no more. */
rds_path::Went rds_path::act_give_up()
{
	close_down(RDS_DROP_PATHS);
	reset_queue(false);
	disarm();
	discard(accepted_.take());
	dial_.stop();
	dial_.owe_nothing();
	drained.store(true);
	return Went::kOver;
}
