// SPDX-License-Identifier: GPL-2.0
/*
 * dma_watch.c: the account of what is mapped for adapters, see dma_watch.h.
 */
#include "dma_watch.h"

#include "dma_bounce.h"

#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#define FAILED (~0ULL) /* in place of an address */

/* A part of a mapping that goes to and fro: the header of a slot. */
enum turn { ANYBODYS, ADAPTERS, POSTED, PROCESSORS };
struct part {
	struct list_head of;
	u64 addr;
	size_t len;
	enum turn turn;
};

struct mapping {
	struct hlist_node on;
	struct ib_device *dev;
	u64 addr;
	size_t len;
	enum dma_data_direction dir;
	void *mem; /* what is at @addr is a copy of this; NULL: it is none */
	struct list_head parts;
};

/* A protection domain. */
struct domain {
	struct list_head on;
	struct ib_pd *pd;
};

static DEFINE_HASHTABLE(mappings, 12);
static LIST_HEAD(domains);
static DEFINE_SPINLOCK(lock);

/* As where bounce buffers are few, or addresses for the adapter. */
static unsigned int dma_fail_every;
module_param(dma_fail_every, uint, 0644);
MODULE_PARM_DESC(dma_fail_every, "Every so many'th mapping fails (0: none)");
static atomic_t tried;

static void wrong(const char *what, u64 addr, size_t len)
{
	WARN(1, "rds: dma: %s: %zu bytes at %llx\n", what, len, addr);
}

static void to_memory(const struct mapping *m, u64 addr, size_t len)
{
	if (m->mem && m->dir != DMA_TO_DEVICE)
		memcpy((char *)m->mem + (addr - m->addr), dma_copy_at(addr), len);
}

static void to_copy(const struct mapping *m, u64 addr, size_t len)
{
	if (m->mem && m->dir != DMA_FROM_DEVICE)
		memcpy(dma_copy_at(addr), (char *)m->mem + (addr - m->addr), len);
}

/* @mem: at @addr is a copy of it; NULL: it is itself there. */
static bool add(struct ib_device *dev, u64 addr, size_t len, enum dma_data_direction dir, void *mem)
{
	struct mapping *m = kmalloc(sizeof(*m), GFP_ATOMIC | __GFP_NOWARN);
	unsigned long flags;

	if (!m)
		return false;
	*m = (struct mapping){.dev = dev, .addr = addr, .len = len, .dir = dir, .mem = mem};
	INIT_LIST_HEAD(&m->parts);
	spin_lock_irqsave(&lock, flags);
	hash_add(mappings, &m->on, addr);
	spin_unlock_irqrestore(&lock, flags);
	return true;
}

static bool is_to_fail(void)
{
	const unsigned int every = READ_ONCE(dma_fail_every);

	return every && (unsigned int)atomic_inc_return(&tried) % every == 0;
}

