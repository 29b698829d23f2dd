// SPDX-License-Identifier: GPL-2.0
/*
 * payload_skb.c: payloads that stay in the socket buffers they arrived in.
 *
 * A payload of kind SKBS is a list of clones, each with the part of it that is ours.  A clone keeps
 * the whole buffer: to hold down what a message pins, a small piece of a buffer is copied instead,
 * into a buffer of our own at the end of the list, which is filled to its end.  However a peer cuts
 * its bytes up, they cost about twice their number at most.
 */
#include "payload_skb.h"

#include <linux/slab.h>

/* The part of a buffer that belongs to the message, in the buffer's private room. */
struct piece {
	u32 off;
	u32 len;
	bool own; /* a copy of ours: more may be put behind */
};

static struct piece *piece_of(const struct sk_buff *skb)
{
	return (struct piece *)skb->cb;
}

/* A piece is kept when it is big, or half of what is kept with it. */
static bool worth_a_clone(const struct sk_buff *skb, u32 n)
{
	return n >= 16384 || n >= (skb->truesize + sizeof(struct sk_buff)) / 2;
}

bool rds_skb_worth_keeping(const struct rds_src *src, u32 len)
{
	const struct sk_buff *skb = (const struct sk_buff *)src;

	return worth_a_clone(skb, min(len, skb->len));
}

static void add(struct rds_payload *p, struct sk_buff *skb, u32 off, u32 n, bool own)
{
	*piece_of(skb) = (struct piece){.off = off, .len = n, .own = own};
	skb->next = NULL;
	if (p->tail)
		p->tail->next = skb;
	else
		p->head = skb;
	p->tail = skb;
}

static int append_clone(struct rds_payload *p, struct sk_buff *skb, u32 off, u32 n, gfp_t gfp)
{
	struct sk_buff *clone = skb_clone(skb, gfp);

	if (!clone)
		return -ENOMEM;
	/* Of what the buffer costs, as much as we have of its bytes. */
	p->truesize += mult_frac(skb->truesize, n, skb->len) + sizeof(struct sk_buff);
	add(p, clone, off, n, false);
	return 0;
}

static void put_behind(struct sk_buff *own, u32 n)
{
	skb_put(own, n);
	piece_of(own)->len += n;
}

/* Copies into the last buffer as far as that is ours and has room, and the rest into a new one. */
static int append_copy(struct rds_payload *p, const struct sk_buff *skb, u32 off, u32 n, gfp_t gfp)
{
	struct sk_buff *last = p->tail, *next = NULL;
	u32 room = last && piece_of(last)->own ? min_t(u32, n, skb_tailroom(last)) : 0;

	if (room < n) {
		next = alloc_skb(max_t(u32, n - room, 2048), gfp | __GFP_NOWARN);
		if (!next)
			return -ENOMEM;
	}
	if ((room && skb_copy_bits(skb, off, skb_tail_pointer(last), room)) ||
	    (next && skb_copy_bits(skb, off + room, next->data, n - room))) {
		kfree_skb(next);
		return -EFAULT;
	}
	if (room)
		put_behind(last, room);
	if (next) {
		p->truesize += next->truesize;
		add(p, next, 0, 0, true);
		put_behind(next, n - room);
	}
	return 0;
}

int rds_skb_append(struct rds_payload *p, struct sk_buff *skb, u32 off, u32 n, enum rds_ctx ctx)
{
	gfp_t gfp = ctx == RDS_MAY_SLEEP ? GFP_KERNEL : GFP_ATOMIC;

	BUILD_BUG_ON(sizeof(struct piece) > sizeof(skb->cb));
	if (worth_a_clone(skb, n))
		return append_clone(p, skb, off, n, gfp);
	return append_copy(p, skb, off, n, gfp);
}

int rds_skb_to_iter(const struct rds_payload *p, u32 off, u32 n, struct iov_iter *to)
{
	struct sk_buff *skb;

	for (skb = p->head; n; skb = skb->next) {
		const struct piece *pc = piece_of(skb);
		u32 part;

		if (off >= pc->len) {
			off -= pc->len;
			continue;
		}
		part = min(n, pc->len - off);
		if (skb_copy_datagram_iter(skb, pc->off + off, to, part))
			return -EFAULT;
		n -= part;
		off = 0;
	}
	return 0;
}

void rds_skb_to_mem(const struct rds_payload *p, u32 off, u32 n, void *to)
{
	struct sk_buff *skb;

	for (skb = p->head; n; skb = skb->next) {
		const struct piece *pc = piece_of(skb);
		u32 part;

		if (off >= pc->len) {
			off -= pc->len;
			continue;
		}
		part = min(n, pc->len - off);
		skb_copy_bits(skb, pc->off + off, to, part);
		to += part;
		n -= part;
		off = 0;
	}
}

void rds_skb_free(struct rds_payload *p)
{
	struct sk_buff *skb = p->head;

	while (skb) {
		struct sk_buff *next = skb->next;

		skb->next = NULL;
		consume_skb(skb);
		skb = next;
	}
	p->head = p->tail = NULL;
}
