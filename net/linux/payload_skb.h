/* SPDX-License-Identifier: GPL-2.0 */
/*
 * payload_skb.h: payloads that stay in the socket buffers they arrived in.
 */
#ifndef RDS_PAYLOAD_SKB_H
#define RDS_PAYLOAD_SKB_H

#include <linux/uio.h>

#include "payload.h"

/* Is keeping references to @src better than copying @len bytes? */
bool rds_skb_worth_keeping(const struct rds_src *src, u32 len);
/* Takes @n bytes at @off of @skb over: 0 or -ENOMEM. */
int rds_skb_append(struct rds_payload *p, struct sk_buff *skb, u32 off, u32 n, enum rds_ctx ctx);
/* As skb_copy_bits(), and quicker where the bytes are in the first page of @skb's. */
int rds_skb_copy(const struct sk_buff *skb, u32 off, void *to, u32 n);
int rds_skb_to_iter(const struct rds_payload *p, u32 off, u32 n, struct iov_iter *to);
int rds_skb_to_mem(const struct rds_payload *p, u32 off, u32 n, void *to);
void rds_skb_free(struct rds_payload *p);

#endif
