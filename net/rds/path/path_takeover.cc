// SPDX-License-Identifier: GPL-2.0
/*
 * path_takeover.cc: a connection is asked before another takes its place
 * (docs/decisions/023-takeover.md).
 *
 * Any user of the peer's host has the peer's address, too.  A connection that the peer opened
 * carries nothing of ours but hello before its first frame came; and while one is up, another that
 * was accepted waits: the one that is up is asked first (a ping), and only if it has ended, or does
 * not answer within kAskNs, the newcomer takes its place.  A peer with another number of paths
 * takes the place of all: those that are up are asked, each for itself, before anybody speaks with
 * it.
 */
#include "path.h"

#include "../conn/connection.h"

/*
 * Another connection was accepted while this one is up.  Its peer may have left this one and not be
 * able to tell (it was restarted), or somebody else has the peer's address: this one is asked, the
 * newcomer waits.  One that has answered a moment ago is not asked again.
 */
rds_path::Went rds_path::act_ask()
{
	if (conn.trans.ended && conn.trans.ended(priv))
		return make_way(); /* what came before its end is yet to be read, no more */
	return act_doubt();
}

/* Path 0 has sent somebody away who would have been given this path's messages. */
rds_path::Went rds_path::act_doubt()
{
	if (!asking_)
		ask_who();
	return Went::kOn;
}

/* The peer's first frame has come, or the first since it was asked. */
rds_path::Went rds_path::act_go_on()
{
	if (asking_ && heard.load()) {
		answered_ns_ = rds_now_ns();
		refuse_newcomer();
	}
	kick();
	return Went::kOn;
}

/* It was asked, and has not answered. */
rds_path::Went rds_path::act_yield()
{
	return asking_ ? make_way() : Went::kOn;
}

/* Decided once: it does not change its mind while a sender has the token. */
rds_path::Went rds_path::make_way()
{
	drop_reason_.store(RDS_DROP_REPLACED);
	events_.fetch_or(rds::kEvDrop);
	return act_end();
}

void rds_path::ask_who()
{
	if (answered_ns_ && rds_now_ns() - answered_ns_ < rds::kAnswerGoodNs) {
		refuse_newcomer();
		return;
	}
	asking_ = true;
	heard.store(false);
	arm(rds::StateLimit::answer());
	send_probe();
}

/* Tells a peer of mainline's how many paths we use, and makes a stale connection show itself.  One
 * that waits for room will do that as well as another behind it. */
void rds_path::send_probe()
{
	if (probe_waits_.exchange(true))
		return;

	rds::Message *m = rds::message_create(0, rds::may_sleep());

	if (!m) {
		probe_waits_.store(false);
		return; /* the peer falls back to one path by itself */
	}
	rds::wire::encode(m->hdr, 0, rds::kProbePort, rds::kPingPort, 0);
	(void)rds::wire::ExtWriter(m->hdr).npaths(rds::kMainlinePaths);
	m->flags = rds::kMsgOnce | rds::kMsgProbe;
	if (!enqueue(m, false, nullptr).ok()) {
		probe_waits_.store(false);
		rds::message_put(m);
	}
}

/* Path 0 may have done so already, for this one. */
void rds_path::refuse_newcomer()
{
	asking_ = false;
	disarm();
	if (!discard(accepted_.take()))
		return;
	conn.net.count(RDS_S_conn_takeover_refused);
	if (conn.trans.takeover_refused)
		conn.trans.takeover_refused(priv);
}

/* True if there was one. */
bool rds_path::discard(rds::Accepted *handle)
{
	if (handle)
		conn.trans.discard(handle);
	return handle;
}

/* Receiving. */
void rds_path::first_heard()
{
	heard.store(true);
	spoken_.store(true);
	drained.store(false);
	post(rds::kEvHeard);
}
