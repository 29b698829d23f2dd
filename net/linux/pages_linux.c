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
	unsigned int i;

	for_each_sgtable_sg(&p->sgt, sg, i)
		unpin_user_page_range_dirty_lock(
			sg_page(sg), PAGE_ALIGN(sg->offset + sg->length) >> PAGE_SHIFT, p->write);
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

/* Pages that are pinned in one call: interrupts may be off that long. */
#define PIN_STEP 512

/* One piece of memory: its pages go to @pages, and how many are pinned to *@got. */
static int pin_piece(const struct rds_iov *v, bool write, struct page **pages, unsigned long *got)
{
	const unsigned int gup = FOLL_LONGTERM | (write ? FOLL_WRITE : 0);
	const unsigned long start = v->addr & PAGE_MASK;
	const unsigned long npages = (PAGE_ALIGN(v->addr + v->bytes) - start) >> PAGE_SHIFT;
	int n;

	for (*got = 0; *got < npages; *got += n) {
		n = min_t(unsigned long, npages - *got, PIN_STEP);
		n = pin_user_pages_fast(start + (*got << PAGE_SHIFT), n, gup, pages + *got);
		if (n <= 0)
			return n == -ENOMEM || n == -EOPNOTSUPP ? n : -EFAULT;
	}
	return 0;
}

/* All pieces, or nothing. */
static int pin_pieces(const struct rds_iov *v, unsigned int n, bool write, struct page **pages)
{
	unsigned long all = 0, got;
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		err = pin_piece(&v[i], write, pages + all, &got);
		all += got;
	}
	if (err)
		unpin_user_pages(pages, all); /* nobody has written to them */
	return err;
}

/* Memory without a gap, as one entry of a table has it. */
struct run {
	struct page *page;
	unsigned int off, bytes;
};

/* @n bytes of @page, from @off on, are behind what @run has.  No run is longer than the segments
 * that every device can do. */
static bool goes_on(const struct run *run, struct page *page, unsigned int off, unsigned int n)
{
	const unsigned int end = run->off + run->bytes;

	return run->bytes && !off && !offset_in_page(end) && run->bytes + n <= RDS_PAGES_RUN &&
	       page_to_pfn(page) == page_to_pfn(run->page) + (end >> PAGE_SHIFT);
}

/* The pieces as runs, of which it tells the number; into the entries from @sg on, if there are. */
static unsigned int fill(const struct rds_iov *v, unsigned int n, struct page **pages,
			 struct scatterlist *sg)
{
	struct run run = {};
	unsigned int runs = 0, i;

	for (i = 0; i < n; i++) {
		unsigned long at = v[i].addr, end = v[i].addr + v[i].bytes, bytes;

		for (; at < end; at += bytes, pages++) {
			bytes = min_t(unsigned long, PAGE_SIZE - offset_in_page(at), end - at);
			if (!goes_on(&run, *pages, offset_in_page(at), bytes)) {
				if (sg && runs)
					sg = sg_next(sg);
				runs++;
				run = (struct run){*pages, offset_in_page(at), 0};
			}
			run.bytes += bytes;
			if (sg)
				sg_set_page(sg, run.page, run.bytes, run.off);
		}
	}
	return runs;
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

/* Pins, and makes the table. */
static int pin(struct rds_pages *p, const struct rds_iov *v, unsigned int n)
{
	struct page **pages = kvmalloc_array(p->npages, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;
	unsigned int i;

	if (pages)
		err = pin_pieces(v, n, p->write, pages);
	if (!err) {
		err = sg_alloc_table(&p->sgt, fill(v, n, pages, NULL), GFP_KERNEL_ACCOUNT);
		if (err)
			unpin_user_pages(pages, p->npages);
		else
			fill(v, n, pages, p->sgt.sgl);
	}
	for (i = 0; i < n; i++)
		p->bytes += v[i].bytes;
	kvfree(pages);
	return err;
}

int rds_pages_pin(const struct rds_iov *v, unsigned int n, int write, struct rds_pages **pages)
{
	unsigned long npages = count_pages(v, n);
	struct rds_pages *p;
	int err;

	if (!can_do_mlock())
		return -EPERM;
	if (!npages)
		return -EFAULT;
	p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	if (!p)
		return -ENOMEM;
	p->write = write;
	p->npages = npages;
	err = account(p, npages);
	if (!err)
		err = pin(p, v, n);
	if (err) {
		mm_unaccount_pinned_pages(&p->pin);
		kfree(p);
		return err;
	}
	*pages = p;
	return 0;
}
