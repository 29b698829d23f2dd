// SPDX-License-Identifier: GPL-2.0
/*
 * rdma.cc: regions and notifications of a socket.  What belongs to messages: rdma_op.cc.
 */
#include "rdma.h"

#include "net.h"

namespace err = rds::err;
using rds::Guard;
using rds::Mr;
using rds::RdmaSide;
using rds::Status;

namespace
{

/* Regions are counted in pieces of this size, whatever a page is. */
constexpr uint64_t kPiece = 4096;
constexpr uint64_t kMaxPieces = rds::kMaxMessageBytes / kPiece + 1;

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
	if (vec.bytes > kMaxPieces * kPiece ||
	    (vec.addr % kPiece + vec.bytes + kPiece - 1) / kPiece > kMaxPieces)
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

} // namespace

namespace rds
{

RdmaSide::RdmaSide(rds_socket &s) : refs_(1), sock_(&s)
{
}

RdmaSide::~RdmaSide()
{
	if (buckets_ != few_)
		rds_free(buckets_);
}

/* The side of @s, made if there is none; nullptr without memory. */
RdmaSide *RdmaSide::make(rds_socket &s)
{
	RdmaSide *side = s.rdma.load_acquire();

	if (side)
		return side;

	void *p = rds_alloc(sizeof(RdmaSide), RDS_MAY_SLEEP);

	if (!p)
		return nullptr;
	side = new (p) RdmaSide(s);

	RdmaSide *first = nullptr;

	if (s.rdma.compare_exchange(first, side))
		return side;
	side->put();
	return first;
}

void RdmaSide::put()
{
	if (refs_.put())
		destroy(this);
}

void RdmaSide::detach()
{
	List<OpNotice, &OpNotice::link> unread;
	Bucket regions;
	{
		Guard g(lock_);

		sock_ = nullptr;
		unread.splice_back(notices_);
		for (unsigned int i = 0; i < n_buckets_; i++)
			regions.splice_back(buckets_[i]);
		count_ = 0;
	}
	while (OpNotice *n = unread.pop_front())
		rds_free(n);
	while (Mr *mr = regions.pop_front())
		mr_put(mr, mr->invalidate);
}

RdmaSide::Bucket &RdmaSide::bucket(uint32_t key)
{
	return buckets_[hash_mix(key) & (n_buckets_ - 1)];
}

Mr *RdmaSide::look_up(uint32_t key)
{
	Bucket &b = bucket(key);
	Mr *mr = b.front();

	while (mr && mr->key != key)
		mr = b.next(mr);
	return mr;
}

/* Four times the buckets; without memory the chains grow longer instead. */
void RdmaSide::grow()
{
	Bucket *old = nullptr, *wide;
	unsigned int n;
	{
		Guard g(lock_);

		n = n_buckets_;
		if (count_ < 2 * n || n >= kMostBuckets)
			return;
	}
	wide = static_cast<Bucket *>(rds_alloc(4 * n * sizeof(Bucket), RDS_MAY_SLEEP));
	if (!wide)
		return;
	for (unsigned int i = 0; i < 4 * n; i++)
		new (&wide[i]) Bucket;
	{
		Guard g(lock_);

		/* Two may be at it. */
		if (n_buckets_ == n) {
			old = buckets_;
			buckets_ = wide;
			n_buckets_ = 4 * n;
			for (unsigned int i = 0; i < n; i++)
				while (Mr *mr = old[i].pop_front())
					bucket(mr->key).push_front(mr);
			wide = old == few_ ? nullptr : old;
		}
	}
	rds_free(wide);
}

void RdmaSide::add(Mr *mr)
{
	grow();

	Guard g(lock_);

	/* In front: a key that an adapter gave out again is that of the new one. */
	bucket(mr->key).push_front(mr);
	count_++;
}

void RdmaSide::remove_locked(Mr *mr)
{
	bucket(mr->key).remove(mr);
	count_--;
}

Mr *RdmaSide::take(uint32_t key)
{
	Guard g(lock_);
	Mr *mr = look_up(key);

	if (mr)
		remove_locked(mr);
	return mr;
}

Mr *RdmaSide::find(uint32_t key)
{
	Guard g(lock_);
	Mr *mr = look_up(key);

	if (mr)
		mr->refs.get();
	return mr;
}

void RdmaSide::sync(uint32_t key)
{
	Mr *mr = find(key);

	if (!mr)
		return;
	mr->trans.mr_sync(mr->handle, 0);
	mr_put(mr, false);
}

void RdmaSide::used(uint32_t key)
{
	Mr *mr;
	{
		Guard g(lock_);

		mr = look_up(key);
		if (!mr || !mr->once)
			return;
		remove_locked(mr);
	}
	/* Whoever takes it out of the table gives the table's reference back. */
	mr_put(mr, false);
}

bool RdmaSide::announce(uint32_t key)
{
	RcuReader rcu;
	Mr *mr = find(key);

	if (!mr)
		return false;
	mr->trans.mr_sync(mr->handle, 1);
	mr_put(mr, false);
	return true;
}

void RdmaSide::tell(OpNotice *n)
{
	RcuReader rcu;
	rds_socket *s;
	{
		Guard g(lock_);

		s = sock_;
		if (s) {
			notices_.push_back(n);
			s->notices.fetch_add(1);
		}
	}
	if (s)
		rds_socket_wake(s, RDS_WAKE_READ);
	else
		rds_free(n);
}

unsigned int RdmaSide::peek(struct rds_notice *to, unsigned int max)
{
	Guard g(lock_);
	unsigned int n = 0;

	for (OpNotice *o = notices_.front(); o && n < max; o = notices_.next(o))
		to[n++] = o->n;
	return n;
}

void RdmaSide::drop(unsigned int n)
{
	while (n--) {
		OpNotice *o;
		{
			Guard g(lock_);

			o = notices_.pop_front();
			if (o && sock_)
				sock_->notices.fetch_sub(1);
		}
		if (!o)
			return;
		rds_free(o);
	}
}

void mr_put(Mr *mr, bool now)
{
	/* Whoever found it in the table is an RCU reader, and gives it back before he leaves. */
	if (now && !mr->refs.only_one())
		rds_rcu_sync();
	if (!mr->refs.put())
		return;
	mr->trans.mr_free(mr->handle, now);
	destroy(mr);
}

} // namespace rds

