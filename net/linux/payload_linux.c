// SPDX-License-Identifier: GPL-2.0
/*
 * payload_linux.c: payloads in memory of their own, and pinned ones.  Payloads that stay in the
 * socket buffers they arrived in: payload_skb.c.
 */
#include "payload.h"

#include <linux/export.h>
#include <linux/highmem.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "payload_pool.h"
#include "payload_skb.h"

/* Entries that @len bytes need when memory is not very fragmented: whole big pages, and smaller
 * ones so that less than a page is wasted at the end. */
static unsigned int inline_segs(u32 len)
{
	return (len >> (PAGE_SHIFT + RDS_POOL_EASY_ORDER)) + RDS_POOL_EASY_ORDER + 1;
}

uint32_t rds_payload_footprint(uint32_t len)
{
	if (!len)
		return 0;
	if (len <= RDS_PAYLOAD_FLAT_MAX)
		return max_t(u32, RDS_PAYLOAD_FLAT_OFFSET + len, sizeof(struct rds_payload));
	return sizeof(struct rds_payload) + inline_segs(len) * sizeof(struct bio_vec);
}

/* Beyond the trailer it is whole pages, as get_pages_for() takes them. */
uint32_t rds_payload_memory(uint32_t len)
{
	return rds_payload_footprint(len) + (len > RDS_PAYLOAD_FLAT_MAX ? PAGE_ALIGN(len) : 0);
}

static void init_common(struct rds_payload *p, u32 len, enum rds_payload_kind kind)
{
	p->len = len;
	p->have = 0;
	p->kind = kind;
	p->own_bv = 0;
	p->segs = 0;
	p->truesize = 0;
}

static void free_pages_of(struct rds_payload *p)
{
	unsigned int i;

	for (i = 0; i < p->segs; i++)
		rds_pool_put(p->bv[i].bv_page, get_order(p->bv[i].bv_len));
	if (p->own_bv)
		kfree(p->bv);
	p->segs = 0;
	p->own_bv = 0;
}

/* Memory is fragmented: a table that is enough for single pages. */
static bool grow_table(struct rds_payload *p, u32 left, gfp_t gfp)
{
	unsigned int need = p->segs + DIV_ROUND_UP(left, PAGE_SIZE);
	struct bio_vec *bv = kmalloc_array(need, sizeof(*bv), gfp | __GFP_NOWARN);

	if (!bv)
		return false;
	memcpy(bv, p->bv, p->segs * sizeof(*bv));
	p->bv = bv;
	p->own_bv = 1;
	return true;
}

/* A page of order *@order or, when there is none, of the next lower one that there is.  Not always
 * cleared. */
static struct page *get_page_of(unsigned int *order, gfp_t gfp)
{
	struct page *page = rds_pool_take(*order);

	if (page)
		return page;
	for (; *order; --*order) {
		/* Nobody is to make place for very large ones. */
		gfp_t no = *order > RDS_POOL_EASY_ORDER ? __GFP_RECLAIM : __GFP_DIRECT_RECLAIM;

		page = alloc_pages((gfp & ~no) | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY, *order);
		if (page)
			return page;
	}
	return alloc_page(gfp | __GFP_NOWARN);
}

/* Entries hold their page's size until the last is cut to what is used. */
static int get_pages_for(struct rds_payload *p, gfp_t gfp)
{
	unsigned int cap = RDS_POOL_MAX_ORDER, room = inline_segs(p->len);
	u32 left = p->len;

	p->bv = (struct bio_vec *)(p + 1);
	while (left) {
		unsigned int fit = ilog2(DIV_ROUND_UP(left, PAGE_SIZE));
		unsigned int order = min(fit, cap);
		unsigned int asked = order;
		struct page *page = get_page_of(&order, gfp);

		if (page && p->segs == room && !p->own_bv && !grow_table(p, left, gfp)) {
			__free_pages(page, order);
			page = NULL;
		}
		if (!page) {
			free_pages_of(p);
			return -ENOMEM;
		}
		if (order < asked)
			cap = order;
		p->bv[p->segs].bv_page = page;
		p->bv[p->segs].bv_offset = 0;
		p->bv[p->segs].bv_len = min_t(u32, left, PAGE_SIZE << order);
		left -= p->bv[p->segs++].bv_len;
		p->truesize += PAGE_SIZE << order;
	}
	return 0;
}

/* Pages of its own get a message most of which is here: what somebody says that will come is worth
 * no memory. */
int rds_payload_init(struct rds_payload *p, uint32_t len, const struct rds_src *src, uint32_t soon,
		     enum rds_ctx ctx)
{
	if (len <= RDS_PAYLOAD_FLAT_MAX) {
		init_common(p, len, RDS_PAYLOAD_FLAT);
		return 0;
	}
	if (soon < len / 2 || (src && rds_skb_worth_keeping(src, soon))) {
		init_common(p, len, RDS_PAYLOAD_SKBS);
		p->head = p->tail = NULL;
		return 0;
	}
	init_common(p, len, RDS_PAYLOAD_PAGES);
	return get_pages_for(p, ctx == RDS_MAY_SLEEP ? GFP_KERNEL : GFP_ATOMIC);
}

