// SPDX-License-Identifier: GPL-2.0
/*
 * path_stream.cc: a connection of the transport's begins and ends: what that does to a path's
 * state, queue and right to send.  The transport is told to connect, adopt, shut down and close
 * here and in the actions of path.cc, and nowhere else.
 */
#include "path.h"

#include "../cong.h"

using rds::PathState;

namespace
{

/* Events that a closed connection may have left behind: void for the next one. */
constexpr uint32_t kStreamEvents = rds::kEvDrop | rds::kEvConnected | rds::kEvDrained |
				   rds::kEvRecvRetry | rds::kEvDoubted | rds::kEvHello |
				   rds::kEvHeard;

/* Some event leads from one to the other. */
constexpr bool is_edge(PathState from, PathState to)
{
	for (unsigned int e = 0; e < RDS_EV_COUNT; e++)
		if (rds::may_lead_to(rds::path_entry(e, from), to))
			return true;
	return false;
}

} // namespace

/* ---- the beginning ---- */

/* Before a connection begins: what was said and heard on the last one is void. */
void rds_path::fresh_stream()
{
	{
		rds::Guard g(lock);

		refused_.begin();
	}
	pause_timer_.cancel();
	events_.fetch_and(~kStreamEvents);
	drop_reason_.store(RDS_DROP_NONE);
	heard.store(false);
	spoken_.store(false);
	dial_.owe_nothing();
	passive_open_.store(false);
	asking_ = hello_due_ = false;
	answered_ns_ = 0;
	arriving.store(0);
	map_news_.fresh();
	received_.begin(conn.trans.caps & RDS_CAP_DELIVERY_ACK);
	/* Before the peer's map can come: another connection that ends must not undo it. */
	if (!index && reports_ == rds::Reports::kNo) {
		reports_ = rds::Reports::kSoon;
		conn.fcong->reporters.fetch_add(1);
	}
}

void rds_path::start_connect()
{
	dial_.begin();
	fresh_stream();
	enter(PathState::kConnecting, RDS_DROP_NONE);
	arm(rds::StateLimit::call(conn.trans.call_ms));
	if (const int err = conn.trans.connect(priv)) {
		conn.trans.close(priv);
		go_down(rds::Status(err).is(rds::err::kEacces) ? RDS_DROP_REFUSED
							       : RDS_DROP_CONNECT);
	}
}

/* Takes over what was accepted; false when there is nothing alive. */
bool rds_path::adopt()
{
	rds::Accepted *handle = accepted_.take();

	if (!handle)
		return false;
	fresh_stream();
	passive_open_.store(true);
	if (conn.trans.adopt(priv, handle) == 0)
		return true;
	forget_connection();
	return false;
}

void rds_path::come_up()
{
	dial_.up();
	{
		rds::Guard sender(rds::kSender); /* nobody has the token yet */

		map_news_.begin();
	}
	disarm(); /* the connect's: up, it would mean "no answer" */
	enter(PathState::kUp, RDS_DROP_NONE);
	if (reports_ == rds::Reports::kSoon)
		reports_ = rds::Reports::kYes;
	rds::full_fence(); /* before our map's version is looked at: map_changed() */
	greet();
}

/* ---- the end ---- */

/* A peer that acknowledges gets again what it has not read, also if it was one before and has not
 * spoken on this connection: it takes an end in order for one that has nothing left to say. */
bool rds_path::peer_gets_again() const
{
	return conn.trans.caps & RDS_CAP_NUMBERED || peer() == rds::Peer::kAcks ||
	       (peer() == rds::Peer::kUnknown && received_.generation());
}

/* Up, and the token is ours to keep: ends the connection the way that @why allows. */
void rds_path::end_connection(unsigned int why)
{
	/* One of ours closes with nothing left to say, and resets otherwise; but of what it was not
	 * told that we have it has something left. */
	bool drains = why == RDS_DROP_PEER_CLOSED && peer_drains() && peer_knows_all();

	if (why != RDS_DROP_IDLE && !drains)
		conn.net.count(RDS_S_conn_reset);
	if (why == RDS_DROP_IDLE || (why == RDS_DROP_ADMIN && !peer_gets_again())) {
		end_in_order(why);
		enter(PathState::kDisconnecting, why);
		arm(rds::StateLimit::drain());
		conn.trans.shutdown(priv);
		return;
	}
	if (drains)
		drained.store(true);
	if (why == RDS_DROP_REPLACED) {
		/* The peer has left this one; what it wrote before is before the new one's. */
		conn.net.count(RDS_S_conn_replaced);
		conn.trans.recv_retry(priv);
	}
	conn.trans.close(priv);
	go_down(why);
}

