// SPDX-License-Identifier: GPL-2.0
/*
 * regions.c: memory regions, and whether their keys are valid, see strict.h.
 *
 *	NONE --REG_MR posted--> COMING --done--> VALID --LOCAL_INV posted--> ENDING --done--> NONE
 *
 * and what became of a request that failed, or whose queue pair went, is UNKNOWN: then only
 * ib_dereg_mr() helps.
 */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "strict.h"

struct strict_mr {
	struct hlist_node on;
	struct kref ref;
	struct ib_mr *mr; /* NULL: it is gone */
	enum strict_key key;
};

static DEFINE_HASHTABLE(mrs, 8); /* strict_lock */

static void release(struct kref *ref)
{
	kfree(container_of(ref, struct strict_mr, ref));
}

static struct strict_mr *find(const struct ib_mr *mr)
{
	struct strict_mr *m;

	hash_for_each_possible(mrs, m, on, (unsigned long)mr)
		if (m->mr == mr)
			return m;
	return NULL;
}

/* The low byte is its user's. */
static struct strict_mr *find_key(const struct ib_device *dev, u32 rkey)
{
	struct strict_mr *m;
	int i;

	hash_for_each(mrs, i, m, on)
		if (m->mr->device == dev && m->mr->rkey == rkey)
			return m;
	return NULL;
}

struct ib_mr *strict_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 pages)
{
	struct ib_device *dev = pd->device;
	struct strict_mr *m;
	struct ib_mr *mr;

	if (pages > dev->attrs.max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return ERR_PTR(-ENOMEM);
	mr = strict_ops(dev)->alloc_mr(pd, type, pages);
	if (IS_ERR(mr)) {
		kfree(m);
		return mr;
	}
	kref_init(&m->ref);
	m->mr = mr;
	mr->device = dev; /* as the RDMA core will say */
	spin_lock_irq(&strict_lock);
	hash_add(mrs, &m->on, (unsigned long)mr);
	if (strict_dev_of(dev)->mrs++ >= dev->attrs.max_mr)
		strict_wrong("more than %d memory regions", dev->attrs.max_mr);
	spin_unlock_irq(&strict_lock);
	return mr;
}

int strict_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	struct ib_device *dev = mr->device;
	struct strict_mr *m;
	int err;

	if (strict_one_of(&strict_dereg_fails))
		return -EIO;
	spin_lock_irq(&strict_lock);
	m = find(mr);
	if (m) {
		hash_del(&m->on);
		m->mr = NULL;
		strict_dev_of(dev)->mrs--;
	}
	spin_unlock_irq(&strict_lock);
	err = strict_ops(dev)->dereg_mr(mr, udata);
	if (m)
		kref_put(&m->ref, release);
	return err;
}

int strict_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int n, unsigned int *off)
{
	struct strict_mr *m;
	unsigned long flags;

	spin_lock_irqsave(&strict_lock, flags);
	m = find(mr);
	if (m && m->key != KEY_NONE)
		strict_wrong("a region gets memory whose key is not known to have ended (%d)",
			     m->key);
	spin_unlock_irqrestore(&strict_lock, flags);
	/* Adapters know this size; irdma takes others for 4 KiB without a word. */
	if (mr->page_size != SZ_4K)
		return -EINVAL;
	return strict_ops(mr->device)->map_mr_sg(mr, sg, n, off);
}

/* ---- keys ---- */

static void change(struct strict_mr *m, enum strict_key from, enum strict_key to, const char *what)
{
	if (m->key != from)
		strict_wrong("%s of a key that is not so (%d)", what, m->key);
	m->key = to;
	kref_get(&m->ref);
}

struct strict_mr *strict_key_posted(const struct ib_device *dev, const struct ib_send_wr *wr)
{
	struct strict_mr *m = NULL;

	if (wr->opcode == IB_WR_REG_MR) {
		m = find(reg_wr(wr)->mr);
		if (m)
			change(m, KEY_NONE, KEY_COMING, "the beginning");
	} else if (wr->opcode == IB_WR_LOCAL_INV) {
		m = find_key(dev, wr->ex.invalidate_rkey);
		if (m)
			change(m, KEY_VALID, KEY_ENDING, "the end");
		else
			strict_wrong("the end of a key that there is not");
	}
	return m;
}

void strict_key_told(struct strict_mr *mr, enum ib_wr_opcode opcode, enum strict_end end)
{
	const bool reg = opcode == IB_WR_REG_MR;

	if (end == WR_LOST)
		mr->key = KEY_UNKNOWN;
	else
		mr->key = reg == (end == WR_DONE) ? KEY_VALID : KEY_NONE;
	kref_put(&mr->ref, release);
}