/*
 * Programs' bytes, to and from memory of a payload's own.  By _copy_*_iter(), and not by
 * copy_*_iter(): hardened usercopy would find out at each copy what kind of memory that is, and its
 * bounds.  Here they are known, and narrower (docs/decisions/051-bounds-of-a-payload.md).
 */
static bool from_iter(void *to, u32 n, struct iov_iter *iter)
{
	return _copy_from_iter(to, n, iter) == n;
}

static bool to_iter(const void *from, u32 n, struct iov_iter *iter)
{
	return _copy_to_iter(from, n, iter) == n;
}

int rds_payload_from_user(struct rds_payload *p, struct rds_uio *from)
{
	struct iov_iter *iter = (struct iov_iter *)from;
	unsigned int i;

	if (rds_payload_flat(p)) {
		if (!from_iter(rds_payload_data(p), p->len, iter))
			return -EFAULT;
	} else {
		for (i = 0; i < p->segs; i++) {
			if (!from_iter(page_address(p->bv[i].bv_page), p->bv[i].bv_len, iter))
				return -EFAULT;
		}
	}
	p->have = p->len;
	return 0;
}

/* Adds pinned pages to the table, one entry for each. */
static void add_pinned(struct rds_payload *p, struct page **pages, size_t off, size_t bytes)
{
	unsigned int i;

	for (i = 0; bytes; i++) {
		size_t n = min_t(size_t, bytes, PAGE_SIZE - off);

		p->bv[p->segs].bv_page = pages[i];
		p->bv[p->segs].bv_offset = off;
		p->bv[p->segs].bv_len = n;
		p->segs++;
		bytes -= n;
		off = 0;
	}
}

/* Often the last word about a message comes in an RCU reader's section, where vfree() must not be
 * called, for it may sleep.  The entries are not needed any more: the first is the list's. */
static void free_table(struct bio_vec *bv)
{
	struct {
		struct rcu_head rcu;
	} *table = (void *)bv;

	if (is_vmalloc_addr(bv))
		kvfree_rcu(table, rcu);
	else
		kfree(bv);
}

static void unpin_pages_of(struct rds_payload *p)
{
	unsigned int i;

	for (i = 0; i < p->segs; i++)
		put_page(p->bv[i].bv_page);
	mm_unaccount_pinned_pages(&p->pin);
	free_table(p->bv);
	p->segs = 0;
}

static int pin_all(struct rds_payload *p, struct iov_iter *iter)
{
	while (p->have < p->len) {
		struct page *pages[16];
		size_t off;
		ssize_t got =
			iov_iter_get_pages2(iter, pages, p->len - p->have, ARRAY_SIZE(pages), &off);

		if (got <= 0)
			return -EFAULT;
		add_pinned(p, pages, off, got);
		p->have += got;
	}
	return 0;
}

int rds_payload_pin_user(struct rds_payload *p, uint32_t len, struct rds_uio *from)
{
	struct iov_iter *iter = (struct iov_iter *)from;
	int npages = iov_iter_npages(iter, INT_MAX);
	int err;

	init_common(p, len, RDS_PAYLOAD_PINNED);
	/* One entry for each vector's piece of each page; segs is 16 bits wide. */
	if (npages > U16_MAX)
		return -ENOMEM;
	memset(&p->pin, 0, sizeof(p->pin));
	/* It adds two pages for the ends of one piece.  Of many small ones each has a page. */
	err = mm_account_pinned_pages(&p->pin,
				      max_t(size_t, len, (size_t)max(npages - 2, 0) << PAGE_SHIFT));
	if (err)
		return -ENOMEM;
	p->bv = kvmalloc_array(npages, sizeof(*p->bv), GFP_KERNEL_ACCOUNT);
	err = p->bv ? pin_all(p, iter) : -ENOMEM;
	if (err)
		unpin_pages_of(p);
	return err;
}

/* Copies of the bytes at @off of PAGES and PINNED payloads. */
static void bvecs_to_mem(const struct bio_vec *bv, u32 off, u32 n, u8 *to)
{
	for (; n; bv++) {
		u32 piece;

		if (off >= bv->bv_len) {
			off -= bv->bv_len;
			continue;
		}
		piece = min(n, bv->bv_len - off);
		/* Only PINNED pages may lie in high memory, and their entries stay within one. */
		if (PageHighMem(bv->bv_page))
			memcpy_from_page(to, bv->bv_page, bv->bv_offset + off, piece);
		else
			memcpy(to, page_address(bv->bv_page) + bv->bv_offset + off, piece);
		to += piece;
		n -= piece;
		off = 0;
	}
}

