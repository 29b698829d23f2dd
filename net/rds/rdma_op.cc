// SPDX-License-Identifier: GPL-2.0
/*
 * rdma_op.cc: operations that go with messages, and cookies that messages carry.
 */
#include "rdma.h"

namespace rds
{

void msg_rdma_free(MsgRdma *r)
{
	bug_on(r->begun && !r->outcome.load_acquire(), "nobody has said how an operation ended");
	if (r->op.pages)
		rds_pages_unpin(r->op.pages);
	if (r->notice) {
		rds_free(r->notice);
		r->side->let_go(1);
	}
	if (r->side)
		r->side->put();
	destroy(r);
}

/* The peer frees what may be used once, or tells its program where it may look. */
void msg_rdma_stamp(Message &m)
{
	const MsgRdma &r = *m.rdma_side;
	wire::ExtWriter w(m.hdr);

	if (r.has_op && (r.op.kind == RDS_OP_WRITE || r.op.kind == RDS_OP_READ))
		(void)w.rdma(r.op.rkey);
	if (r.cookie)
		(void)w.rdma_dest(static_cast<uint32_t>(r.cookie),
				  static_cast<uint32_t>(r.cookie >> 32));
}

bool op_decide(Message &m, int status)
{
	MsgRdma *r = m.rdma();
	uint32_t undecided = 0;

	if (!r || !r->has_op ||
	    !r->outcome.compare_exchange(undecided, 1 + static_cast<uint32_t>(status)))
		return false;

	OpNotice *n = r->notice;

	r->notice = nullptr;
	if (!n)
		return true;
	n->n.status = status;
	if (status || !r->only_errors) {
		r->side->tell(n);
	} else {
		rds_free(n);
		r->side->let_go(1);
	}
	return true;
}

void op_left(Message &m, int unbegun)
{
	const MsgRdma &r = *m.rdma_side;

	/* Of one that was begun the transport tells; but a message that arrived came behind what it
	 * wrote. */
	if (!r.begun)
		op_decide(m, m.flags & kMsgCancelled ? +kRdmaCanceled : unbegun);
	else if (r.delivered && r.op.kind == RDS_OP_WRITE && !op_decided(m))
		op_decide(m, kRdmaSuccess);
}

bool rdma_sync(RdmaSeat &s, const wire::Header &h)
{
	RdmaSide *side = s.side.load_acquire();
	wire::ExtReader r(h);
	wire::ExtView e;
	bool tells = false;

	while (r.next(e)) {
		if (e.type == wire::Ext::kRdmaBytes)
			tells = true;
		else if (side && e.type == wire::Ext::kRdma && side->sync(wire::get32(e.data)))
			tells = true;
	}
	return tells;
}

void rdma_arrived(Net &net, RdmaSeat &s, const wire::Header &h)
{
	wire::ExtReader r(h);
	wire::ExtView e;

	while (r.next(e)) {
		if (e.type == wire::Ext::kRdmaBytes)
			net.count(RDS_S_recv_rdma_bytes, wire::get32(e.data));
		if (e.type != wire::Ext::kRdma)
			continue;
		if (RdmaSide *side = s.side.load_acquire())
			side->used(wire::get32(e.data));
	}
}

uint64_t rdma_cookie(const wire::Header &h)
{
	wire::ExtReader r(h);
	wire::ExtView e;

	while (r.next(e))
		if (e.type == wire::Ext::kRdmaDest)
			return wire::get32(e.data) | static_cast<uint64_t>(wire::get32(e.data + 4))
							     << 32;
	return 0;
}

} // namespace rds

extern "C" {

const struct rds_op *rds_msg_op(const struct rds_msg *m)
{
	const rds::MsgRdma *r = m->rdma();

	return r && r->has_op && !r->outcome.load_acquire() ? &r->op : nullptr;
}

} // extern "C"
