// SPDX-License-Identifier: GPL-2.0
/*
 * ib_link_recv.cc: frames become messages again.
 *
 * A frame without payload from port 0 to port 0 is no message: acks, credits, a heartbeat.  It may
 * come between the frames of one, and the core sees its header and nothing else.  All others belong
 * to the message under way or begin one.  The core sees the header of the first, and of those
 * behind it the ack: mainline acknowledges with whatever frame goes next, and says it once.
 */
#include "ib_link.h"

#include "../../net/platform/platform.h"
#include "../../net/rds/ref.h"
#include "../../net/rds/result.h"
#include "ib_link_parts.h"

namespace
{

using namespace rds;
using ib::Link;

/* How far the oldest frame has come. */
enum Stage : uint8_t {
	kNew,	  /* nothing of it was looked at */
	kHeader,  /* what concerns the link was; the core has not seen its header */
	kPayload, /* of the message under way */
	kDeliver, /* the message is whole; the core has not taken it yet */
};

enum class Step { kGoOn, kDone, kWait, kBad, kEnded };

struct Frame {
	const wire::Header &h;
	struct rds_src *src;
	uint32_t len;
	enum rds_ctx ctx;
};

bool is_empty(const wire::Header &h)
{
	return !wire::get32(h.len) && !wire::get16(h.sport) && !wire::get16(h.dport);
}

bool same_message(const wire::Header &a, const wire::Header &b)
{
	return !__builtin_memcmp(a.sequence, b.sequence, sizeof(a.sequence)) &&
	       !__builtin_memcmp(a.len, b.len, sizeof(a.len)) &&
	       !__builtin_memcmp(a.sport, b.sport, sizeof(a.sport)) &&
	       !__builtin_memcmp(a.dport, b.dport, sizeof(a.dport));
}

Step bad(Link &l, enum rds_ib_link_stat why)
{
	rds_ib_hw_count(l.hw, why);
	return Step::kBad;
}

Step look(Link &l, const Frame &f)
{
	if (l.p.csum && wire::get16(f.h.csum) && ib::checksum(f.h))
		return bad(l, RDS_IB_LINK_rx_bad_csum);
	rds_ib_hw_count(l.hw, RDS_IB_LINK_rx_frames);
	if ((l.p.named || l.gives) && f.h.credit) {
		rds_ib_hw_count(l.hw, RDS_IB_LINK_rx_credit_updates);
		l.gives = 1;
		l.given += f.h.credit;
		if (l.p.flow && l.credits < ib::kManyCredits)
			l.credits += f.h.credit;
	}
	l.stage = kHeader;
	return Step::kGoOn;
}

/* Shows a header to the core. */
Step show(Link &l, const Frame &f, struct rds_msg **m)
{
	int r = rds_recv_begin(l.path, reinterpret_cast<const unsigned char *>(&f.h),
			       f.len ? f.src : nullptr, f.len, f.ctx, m);

	if (r)
		*m = nullptr;
	if (r == -err::kEnomem)
		return Step::kWait;
	return !r || r == RDS_RECV_SKIP ? Step::kGoOn : Step::kEnded;
}

/* Behind it nothing comes, and of what came before nothing is missing.  It answers ours, or we
 * answer it: rds_ib_link_settle(). */
Step hear_end(Link &l)
{
	if (l.under_way)
		return bad(l, RDS_IB_LINK_rx_bad_frame);
	l.end_heard = 1;
	if (!l.end_said)
		return Step::kDone;
	rds_path_drained(l.path);
	return Step::kEnded;
}

Step take_empty(Link &l, const Frame &f)
{
	const uint8_t mark = f.h.pad[0];
	struct rds_msg *m;

	if (f.len)
		return bad(l, RDS_IB_LINK_rx_bad_frame);
	/* A heartbeat is no reason not to send a keepalive. */
	if (!l.beats || (mark != ib::kAsk && mark != ib::kAnswer))
		l.deaf = 0;

	Step s = show(l, f, &m);

	if (s != Step::kGoOn)
		return s;
	/* The core keeps none of these. */
	if (m)
		rds_msg_put(m);
	if (l.beats && (mark == ib::kAnswer || !l.ahead))
		ib::hear_beat(l, mark);
	return l.ends && mark == ib::kEnd ? hear_end(l) : Step::kDone;
}

/* Frames wait for the core, which may take long: is one of them a heartbeat?  Each is looked at
 * once. */
void look_ahead(Link &l)
{
	struct rds_src *src;
	uint32_t len;

	for (; l.beats && l.taken + l.ahead != l.arrived; l.ahead++) {
		const uint32_t slot = (l.taken + l.ahead) % l.p.recv_wr;
		const unsigned char *bytes = rds_ib_hw_frame(l.hw, slot, &src, &len);
		const auto *h = reinterpret_cast<const wire::Header *>(bytes);

		if (h && is_empty(*h) && !len && h->pad[0] == ib::kAsk)
			ib::hear_beat(l, ib::kAsk);
	}
}

Step begin(Link &l, const Frame &f)
{
	const auto &under_way = *reinterpret_cast<const wire::Header *>(l.header);
	uint32_t left = l.under_way ? l.left : wire::get32(f.h.len);

	if (is_empty(f.h))
		return take_empty(l, f);
	l.deaf = 0;
	l.spoke = 1;
	if (f.len != ib::smaller(left, l.frame) || (l.under_way && !same_message(f.h, under_way)))
		return bad(l, RDS_IB_LINK_rx_bad_frame);
	if (!l.under_way) {
		Step s = show(l, f, &l.m);

		if (s != Step::kGoOn)
			return s;
		__builtin_memcpy(l.header, &f.h, sizeof(l.header));
		l.left = left;
		l.under_way = 1;
	} else {
		rds_recv_ack(l.path, wire::get64(f.h.ack));
	}
	l.stage = kPayload;
	return Step::kGoOn;
}

Step append(Link &l, const Frame &f)
{
	if (l.m && f.len) {
		int r = rds_recv_more(l.path, l.m, f.src, 0, f.len, f.ctx);

		if (r)
			return r == -err::kEproto ? Step::kEnded : Step::kWait;
	}
	l.left -= f.len;
	if (l.left)
		return Step::kDone;
	l.stage = kDeliver;
	return Step::kGoOn;
}

Step deliver(Link &l)
{
	if (l.m && rds_recv_incoming(l.path, l.m))
		return Step::kWait;
	l.m = nullptr;
	l.under_way = 0;
	return Step::kDone;
}

Step step(Link &l, const Frame &f)
{
	switch (l.stage) {
	case kNew:
		return look(l, f);
	case kHeader:
		return begin(l, f);
	case kPayload:
		return append(l, f);
	default:
		return deliver(l);
	}
}

/* The oldest frame, as far as it can be taken now. */
Step take(Link &l, uint32_t slot, enum rds_ctx ctx)
{
	struct rds_src *src = nullptr;
	uint32_t len = 0;
	const unsigned char *h = rds_ib_hw_frame(l.hw, slot, &src, &len);
	Step s = Step::kGoOn;

	if (!h)
		return bad(l, RDS_IB_LINK_rx_bad_frame);

	Frame f = {*reinterpret_cast<const wire::Header *>(h), src, len, ctx};

	while (s == Step::kGoOn)
		s = step(l, f);
	return s;
}

} // namespace

