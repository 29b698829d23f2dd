// SPDX-License-Identifier: GPL-2.0
/*
 * ib_link_beat.cc: is the other host there?  Keepalives and heartbeats.
 *
 * A keepalive is for the adapter, which notices that nobody acknowledges it.  Where messages wait
 * for the peer to have buffers one goes sooner, and without a credit: the adapter of a peer that
 * lives lets it wait for a buffer.  A heartbeat is for the RDS behind that: an empty frame asks,
 * and the worker of the host that has it answers in another.  A question is heard in whatever has
 * come, also where the core has no room for what was before it (ib_link_recv.cc): a receiver that
 * is merely slow is there.  Nor does a host take its peer for gone before it has looked at all that
 * came, or while it has no buffer for an answer.
 */
#include "ib_link.h"

#include "../../net/rds/wire.h"
#include "ib_link_parts.h"

namespace
{

using rds::ib::Link;

/* The state of the peer's question. */
enum Answer : uint8_t {
	kNone,	/* there is none */
	kHeard, /* the worker was called */
	kDue,	/* the worker is there */
};

/* The last credit is for giving some back. */
bool has_credit(const Link &l)
{
	return !l.p.flow || l.credits > 1;
}

} // namespace

void rds::ib::hear_beat(Link &l, uint8_t mark)
{
	if (mark == kAnswer)
		l.asked = 0;
	if (mark != kAsk || l.answers != kNone)
		return;
	l.answers = kHeard;
	rds_ib_hw_asked(l.hw);
}

/* Also without a credit: the one that is owed may lie behind what the core has no room for, and the
 * peer's adapter lets the frame wait for a buffer.  But a peer may ask without end. */
void rds::ib::answer(Link &l)
{
	if (l.answers != kDue || l.credits <= -kManyCredits || !post_own(l, kAnswer))
		return;
	l.answers = kNone;
	rds_ib_hw_count(l.hw, RDS_IB_LINK_rx_heartbeat);
}

extern "C" {

int rds_ib_link_ask(struct rds_ib_link *l)
{
	if (!l->beats || l->asked || !has_credit(*l) || !rds::ib::post_own(*l, rds::ib::kAsk))
		return 0;
	l->asked = 1;
	l->asked_at = l->own;
	rds_ib_hw_count(l->hw, RDS_IB_LINK_tx_heartbeat);
	return 1;
}

void rds_ib_link_probe(struct rds_ib_link *l)
{
	if (has_credit(*l))
		(void)rds::ib::post_own(*l);
}

void rds_ib_link_doubt(struct rds_ib_link *l)
{
	const bool silent = l->arrived == l->heard;

	l->heard = l->arrived;
	if (silent && rds_ib_link_dry(l) && l->done == l->posted && rds::ib::post_own(*l))
		rds_ib_hw_count(l->hw, RDS_IB_LINK_tx_keepalive);
}

int rds_ib_link_unanswered(const struct rds_ib_link *l)
{
	const bool arrived = static_cast<int32_t>(l->done - l->asked_at) > 0;

	return l->state == RDS_IB_LINK_OPEN && l->asked && arrived && !l->end_said &&
	       l->taken == l->arrived && l->arrived != l->offered;
}

int rds_ib_link_spoke(struct rds_ib_link *l)
{
	const int spoke = l->spoke;

	l->spoke = 0;
	return spoke;
}

void rds_ib_link_answer(struct rds_ib_link *l)
{
	if (l->answers == kNone)
		return;
	l->answers = kDue;
	rds::ib::answer(*l);
}

/*
 * The last credit is not for this.  But a peer of which nothing comes may be gone, and our credits
 * with it; if it is not, its adapter lets the frame wait for a buffer.
 *
 * Before the first frame of a peer that speaks first we may not ask.  It comes at once, or the peer
 * is gone.
 */
void rds_ib_link_keepalive(struct rds_ib_link *l)
{
	const bool may = has_credit(*l) || l->deaf;

	if (l->state == RDS_IB_LINK_IDLE && l->p.hears_first && l->deaf)
		rds_ib_link_broken(l, RDS_DROP_ERROR);
	else if (l->quiet && may && rds::ib::post_own(*l))
		rds_ib_hw_count(l->hw, RDS_IB_LINK_tx_keepalive);
	l->quiet = l->deaf = 1;
}

} // extern "C"
