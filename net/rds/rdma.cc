// SPDX-License-Identifier: GPL-2.0
/*
 * rdma.cc: regions and notifications of a socket.  The operations of messages: rdma_op.cc; the
 * calls of programs: socket_rdma.cc.
 */
#include "rdma.h"

#include "hash.h"

namespace rds
{

RdmaSide::RdmaSide(RdmaSeat &s) : refs_(1), seat_(&s)
{
}

RdmaSide::~RdmaSide()
{
	bug_on(count_ || !notices_.empty(), "regions or notifications are left of a socket");
	if (buckets_ != few_)
		rds_free(buckets_);
}

RdmaSide *RdmaSide::make(RdmaSeat &s)
{
	RdmaSide *side = s.side.load_acquire();

	if (side)
		return side;

	void *p = rds_alloc(sizeof(RdmaSide), may_sleep());

	if (!p)
		return nullptr;
	side = new (p) RdmaSide(s);

	RdmaSide *first = nullptr;

	if (s.side.compare_exchange(first, side))
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
	Bucket regions, *wide;
	RdmaSeat *s;
	uint32_t held;
	{
		Guard g(lock_);

		s = seat_;
		seat_ = nullptr;
		held = held_;
		unread.splice_back(notices_);
		for (unsigned int i = 0; i < n_buckets_; i++)
			regions.splice_back(buckets_[i]);
		count_ = 0;
		/* Here, where the last reference may sleep. */
		wide = buckets_ == few_ ? nullptr : buckets_;
		buckets_ = few_;
		n_buckets_ = kFirstBuckets;
	}
	rds_free(wide);
	if (s) {
		RcuReader rcu;

		give_note_room(*s, held);
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
	wide = static_cast<Bucket *>(rds_alloc(4 * n * sizeof(Bucket), may_sleep()));
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

bool RdmaSide::sync(uint32_t key)
{
	Mr *mr = find(key);

	if (!mr)
		return false;

	const bool once = mr->once;

	mr->trans.mr_sync(mr->handle, 0);
	mr_put(mr, false);
	return once;
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
	/* The task that takes it out of the table gives the table's reference back. */
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

void RdmaSide::hold()
{
	RdmaSeat *s;
	{
		Guard g(lock_);

		s = seat_;
		held_++;
	}
	if (!bug_on(!s, "a socket that was released begins an operation"))
		hold_note_room(*s);
}

/* Of a socket that was released all room was given back. */
void RdmaSide::let_go(uint32_t n)
{
	RcuReader rcu;
	RdmaSeat *s;
	{
		Guard g(lock_);

		s = seat_;
		if (s)
			held_ -= n;
	}
	if (s)
		give_note_room(*s, n);
}

void RdmaSide::tell(OpNotice *n)
{
	RcuReader rcu;
	RdmaSeat *s;
	{
		Guard g(lock_);

		s = seat_;
		if (s) {
			notices_.push_back(n);
			s->notices.fetch_add(1);
		}
	}
	if (s)
		wake_reader(*s);
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
	uint32_t freed = 0;

	for (; freed < n; freed++) {
		OpNotice *o;
		{
			Guard g(lock_);

			o = notices_.pop_front();
			if (o && seat_)
				seat_->notices.fetch_sub(1);
		}
		if (!o)
			break;
		rds_free(o);
	}
	if (freed)
		let_go(freed);
}

void mr_put(Mr *mr, bool now)
{
	/* A task that found it in the table is an RCU reader, and gives it back before it
	 * leaves. */
	if (now && !mr->refs.only_one())
		rds_rcu_sync();
	if (!mr->refs.put() || bug_on(mr->link.linked(), "a region is freed that peers may find"))
		return;
	mr->trans.mr_free(mr->handle, now);
	destroy(mr);
}

} // namespace rds
