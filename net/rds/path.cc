// SPDX-License-Identifier: GPL-2.0
/*
 * path.cc: the state machine of a path.  Everything with "step" in its name runs in the path's
 * worker, one at a time; only there the transport is told to connect, adopt, shut down or close.
 */
#include "path.h"

#include "cong.h"
#include "connection.h"

namespace
{

using rds::PathState;

/* Events that a closed connection may have left behind: void for the next one. */
constexpr uint32_t kConnectionEvents =
	rds::kEvDrop | rds::kEvConnected | rds::kEvDrained | rds::kEvRecvRetry | rds::kEvHeard;

bool legal(PathState from, PathState to)
{
	for (const rds::PathEdge &e : rds::kPathEdges)
		if (e.from == from && e.to == to)
			return true;
	return false;
}

bool is_orderly(uint32_t why)
{
	return why == RDS_DROP_ADMIN || why == RDS_DROP_IDLE;
}

} // namespace

uint32_t rds_path::step(uint32_t ev)
{
	if (state() == PathState::kDead)
		return 0;
	if (ev & rds::kEvDie)
		return step_die(ev);
	/* Before retirement: path 0 waits until each has answered, also those that have retired. */
	if (ev & rds::kEvFold)
		return step_fold(ev);
	if (ev & rds::kEvRetire)
		step_retire();
	if (retirement.load() == rds::Retirement::kGranted && stays_retired(ev))
		return 0;
	/* Messages that the other paths have queued come first; the last of them posts. */
	if (!index && conn.folding.load())
		return ev;
	/* A late event: what it tells of was adopted after accepted() had put it, and before it
	 * posted. */
	if (ev & rds::kEvAccepted && accepted_.empty())
		ev &= ~uint32_t{rds::kEvAccepted};
	switch (state()) {
	case PathState::kDown:
		return step_down(ev);
	case PathState::kConnecting:
		return step_connecting(ev);
	case PathState::kUp:
		return step_up(ev);
	case PathState::kDisconnecting:
		return step_disconnecting(ev);
	case PathState::kDead:
		break;
	}
	return 0;
}

uint32_t rds_path::step_down(uint32_t ev)
{
	if (ev & rds::kEvAccepted) {
		if (adopt())
			come_up();
		else
			schedule_retry(RDS_DROP_ERROR); /* it died while it waited */
		return 0;
	}
	if (ev & (rds::kEvKnocked | rds::kEvTimer) || (ev & rds::kEvWant && !dial_.is_waiting())) {
		if (ev & rds::kEvKnocked)
			dial_.knocked();
		if (led())
			start_connect();
		else
			schedule_retry(RDS_DROP_NONE);
	}
	/* Connected, drained, drop: of a connection that is gone.  Send: nobody to send to. */
	return 0;
}

uint32_t rds_path::step_connecting(uint32_t ev)
{
	if (ev & rds::kEvDrop) {
		conn.trans.close(priv);
		go_down(drop_reason_.load());
		return 0;
	}
	if (ev & rds::kEvConnected) {
		come_up();
		/* Receiving may have begun, and paused, before we got here. */
		ev &= rds::kEvAccepted | rds::kEvRecvRetry;
		return state() == PathState::kUp ? step_up(ev) : 0;
	}
	if (ev & rds::kEvAccepted) {
		/* Both called: the accepted one wins, see tcp_duel.h. */
		conn.trans.close(priv);
		if (adopt())
			come_up();
		else
			go_down(RDS_DROP_ERROR);
		return 0;
	}
	if (ev & rds::kEvTimer) {
		conn.trans.close(priv);
		go_down(RDS_DROP_CONNECT);
	}
	/* Want, knocked: we are at it.  Drained: not of this one. */
	return 0;
}

