// SPDX-License-Identifier: GPL-2.0
/*
 * ib_link_send.cc: messages become frames, and what they do to the peer's memory goes before them.
 */
#include "ib_link.h"

#include "../../net/rds/result.h"
#include "ib_link_parts.h"

namespace
{

using namespace rds;
using ib::Link;
using ib::note_blocked;
using ib::room;

constexpr struct rds_ib_need kOneFrame = {1, 1};
constexpr unsigned int kSignaled = RDS_IB_SIGNALED | RDS_IB_SOLICITED;

/* Frames in a row that may go without a completion: some are always asked for before the ring is
 * full. */
uint32_t unsignaled_limit(const Link &l)
{
	uint32_t half = l.p.send_wr / 2;

	return l.p.max_unsignaled < half ? l.p.max_unsignaled : half;
}

/* ---- operations ---- */

/* An operation that cannot be done was told so, and its message does not go. */
constexpr int kFailed = 2;

/* Slots and work requests that @op of @m takes, with the frame behind it. */
struct rds_ib_need op_need(const Link &l, const struct rds_op &op, struct rds_msg *m)
{
	const uint32_t slots = rds_ib_hw_op_slots(l.hw, m);
	const uint8_t frame = !op.alone;

	/* For an operation that cannot be done there is never room. */
	return {slots && slots < l.p.send_wr ? slots + frame : l.p.send_wr, frame};
}

/* Our next frame carries the ack that the core has put into @m's header, which does not go. */
void note_ack(Link &l, struct rds_msg *m)
{
	wire::Header h;

	__builtin_memcpy(&h, rds_msg_header(m), sizeof(h));
	if (uint64_t ack = wire::get64(h.ack); ack > l.last_ack)
		l.last_ack = ack;
}

/* Begins what @m has to do before it is sent: 1; 0: no room for it and the first frame; kFailed; or
 * -errno. */
int post_op(Link &l, const struct rds_op &op, struct rds_msg *m)
{
	const struct rds_ib_need need = op_need(l, op, m);

	if (need.slots >= l.p.send_wr) {
		note_ack(l, m);
		rds_op_done(l.path, m, ib::kRdmaOtherError);
		return kFailed;
	}
	if (!room(l, need)) {
		note_blocked(l, need);
		return 0;
	}

	int err = rds_ib_hw_op(l.hw, l.posted % l.p.send_wr, m);

	/* It would be refused by the next connection, too, and so on for ever. */
	if (err == -err::kEinval)
		rds_op_done(l.path, m, ib::kRdmaOtherError);
	if (err)
		return err;
	if (op.alone)
		note_ack(l, m);
	l.posted += need.slots - need.frame;
	l.ops++;
	l.unsignaled = 0;
	l.quiet = 0;
	return 1;
}

/* ---- messages ---- */

/* The frame of @m that begins at @pos; @last: the core has no more for now.  Its length in the
 * core's stream, or -errno. */
long post_part(Link &l, struct rds_msg *m, uint32_t pos, bool last, unsigned int flags)
{
	uint32_t left = rds_msg_len(m) - pos;
	uint32_t len = left < RDS_IB_FRAME ? left : RDS_IB_FRAME;
	bool first = !pos, full = l.posted - l.done + 2 >= l.p.send_wr,
	     dry = l.p.flow && l.credits <= 2;
	wire::Header h;

	__builtin_memcpy(&h, rds_msg_header(m), sizeof(h));
	if (uint64_t ack = wire::get64(h.ack); ack > l.last_ack)
		l.last_ack = ack;
	if (l.unsignaled + 1 >= unsignaled_limit(l) || full || dry || (last && len == left))
		flags |= kSignaled;

	int err = ib::post(l, h, m, pos, len, flags);

	if (err)
		return err;
	l.begun = 1;
	return static_cast<long>(len) + (first ? RDS_HEADER_BYTES : 0);
}

/* @m from its byte @off on, as far as there is room. */
long post_message(Link &l, struct rds_msg *m, uint32_t off, bool last)
{
	const uint32_t all = rds_msg_len(m) + RDS_HEADER_BYTES;
	const struct rds_op *op = off ? nullptr : rds_msg_op(m);
	unsigned int flags = 0;
	long bytes = 0;

	if (RDS_UNLIKELY(op)) {
		int r = post_op(l, *op, m);

		if (r <= 0)
			return r;
		if (op->alone || r == kFailed)
			return all;
		flags = op->fence ? RDS_IB_FENCE : 0;
	}
	for (; off < all && room(l, kOneFrame); flags = 0) {
		long n = post_part(l, m, off ? off - RDS_HEADER_BYTES : 0, last, flags);

		if (n < 0)
			return n;
		bytes += n;
		off += static_cast<uint32_t>(n);
	}
	if (off < all)
		note_blocked(l, kOneFrame);
	return bytes;
}

void count_blocked(const Link &l)
{
	const bool dry = l.need.frame && l.p.flow && l.credits <= 1;

	rds_ib_hw_count(l.hw, dry ? RDS_IB_LINK_tx_throttle : RDS_IB_LINK_tx_ring_full);
}

} // namespace

extern "C" long rds_ib_link_xmit(struct rds_ib_link *l, const struct rds_xmit *x)
{
	uint32_t off = x->off;
	long bytes = 0;

	if (l->state == RDS_IB_LINK_IDLE) {
		note_blocked(*l, kOneFrame);
		return -err::kEagain;
	}
	if (l->state == RDS_IB_LINK_ENDED)
		return -err::kEnotconn;
	for (unsigned int i = 0; i < x->n; i++, off = 0) {
		uint32_t want = rds_msg_len(x->msgs[i]) + RDS_HEADER_BYTES - off;
		long n = post_message(*l, x->msgs[i], off, i + 1 == x->n && !x->more);

		if (n < 0) {
			l->state = RDS_IB_LINK_ENDED; /* the core drops it */
			return n;
		}
		bytes += n;
		if (n < want) {
			count_blocked(*l);
			return bytes ? bytes : -err::kEagain;
		}
	}
	return bytes;
}