static void take_away(struct ib_device *dev, u64 addr, size_t len, enum dma_data_direction dir,
		      unsigned long attrs)
{
	struct mapping *m, *found = NULL;
	struct part *p, *next;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	hash_for_each_possible(mappings, m, on, addr)
		if (m->dev == dev && m->addr == addr && m->len == len && m->dir == dir)
			found = m;
	if (found)
		hash_del(&found->on);
	spin_unlock_irqrestore(&lock, flags);
	if (!found) {
		wrong("unmapped without being mapped so", addr, len);
		return;
	}
	if (!(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		to_memory(found, addr, len);
	if (found->mem)
		dma_unbounce(dma_copy_at(addr), len);
	list_for_each_entry_safe(p, next, &found->parts, of)
		kfree(p);
	kfree(found);
}

/* The mapping that begins at @start and has the @len bytes at @addr. */
static struct mapping *find_at(struct ib_device *dev, u64 start, u64 addr, size_t len, int way)
{
	struct mapping *m;

	hash_for_each_possible(mappings, m, on, start)
		if (m->dev == dev && m->addr == start && addr + len <= start + m->len &&
		    (m->dir == way || m->dir == DMA_BIDIRECTIONAL))
			return m;
	return NULL;
}

static struct mapping *find(struct ib_device *dev, u64 addr, size_t len, int way)
{
	return find_at(dev, addr, addr, len, way) ?: find_at(dev, addr & PAGE_MASK, addr, len, way);
}

static struct part *find_part(struct mapping *m, u64 addr)
{
	struct part *p;

	list_for_each_entry(p, &m->parts, of)
		if (p->addr == addr)
			return p;
	return NULL;
}

/* ---- whose turn it is ---- */

static void turn_of(struct ib_device *dev, u64 addr, size_t len, enum dma_data_direction dir,
		    enum turn turn)
{
	struct part *p = NULL, *fresh = kzalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	const char *what = NULL;
	struct mapping *m;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	m = find(dev, addr, len, dir);
	if (!m)
		what = "given to and fro without being mapped";
	else
		p = find_part(m, addr);
	if (m && !p && fresh) {
		p = fresh;
		fresh = NULL;
		p->addr = addr;
		p->len = len;
		list_add(&p->of, &m->parts);
	}
	if (p && p->len != len)
		what = "given in part";
	else if (p && turn == PROCESSORS && p->turn == PROCESSORS)
		what = "taken twice by the processor";
	else if (p && turn == ADAPTERS && p->turn == POSTED)
		what = "given to the adapter, which has it";
	if (p)
		p->turn = turn;
	if (m && turn == PROCESSORS)
		to_memory(m, addr, len);
	else if (m)
		to_copy(m, addr, len);
	spin_unlock_irqrestore(&lock, flags);
	kfree(fresh);
	if (what)
		wrong(what, addr, len);
}

/* All that the work request names is mapped, and the adapter's.  @posted: it is under way now. */
static void check(struct ib_device *dev, const struct ib_sge *sge, int n, int way, bool posted)
{
	struct mapping *m;
	struct part *p;
	unsigned long flags;
	const char *what;

	for (; n--; sge++) {
		what = NULL;
		spin_lock_irqsave(&lock, flags);
		m = find(dev, sge->addr, sge->length, way);
		p = m ? find_part(m, sge->addr) : NULL;
		if (!m && !posted)
			what = "named to the adapter without being mapped so";
		else if (p && p->turn == PROCESSORS && !posted)
			what = "named to the adapter in the processor's turn";
		if (p && posted && p->turn == ADAPTERS)
			p->turn = POSTED;
		spin_unlock_irqrestore(&lock, flags);
		if (what)
			wrong(what, sge->addr, sge->length);
	}
}

/* ---- the interface ---- */

int ib_dma_mapping_error(struct ib_device *dev, u64 addr)
{
	return addr == FAILED || plain_ib_dma_mapping_error(dev, addr);
}

/* As ib_dma_map_single() of @mem, or of a copy of it. */
static u64 map(struct ib_device *dev, void *mem, size_t len, enum dma_data_direction dir)
{
	void *copy = NULL;
	u64 addr;

	if (is_to_fail() || !dma_bounce(dev, mem, len, &copy))
		return FAILED;
	addr = plain_ib_dma_map_single(dev, copy ?: mem, len, dir);
	if (!plain_ib_dma_mapping_error(dev, addr)) {
		if (add(dev, addr, len, dir, copy ? mem : NULL))
			return addr;
		plain_ib_dma_unmap_single(dev, addr, len, dir);
	}
	dma_unbounce(copy, len);
	return FAILED;
}

u64 ib_dma_map_single(struct ib_device *dev, void *mem, size_t len, enum dma_data_direction dir)
{
	return map(dev, mem, len, dir);
}

void ib_dma_unmap_single(struct ib_device *dev, u64 addr, size_t len, enum dma_data_direction dir)
{
	take_away(dev, addr, len, dir, 0);
	plain_ib_dma_unmap_single(dev, addr, len, dir);
}

u64 ib_dma_map_page(struct ib_device *dev, struct page *page, unsigned long off, size_t len,
		    enum dma_data_direction dir)
{
	return map(dev, (char *)page_address(page) + off, len, dir);
}

void ib_dma_unmap_page(struct ib_device *dev, u64 addr, size_t len, enum dma_data_direction dir)
{
	take_away(dev, addr, len, dir, 0);
	plain_ib_dma_unmap_page(dev, addr, len, dir);
}

static bool add_entry(struct ib_device *dev, struct scatterlist *sg, enum dma_data_direction dir)
{
	void *copy = NULL;

	if (!dma_bounce(dev, sg_virt(sg), sg_dma_len(sg), &copy))
		return false;
	if (copy)
		sg_dma_address(sg) = (uintptr_t)copy;
	if (add(dev, sg_dma_address(sg), sg_dma_len(sg), dir, copy ? sg_virt(sg) : NULL))
		return true;
	dma_unbounce(copy, sg_dma_len(sg));
	return false;
}

int ib_dma_map_sgtable_attrs(struct ib_device *dev, struct sg_table *sgt,
			     enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i, done, err;

	if (is_to_fail())
		return -ENOMEM;
	err = plain_ib_dma_map_sgtable_attrs(dev, sgt, dir, attrs);
	if (err)
		return err;
	for_each_sgtable_dma_sg(sgt, sg, done)
		if (!add_entry(dev, sg, dir))
			break;
	if (done == sgt->nents)
		return 0;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (i == done)
			break;
		take_away(dev, sg_dma_address(sg), sg_dma_len(sg), dir, DMA_ATTR_SKIP_CPU_SYNC);
	}
	plain_ib_dma_unmap_sgtable_attrs(dev, sgt, dir, attrs);
	return -ENOMEM;
}

void ib_dma_unmap_sgtable_attrs(struct ib_device *dev, struct sg_table *sgt,
				enum dma_data_direction dir, unsigned long attrs)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		take_away(dev, sg_dma_address(sg), sg_dma_len(sg), dir, attrs);
	plain_ib_dma_unmap_sgtable_attrs(dev, sgt, dir, attrs);
}