uint32_t rds_path::step_up(uint32_t ev)
{
	if (!(ev & rds::kEvDrop) && must_yield(ev)) {
		/* Said once: it does not change its mind while a sender has the token. */
		drop_reason_.store(RDS_DROP_REPLACED);
		ev |= rds::kEvDrop;
	}
	if (ev & rds::kEvDrop) {
		if (!quiesce())
			return ev;
		end_connection(drop_reason_.load());
		return 0;
	}
	if (ev & rds::kEvIdle && !conn.trans.midway(priv) && quiesce_idle()) {
		conn.net.count(RDS_S_conn_idle);
		end_connection(RDS_DROP_IDLE);
		return 0;
	}
	if (ev & rds::kEvKnocked)
		send_probe(); /* if the peer has no such connection, this finds it out */
	if (ev & rds::kEvRecvRetry)
		conn.trans.recv_retry(priv);
	if (ev & rds::kEvSend && hello_due_)
		greet();
	if (ev & (rds::kEvSend | rds::kEvKnocked | rds::kEvHeard) && take_token())
		transmit();
	/* Connected, drained, want: late. */
	return 0;
}

uint32_t rds_path::step_disconnecting(uint32_t ev)
{
	if (ev & rds::kEvRecvRetry)
		conn.trans.recv_retry(priv);
	/* Asked again for an orderly end: we are at it. */
	if (is_orderly(drop_reason_.load()))
		ev &= ~uint32_t{rds::kEvDrop};
	if (!(ev & (rds::kEvDrained | rds::kEvTimer | rds::kEvDrop)))
		return 0; /* connected, knocked, want, send: after the end; accepted: go_down() */

	/* The peer's end came while ours began, and was taken for one that we had to answer. */
	bool both = drop_reason_.load() == RDS_DROP_PEER_CLOSED;

	if (ev & rds::kEvTimer)
		conn.net.count(RDS_S_conn_drain_timeout);
	else if ((both || !(ev & rds::kEvDrop)) && peer_parts() && peer_knows_all())
		parted.store(true); /* it had read our acks before it ended, too */
	conn.trans.close(priv);
	go_down(drop_reason_.load());
	return 0;
}

uint32_t rds_path::step_die(uint32_t ev)
{
	if (!quiesce())
		return ev;
	close_down(RDS_DROP_DESTROY);
	reset_queue(true);
	enter(PathState::kDead, RDS_DROP_DESTROY);
	discard(accepted_.close());
	return 0;
}

/* To kDown, whatever it was; the token is ours to keep. */
void rds_path::close_down(unsigned int why)
{
	if (state() == PathState::kDown)
		return;
	conn.trans.close(priv);
	enter(PathState::kDown, why);
	forget_connection();
}

/* Up, and the token is ours to keep: ends the connection the way that @why allows. */
void rds_path::end_connection(unsigned int why)
{
	/* One of ours closes only with nothing left to say, and resets otherwise. */
	bool parts = why == RDS_DROP_PEER_CLOSED && peer_parts();

	if (why != RDS_DROP_IDLE && !parts)
		conn.net.count(RDS_S_conn_reset);
	/* A peer that acknowledges gets again what it has not read. */
	if (why == RDS_DROP_IDLE || (why == RDS_DROP_ADMIN && peer() != rds::Peer::kAcks)) {
		end_in_order(why);
		enter(PathState::kDisconnecting, why);
		arm(rds::kDrainTimeoutNs);
		conn.trans.shutdown(priv);
		return;
	}
	if (parts)
		parted.store(true);
	if (why == RDS_DROP_REPLACED) {
		/* The peer has left this one; what it wrote before is before the new one's. */
		conn.net.count(RDS_S_conn_replaced);
		conn.trans.recv_retry(priv);
	}
	conn.trans.close(priv);
	go_down(why);
}

void rds_path::enter(PathState to, unsigned int why)
{
	PathState from = state();

	rds::bug_on(!legal(from, to), "illegal change of a path's state");
	if (from == PathState::kUp) {
		resets.fetch_add(1);
		dial_.was_up(rds_now_ns() - up_ns.load());
	}
	/* An orderly end keeps the reason that it began with. */
	if (why != RDS_DROP_NONE && from != PathState::kDisconnecting)
		last_reason.store(why);
	state_.store_release(static_cast<uint32_t>(to));
	rds_trace_state(this, static_cast<unsigned int>(from), static_cast<unsigned int>(to), why);
}

void rds_path::start_connect()
{
	dial_.begin();
	fresh_stream();
	enter(PathState::kConnecting, RDS_DROP_NONE);
	arm(rds::kConnectTimeoutNs);
	if (conn.trans.connect(priv)) {
		conn.trans.close(priv);
		go_down(RDS_DROP_CONNECT);
	}
}

