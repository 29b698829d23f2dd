// SPDX-License-Identifier: GPL-2.0
/*
 * delivered.cc: when the peer is asked what it has.
 */
#include "delivered.h"

#include "../rdma.h"

namespace rds
{

bool Delivered::ask(Batch &b, unsigned int first, bool always)
{
	unsigned int n = b.n;

	left_.packets--;
	left_.bytes -= static_cast<int64_t>(b.bytes);
	while (n > first && RDS_UNLIKELY(op_alone(*b.msgs[n - 1])))
		n--;
	if (n == first)
		return false; /* no frame at all: the next batch asks */

	Message &last = *b.msgs[n - 1];
	const uint64_t seq = wire::get64(last.hdr.sequence);
	/* A sender that will soon have to wait, or that wants its pages back, and no answer on its
	 * way. */
	const bool hurry = asked_ <= up_to_.load() &&
			   (last.zcopy() || (last.sock && sender_short_of_room(*last.sock)));

	/* Of one that it has already, sent again, nothing will be said; and an operation takes its
	 * own time before its message. */
	const bool timed = seq > up_to_.load() && !last.rdma();

	if (!seq || (left_.packets > 0 && left_.bytes > 0 && !hurry && !always &&
		     !(timed && clock_.is_due(last.order.queued_ms))))
		return false; /* a map or a bare ack has none */
	last.hdr.flags |= wire::kAckRequired;
	for (unsigned int i = first; always && i < n - 1; i++)
		if (wire::get64(b.msgs[i]->hdr.sequence))
			b.msgs[i]->hdr.flags |= wire::kAckRequired;
	asked_ = seq;
	if (timed)
		clock_.asks(seq, last.order.queued_ms);
	return true;
}

} // namespace rds
