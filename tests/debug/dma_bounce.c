// SPDX-License-Identifier: GPL-2.0
/*
 * dma_bounce.c: bounce buffers, see dma_bounce.h.
 */
#include "dma_watch.h"

#include "dma_bounce.h"

#include <linux/module.h>

/* As in a guest whose memory is secret, or where an adapter reaches only a part of it. */
static unsigned int to_bounce;
module_param_named(dma_bounce, to_bounce, uint, 0644);
MODULE_PARM_DESC(dma_bounce,
		 "Bounce buffers: 1: here and there; 2: as a rule of the host (0: none)");

unsigned int dma_bounces(void)
{
	return READ_ONCE(to_bounce);
}

bool dma_bounce(struct ib_device *dev, void *mem, size_t len, void **copy)
{
	const size_t at = offset_in_page(mem);
	char *pages;

	*copy = NULL;
	if (!dma_bounces() || !plain_ib_uses_virt_dma(dev))
		return true;
	pages = alloc_pages_exact(PAGE_ALIGN(at + len), GFP_ATOMIC | __GFP_NOWARN);
	if (!pages)
		return false;
	*copy = memcpy(pages + at, mem, len);
	return true;
}

void dma_unbounce(void *copy, size_t len)
{
	const size_t at = offset_in_page(copy);

	if (copy)
		free_pages_exact((char *)copy - at, PAGE_ALIGN(at + len));
}
