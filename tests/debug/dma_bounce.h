/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dma_bounce.h: bounce buffers of dma_watch.c, for adapters in software, whose addresses are the
 * kernel's own.
 */
#ifndef RDS_DMA_BOUNCE_H
#define RDS_DMA_BOUNCE_H

#include <rdma/ib_verbs.h>

/* The parameter dma_bounce. */
unsigned int dma_bounces(void);
/* *@copy: of the @len bytes at @mem, at the same place in pages of its own; NULL: there is to be
 * none.  False: there is no memory for it. */
bool dma_bounce(struct ib_device *dev, void *mem, size_t len, void **copy);
/* @copy may be NULL. */
void dma_unbounce(void *copy, size_t len);

static inline void *dma_copy_at(u64 addr)
{
	return (void *)(uintptr_t)addr;
}

#endif
