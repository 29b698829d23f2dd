// SPDX-License-Identifier: GPL-2.0
/*
 * ib_mr_pool_linux.c: the life of memory regions between two uses.
 *
 * A region is live while somebody has it, dirty from mr_free until its key was ended, clean until
 * it is used again; or stuck, while the adapter does not end it.  Its pages are mapped and pinned
 * while it is live, dirty or stuck.
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "ib_mr_linux.h"

/* So long after the adapter did not end a region it is asked again. */
#define RDS_IB_MR_STUCK_DELAY HZ

unsigned int rds_ib_mr_stat(unsigned int kind, enum rds_ib_mr_stat what)
{
	BUILD_BUG_ON(RDS_IB_S_rdma_mr_8k_pool_depleted != RDS_IB_S_rdma_mr_8k_alloc + DEPLETED);
	BUILD_BUG_ON(RDS_IB_S_rdma_mr_1m_alloc != RDS_IB_S_rdma_mr_8k_alloc + REUSED);
	BUILD_BUG_ON(RDS_IB_S_rdma_mr_8k_reused != RDS_IB_S_rdma_mr_1m_alloc + REUSED);
	BUILD_BUG_ON(RDS_IB_S_rdma_mr_1m_reused != RDS_IB_S_rdma_mr_8k_reused + RDS_IB_MR_1M);
	if (what == REUSED)
		return RDS_IB_S_rdma_mr_8k_reused + kind;
	return RDS_IB_S_rdma_mr_8k_alloc + kind * REUSED + what;
}

void rds_ib_mr_count(unsigned int kind, enum rds_ib_mr_stat what)
{
	rds_ib_count(rds_ib_mr_stat(kind, what));
}

/* ---- one region ---- */

void rds_ib_mrs_release(struct kref *ref)
{
	kfree(container_of(ref, struct rds_ib_mrs, ref));
}

void rds_ib_mr_destroy(struct rds_ib_mr *mr)
{
	struct rds_ib_mrs *mrs = mr->mrs;

	kfree(mr);
	kref_put(&mrs->ref, rds_ib_mrs_release);
}

int rds_ib_mr_make(struct rds_ib_mr *mr)
{
	struct rds_ib_mrs *mrs = mr->mrs;
	struct ib_mr *ibmr;

	ibmr = ib_alloc_mr(mrs->dev->pd, IB_MR_TYPE_MEM_REG, mrs->limits.pages[mr->kind]);
	if (IS_ERR(ibmr))
		return -ENOMEM;
	rds_ib_mr_count(mr->kind, ALLOC);
	/* Keys that peers know of another adapter, or of this one before it was reset, are few of
	 * those that there may be. */
	ib_update_fast_reg_key(ibmr, get_random_u32());
	mr->ibmr = ibmr;
	return 0;
}

int rds_ib_mr_unmake(struct ib_mr *ibmr, unsigned int kind)
{
	int err = ib_dereg_mr(ibmr);

	if (!err)
		rds_ib_mr_count(kind, FREE);
	return err;
}

void rds_ib_mr_let_go(struct ib_device *ibdev, const struct rds_ib_mr *mr)
{
	/* A copy of what was there would overwrite what the program has written since. */
	ib_dma_unmap_sgtable_attrs(ibdev, &mr->pages->sgt, mr->dir,
				   mr->is_back ? DMA_ATTR_SKIP_CPU_SYNC : 0);
	rds_pages_unpin(mr->pages);
}

/* ---- pools ---- */

/* The clean one that has rested for longest, if so many others were used since or @any. */
static struct rds_ib_mr *rds_ib_mr_reuse(struct rds_ib_mrs *mrs, enum rds_ib_mr_kind kind, bool any)
{
	struct rds_ib_mr_pool *pool = &mrs->pool[kind];
	struct rds_ib_mr *mr;

	spin_lock_bh(&mrs->lock);
	mr = list_first_entry_or_null(&pool->clean, struct rds_ib_mr, on);
	if (mr && !any && !rds_ib_mr_rested(&mrs->limits, kind, pool->n_clean, pool->made))
		mr = NULL;
	if (mr) {
		list_del_init(&mr->on);
		pool->n_clean--;
	}
	spin_unlock_bh(&mrs->lock);
	if (mr)
		rds_ib_mr_count(kind, REUSED);
	return mr;
}

static struct rds_ib_mr *rds_ib_mr_one_more(struct rds_ib_mrs *mrs, enum rds_ib_mr_kind kind,
					    bool cleared)
{
	struct rds_ib_mr_pool *pool = &mrs->pool[kind];
	struct rds_ib_mr *mr;
	bool more;

	spin_lock_bh(&mrs->lock);
	more = pool->made < mrs->limits.most[kind] &&
	       (cleared || !rds_ib_mr_recycles(pool->n_dirty));
	pool->made += more;
	spin_unlock_bh(&mrs->lock);
	if (!more)
		return ERR_PTR(-EAGAIN);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (mr) {
		kref_get(&mrs->ref);
		*mr = (struct rds_ib_mr){.mrs = mrs, .kind = kind};
		INIT_LIST_HEAD(&mr->on);
		if (!rds_ib_mr_make(mr))
			return mr;
		rds_ib_mr_destroy(mr);
	}
	spin_lock_bh(&mrs->lock);
	pool->made--;
	spin_unlock_bh(&mrs->lock);
	return ERR_PTR(-ENOMEM);
}

