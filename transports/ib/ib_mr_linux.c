// SPDX-License-Identifier: GPL-2.0
/*
 * ib_mr_linux.c: memory regions: a program's pages that peers may read and write.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/swiotlb.h>

#include "ib_mr_linux.h"

static unsigned int rds_ib_mr_1m_pool_size = 4096;
module_param(rds_ib_mr_1m_pool_size, uint, 0444);
MODULE_PARM_DESC(rds_ib_mr_1m_pool_size, "Memory regions of up to 1 MiB of each adapter (4096)");

static unsigned int rds_ib_mr_8k_pool_size = 348160;
module_param(rds_ib_mr_8k_pool_size, uint, 0444);
MODULE_PARM_DESC(rds_ib_mr_8k_pool_size, "Memory regions of up to 8 KiB of each adapter (348160)");

/* A registration that breaks the queue is tried again so often, with another region. */
#define RDS_IB_MR_TRIES 3

static int rds_ib_mr_access(const struct rds_ib_dev *dev, bool write)
{
	int access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ;

	if (write)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (write && dev->ibdev->attrs.atomic_cap != IB_ATOMIC_NONE &&
	    !READ_ONCE(dev->no_atomic_rights))
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* Peers say where in the region by bytes from the start of its first page. */
static int rds_ib_mr_register(struct rds_ib_mr *mr, bool write)
{
	struct sg_table *sgt = &mr->pages->sgt;
	struct rds_ib_dev *dev = mr->mrs->dev;
	int n, access, err;

	n = ib_map_mr_sg(mr->ibmr, sgt->sgl, sgt->nents, NULL, PAGE_SIZE);
	if (n != sgt->nents)
		return n < 0 ? n : -EINVAL;
	mr->ibmr->iova &= ~PAGE_MASK;
	ib_update_fast_reg_key(mr->ibmr, ib_inc_rkey(mr->ibmr->rkey));
	access = rds_ib_mr_access(dev, write);
	err = rds_ib_regq_register(mr->mrs, mr->ibmr, access);
	/* There are adapters whose regions cannot have this right, and that do not say so. */
	if (err != -EINVAL || !(access & IB_ACCESS_REMOTE_ATOMIC))
		return err;
	err = rds_ib_regq_register(mr->mrs, mr->ibmr, access & ~IB_ACCESS_REMOTE_ATOMIC);
	if (!err)
		WRITE_ONCE(dev->no_atomic_rights, true);
	return err;
}

/*
 * Maps @pages and gives them a key: 0 or -errno, and @mr has neither.  Where nobody knows whether
 * the key is valid, and the adapter does not end it, the region is its program's all the same: so
 * its memory stays.
 */
static int rds_ib_mr_arm(struct rds_ib_mr *mr, struct rds_pages *pages, bool write)
{
	struct rds_ib_mrs *mrs = mr->mrs;
	struct ib_device *ibdev = mrs->dev->ibdev;
	unsigned int tries = RDS_IB_MR_TRIES;
	int err;

	mr->dir = write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	mr->is_back = false;
	if (ib_dma_map_sgtable_attrs(ibdev, &pages->sgt, mr->dir, 0))
		return -ENOMEM;
	mr->pages = pages;
	while ((err = rds_ib_mr_register(mr, write)) == -EIO) {
		if (rds_ib_mr_unmake(mr->ibmr, mr->kind))
			return 0;
		mr->ibmr = NULL;
		if (!--tries || rds_ib_mr_make(mr)) {
			err = -ENOMEM;
			break;
		}
	}
	if (!err)
		return 0;
	ib_dma_unmap_sgtable_attrs(ibdev, &pages->sgt, mr->dir, DMA_ATTR_SKIP_CPU_SYNC);
	mr->pages = NULL;
	return err;
}

/*
 * A region is memory that a program and its peers use whenever they like.  Behind bounce buffers
 * each of them has a copy, and nothing tells when to make them alike.
 */
static bool rds_ib_mr_bounces(struct ib_device *ibdev)
{
	bool bounces = !ib_uses_virt_dma(ibdev) && is_swiotlb_force_bounce(ibdev->dma_device);

	if (bounces)
		pr_info_once("rds_rdma: %s uses bounce buffers: no memory regions\n", ibdev->name);
	return bounces;
}

static struct rds_ib_mr *rds_ib_mr_for(struct rds_ib_mrs *mrs, u32 pages)
{
	enum rds_ib_mr_kind kind = rds_ib_mr_kind_for(&mrs->limits, pages);
	struct rds_ib_mr *mr;

	if (!mrs->limits.pages[RDS_IB_MR_1M] || rds_ib_mr_bounces(mrs->dev->ibdev))
		return ERR_PTR(-EOPNOTSUPP);
	if (kind == RDS_IB_MR_KINDS)
		return ERR_PTR(-EMSGSIZE);
	mr = rds_ib_mr_take(mrs, kind, false);
	if (!IS_ERR(mr))
		return mr;
	rds_ib_mr_count(kind, WAIT);
	rds_ib_mrs_flush(mrs);
	mr = rds_ib_mr_take(mrs, kind, true);
	if (IS_ERR(mr))
		rds_ib_mr_count(kind, DEPLETED);
	return mr;
}

int rds_ib_mr_get(struct rds_os_net *os, const struct rds_addr *laddr, u32 scope,
		  struct rds_pages *pages, int write, u32 *key, u32 *at, void **out)
{
	struct rds_ib_dev *dev = rds_ib_dev_get(os, laddr, scope);
	struct rds_ib_mrs *mrs;
	struct rds_ib_mr *mr;
	int err;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	mrs = dev->mrs;
	mr = rds_ib_mr_for(mrs, pages->npages);
	err = PTR_ERR_OR_ZERO(mr);
	if (!err) {
		err = rds_ib_mr_arm(mr, pages, write);
		if (err)
			rds_ib_mr_drop(mr, mr->ibmr);
	}
	if (!err) {
		*key = mr->ibmr->rkey;
		*at = mr->ibmr->iova;
		*out = mr;
		spin_lock_bh(&mrs->lock);
		list_add_tail(&mr->on, &mrs->pool[mr->kind].live);
		spin_unlock_bh(&mrs->lock);
		rds_ib_mr_count(mr->kind, USED);
	}
	rds_ib_dev_put(dev);
	return err;
}

/*
 * Nobody can be certain that the adapter stays while it clears one away, but for its users.  When
 * there are none it is being removed; then no connection is left, and the removal does the rest.
 */
void rds_ib_mr_free(void *priv, int now)
{
	struct rds_ib_mr *mr = priv;
	struct rds_ib_mrs *mrs = mr->mrs;
	struct rds_ib_mr_pool *pool = &mrs->pool[mr->kind];
	bool handle, held = false;
	u32 wait;

	this_cpu_dec(rds_ib_counters.v[rds_ib_mr_stat(mr->kind, USED)]);
	spin_lock_bh(&mrs->lock);
	handle = !mr->ibmr;
	if (!handle) {
		list_move_tail(&mr->on, &pool->dirty);
		pool->n_dirty++;
		if (!mrs->gone && now)
			held = refcount_inc_not_zero(&mrs->dev->users);
		mr->is_back = !held;
		wait = rds_ib_mr_flush_in(&mrs->limits, mr->kind, pool->n_dirty);
		if (!mrs->gone && !held && !wait)
			mod_delayed_work(rds_ib_wq, &mrs->work, 0);
		else if (!mrs->gone && !held)
			queue_delayed_work(rds_ib_wq, &mrs->work, msecs_to_jiffies(wait));
	}
	spin_unlock_bh(&mrs->lock);
	if (handle)
		rds_ib_mr_destroy(mr);
	if (!held)
		return;
	rds_ib_mrs_flush(mrs);
	rds_ib_dev_put(mrs->dev);
}

void rds_ib_mr_sync(void *priv, int for_device)
{
	struct rds_ib_mr *mr = priv;
	struct rds_ib_mrs *mrs = mr->mrs;
	struct device *dma;

	spin_lock_bh(&mrs->lock);
	if (mr->ibmr && !ib_uses_virt_dma(mrs->dev->ibdev)) {
		dma = mrs->dev->ibdev->dma_device;
		if (for_device)
			dma_sync_sgtable_for_device(dma, &mr->pages->sgt, mr->dir);
		else
			dma_sync_sgtable_for_cpu(dma, &mr->pages->sgt, mr->dir);
	}
	spin_unlock_bh(&mrs->lock);
}

void rds_ib_mr_flush(struct rds_os_net *os, const struct rds_addr *laddr, u32 scope)
{
	struct rds_ib_dev *dev = rds_ib_dev_get(os, laddr, scope);

	if (IS_ERR(dev))
		return;
	rds_ib_mrs_flush(dev->mrs);
	rds_ib_dev_put(dev);
}

/* ---- with the adapter ---- */

struct rds_ib_mrs *rds_ib_mrs_create(struct rds_ib_dev *dev)
{
	const struct ib_device_attr *attrs = &dev->ibdev->attrs;
	struct rds_ib_mrs *mrs = kzalloc(sizeof(*mrs), GFP_KERNEL);
	unsigned int kind;

	if (!mrs)
		return NULL;
	kref_init(&mrs->ref);
	mrs->dev = dev;
	/* Without this command, and a queue that takes it, none can be had. */
	if (attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS && rds_ib_regq_may(dev->ibdev))
		rds_ib_mr_limits(&mrs->limits, rds_ib_mr_8k_pool_size, rds_ib_mr_1m_pool_size,
				 attrs->max_mr, attrs->max_fast_reg_page_list_len);
	spin_lock_init(&mrs->lock);
	for (kind = 0; kind < RDS_IB_MR_KINDS; kind++) {
		INIT_LIST_HEAD(&mrs->pool[kind].live);
		INIT_LIST_HEAD(&mrs->pool[kind].dirty);
		INIT_LIST_HEAD(&mrs->pool[kind].stuck);
		INIT_LIST_HEAD(&mrs->pool[kind].clean);
	}
	mutex_init(&mrs->flush);
	rds_ib_regq_init(&mrs->regq);
	INIT_DELAYED_WORK(&mrs->work, rds_ib_mrs_work);
	return mrs;
}

/* Every region of @list ends; who has one keeps the handle. */
static void rds_ib_mrs_reap(struct rds_ib_mrs *mrs, struct list_head *list, bool live)
{
	struct ib_device *ibdev = mrs->dev->ibdev;
	struct rds_ib_mr *mr, was;

	for (;;) {
		spin_lock_bh(&mrs->lock);
		mr = list_first_entry_or_null(list, struct rds_ib_mr, on);
		if (mr) {
			list_del_init(&mr->on);
			was = *mr;
			mr->ibmr = NULL;
			mr->pages = NULL;
		}
		spin_unlock_bh(&mrs->lock);
		if (!mr)
			return;
		/* For the last time, and the adapter goes. */
		if (rds_ib_mr_unmake(was.ibmr, was.kind))
			pr_warn("rds_rdma: %s does not end a memory region\n", ibdev->name);
		if (was.pages)
			rds_ib_mr_let_go(ibdev, &was);
		if (!live)
			rds_ib_mr_destroy(mr);
	}
}

void rds_ib_mrs_end(struct rds_ib_mrs *mrs)
{
	unsigned int kind;

	spin_lock_bh(&mrs->lock);
	mrs->gone = true;
	spin_unlock_bh(&mrs->lock);
	cancel_delayed_work_sync(&mrs->work);
	/* A live one may still become dirty, but not the other way round. */
	for (kind = 0; kind < RDS_IB_MR_KINDS; kind++) {
		rds_ib_mrs_reap(mrs, &mrs->pool[kind].live, true);
		rds_ib_mrs_reap(mrs, &mrs->pool[kind].dirty, false);
		rds_ib_mrs_reap(mrs, &mrs->pool[kind].stuck, false);
		rds_ib_mrs_reap(mrs, &mrs->pool[kind].clean, false);
	}
	rds_ib_regq_destroy(&mrs->regq);
	kref_put(&mrs->ref, rds_ib_mrs_release);
}

bool rds_ib_mrs_in_use(const struct rds_ib_dev *dev)
{
	unsigned int kind;

	for (kind = 0; kind < RDS_IB_MR_KINDS; kind++)
		if (!list_empty(&dev->mrs->pool[kind].live))
			return true;
	return false;
}

void rds_ib_mrs_info(const struct rds_ib_mrs *mrs, u32 *most, u32 *pages)
{
	*most = mrs->limits.most[RDS_IB_MR_1M];
	*pages = mrs->limits.pages[RDS_IB_MR_1M];
}