bool dma_watch_uses_virt_dma(struct ib_device *dev)
{
	return !dma_bounces() && plain_ib_uses_virt_dma(dev);
}

void dma_watch_sync(struct sg_table *sgt, enum dma_data_direction dir, bool for_device)
{
	struct scatterlist *sg;
	struct mapping *m;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&lock, flags);
	for_each_sgtable_dma_sg(sgt, sg, i) {
		hash_for_each_possible(mappings, m, on, sg_dma_address(sg)) {
			if (m->addr != sg_dma_address(sg) || m->dir != dir)
				continue;
			if (for_device)
				to_copy(m, m->addr, m->len);
			else
				to_memory(m, m->addr, m->len);
		}
	}
	spin_unlock_irqrestore(&lock, flags);
}

void ib_dma_sync_single_for_cpu(struct ib_device *dev, u64 addr, size_t len,
				enum dma_data_direction dir)
{
	turn_of(dev, addr, len, dir, PROCESSORS);
	plain_ib_dma_sync_single_for_cpu(dev, addr, len, dir);
}

void ib_dma_sync_single_for_device(struct ib_device *dev, u64 addr, size_t len,
				   enum dma_data_direction dir)
{
	turn_of(dev, addr, len, dir, ADAPTERS);
	plain_ib_dma_sync_single_for_device(dev, addr, len, dir);
}

static int way_of(const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_SEND || wr->opcode == IB_WR_RDMA_WRITE ? DMA_TO_DEVICE
									  : DMA_FROM_DEVICE;
}

int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	const struct ib_send_wr *w;

	for (w = wr; w; w = w->next)
		check(qp->device, w->sg_list, w->num_sge, way_of(w), false);
	/* As if they were under way already: their end may come before this call's. */
	for (w = wr; w; w = w->next)
		check(qp->device, w->sg_list, w->num_sge, way_of(w), true);
	return plain_ib_post_send(qp, wr, bad);
}

int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr, const struct ib_recv_wr **bad)
{
	int err = plain_ib_post_recv(qp, wr, bad);

	check(qp->device, wr->sg_list, wr->num_sge, DMA_FROM_DEVICE, false);
	if (!err)
		check(qp->device, wr->sg_list, wr->num_sge, DMA_FROM_DEVICE, true);
	return err;
}

struct ib_pd *dma_watch_alloc_pd(struct ib_device *dev, unsigned int flags)
{
	struct domain *d = kzalloc(sizeof(*d), GFP_KERNEL);
	struct ib_pd *pd = d ? __ib_alloc_pd(dev, flags, KBUILD_MODNAME) : ERR_PTR(-ENOMEM);

	if (IS_ERR(pd)) {
		kfree(d);
		return pd;
	}
	d->pd = pd;
	spin_lock_irq(&lock);
	list_add(&d->on, &domains);
	spin_unlock_irq(&lock);
	return pd;
}

/* @pd is no more: is there another one of its adapter? */
static bool is_last(struct ib_pd *pd)
{
	struct domain *d, *next, *found = NULL;
	bool last = true;

	list_for_each_entry_safe(d, next, &domains, on) {
		if (d->pd == pd) {
			list_del(&d->on);
			found = d;
		} else if (d->pd->device == pd->device) {
			last = false;
		}
	}
	kfree(found);
	return last;
}

/* With its last one the adapter goes. */
void ib_dealloc_pd(struct ib_pd *pd)
{
	struct mapping *m, *left = NULL;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&lock, flags);
	if (is_last(pd))
		hash_for_each(mappings, i, m, on)
			if (m->dev == pd->device)
				left = m;
	spin_unlock_irqrestore(&lock, flags);
	if (left)
		wrong("left behind", left->addr, left->len);
	plain_ib_dealloc_pd(pd);
}