struct rds_ib_mr *rds_ib_mr_take(struct rds_ib_mrs *mrs, enum rds_ib_mr_kind kind, bool cleared)
{
	struct rds_ib_mr *mr = rds_ib_mr_reuse(mrs, kind, false);

	if (mr)
		return mr;
	mr = rds_ib_mr_one_more(mrs, kind, cleared);
	if (PTR_ERR_OR_ZERO(mr) == -ENOMEM)
		return rds_ib_mr_reuse(mrs, kind, true) ?: mr;
	return mr;
}

/* Its key may be valid, and the adapter does not end it: the memory stays, and it is asked again.
 */
static void rds_ib_mr_stick(struct rds_ib_mr *mr)
{
	struct rds_ib_mrs *mrs = mr->mrs;

	rds_ib_count(RDS_IB_S_mr_stuck);
	mr->is_back = true; /* nobody waits for it */
	spin_lock_bh(&mrs->lock);
	list_add_tail(&mr->on, &mrs->pool[mr->kind].stuck);
	if (!mrs->gone)
		queue_delayed_work(rds_ib_wq, &mrs->work, RDS_IB_MR_STUCK_DELAY);
	spin_unlock_bh(&mrs->lock);
}

void rds_ib_mr_drop(struct rds_ib_mr *mr, bool good)
{
	struct rds_ib_mrs *mrs = mr->mrs;
	struct rds_ib_mr_pool *pool = &mrs->pool[mr->kind];

	spin_lock_bh(&mrs->lock);
	good = good && rds_ib_mr_keeps(&mrs->limits, mr->kind, pool->n_clean);
	if (good) {
		list_add_tail(&mr->on, &pool->clean);
		pool->n_clean++;
	} else {
		pool->made--;
	}
	spin_unlock_bh(&mrs->lock);
	if (good)
		return;
	if (mr->ibmr && rds_ib_mr_unmake(mr->ibmr, mr->kind))
		rds_ib_mr_stick(mr);
	else
		rds_ib_mr_destroy(mr);
}

/* ---- clearing away ---- */

static unsigned int rds_ib_mr_batch(struct rds_ib_mrs *mrs, struct rds_ib_mr_pool *pool,
				    struct rds_ib_mr *mr[RDS_IB_MR_BATCH])
{
	unsigned int n = 0;

	spin_lock_bh(&mrs->lock);
	while (n < RDS_IB_MR_BATCH && !list_empty(&pool->dirty)) {
		mr[n] = list_first_entry(&pool->dirty, struct rds_ib_mr, on);
		list_del_init(&mr[n++]->on);
	}
	pool->n_dirty -= n;
	spin_unlock_bh(&mrs->lock);
	return n;
}

/* Its key has ended, or @err: nobody knows, and the adapter is to forget all of it. */
static void rds_ib_mr_ended(struct rds_ib_mr *mr, int err)
{
	struct rds_ib_mrs *mrs = mr->mrs;

	if (err && rds_ib_mr_unmake(mr->ibmr, mr->kind)) {
		spin_lock_bh(&mrs->lock);
		mrs->pool[mr->kind].made--;
		spin_unlock_bh(&mrs->lock);
		rds_ib_mr_stick(mr);
		return;
	}
	if (err)
		mr->ibmr = NULL;
	if (mr->pages)
		rds_ib_mr_let_go(mrs->dev->ibdev, mr);
	mr->pages = NULL;
	rds_ib_mr_drop(mr, !err);
}

static void rds_ib_mr_clear(struct rds_ib_mrs *mrs, struct rds_ib_mr *const *mr, unsigned int n)
{
	int err = rds_ib_regq_invalidate(mrs, mr, n);
	unsigned int i;

	for (i = 0; i < n; i++)
		rds_ib_mr_ended(mr[i], err);
}

/* Those that the adapter did not end, once more.  They count as made no longer. */
static void rds_ib_mr_unstick(struct rds_ib_mrs *mrs, struct rds_ib_mr_pool *pool)
{
	struct rds_ib_mr *mr, *next;
	LIST_HEAD(stuck);

	spin_lock_bh(&mrs->lock);
	list_splice_init(&pool->stuck, &stuck);
	spin_unlock_bh(&mrs->lock);
	list_for_each_entry_safe(mr, next, &stuck, on) {
		list_del_init(&mr->on);
		if (rds_ib_mr_unmake(mr->ibmr, mr->kind)) {
			rds_ib_mr_stick(mr);
			continue;
		}
		if (mr->pages)
			rds_ib_mr_let_go(mrs->dev->ibdev, mr);
		rds_ib_mr_destroy(mr);
	}
}

void rds_ib_mrs_flush(struct rds_ib_mrs *mrs)
{
	struct rds_ib_mr *mr[RDS_IB_MR_BATCH];
	unsigned int kind, n;

	mutex_lock(&mrs->flush);
	for (kind = 0; kind < RDS_IB_MR_KINDS; kind++) {
		n = rds_ib_mr_batch(mrs, &mrs->pool[kind], mr);
		if (n)
			rds_ib_mr_count(kind, FLUSH);
		for (; n; n = rds_ib_mr_batch(mrs, &mrs->pool[kind], mr))
			rds_ib_mr_clear(mrs, mr, n);
		rds_ib_mr_unstick(mrs, &mrs->pool[kind]);
	}
	mutex_unlock(&mrs->flush);
}

void rds_ib_mrs_work(struct work_struct *work)
{
	rds_ib_mrs_flush(container_of(to_delayed_work(work), struct rds_ib_mrs, work));
}
