// SPDX-License-Identifier: GPL-2.0
/*
 * path_takeover.cc: who is at the other end: a connection is asked before another takes its place
 * (docs/decisions/023-takeover.md).
 */
#include "path.h"

#include "connection.h"

/*
 * Another connection was accepted while this one is up.  Its peer may have left this one and not be
 * able to tell (it was restarted), or somebody else has the peer's address: this one is asked, the
 * newcomer waits.  True: this one ends.
 */
bool rds_path::must_yield(uint32_t ev)
{
	if (accepted_.empty())
		return false;
	if (conn.trans.ended && conn.trans.ended(priv))
		return true; /* what came before its end is yet to be read, no more */
	if (!asking_) {
		ask();
		return false;
	}
	if (heard.load()) {
		answered_ns_ = rds_now_ns();
		refuse_newcomer();
		return false;
	}
	return ev & rds::kEvTimer;
}

/* One that has answered a moment ago is not asked again. */
void rds_path::ask()
{
	if (answered_ns_ && rds_now_ns() - answered_ns_ < rds::kAnswerGoodNs) {
		refuse_newcomer();
		return;
	}
	asking_ = true;
	heard.store(false);
	arm(rds::kAskNs);
	send_probe();
}

/* Tells a peer of mainline's how many paths we use, and makes a stale connection show itself. */
void rds_path::send_probe()
{
	rds::Message *m = rds::message_create(0, RDS_MAY_SLEEP);

	if (!m)
		return; /* the peer falls back to one path by itself */
	rds::wire::encode(m->hdr, 0, rds::kProbePort, rds::kPingPort, 0);
	(void)rds::wire::ExtWriter(m->hdr).npaths(rds::kMainlinePaths);
	m->flags = rds::kMsgOnce;
	if (!enqueue(m, false, nullptr).ok())
		rds::message_put(m);
}

void rds_path::refuse_newcomer()
{
	asking_ = false;
	disarm();
	if (discard(accepted_.take()))
		conn.net.count(RDS_S_conn_takeover_refused);
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
	parted.store(false);
	post(rds::kEvHeard);
}
