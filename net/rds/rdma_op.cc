// SPDX-License-Identifier: GPL-2.0
/*
 * rdma_op.cc: operations that go with messages, and cookies that messages carry.
 */
#include "rdma.h"

#include "net.h"

namespace err = rds::err;
using rds::Message;
using rds::MsgRdma;
using rds::RdmaSide;
using rds::Status;

namespace
{

constexpr unsigned int kMaxPieces = 1024;

bool is_atomic(unsigned int kind)
{
	return kind == RDS_OP_FADD || kind == RDS_OP_CSWP;
}

/* The pieces of our memory: each is there, and all fit into what the operation covers. */
Status check_pieces(const struct rds_op_args &a, uint32_t &bytes)
{
	uint64_t total = 0;

	if (!a.n_local)
		return Status::fail(err::kEinval);
	if (a.n_local > kMaxPieces || a.remote_bytes > rds::kMaxMessageBytes)
		return Status::fail(err::kEmsgsize);
	for (unsigned int i = 0; i < a.n_local; i++) {
		const struct rds_iov &v = a.local[i];

		if (v.bytes > rds::kMaxMessageBytes)
			return Status::fail(err::kEmsgsize);
		if (!v.bytes || v.addr + v.bytes - 1 < v.addr)
			return Status::fail(err::kEinval);
		total += v.bytes;
	}
	if (total > a.remote_bytes)
		return Status::fail(err::kEinval);
	bytes = static_cast<uint32_t>(total);
	return Status();
}

/* As the adapter is to be asked: with masks only if they mean something, or if it knows no other
 * way. */
Status choose_atomic(const rds_socket &s, const struct rds_op_args &a, struct rds_op &op)
{
	const unsigned int can = s.trans->atomics(s.net->os, &s.bound.addr, s.bound.scope);
	const uint64_t all = ~0ull;
	/* A mask of carries that stop, or of bits that count. */
	const uint64_t plain = op.kind == RDS_OP_FADD ? 0 : all;
	const bool masks = a.masked && (a.compare_add_mask != plain ||
					(op.kind == RDS_OP_CSWP && a.swap_mask != plain));

	op.compare_add = a.compare_add;
	op.swap = a.swap;
	op.compare_add_mask = a.masked ? a.compare_add_mask : plain;
	op.swap_mask = a.masked ? a.swap_mask : all;
	op.masked = masks || !(can & RDS_ATOMICS_PLAIN);
	return can & (op.masked ? RDS_ATOMICS_MASKED : RDS_ATOMICS_PLAIN)
		       ? Status()
		       : Status::fail(err::kEopnotsupp);
}

Status fill_op(rds_socket &s, const Message &m, const struct rds_op_args &a, struct rds_op &op)
{
	uint32_t bytes = 0;
	Status st = check_pieces(a, bytes);

	if (!st.ok())
		return st;
	/* Only then it stays what it is. */
	if (!s.is_bound() || !s.trans->mr_get)
		return Status::fail(err::kEopnotsupp);
	op.kind = a.kind;
	op.fence = (a.flags & rds::kRdmaFence) != 0;
	op.alone = a.flags & rds::kRdmaSilent && !m.len;
	op.rkey = static_cast<uint32_t>(a.cookie);
	op.raddr = a.remote_addr + (a.cookie >> 32);
	op.bytes = bytes;
	if (is_atomic(a.kind)) {
		st = choose_atomic(s, a, op);
		if (!st.ok())
			return st;
	}
	return Status(rds_pages_pin(a.local, a.n_local, a.kind != RDS_OP_WRITE, &op.pages));
}

/* @m's part in it, made if there is none. */
MsgRdma *part_of(Message &m)
{
	if (m.has == rds::MsgHas::kNothing) {
		m.part = rds::create<MsgRdma>(RDS_MAY_SLEEP);
		m.has = m.part ? rds::MsgHas::kRdma : rds::MsgHas::kNothing;
	}
	return m.rdma();
}

/* A note for whoever wants to know: always, or only of what goes wrong. */
Status want_notice(const rds_socket &s, const struct rds_op_args &a, MsgRdma &r)
{
	const bool always = a.flags & rds::kRdmaNotifyMe;

	if (!always && !s.recverr.load())
		return Status();
	r.notice = rds::create<rds::OpNotice>(RDS_MAY_SLEEP);
	if (!r.notice)
		return Status::fail(err::kEnomem);
	r.notice->n.token = a.token;
	r.only_errors = !always;
	return Status();
}

} // namespace