extern "C" {

int rds_mr_get(struct rds_socket *s, const struct rds_iov *vec, uint64_t flags, uint64_t *cookie)
{
	Status st = check_region(*s, *vec);
	uint32_t at = 0;

	if (!st.ok())
		return st.code();

	RdmaSide *side = RdmaSide::make(*s);
	Mr *mr = rds::create<Mr>(RDS_MAY_SLEEP, *s->trans, flags);

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
	RdmaSide *side = s->rdma.load_acquire();

	if (!cookie) {
		if (!t || !t->mr_flush)
			return -err::kEinval;
		t->mr_flush(s->net->os, &s->bound.addr, s->bound.scope);
		return 0;
	}

	Mr *mr = side ? side->take(static_cast<uint32_t>(cookie)) : nullptr;

	if (!mr)
		return -err::kEinval;
	mr_put(mr, mr->invalidate || flags & rds::kRdmaInvalidate);
	return 0;
}

unsigned int rds_socket_notices(struct rds_socket *s, struct rds_notice *to, unsigned int max)
{
	RdmaSide *side = s->notices.load() ? s->rdma.load_acquire() : nullptr;

	return side ? side->peek(to, max) : 0;
}

void rds_socket_notices_done(struct rds_socket *s, unsigned int n)
{
	RdmaSide *side = s->rdma.load_acquire();

	if (side)
		side->drop(n);
}

} // extern "C"
