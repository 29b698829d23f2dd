/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_mr_linux.h: memory regions of one adapter, and the queue pair that makes and ends them.
 *
 *	ib_mr_linux.c	regions as programs have them
 *	ib_mr_pool_linux.c  in use, dirty, clean; ib_mr_policy.h has the rules
 *	ib_regq_linux.c	the registration queue: work requests that change a region's key
 *
 * The regions of an adapter are one struct rds_ib_mrs.  A region that somebody has lives as long as
 * he likes, the adapter may go before: then it is only a handle, and its memory is let go.  So
 * rds_ib_mrs is counted apart from the adapter.
 *
 * Locking.
 *
 *	rds_ib_mrs.flush	mutex: one batch of dirty regions at a time; @inv.
 *	rds_ib_regq.sem		readers use the queue pair and wait for it, a writer replaces it.
 *	rds_ib_mrs.lock		spin, bh: the lists, and what says whether a region is the
 *				adapter's. mr_free comes from softirqs.
 *
 * In this order.  The first two sleep and are taken with rds_ib_dev.users held, or by the work
 * item, which a removal waits for; so the adapter cannot go meanwhile.
 */
#ifndef RDS_IB_MR_LINUX_H
#define RDS_IB_MR_LINUX_H

#include "../../net/linux/pages_linux.h"
#include "ib_linux.h"
#include "ib_mr_policy.h"

struct rds_ib_mr {
	struct rds_ib_mrs *mrs;
	struct list_head on;	 /* rds_ib_mr_pool.live, .dirty, .clean or .stuck; .lock */
	struct ib_mr *ibmr;	 /* NULL: the adapter has gone */
	struct rds_pages *pages; /* mapped; NULL: a clean one */
	u8 kind;		 /* enum rds_ib_mr_kind */
	u8 dir;			 /* enum dma_data_direction */
	bool is_back;		 /* mapped still, but its program uses it again */
};

struct rds_ib_mr_pool {
	struct list_head live, dirty, clean; /* the oldest is the first */
	struct list_head stuck;		     /* the adapter did not end them */
	u32 made;			     /* of the first three, and on their way between them */
	u32 n_dirty, n_clean;
};

/* A queue pair connected to itself: it sends nothing, and needs no peer to be there. */
struct rds_ib_regq {
	struct rw_semaphore sem;
	struct semaphore room; /* for single work requests */
	struct ib_qp *qp;      /* NULL: not made yet, or could not be made again */
	struct ib_cq *cq;
	u32 made; /* times */
};

/* A chain of work requests, waited for. */
struct rds_ib_reg {
	struct ib_cqe each, last; /* wr_cqe of the last one, which is signaled, and of the others */
	struct completion done;
	bool failed;
};

struct rds_ib_mrs {
	struct kref ref; /* the adapter's, and one for each region */
	struct rds_ib_dev *dev;
	struct rds_ib_mr_limits limits;

	spinlock_t lock; /* guards what follows; bh */
	bool gone;	 /* so is @dev, or it will be */
	struct rds_ib_mr_pool pool[RDS_IB_MR_KINDS];

	struct mutex flush; /* guards @inv */
	struct ib_send_wr inv[RDS_IB_MR_BATCH];
	struct rds_ib_regq regq;
	struct delayed_work work;
};

/* Counters of a kind follow each other in this order, and then the next kind's do.  The last one is
 * not among them: it stands behind all of these, once for each kind. */
enum rds_ib_mr_stat { ALLOC, FREE, USED, FLUSH, WAIT, DEPLETED, REUSED };

/* ib_mr_pool_linux.c */
unsigned int rds_ib_mr_stat(unsigned int kind, enum rds_ib_mr_stat what);
void rds_ib_mr_count(unsigned int kind, enum rds_ib_mr_stat what);
void rds_ib_mrs_release(struct kref *ref);
void rds_ib_mr_destroy(struct rds_ib_mr *mr);
/* Gives @mr a region of the adapter: 0 or -ENOMEM. */
int rds_ib_mr_make(struct rds_ib_mr *mr);
/* The adapter is to forget it, and so its key: 0; -errno: nobody knows. */
int rds_ib_mr_unmake(struct ib_mr *ibmr, unsigned int kind);
/* No key leads to its pages any more. */
void rds_ib_mr_let_go(struct ib_device *ibdev, const struct rds_ib_mr *mr);
/* A clean one, or one more: ERR_PTR(-EAGAIN), there may be none, or dirty ones are to be cleared
 * first, unless that was tried; or -ENOMEM. */
struct rds_ib_mr *rds_ib_mr_take(struct rds_ib_mrs *mrs, enum rds_ib_mr_kind kind, bool cleared);
/* @mr is on no list, and without memory: to be used again if @good and there are few, else it
 * ends. */
void rds_ib_mr_drop(struct rds_ib_mr *mr, bool good);
/* Clears away all that are dirty now.  Process; the adapter cannot go. */
void rds_ib_mrs_flush(struct rds_ib_mrs *mrs);
void rds_ib_mrs_work(struct work_struct *work);

/* ib_regq_linux.c; process */
/* Can the adapter have such a queue? */
bool rds_ib_regq_may(struct ib_device *ibdev);
void rds_ib_regq_init(struct rds_ib_regq *q);
void rds_ib_regq_destroy(struct rds_ib_regq *q);
/* Makes @ibmr's key valid for what is mapped to it: 0, -EIO (nobody knows what became of it; only
 * ib_dereg_mr() helps), -EINVAL (the adapter does not take this), or another -errno: there is no
 * queue. */
int rds_ib_regq_register(struct rds_ib_mrs *mrs, struct ib_mr *ibmr, int access);
/* Ends the keys of @n regions: 0 or -errno, see above.  @mrs->flush is held. */
int rds_ib_regq_invalidate(struct rds_ib_mrs *mrs, struct rds_ib_mr *const *mr, unsigned int n);

#endif
