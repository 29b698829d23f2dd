// SPDX-License-Identifier: GPL-2.0
/*
 * socket_rdma.cc: a socket's regions, and the operations that its messages bring: what programs
 * ask for is checked, and handed to the transport and to rdma.h.
 */
#include "../netns.h"
#include "../rdma.h"
#include "socket.h"

namespace err = rds::err;
using rds::Message;
using rds::Mr;
using rds::MsgRdma;
using rds::RdmaSide;
using rds::Status;

namespace
{

/* Regions are counted in pieces of this size, whatever a page is. */
constexpr uint64_t kPiece = 4096;
constexpr uint64_t kMaxRegionPieces = rds::kMaxMessageBytes / kPiece + 1;

uint64_t make_cookie(uint32_t key, uint32_t at)
{
	return key | static_cast<uint64_t>(at) << 32;
}

/* Why @vec cannot be a region of @s. */
Status check_region(const rds_socket &s, const struct rds_iov &vec)
{
	if (!s.is_bound())
		return Status::fail(err::kEnotconn);
	if (!s.trans->mr_get)
		return Status::fail(err::kEopnotsupp);
	if (!vec.bytes || vec.addr + vec.bytes - 1 < vec.addr)
		return Status::fail(err::kEinval);
	if (vec.bytes > kMaxRegionPieces * kPiece ||
	    (vec.addr % kPiece + vec.bytes + kPiece - 1) / kPiece > kMaxRegionPieces)
		return Status::fail(err::kEmsgsize);
	return Status();
}

/* Pins and registers the memory: @mr has its handle and key then. */
Status register_region(rds_socket &s, const struct rds_iov &vec, uint64_t flags, Mr &mr,
		       uint32_t &at)
{
	struct rds_pages *pages;
	/* Also what peers may only read, as ever: programs count on the errno. */
	Status st(rds_pages_pin(&vec, 1, 1, &pages));

	/* Regions that were freed may still count as locked memory. */
	if (st.is(err::kEnomem)) {
		s.trans->mr_flush(s.net->os, &s.bound.addr, s.bound.scope);
		st = Status(rds_pages_pin(&vec, 1, 1, &pages));
	}
	if (!st.ok())
		return st;
	st = Status(s.trans->mr_get(s.net->os, &s.bound.addr, s.bound.scope, pages,
				    (flags & rds::kRdmaReadWrite) != 0, &mr.key, &at, &mr.handle));
	if (!st.ok())
		rds_pages_unpin(pages);
	return st;
}

constexpr unsigned int kMaxPieces = 1024;

bool is_atomic(unsigned int kind)
{
	return kind == RDS_OP_FADD || kind == RDS_OP_CSWP;
}

/* The pieces of our memory: each is there, and all fit into what the operation covers. */
Status check_pieces(const struct rds_op_args &a, uint32_t &bytes)
{
	uint64_t left = a.remote_bytes;

	if (!a.n_local)
		return Status::fail(err::kEinval);
	if (a.n_local > kMaxPieces || a.remote_bytes > rds::kMaxMessageBytes)
		return Status::fail(err::kEmsgsize);
	for (unsigned int i = 0; i < a.n_local; i++) {
		const struct rds_iov &v = a.local[i];

		if (!v.bytes || v.addr + v.bytes - 1 < v.addr || v.bytes > left)
			return Status::fail(err::kEinval);
		left -= v.bytes;
	}
	bytes = static_cast<uint32_t>(a.remote_bytes - left);
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
MsgRdma *rdma_side_of(Message &m) RDS_SLEEPS
{
	if (m.has == rds::MsgHas::kNothing) {
		m.rdma_side = rds::create<MsgRdma>(rds::may_sleep());
		m.has = m.rdma_side ? rds::MsgHas::kRdma : rds::MsgHas::kNothing;
	}
	return m.rdma();
}

/* A note for whoever wants to know: always, or only of what goes wrong. */
Status want_notice(const rds_socket &s, const struct rds_op_args &a, RdmaSide &side,
		   MsgRdma &r) RDS_SLEEPS
{
	const bool always = a.flags & rds::kRdmaNotifyMe;

	if (!always && !s.recverr.load())
		return Status();
	r.notice = rds::create<rds::OpNotice>(rds::may_sleep());
	if (!r.notice)
		return Status::fail(err::kEnomem);
	side.hold();
	r.notice->n.token = a.token;
	r.only_errors = !always;
	return Status();
}

} // namespace

namespace rds
{

void wake_reader(RdmaSeat &s)
{
	rds_socket_wake(container_of(&s, &rds_socket::rdma), RDS_WAKE_READ);
}

void hold_note_room(RdmaSeat &s)
{
	container_of(&s, &rds_socket::rdma)->snd_space.grow(kOpNoteBytes);
}

void give_note_room(RdmaSeat &s, uint32_t n)
{
	rds_socket *of = container_of(&s, &rds_socket::rdma);

	of->snd_space.give(of, 0, n * kOpNoteBytes);
}

} // namespace rds

extern "C" {

int rds_mr_get(struct rds_socket *s, const struct rds_iov *vec, uint64_t flags, uint64_t *cookie)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */
	Status st = check_region(*s, *vec);
	uint32_t at = 0;

	if (!st.ok())
		return st.code();

	RdmaSide *side = RdmaSide::make(s->rdma);
	Mr *mr = rds::create<Mr>(rds::may_sleep(), *s->trans, flags);

	if (!side || !mr) {
		rds::destroy(mr);
		return -err::kEnomem;
	}
	st = register_region(*s, *vec, flags, *mr, at);
	if (!st.ok()) {
		rds::destroy(mr);
		return st.code();
	}
	*cookie = make_cookie(mr->key, at);
	side->add(mr);
	return 0;
}

int rds_mr_free(struct rds_socket *s, uint64_t cookie, uint64_t flags)
{
	const struct rds_transport *t = s->is_bound() ? s->trans : nullptr;
	RdmaSide *side = s->rdma.side.load_acquire();

	if (!cookie) {
		if (!t || !t->mr_flush)
			return -err::kEinval;
		t->mr_flush(s->net->os, &s->bound.addr, s->bound.scope);
		return 0;
	}

	Mr *mr = side ? side->take(static_cast<uint32_t>(cookie)) : nullptr;

	if (!mr)
		return -err::kEinval;
	/* From now on the memory is the program's alone, also what peers wrote without a word. */
	mr->trans.mr_sync(mr->handle, 0);
	rds::mr_put(mr, mr->invalidate || flags & rds::kRdmaInvalidate);
	return 0;
}

unsigned int rds_socket_notices(struct rds_socket *s, struct rds_notice *to, unsigned int max)
{
	RdmaSide *side = s->rdma.notices.load() ? s->rdma.side.load_acquire() : nullptr;

	return side ? side->peek(to, max) : 0;
}

void rds_socket_notices_done(struct rds_socket *s, unsigned int n)
{
	RdmaSide *side = s->rdma.side.load_acquire();

	if (side)
		side->drop(n);
}

int rds_msg_set_op(struct rds_socket *s, struct rds_msg *m, const struct rds_op_args *a)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */
	RdmaSide *side = RdmaSide::make(s->rdma);
	MsgRdma *r = side ? rdma_side_of(*m) : nullptr;

	if (!r)
		return -err::kEnomem;
	if (r->has_op)
		return -err::kEinval;

	Status st = fill_op(*s, *m, *a, r->op);

	if (st.ok())
		st = want_notice(*s, *a, *side, *r);
	if (!st.ok())
		return st.code();
	side->get();
	r->side = side;
	r->has_op = true;
	return 0;
}

int rds_msg_set_cookie(struct rds_socket *s, struct rds_msg *m, uint64_t cookie)
{
	rds::Guard sleeps(rds::kMaySleep); /* a program's call */
	RdmaSide *side = s->rdma.side.load_acquire();

	if (!side || !side->announce(static_cast<uint32_t>(cookie)))
		return -err::kEinval;

	MsgRdma *r = rdma_side_of(*m);

	if (!r)
		return -err::kEnomem;
	if (r->cookie)
		return -err::kEinval;
	r->cookie = cookie;
	return 0;
}

} // extern "C"
