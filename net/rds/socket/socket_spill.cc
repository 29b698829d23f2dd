// SPDX-License-Identifier: GPL-2.0
/*
 * socket_spill.cc: the messages that a full socket takes beyond its hard limit.
 */
#include "socket.h"

using rds::Guard;
using rds::Message;
using rds::Status;

/*
 * Beyond the hard limit there is room for what was sent before its sender can have known that we
 * are full, so that nobody else's messages have to wait behind it; but that has to be paid for, and
 * each peer has a share of it.  True: @m is counted, until it is freed.
 */
bool rds_socket::may_spill(Message &m, uint32_t limit)
{
	const uint64_t most = rds::read_once(net->tun.recv_spill_bytes);
	const uint64_t hard = uint64_t{limit} * rds::kHardMemFactor;
	const uint64_t least = hard + most / rds::kLeastSpillPart;
	const uint64_t end = most > least ? most : least;
	const uint64_t unread = unread_mem(), used = unread > hard ? unread : hard;

	if (used + m.charge > end)
		return false;
	if (!rcv_mem.covers(m.charge))
		(void)rcv_mem.pay(this, m.charge, RDS_ATOMIC);
	return rcv_mem.covers(m.charge) && take_share(m, {end - used, end - hard});
}

bool rds_socket::take_share(Message &m, const rds::PeerShares::Room &room)
{
	Status st;
	{
		Guard g(recv_lock);

		if (!spill)
			spill = rds::create<rds::PeerShares>(RDS_ATOMIC, net->key);
		st = spill ? spill->take(m.saddr, m.scope, m.charge, room)
			   : Status::fail(rds::err::kEnomem);
	}
	if (!st.ok()) {
		net->count(st.is(rds::err::kEnomem) ? RDS_S_recv_no_memory
						    : RDS_S_recv_spill_share);
		return false;
	}
	m.has = rds::MsgHas::kSpilled;
	m.spilled_at = this;
	return true;
}

/* A spilled message is freed by its socket, or by a delivery that finds that closed, and whose RCU
 * section keeps its memory. */
void rds::spill_left(Message &m)
{
	m.spilled_at->unspill(m);
}

void rds_socket::unspill(const Message &m)
{
	rds::PeerShares *no_more = nullptr;
	rds::PeerShares::Share *share;
	{
		Guard g(recv_lock);

		share = spill->give(m.saddr, m.scope, m.charge);
		if (spill->is_empty()) {
			no_more = spill;
			spill = nullptr;
		}
	}
	rds::destroy(share);
	rds::destroy(no_more);
}