namespace rds::ib
{

void take_arrived(Link &l, enum rds_ctx ctx)
{
	while (l.state == RDS_IB_LINK_OPEN && !l.paused && !l.end_heard && l.taken != l.arrived) {
		uint32_t slot = l.taken % l.p.recv_wr;

		switch (take(l, slot, ctx)) {
		case Step::kWait:
			l.paused = 1;
			rds_ib_hw_count(l.hw, RDS_IB_LINK_rx_paused);
			rds_recv_later(l.path);
			look_ahead(l);
			break;
		case Step::kBad:
			rds_ib_link_broken(&l, RDS_DROP_PROTOCOL);
			break;
		case Step::kEnded:
			l.state = RDS_IB_LINK_ENDED; /* the core is at it */
			break;
		case Step::kGoOn:
		case Step::kDone:
			rds_ib_hw_taken(l.hw, slot);
			l.taken++;
			l.ahead -= l.ahead != 0;
			l.stage = kNew;
		}
	}
}

} // namespace rds::ib

extern "C" uint32_t rds_ib_link_wants(const struct rds_ib_link *l)
{
	const bool all_taken = rds::read_once(l->taken) == rds::read_once(l->arrived);

	return rds::read_once(l->under_way) && all_taken ? rds::read_once(l->left) : 0;
}

extern "C" void rds_ib_link_arrived(struct rds_ib_link *l)
{
	if (l->arrived == l->offered)
		return;
	if (l->state == RDS_IB_LINK_IDLE)
		ib::open(*l);
	l->arrived++;
	l->burst++;
	if (l->paused)
		look_ahead(*l);
}
