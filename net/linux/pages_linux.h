/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pages_linux.h: a program's memory, pinned, as transports see it.
 *
 * Made by rds_pages_pin() and given back by rds_pages_unpin() (pages_linux.c).  In between it has
 * one owner: the message whose operation it belongs to, or a transport's memory region.  The user
 * that maps @sgt for a device unmaps it before that owner lets go.
 */
#ifndef RDS_PAGES_LINUX_H
#define RDS_PAGES_LINUX_H

#include <linux/llist.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>

#include "../platform/platform.h"

/* Bytes of an entry at most, where pages lie side by side (huge ones do): what every device can do
 * as one segment, whether or not it has told of more. */
#define RDS_PAGES_RUN max_t(unsigned int, SZ_64K, PAGE_SIZE)

struct rds_pages {
	struct sg_table sgt; /* an entry for each run of pages, with the bytes that are meant */
	u32 npages, bytes;   /* of all */
	bool write;	     /* will be written to */
	struct mmpin pin;    /* whose locked memory it counts as */
	struct llist_node free;
};

/* All that was let go before is gone.  Process. */
void rds_pages_flush(void);

#endif