/* Takes over what was accepted; false when there is nothing alive. */
bool rds_path::adopt()
{
	rds::Accepted *handle = accepted_.take();

	if (!handle)
		return false;
	fresh_stream();
	passive_open_ = true;
	return conn.trans.adopt(priv, handle) == 0;
}

/* Before a connection begins: what was said and heard on the last one is void. */
void rds_path::fresh_stream()
{
	rds_timer_cancel_sync(&pause_);
	events_.fetch_and(~kConnectionEvents);
	drop_reason_.store(RDS_DROP_NONE);
	heard.store(false);
	spoken_.store(false);
	dial_.owe_nothing();
	passive_open_ = asking_ = hello_due_ = false;
	answered_ns_ = 0;
	arriving.store(0);
	received_.begin(conn.trans.caps & RDS_CAP_DELIVERY_ACK);
}

void rds_path::come_up()
{
	bug_on(!index && conn.folding.load(), "path 0 is up and others fold");
	dial_.up();
	up_ns.store(rds_now_ns());
	cong_due_ = true; /* nobody has the token yet */
	disarm();	  /* the connect's: up, it would mean "no answer" */
	enter(PathState::kUp, RDS_DROP_NONE);
	hear_of_ports();
	rds::full_fence(); /* before our map's version is looked at: kick_laddr() */
	greet();
}

/* The transport's side is closed.  Messages not acknowledged go out again, once we are up. */
void rds_path::go_down(unsigned int why)
{
	reset_queue(false);
	forget_connection();
	disarm(); /* the connect's or the drain's: down, it would mean "call" */
	enter(PathState::kDown, why);
	/* Once: it says nothing of the attempts that follow. */
	bool answered = heard.exchange(false);

	if (answered)
		dial_.answered();
	if (!index) {
		if (conn.fold_wanted.load()) {
			conn.begin_fold();
			conn.fold_wanted.store(false); /* at no moment neither: is_folding() */
		}
		/* After a failed call those that wait would ask for the next one at once. */
		if (!parted.load())
			conn.nudge_others(answered);
	}
	if (accepted_.empty())
		schedule_retry(why);
	else
		post(rds::kEvAccepted);
	if (conn.is_stranger())
		conn.hurry();
}

void rds_path::hear_of_ports()
{
	tells_ = !index;
	if (tells_)
		conn.fcong->told_by.fetch_add(1);
}

/* Senders that wait for a port of the peer's would wait for ever: nothing queued, nobody connects,
 * and only a connection brings the news.  Unless there is another one to the same peer. */
void rds_path::forget_connection()
{
	arriving.store(0);
	if (tells_)
		conn.fcong->told_by.fetch_sub(1);
	tells_ = false;
	if (!index && !(conn.trans.caps & RDS_CAP_SHARED_CONG) && !conn.fcong->told_by.load_seq())
		rds::CongTable::lost_peer(conn.net, *conn.fcong);
}

/* The path is down: calls the peer after a pause, or leaves that to whoever needs it. */
void rds_path::schedule_retry(unsigned int why)
{
	rds::Dial::Plan plan = dial_.ended([=, this] { return terms(why); });

	if (plan.what != rds::Dial::kRest)
		arm(plan.in_ns);
}

rds::Dial::Terms rds_path::terms(unsigned int why)
{
	return {.why = why,
		.waiting = has_messages(),
		.initiates = !index && conn.trans.initiates(priv),
		.parted = parted.load(),
		.passive = conn.passive.load(),
		.stranger = conn.is_stranger(),
		.acks = peer() == rds::Peer::kAcks,
		.least_ms = rds::read_once(conn.net.tun.reconnect_min_ms),
		.most_ms = rds::read_once(conn.net.tun.reconnect_max_ms)};
}

/* No new sender from now on; false while the last one is still at it (he queues us again). */
bool rds_path::quiesce()
{
	rds::Guard g(lock);

	open_ = false;
	return !sending_;
}

/* The same, if there is nothing to say. */
bool rds_path::quiesce_idle()
{
	rds::Guard g(lock);

	if (!queue_.empty() || !full_ports_.empty() || sending_ || !peer_knows_all())
		return false;
	open_ = false;
	return true;
}
