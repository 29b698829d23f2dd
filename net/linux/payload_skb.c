// SPDX-License-Identifier: GPL-2.0
/*
 * payload_skb.c: payloads that stay in the socket buffers they arrived in.
 *
 * A payload of kind SKBS is a list of clones, each with the part of it that is ours.  A clone keeps
 * the whole buffer: to hold down what a message pins, a small piece of a buffer is copied instead,
 * into a buffer of our own at the end of the list, which is filled to its end.  However a peer cuts
 * its bytes up, they cost about twice their number at most.
 *
 * Several messages may share a buffer, and it stays until the last of them is read.  Nobody knows
 * which that will be, so each that keeps the buffer pays for all of it.  Only a piece of half the
 * buffer or more may keep it: at most two do, and what is paid is never less than what is pinned,
 * nor more than twice that.
 */
#include "payload_skb.h"

#include <linux/slab.h>

/* The most that a buffer of our own holds: more needs pages in a row that a softirq seldom gets. */
#define MOST_OWN SKB_WITH_OVERHEAD(32768)

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

/* The memory that stays as long as a clone of @skb does. */
static u32 kept_by_clone(const struct sk_buff *skb)
{
	return skb->truesize + sizeof(struct sk_buff);
}

/* Somebody may write to these bytes: another namespace here has sent them from a program's own
 * pages, by MSG_ZEROCOPY or splice(2), and no wire lies between.  Once we acknowledge them the
 * program has its pages back. */
static bool may_change(const struct sk_buff *skb)
{
	const struct sk_buff *part;

	if (unlikely(skb_has_shared_frag(skb)))
		return true;
	for (part = skb_shinfo(skb)->frag_list; part; part = part->next) {
		if (skb_has_shared_frag(part))
			return true;
	}
	return false;
}

/* A piece is kept when it is half of what is kept with it, or big and half of the buffer's bytes.
 */
static bool worth_a_clone(const struct sk_buff *skb, u32 n)
{
	return n >= (n >= 16384 ? skb->len : kept_by_clone(skb)) / 2 && !may_change(skb);
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
	p->truesize += kept_by_clone(skb);
	add(p, clone, off, n, false);
	return 0;
}

static void put_behind(struct sk_buff *own, u32 n)
{
	skb_put(own, n);
	piece_of(own)->len += n;
}

/* Copies into a new buffer at the end of the list. */
static int append_own(struct rds_payload *p, const struct sk_buff *skb, u32 off, u32 n, gfp_t gfp)
{
	struct sk_buff *own = alloc_skb(max_t(u32, n, 2048), gfp | __GFP_NOWARN);

	if (!own)
		return -ENOMEM;
	if (skb_copy_bits(skb, off, own->data, n)) {
		kfree_skb(own);
		return -EFAULT;
	}
	p->truesize += own->truesize;
	add(p, own, 0, 0, true);
	put_behind(own, n);
	return 0;
}

static void free_list(struct sk_buff *skb)
{
	while (skb) {
		struct sk_buff *next = skb->next;

		skb->next = NULL;
		consume_skb(skb);
		skb = next;
	}
}

/* As it was when @last was the last of the list, and @truesize what all cost. */
static void cut_behind(struct rds_payload *p, struct sk_buff *last, u32 truesize)
{
	free_list(last ? last->next : p->head);
	if (last)
		last->next = NULL;
	else
		p->head = NULL;
	p->tail = last;
	p->truesize = truesize;
}

/* Copies into the last buffer as far as that is ours and has room, and the rest into new ones. */
static int append_copy(struct rds_payload *p, const struct sk_buff *skb, u32 off, u32 n, gfp_t gfp)
{
	struct sk_buff *last = p->tail;
	u32 room = last && piece_of(last)->own ? min_t(u32, n, skb_tailroom(last)) : 0;
	u32 at, part, truesize = p->truesize;
	int err;

	if (room && skb_copy_bits(skb, off, skb_tail_pointer(last), room))
		return -EFAULT;
	for (at = room; at < n; at += part) {
		part = min_t(u32, n - at, MOST_OWN);
		err = append_own(p, skb, off + at, part, gfp);
		if (err) {
			cut_behind(p, last, truesize);
			return err;
		}
	}
	if (room)
		put_behind(last, room);
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

/*
 * Of many small messages in one buffer each header and each payload is asked for by itself.  Pages
 * of a device's, which the processor cannot read, are no pages here.
 */
int rds_skb_copy(const struct sk_buff *skb, u32 off, void *to, u32 n)
{
	const skb_frag_t *frag = &skb_shinfo(skb)->frags[0];
	u32 head = skb_headlen(skb);

	if (skb_shinfo(skb)->nr_frags && off >= head && off - head <= skb_frag_size(frag) &&
	    n <= skb_frag_size(frag) - (off - head) && skb_frag_page(frag) &&
	    !PageHighMem(skb_frag_page(frag))) {
		memcpy(to, skb_frag_address(frag) + (off - head), n);
		return 0;
	}
	return skb_copy_bits(skb, off, to, n);
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

int rds_skb_to_mem(const struct rds_payload *p, u32 off, u32 n, void *to)
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
		if (skb_copy_bits(skb, pc->off + off, to, part))
			return -EFAULT;
		to += part;
		n -= part;
		off = 0;
	}
	return 0;
}

void rds_skb_free(struct rds_payload *p)
{
	free_list(p->head);
	p->head = p->tail = NULL;
}
