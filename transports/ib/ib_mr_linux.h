/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ib_mr_linux.h: memory regions of one adapter, and the queue pair that makes and ends them.
 *
 *	ib_mr_linux.c	regions: in use, dirty, clean; ib_mr_policy.h has the rules
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
	struct list_head on;	 /* rds_ib_mr_pool.live, .dirty or .clean; .lock */
	struct ib_mr *ibmr;	 /* NULL: the adapter has gone */
	struct rds_pages *pages; /* mapped; NULL: a clean one */
	u8 kind;		 /* enum rds_ib_mr_kind */
	u8 dir;			 /* enum dma_data_direction */
};

struct rds_ib_mr_pool {
	struct list_head live, dirty, clean;
	u32 made; /* of all three, and on their way between them */
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

/* ib_regq_linux.c; process */
void rds_ib_regq_init(struct rds_ib_regq *q);
void rds_ib_regq_destroy(struct rds_ib_regq *q);
/* Makes @ibmr's key valid for what is mapped to it: 0, -EIO (nobody knows what became of it; only
 * ib_dereg_mr() helps), or another -errno: there is no queue. */
int rds_ib_regq_register(struct rds_ib_mrs *mrs, struct ib_mr *ibmr, int access);
/* Ends the keys of @n regions: 0 or -errno, see above.  @mrs->flush is held. */
int rds_ib_regq_invalidate(struct rds_ib_mrs *mrs, struct rds_ib_mr *const *mr, unsigned int n);

#endif