int rds_payload_unpin(struct rds_payload *p)
{
	struct rds_payload pinned = *p;
	u32 off = 0;
	unsigned int i;

	if (p->kind != RDS_PAYLOAD_PINNED)
		return 0;
	if (rds_payload_init(p, pinned.len, NULL, pinned.len, RDS_MAY_SLEEP)) {
		*p = pinned;
		return -ENOMEM;
	}
	if (rds_payload_flat(p)) {
		bvecs_to_mem(pinned.bv, 0, p->len, rds_payload_data(p));
	} else {
		for (i = 0; i < p->segs; i++) {
			bvecs_to_mem(pinned.bv, off, p->bv[i].bv_len,
				     page_address(p->bv[i].bv_page));
			off += p->bv[i].bv_len;
		}
	}
	p->have = p->len;
	unpin_pages_of(&pinned);
	return 0;
}

void rds_payload_from_mem(struct rds_payload *p, const void *from)
{
	unsigned int i;

	if (rds_payload_flat(p)) {
		memcpy(rds_payload_data(p), from, p->len);
	} else {
		for (i = 0; i < p->segs; i++) {
			memcpy(page_address(p->bv[i].bv_page), from, p->bv[i].bv_len);
			from += p->bv[i].bv_len;
		}
	}
	p->have = p->len;
}

static int append_pages(struct rds_payload *p, const struct sk_buff *skb, u32 off, u32 n)
{
	const struct bio_vec *bv = p->bv;
	u32 at = p->have;

	for (; n; bv++) {
		u32 piece;

		if (at >= bv->bv_len) {
			at -= bv->bv_len;
			continue;
		}
		piece = min(n, bv->bv_len - at);
		if (skb_copy_bits(skb, off, page_address(bv->bv_page) + at, piece))
			return -EFAULT;
		off += piece;
		n -= piece;
		at = 0;
	}
	return 0;
}

int rds_payload_append(struct rds_payload *p, struct rds_src *src, uint32_t off, uint32_t n,
		       enum rds_ctx ctx)
{
	struct sk_buff *skb = (struct sk_buff *)src;
	int err = 0;

	switch (p->kind) {
	case RDS_PAYLOAD_FLAT:
		err = rds_skb_copy(skb, off, rds_payload_data(p) + p->have, n);
		break;
	case RDS_PAYLOAD_PAGES:
		err = append_pages(p, skb, off, n);
		break;
	case RDS_PAYLOAD_SKBS:
		err = rds_skb_append(p, skb, off, n, ctx);
		break;
	}
	if (!err)
		p->have += n;
	return err;
}

static int bvecs_to_iter(const struct bio_vec *bv, u32 off, u32 n, struct iov_iter *to)
{
	for (; n; bv++) {
		u32 piece;

		if (off >= bv->bv_len) {
			off -= bv->bv_len;
			continue;
		}
		piece = min(n, bv->bv_len - off);
		if (!to_iter(page_address(bv->bv_page) + bv->bv_offset + off, piece, to))
			return -EFAULT;
		n -= piece;
		off = 0;
	}
	return 0;
}

int rds_payload_to_user(const struct rds_payload *p, uint32_t off, uint32_t n, struct rds_uio *to)
{
	struct iov_iter *iter = (struct iov_iter *)to;

	if (WARN_ON_ONCE(off > p->len || n > p->len - off))
		return -EFAULT;
	switch (p->kind) {
	case RDS_PAYLOAD_FLAT:
		return to_iter(rds_payload_data(p) + off, n, iter) ? 0 : -EFAULT;
	case RDS_PAYLOAD_SKBS:
		return rds_skb_to_iter(p, off, n, iter);
	default:
		return bvecs_to_iter(p->bv, off, n, iter);
	}
}

int rds_payload_to_mem(const struct rds_payload *p, uint32_t off, uint32_t n, void *to)
{
	switch (p->kind) {
	case RDS_PAYLOAD_FLAT:
		memcpy(to, rds_payload_data(p) + off, n);
		return 0;
	case RDS_PAYLOAD_SKBS:
		return rds_skb_to_mem(p, off, n, to);
	default:
		bvecs_to_mem(p->bv, off, n, to);
		return 0;
	}
}

uint32_t rds_payload_truesize(const struct rds_payload *p)
{
	return p->truesize;
}

void rds_payload_destroy(struct rds_payload *p)
{
	switch (p->kind) {
	case RDS_PAYLOAD_FLAT:
		break;
	case RDS_PAYLOAD_PAGES:
		free_pages_of(p);
		break;
	case RDS_PAYLOAD_PINNED:
		unpin_pages_of(p);
		break;
	case RDS_PAYLOAD_SKBS:
		rds_skb_free(p);
		break;
	}
}

int rds_src_copy(const struct rds_src *src, uint32_t off, void *to, uint32_t n)
{
	return rds_skb_copy((const struct sk_buff *)src, off, to, n);
}
