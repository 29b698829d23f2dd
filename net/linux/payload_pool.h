/* SPDX-License-Identifier: GPL-2.0 */
/*
 * payload_pool.h: pages of big payloads, used again.
 *
 * A fresh page costs more than its allocation: kernels that clear memory when it is allocated
 * (init_on_alloc, Debian's default) write all of it, as much work as a copy of the message.  Pages
 * from here hold what was in them before: whoever takes one may show only bytes that he wrote.
 * When the kernel runs short of memory it gets them back, by a shrinker.
 */
#ifndef RDS_PAYLOAD_POOL_H
#define RDS_PAYLOAD_POOL_H

#include <linux/mm_types.h>

/* Biggest pages taken, as an order: with them a mebibyte is eight pieces. */
#define RDS_POOL_MAX_ORDER 5
/* Pages up to this order are to be had nearly always: the page allocator caches them per CPU. */
#define RDS_POOL_EASY_ORDER 3

/* A compound page of @order that nobody else refers to, or NULL.  Any context but hardirq. */
struct page *rds_pool_take(unsigned int order);
/* Gives up the caller's reference.  Others may exist still: a page handed to TCP without a copy is
 * in the network's buffers for longer than we need it, and comes out when they are done. */
void rds_pool_put(struct page *page, unsigned int order);
/* 0 or -ENOMEM.  Process. */
int rds_pool_init(void);
/* Frees what is left; no payload exists any more.  Process. */
void rds_pool_exit(void);

#endif
