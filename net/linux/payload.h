/* SPDX-License-Identifier: GPL-2.0 */
/*
 * payload.h: the bytes of one message, as they lie in Linux memory.
 *
 * A payload trails its struct rds_msg, in the same allocation.  Small ones are kept in there whole
 * (FLAT); bigger ones are described there and live in pages of our own (PAGES), in the caller's
 * pages (PINNED, MSG_ZEROCOPY), or still in the socket buffers that they arrived in (SKBS).
 *
 * Transports that send look through the accessors below; who receives uses the seam
 * (rds_payload_append).  The payload_*.c fill it and empty it.  No lock: a payload is filled by
 * one owner and only read afterwards.
 */
#ifndef RDS_PAYLOAD_H
#define RDS_PAYLOAD_H

#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/types.h>

#include "../platform/platform.h"

/* Longest payload that is kept behind struct rds_msg: with that (< 500 bytes) it fills one 4 KiB
 * object of kmalloc.  Beyond, pages cost less than rounding up to 8 KiB would. */
#define RDS_PAYLOAD_FLAT_MAX 3584U

enum rds_payload_kind {
	RDS_PAYLOAD_FLAT,
	RDS_PAYLOAD_PAGES,
	RDS_PAYLOAD_PINNED,
	RDS_PAYLOAD_SKBS,
};

struct rds_payload {
	u32 len;      /* bytes of the message */
	u32 have;     /* bytes that are here already */
	u8 kind;      /* enum rds_payload_kind */
	u8 own_bv;    /* @bv was allocated by itself */
	u16 segs;     /* entries of @bv in use */
	u32 truesize; /* memory beyond the trailer */
	/* FLAT payloads begin here. */
	union {
		struct {
			struct bio_vec *bv; /* PAGES and PINNED */
			struct mmpin pin;   /* PINNED: whose locked memory it counts as */
		};
		struct {
			struct sk_buff *head, *tail; /* SKBS, linked by skb->next */
		};
	};
};

#define RDS_PAYLOAD_FLAT_OFFSET offsetof(struct rds_payload, bv)

static inline bool rds_payload_flat(const struct rds_payload *p)
{
	return p->kind == RDS_PAYLOAD_FLAT;
}

/* In pages that a program has back, and may write to, once the message is done. */
static inline bool rds_payload_lent(const struct rds_payload *p)
{
	return p->kind == RDS_PAYLOAD_PINNED;
}

/* The bytes of a FLAT payload, in one piece. */
static inline void *rds_payload_data(const struct rds_payload *p)
{
	return (u8 *)p + RDS_PAYLOAD_FLAT_OFFSET;
}

/* The bytes of any other that may be sent: PAGES and PINNED (and nothing else reaches a sender:
 * SKBS payloads are received ones).  Entries may cover several contiguous pages. */
static inline unsigned int rds_payload_segs(const struct rds_payload *p)
{
	return p->segs;
}

static inline const struct bio_vec *rds_payload_bvecs(const struct rds_payload *p)
{
	return p->bv;
}

#endif