namespace rds
{

void msg_rdma_free(MsgRdma *r)
{
	if (r->op.pages)
		rds_pages_unpin(r->op.pages);
	rds_free(r->notice);
	if (r->side)
		r->side->put();
	destroy(r);
}

/* The peer frees what may be used once, or tells its program where it may look. */
void msg_rdma_stamp(Message &m)
{
	const MsgRdma &r = *m.part;
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
	if (status || !r->only_errors)
		r->side->tell(n);
	else
		rds_free(n);
	return true;
}

void op_left(Message &m, int unbegun)
{
	const MsgRdma &r = *m.part;

	/* Of one that was begun the transport tells; but a message that arrived came behind what it
	 * wrote. */
	if (!r.begun)
		op_decide(m, m.flags & kMsgCancelled ? +kRdmaCanceled : unbegun);
	else if (r.delivered && r.op.kind == RDS_OP_WRITE)
		op_decide(m, kRdmaSuccess);
}

bool op_spent(const Message &m)
{
	const MsgRdma *r = m.rdma();
	uint32_t outcome = r && r->has_op ? r->outcome.load_acquire() : 0;

	return outcome && (outcome != 1 + kRdmaSuccess || r->op.alone);
}

void rdma_sync(rds_socket &s, const wire::Header &h)
{
	RdmaSide *side = s.rdma.load_acquire();
	wire::ExtReader r(h);
	wire::ExtView e;

	while (side && r.next(e))
		if (e.type == wire::Ext::kRdma)
			side->sync(wire::get32(e.data));
}

void rdma_arrived(rds_socket &s, const wire::Header &h)
{
	wire::ExtReader r(h);
	wire::ExtView e;

	while (r.next(e)) {
		if (e.type == wire::Ext::kRdmaBytes)
			s.net->count(RDS_S_recv_rdma_bytes, wire::get32(e.data));
		if (e.type != wire::Ext::kRdma)
			continue;
		if (RdmaSide *side = s.rdma.load_acquire())
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

int rds_msg_set_op(struct rds_socket *s, struct rds_msg *m, const struct rds_op_args *a)
{
	RdmaSide *side = RdmaSide::make(*s);
	MsgRdma *r = side ? part_of(*m) : nullptr;

	if (!r)
		return -err::kEnomem;
	if (r->has_op)
		return -err::kEinval;

	Status st = fill_op(*s, *m, *a, r->op);

	if (st.ok())
		st = want_notice(*s, *a, *r);
	if (!st.ok())
		return st.code();
	side->get();
	r->side = side;
	r->has_op = true;
	return 0;
}

int rds_msg_set_cookie(struct rds_socket *s, struct rds_msg *m, uint64_t cookie)
{
	RdmaSide *side = s->rdma.load_acquire();

	if (!side || !side->announce(static_cast<uint32_t>(cookie)))
		return -err::kEinval;

	MsgRdma *r = part_of(*m);

	if (!r)
		return -err::kEnomem;
	if (r->cookie)
		return -err::kEinval;
	r->cookie = cookie;
	return 0;
}

const struct rds_op *rds_msg_op(const struct rds_msg *m)
{
	const MsgRdma *r = m->rdma();

	return r && r->has_op && !r->outcome.load_acquire() ? &r->op : nullptr;
}

void rds_op_done(struct rds_path *path, struct rds_msg *m, int status)
{
	if (rds::op_decide(*m, status) && rds::op_alone(*m))
		path->let_go();
}

} // extern "C"
