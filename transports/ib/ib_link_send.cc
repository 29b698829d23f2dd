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
	return ib::smaller(l.p.max_unsignaled, l.p.send_wr / 2);
}

/* ---- operations ---- */

/* The outcome of beginning an operation. */
enum class Begun {
	kYes,	 /* the frames follow, if it is not alone */
	kLater,	 /* no room for it and the first frame, or no memory */
	kFailed, /* it was told, and its message does not go */
	kBroken, /* as is the connection */
};

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

/*
 * The adapter does not take the operation of @m.  It has failed, and everything else goes on; but
 * if the adapter does not take a frame either, then it is the connection that has ended, and the
 * operation waits for the next one.
 */
Begun refused(Link &l, struct rds_msg *m)
{
	note_ack(l, m);
	(void)ib::post_own(l);
	if (l.state != RDS_IB_LINK_OPEN)
		return Begun::kBroken;
	rds_op_done(l.path, m, ib::kRdmaOtherError);
	return Begun::kFailed;
}

/* Begins what @m has to do before it is sent. */
Begun post_op(Link &l, const struct rds_op &op, struct rds_msg *m)
{
	const struct rds_ib_need need = op_need(l, op, m);

	if (need.slots >= l.p.send_wr) {
		note_ack(l, m);
		rds_op_done(l.path, m, ib::kRdmaOtherError);
		return Begun::kFailed;
	}
	if (!room(l, need)) {
		note_blocked(l, need);
		return Begun::kLater;
	}

	int err = rds_ib_hw_op(l.hw, l.posted % l.p.send_wr, m);

	if (err == -err::kEnomem)
		note_blocked(l, need);
	if (err)
		return err == -err::kEnomem   ? Begun::kLater
		       : err == -err::kEinval ? refused(l, m)
					      : Begun::kBroken;
	if (op.alone)
		note_ack(l, m);
	l.posted += need.slots - need.frame;
	l.ops++;
	l.unsignaled = 0;
	l.quiet = 0;
	return Begun::kYes;
}

/* ---- messages ---- */

/* The bytes that the adapter has taken, or where it stopped.  With an @err it takes nothing more;
 * these went before that all the same. */
struct Taken {
	long bytes;
	int err;
};

/* The frame of @m that begins with its payload's byte @pos; @last: the core has no more for now.
 * 0 and the frame's payload in *@len, or -errno. */
int post_part(Link &l, struct rds_msg *m, uint32_t pos, bool last, unsigned int flags,
	      uint32_t *len)
{
	uint32_t left = rds_msg_len(m) - pos;
	bool full = l.posted - l.done + 2 >= l.p.send_wr, dry = l.p.flow && l.credits <= 2;
	wire::Header h;

	*len = ib::smaller(left, l.frame);
	__builtin_memcpy(&h, rds_msg_header(m), sizeof(h));
	if (uint64_t ack = wire::get64(h.ack); ack > l.last_ack)
		l.last_ack = ack;
	/* Mainline looks when a frame with this bit comes, and sets it at each message's end. What
	 * is to follow may need no frame, and then none of ours would have had it. */
	if (*len == left)
		flags |= RDS_IB_SOLICITED;
	if (l.unsignaled + 1 >= unsignaled_limit(l) || full || dry || (last && *len == left))
		flags |= kSignaled;

	int err = ib::post(l, h, m, pos, *len, flags);

	if (!err)
		l.begun = 1;
	return err;
}

/* The frames of @m from its byte @off on, as far as there is room and memory: where it got to. */
Taken post_frames(Link &l, struct rds_msg *m, uint32_t off, bool last, unsigned int flags)
{
	const uint32_t all = rds_msg_len(m) + RDS_HEADER_BYTES;

	for (; off < all && room(l, kOneFrame); flags = 0) {
		uint32_t pos = off < RDS_HEADER_BYTES ? 0 : off - RDS_HEADER_BYTES, len;
		int err = post_part(l, m, pos, last, flags, &len);

		if (err == -err::kEnomem)
			break;
		if (err)
			return {off, err};
		off = RDS_HEADER_BYTES + pos + len;
	}
	if (off < all)
		note_blocked(l, kOneFrame);
	return {off, 0};
}

/*
 * @m from its byte @off on, as far as there is room: so many bytes.  Where an operation was begun
 * and its frame has to wait, or fails, one byte is taken: so the core knows of it, and comes back
 * with the frame alone.
 */
Taken post_message(Link &l, struct rds_msg *m, uint32_t off, bool last)
{
	const struct rds_op *op = off < RDS_HEADER_BYTES ? rds_msg_op(m) : nullptr;
	uint32_t from = off;
	unsigned int flags = 0;

	if (RDS_UNLIKELY(op && !off)) {
		Begun begun = post_op(l, *op, m);

		if (begun == Begun::kBroken)
			return {0, -err::kEnotconn};
		if (begun == Begun::kLater)
			return {0, 0};
		if (begun == Begun::kFailed || op->alone)
			return {rds_msg_len(m) + RDS_HEADER_BYTES, 0};
		from = 1;
	}
	if (RDS_UNLIKELY(op) && op->fence)
		flags = RDS_IB_FENCE;

	const Taken end = post_frames(l, m, from, last, flags);

	return {end.bytes - off, end.err};
}

/* Where there is room it was memory that was missing, which the hardware side has counted. */
void count_blocked(const Link &l)
{
	if (!room(l, l.need))
		rds_ib_hw_count(l.hw, rds_ib_link_dry(&l) ? RDS_IB_LINK_tx_throttle
							  : RDS_IB_LINK_tx_ring_full);
}

/*
 * The adapter has failed with @err after it had taken @bytes.  The core has to know of these, for
 * they may arrive, and an operation among them may be done.  So xmit tells them, and the failure
 * is told beside it; where there are none xmit tells the failure itself.
 */
long ended(Link &l, long bytes, int err)
{
	if (bytes) {
		rds_ib_link_broken(&l, RDS_DROP_SEND);
		return bytes;
	}
	l.state = RDS_IB_LINK_ENDED; /* the core drops it */
	return err;
}

} // namespace

extern "C" int rds_ib_link_dry(const struct rds_ib_link *l)
{
	return l->blocked && l->need.frame && l->p.flow && l->credits <= 1;
}

extern "C" long rds_ib_link_xmit(struct rds_ib_link *l, const struct rds_xmit *x)
{
	uint32_t off = x->off;
	long bytes = 0;

	if (l->state == RDS_IB_LINK_IDLE || (l->state == RDS_IB_LINK_OPEN && l->end_heard)) {
		note_blocked(*l, kOneFrame);
		return -err::kEagain;
	}
	if (l->state == RDS_IB_LINK_ENDED)
		return -err::kEnotconn;
	for (unsigned int i = 0; i < x->n; i++, off = 0) {
		uint32_t want = rds_msg_len(x->msgs[i]) + RDS_HEADER_BYTES - off;
		const Taken t = post_message(*l, x->msgs[i], off, i + 1 == x->n && !x->more);

		bytes += t.bytes;
		if (t.err)
			return ended(*l, bytes, t.err);
		/* Of one of which nothing has gone, nothing has to follow. */
		l->cut = t.bytes < want && (off || t.bytes);
		if (t.bytes < want) {
			count_blocked(*l);
			return bytes ? bytes : -err::kEagain;
		}
	}
	return bytes;
}
