// SPDX-License-Identifier: GPL-2.0
/*
 * ib_link.cc: a link's life, the frames that it sends, and its credits.  What messages become of:
 * ib_link_send.cc, ib_link_recv.cc.
 */
#include "ib_link.h"

#include "../../net/platform/platform.h"
#include "../../net/rds/ref.h"
#include "../../net/rds/result.h"
#include "ib_link_parts.h"

namespace
{

using namespace rds;
using ib::larger;
using ib::Link;
using ib::note_blocked;
using ib::post_own;
using ib::room;
using ib::smaller;

/* Credits given back at a time, if no message carries them: a quarter of what is posted, but ... */
constexpr uint32_t kUpdateAt = 16, kMaxUpdateAt = 128;
constexpr uint32_t kMaxHeaderCredit = 255;
/* Buffers that a ring gets more at a time. */
constexpr uint32_t kMaxGrowth = 64;

void stamp(Link &l, wire::Header &h)
{
	h.credit = 0;
	if (l.gives) {
		h.credit = static_cast<uint8_t>(l.to_return < kMaxHeaderCredit ? l.to_return
									       : kMaxHeaderCredit);
		l.to_return -= h.credit;
	}
	l.credits -= l.p.flow;
	if (l.p.csum) {
		__builtin_memset(h.csum, 0, sizeof(h.csum));

		uint16_t sum = ib::checksum(h);

		__builtin_memcpy(h.csum, &sum, sizeof(h.csum));
	}
}

/* @h was not sent after all. */
void unstamp(Link &l, const wire::Header &h)
{
	l.to_return += h.credit;
	l.credits += l.p.flow;
}

/* Gets the ring @enough buffers, a few at a time, for this is a softirq. */
void grow_to(Link &l, uint32_t enough)
{
	enough = smaller(enough, l.p.recv_wr);
	if (enough <= l.depth)
		return;

	const uint32_t more = smaller(enough - l.depth, kMaxGrowth);

	if (rds_ib_hw_may_grow(l.hw, more))
		l.depth += more;
}

/* Half of the buffers are for what comes while the other half is looked at, or waits for the core.
 */
void grow(Link &l)
{
	const uint32_t at_once = larger(l.burst, l.arrived - l.taken);

	grow_to(l, 2 * smaller(at_once, l.p.recv_wr));
}

/* Of what is posted, which may be little: the peer has no more, and keeps one back.  Two at least:
 * the frame itself takes one, which comes back, too. */
uint32_t update_at(const Link &l)
{
	const uint32_t posted = l.offered - l.taken;
	const uint32_t few = smaller(posted / 2, kUpdateAt);
	const uint32_t many = smaller(posted / 4, kMaxUpdateAt);

	return larger(larger(few, many), 2);
}

/* By itself, when nothing else has carried them.  Where it has to be done after a few frames the
 * ring is too small for what comes. */
void return_credits(Link &l)
{
	if (!l.gives || (l.p.flow && l.credits <= 0))
		return;
	if (l.to_return < update_at(l) || !post_own(l))
		return;
	rds_ib_hw_count(l.hw, RDS_IB_LINK_tx_credit_updates);
	grow_to(l, 2 * smaller(l.depth, kUpdateAt));
}

/* The oldest slot comes back; @status: how it ended.  Its mapping goes before anybody is told: what
 * was read may be where the program looks only then. */
void give_back(Link &l, int status)
{
	const uint32_t slot = l.done % l.p.send_wr;
	int last = 0;
	struct rds_msg *m = l.ops || l.op_reported ? rds_ib_hw_op_of(l.hw, slot, &last) : nullptr;
	const bool tell = m && last && !l.op_reported;

	if (m && last)
		l.op_reported = 0;
	if (tell)
		rds_msg_get(m);
	rds_ib_hw_sent(l.hw, slot);
	l.done++;
	if (!tell)
		return;
	l.ops--;
	rds_op_done(l.path, m, status);
	rds_msg_put(m);
}

void tell_of_room(Link &l)
{
	if (l.state != RDS_IB_LINK_OPEN || l.end_heard || !l.blocked)
		return;
	if (!room(l, l.need)) {
		note_blocked(l, l.need);
		return;
	}
	l.blocked = 0;
	rds_path_writable(l.path);
}

/* The first frame tells the peer who we are: that is the core's. */
bool may_post_own(const Link &l)
{
	return l.state == RDS_IB_LINK_OPEN && l.begun && !l.end_said &&
	       l.posted - l.done < l.p.send_wr;
}

/* A frame without payload, @mark in it.  False: the connection is broken. */
bool post_empty(Link &l, uint8_t mark, unsigned int flags)
{
	wire::Header h;

	wire::encode(h, 0, 0, 0, 0);
	wire::put64(h.ack, l.last_ack);
	h.pad[0] = mark;
	l.own = l.posted;
	if (ib::post(l, h, nullptr, 0, 0, flags | RDS_IB_SIGNALED | RDS_IB_SOLICITED)) {
		rds_ib_link_broken(&l, RDS_DROP_SEND);
		return false;
	}
	l.own_out = 1;
	return true;
}

/* Can the peer be told that it has all of ours?  It may lack a part of a message, or a buffer. */
bool may_end(const Link &l)
{
	return l.begun && !l.cut && (!l.p.flow || l.credits > 0);
}

/* Behind all that was posted, and not before what that reads. */
void post_end(Link &l)
{
	if (may_post_own(l))
		l.end_said = post_empty(l, ib::kEnd, RDS_IB_FENCE);
}

/* The peer has ended in order: so do we, as soon as there is room. */
void answer_end(Link &l)
{
	if (!l.end_heard || l.end_said)
		return;
	if (may_end(l))
		post_end(l);
	else
		rds_ib_link_broken(&l, RDS_DROP_ERROR);
}

void give_back_all(Link &l)
{
	while (l.done != l.posted)
		give_back(l, ib::kRdmaDropped);
	for (; l.taken != l.offered; l.taken++)
		rds_ib_hw_taken(l.hw, l.taken % l.p.recv_wr);
	if (l.m)
		rds_msg_put(l.m);
}

} // namespace

