// SPDX-License-Identifier: GPL-2.0
/*
 * pages_linux.c: a program's memory, pinned for an adapter.
 *
 * Pinned pages count as the user's locked memory (RLIMIT_MEMLOCK), as those of MSG_ZEROCOPY do.
 * Marking pages dirty may sleep, and the last word about them often comes in a softirq: so all are
 * let go by one work item.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "glue.h"
#include "pages_linux.h"

static_assert(sizeof(struct rds_iov) == sizeof(struct rds_iovec));

static LLIST_HEAD(unpin_list);

static void unpin(struct rds_pages *p)
{
	struct scatterlist *sg;
	struct page *page;
	unsigned int i;

	for_each_sgtable_sg(&p->sgt, sg, i) {
		page = sg_page(sg);
		/* Of a pin that failed only the first ones are there. */
		if (!page)
			break;
		unpin_user_pages_dirty_lock(&page, 1, p->write);
	}
	sg_free_table(&p->sgt);
	mm_unaccount_pinned_pages(&p->pin);
	kfree(p);
}

static void unpin_work_fn(struct work_struct *work)
{
	struct rds_pages *p, *next;

	llist_for_each_entry_safe(p, next, llist_del_all(&unpin_list), free) {
		unpin(p);
		cond_resched();
	}
}

static DECLARE_WORK(unpin_work, unpin_work_fn);

void rds_pages_unpin(struct rds_pages *pages)
{
	if (llist_add(&pages->free, &unpin_list))
		schedule_work(&unpin_work);
}

void rds_pages_flush(void)
{
	flush_work(&unpin_work);
}

/* One piece of memory, from entry *@sg on. */
static int pin_piece(struct rds_pages *p, const struct rds_iov *v, struct scatterlist **sg)
{
	unsigned int gup = FOLL_LONGTERM | (p->write ? FOLL_WRITE : 0);
	unsigned long at = v->addr, end = v->addr + v->bytes;
	struct page *pages[16];
	int got, i;

	while (at < end) {
		got = min_t(unsigned long, ARRAY_SIZE(pages),
			    (PAGE_ALIGN(end) - (at & PAGE_MASK)) >> PAGE_SHIFT);
		got = pin_user_pages_fast(at & PAGE_MASK, got, gup, pages);
		if (got <= 0)
			return got == -ENOMEM ? -ENOMEM : -EFAULT;
		for (i = 0; i < got; i++) {
			unsigned int off = offset_in_page(at);
			unsigned int n = min_t(unsigned long, PAGE_SIZE - off, end - at);

			sg_set_page(*sg, pages[i], n, off);
			*sg = sg_next(*sg);
			p->bytes += n;
			at += n;
		}
	}
	return 0;
}

/* 0, or -ENOMEM beyond RLIMIT_MEMLOCK.  Pages about to be unpinned need not be in the way. */
static int account(struct rds_pages *p, unsigned long npages)
{
	if (!mm_account_pinned_pages(&p->pin, npages << PAGE_SHIFT))
		return 0;
	rds_pages_flush();
	return mm_account_pinned_pages(&p->pin, npages << PAGE_SHIFT) ? -ENOMEM : 0;
}

/* How many pages; 0: one of the pieces is nowhere in a program's memory. */
static unsigned long count_pages(const struct rds_iov *v, unsigned int n)
{
	unsigned long npages = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (!access_ok(u64_to_user_ptr(v[i].addr), v[i].bytes))
			return 0;
		npages += (PAGE_ALIGN(v[i].addr + v[i].bytes) - (v[i].addr & PAGE_MASK)) >>
			  PAGE_SHIFT;
	}
	return npages;
}

int rds_pages_pin(const struct rds_iov *v, unsigned int n, int write, struct rds_pages **pages)
{
	unsigned long npages = count_pages(v, n);
	struct scatterlist *sg;
	struct rds_pages *p;
	unsigned int i;
	int err;

	if (!can_do_mlock())
		return -EPERM;
	if (!npages)
		return -EFAULT;
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return -ENOMEM;
	p->write = write;
	err = account(p, npages);
	if (!err)
		err = sg_alloc_table(&p->sgt, npages, GFP_KERNEL_ACCOUNT);
	if (err) {
		mm_unaccount_pinned_pages(&p->pin);
		kfree(p);
		return -ENOMEM;
	}
	sg = p->sgt.sgl;
	for (i = 0; i < n && !err; i++)
		err = pin_piece(p, &v[i], &sg);
	if (err) {
		p->write = false; /* nobody has written to them */
		unpin(p);
		return err;
	}
	*pages = p;
	return 0;
}