/* To kDown, whatever it was. */
void rds_path::close_down(unsigned int why)
{
	if (state() == PathState::kDown)
		return;
	conn.trans.close(priv);
	enter(PathState::kDown, why);
	forget_connection();
}

/* The transport's side is closed.  Messages not acknowledged go out again, once we are up. */
void rds_path::go_down(unsigned int why)
{
	reset_queue(false);
	forget_connection();
	disarm(); /* the connect's or the drain's: down, it would mean "call" */
	enter(PathState::kDown, why);
	/* Once: it says nothing of the attempts that follow. */
	const bool answered = heard.exchange(false);

	/* A host that only calls us has to have been of use: any user of it can say a header. */
	if (answered && why != RDS_DROP_PROTOCOL && (!conn.passive.load() || received_.is_of_use()))
		dial_.answered();
	/* After a failed call those that wait would ask for the next one at once. */
	if (!index && !drained.load())
		conn.nudge_others(answered);
	if (accepted_.empty())
		schedule_retry(why);
	else
		post(rds::kEvAccepted);
	if (conn.is_stranger())
		conn.hurry();
}

void rds_path::enter(PathState to, unsigned int why)
{
	const PathState from = state();
	const uint64_t now = rds_now_ns(), since = since_ns.exchange(now);

	rds::bug_on(!is_edge(from, to), "illegal change of a path's state");
	if (from == PathState::kUp) {
		resets.fetch_add(1);
		dial_.was_up(now - since);
	}
	/* An orderly end keeps the reason that it began with. */
	if (why != RDS_DROP_NONE && from != PathState::kDisconnecting)
		last_reason.store(why);
	state_.store_release(static_cast<uint32_t>(to));
	rds_trace_state(this, static_cast<unsigned int>(from), static_cast<unsigned int>(to), why);
}

/* Senders that wait for a port of the peer's would wait for ever: nothing queued, nobody connects,
 * and only a connection brings the news.  Unless there is another one to the same peer. */
void rds_path::forget_connection()
{
	arriving.store(0);
	if (reports_ != rds::Reports::kNo)
		rds::count_down(conn.fcong->reporters,
				"a map loses a connection that was not counted");
	if (reports_ == rds::Reports::kYes && !drained.load())
		conn.lcong->cuts.fetch_add(1);
	reports_ = rds::Reports::kNo;
	if (!index && !(conn.trans.caps & RDS_CAP_SHARED_CONG) && !conn.fcong->reporters.load_seq())
		rds::CongTable::lost_peer(conn.net, *conn.fcong);
}

/* The path is down: calls the peer after a pause, or leaves that to whoever needs it. */
void rds_path::schedule_retry(unsigned int why)
{
	rds::Dial::Plan plan = dial_.ended([=, this] { return terms(why); });

	/* The first call after a connection has died waits for nobody. */
	if (plan.what != rds::Dial::kRest)
		arm(rds::StateLimit::pause(
			plan.in_ns ? conn.net.take_turn(plan.in_ns, dial_.turn_ns) : 0));
}

rds::Dial::Terms rds_path::terms(unsigned int why)
{
	return {.why = why,
		.waiting = has_messages(),
		.initiates = !index && conn.trans.initiates(priv),
		.drained = drained.load(),
		.passive = conn.passive.load(),
		.stranger = conn.is_stranger(),
		.acks = peer() == rds::Peer::kAcks,
		.least_ms = rds::read_once(conn.net.tun.reconnect_min_ms),
		.most_ms = rds::read_once(conn.net.tun.reconnect_max_ms)};
}

/* ---- the right to send ---- */

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

	if (!queue_.empty() || !full_ports_.empty() || sending_ || !peer_knows_all() ||
	    refused_.any())
		return false;
	open_ = false;
	return true;
}