namespace rds::ib
{

bool room(const Link &l, const struct rds_ib_need &n)
{
	return l.posted - l.done + n.slots < l.p.send_wr &&
	       (!n.frame || !l.p.flow || l.credits > 1);
}

int post(Link &l, wire::Header &h, struct rds_msg *m, uint32_t off, uint32_t len,
	 unsigned int flags)
{
	const bool signaled = flags & RDS_IB_SIGNALED;

	stamp(l, h);

	int err = rds_ib_hw_send(l.hw, l.posted % l.p.send_wr,
				 reinterpret_cast<const unsigned char *>(&h), m, off, len, flags);

	if (err) {
		unstamp(l, h);
		return err;
	}
	l.posted++;
	l.unsignaled = signaled ? 0 : l.unsignaled + 1;
	l.quiet = 0;
	rds_ib_hw_count(l.hw, RDS_IB_LINK_tx_frames);
	return 0;
}

bool post_own(Link &l, uint8_t mark)
{
	const uint8_t quiet = l.quiet;

	if (!may_post_own(l) || l.own_out || !post_empty(l, mark, 0))
		return false;
	/* A keepalive is due for all that: it is one that goes without a credit, if need be. */
	if (mark)
		l.quiet = quiet;
	return true;
}

/* Without a completion it would wait for ever: if nobody has asked for one of what is out we do,
 * with a frame of our own. */
void note_blocked(Link &l, const struct rds_ib_need &need)
{
	l.blocked = 1;
	l.need = need;
	if (l.unsignaled && l.unsignaled == l.posted - l.done)
		(void)post_own(l);
}

void open(Link &l)
{
	l.state = RDS_IB_LINK_OPEN;
	tell_of_room(l);
}

uint16_t checksum(const wire::Header &h)
{
	uint64_t words[wire::kHeaderBytes / 8], sum = 0;

	/* The order of bytes does not matter to it: four words of 16 bits at a time. */
	__builtin_memcpy(words, &h, sizeof(words));
	for (uint64_t w : words)
		sum += (w & 0xffffffff) + (w >> 32);
	for (int i = 0; i < 3; i++)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

} // namespace rds::ib

extern "C" {

void rds_ib_link_init(struct rds_ib_link *l, struct rds_path *path, void *hw)
{
	__builtin_memset(l, 0, sizeof(*l));
	l->path = path;
	l->hw = hw;
	l->state = RDS_IB_LINK_IDLE;
}

void rds_ib_link_prepare(struct rds_ib_link *l, const struct rds_ib_link_params *p)
{
	rds_ib_link_init(l, l->path, l->hw);
	l->p = *p;
	l->depth = p->first_buffers;
	l->frame = RDS_IB_FRAME << p->order;
}

void rds_ib_link_peer_order(struct rds_ib_link *l, unsigned int order)
{
	l->frame = RDS_IB_FRAME << ib::smaller(order, l->p.order);
}

uint32_t rds_ib_link_claim(struct rds_ib_link *l)
{
	const uint32_t posted = l->offered - l->taken;
	uint32_t claimed = posted != 0;

	while (claimed && claimed * 2 <= posted)
		claimed *= 2;
	l->to_return = posted - claimed;
	return claimed;
}

void rds_ib_link_peer_credit(struct rds_ib_link *l, uint32_t credits)
{
	/* More than any ring has: then it need not be believed. */
	l->credits = static_cast<int32_t>(credits < ib::kManyCredits ? credits : ib::kManyCredits);
	l->p.flow = l->gives = l->p.flow && credits;
}

void rds_ib_link_peer_ends(struct rds_ib_link *l)
{
	l->ends = 1;
}

void rds_ib_link_peer_beats(struct rds_ib_link *l)
{
	l->beats = 1;
}

void rds_ib_link_open(struct rds_ib_link *l)
{
	if (l->state == RDS_IB_LINK_IDLE && !l->p.hears_first)
		ib::open(*l);
}

int rds_ib_link_offer(struct rds_ib_link *l, enum rds_ctx ctx)
{
	while (l->state != RDS_IB_LINK_ENDED && l->offered - l->taken < l->depth) {
		int err = rds_ib_hw_offer(l->hw, l->offered % l->p.recv_wr, ctx);

		if (err) {
			if (err != -err::kEnomem)
				rds_ib_link_broken(l, RDS_DROP_ERROR);
			return err;
		}
		l->offered++;
		l->to_return++;
	}
	return 0;
}

void rds_ib_link_sent(struct rds_ib_link *l, uint32_t slot)
{
	uint32_t n = (slot - l->done) % l->p.send_wr + 1;

	if (n > l->posted - l->done)
		return; /* nothing was posted there */
	for (; n; n--) {
		if (l->own_out && l->done == l->own)
			l->own_out = 0;
		give_back(*l, ib::kRdmaSuccess);
	}
	/* The peer has our answer to its END, and all before it. */
	if (l->end_heard && l->end_said && !l->own_out)
		rds_ib_link_broken(l, RDS_DROP_PEER_CLOSED);
}

void rds_ib_link_failed(struct rds_ib_link *l, uint32_t slot, int status)
{
	uint32_t n = (slot - l->done) % l->p.send_wr;
	struct rds_msg *m;
	int last;

	if (l->failed || n >= l->posted - l->done)
		return; /* it can fail but once; or nothing was posted there */
	if (n)
		rds_ib_link_sent(l, (slot - 1) % l->p.send_wr);
	l->failed = 1;
	m = l->ops ? rds_ib_hw_op_of(l->hw, slot, &last) : nullptr;
	if (!m)
		return;
	/* Its slots are with the adapter until the end. */
	l->ops--;
	l->op_reported = 1;
	rds_op_done(l->path, m, status);
}

int rds_ib_link_midway(const struct rds_ib_link *l)
{
	using rds::read_once;

	return !read_once(l->ends) || read_once(l->under_way) || read_once(l->ops) ||
	       read_once(l->taken) != read_once(l->arrived);
}

void rds_ib_link_shutdown(struct rds_ib_link *l)
{
	if (!l->ends) {
		rds_path_drained(l->path);
		return;
	}
	if (may_end(*l))
		post_end(*l);
	if (!l->end_said)
		rds_ib_link_broken(l, RDS_DROP_SEND);
}

int rds_ib_link_ending(const struct rds_ib_link *l)
{
	return l->state == RDS_IB_LINK_OPEN && l->end_said;
}

int rds_ib_link_owed(const struct rds_ib_link *l)
{
	return l->posted - l->done != l->unsignaled;
}

void rds_ib_link_settle(struct rds_ib_link *l, enum rds_ctx ctx)
{
	grow(*l);
	ib::take_arrived(*l, ctx);
	if (l->state != RDS_IB_LINK_OPEN)
		return;
	(void)rds_ib_link_offer(l, ctx);
	answer_end(*l);
	ib::answer(*l);
	return_credits(*l);
	tell_of_room(*l);
}

void rds_ib_link_heard_all(struct rds_ib_link *l)
{
	l->burst = 0;
}

void rds_ib_link_retry(struct rds_ib_link *l)
{
	l->paused = 0;
	rds_ib_link_settle(l, RDS_ATOMIC);
}

void rds_ib_link_broken(struct rds_ib_link *l, enum rds_drop_reason why)
{
	if (l->state == RDS_IB_LINK_ENDED)
		return;
	l->state = RDS_IB_LINK_ENDED;
	rds_path_drop(l->path, why);
}

void rds_ib_link_end(struct rds_ib_link *l)
{
	give_back_all(*l);
	rds_ib_link_init(l, l->path, l->hw);
}

} // extern "C"
