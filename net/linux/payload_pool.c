// SPDX-License-Identifier: GPL-2.0
#include "payload_pool.h"

#include <linux/mm.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include "compat.h"

/* Pages of one order that are kept at most, a power of two, and of those that are big: 21 MiB in
 * all may lie idle, and eight messages of the longest kind find all their pages here. */
#define POOL_PAGES 256
#define POOL_BIG_PAGES 64
#define POOL_BIG_ORDER 3

/* Pages that are of no use looked at before a new one is asked for. */
#define POOL_TRIES 4

/* First in, first out: the oldest has had most time to be given up by others. */
struct pool {
	spinlock_t lock;
	unsigned int first;
	unsigned int n;
	struct page *page[POOL_PAGES];
};

#define POOL_INIT(i) [i] = {.lock = __SPIN_LOCK_UNLOCKED(pools[i].lock)}

static struct pool pools[RDS_POOL_MAX_ORDER + 1] = {
	POOL_INIT(0), POOL_INIT(1), POOL_INIT(2), POOL_INIT(3), POOL_INIT(4), POOL_INIT(5),
};

static struct shrinker *pool_shrinker;

static struct page *pop(struct pool *p)
{
	struct page *page = NULL;

	spin_lock_bh(&p->lock);
	if (p->n) {
		page = p->page[p->first];
		p->first = (p->first + 1) % POOL_PAGES;
		WRITE_ONCE(p->n, p->n - 1);
	}
	spin_unlock_bh(&p->lock);
	return page;
}

/*
 * A count of one is ours, and nobody can raise it: the page is in no table from which it could be
 * found.  The last other user's put orders his reads before our writes.
 */
static bool is_ours_alone(struct page *page)
{
	return page_ref_count(page) == 1 && page_to_nid(page) == numa_mem_id();
}

struct page *rds_pool_take(unsigned int order)
{
	unsigned int i;

	for (i = 0; i < POOL_TRIES; i++) {
		struct page *page = pop(&pools[order]);

		if (!page || is_ours_alone(page))
			return page;
		__free_pages(page, order);
	}
	return NULL;
}

void rds_pool_put(struct page *page, unsigned int order)
{
	struct pool *p = &pools[order];
	bool full;

	/* An emergency reserve's page goes back to where it is needed. */
	if (page_is_pfmemalloc(page)) {
		__free_pages(page, order);
		return;
	}
	spin_lock_bh(&p->lock);
	full = p->n == (order < POOL_BIG_ORDER ? POOL_PAGES : POOL_BIG_PAGES);
	if (!full) {
		p->page[(p->first + p->n) % POOL_PAGES] = page;
		WRITE_ONCE(p->n, p->n + 1);
	}
	spin_unlock_bh(&p->lock);
	if (full)
		__free_pages(page, order);
}

/* Frees @want pages of 4 KiB, big ones first: the number of those that it freed. */
static unsigned long give_back(unsigned long want)
{
	int order = RDS_POOL_MAX_ORDER;
	unsigned long freed = 0;

	while (freed < want && order >= 0) {
		struct page *page = pop(&pools[order]);

		if (page) {
			__free_pages(page, order);
			freed += 1UL << order;
		} else {
			order--;
		}
	}
	return freed;
}

static unsigned long pool_count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long n = 0;
	unsigned int order;

	for (order = 0; order <= RDS_POOL_MAX_ORDER; order++)
		n += (unsigned long)READ_ONCE(pools[order].n) << order;
	return n ?: SHRINK_EMPTY;
}

static unsigned long pool_scan(struct shrinker *s, struct shrink_control *sc)
{
	return give_back(sc->nr_to_scan) ?: SHRINK_STOP;
}

int rds_pool_init(void)
{
	pool_shrinker = rds_shrinker_register("rds-payload-pages", pool_count, pool_scan);
	return pool_shrinker ? 0 : -ENOMEM;
}

void rds_pool_exit(void)
{
	rds_shrinker_unregister(pool_shrinker);
	give_back(ULONG_MAX);
}
