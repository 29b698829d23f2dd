// SPDX-License-Identifier: GPL-2.0
/*
 * ib_id_linux.c: ids of rdma_cm that nobody wants to hear of any more.
 *
 * rdma_cm ends one only after the last message that it has sent for it, which may take a minute: so
 * that is a work of its own.
 */
#include <linux/slab.h>

#include "ib_linux.h"

int rds_ib_no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

struct rds_ib_ended {
	struct work_struct work;
	struct rdma_cm_id *id;
};

static void rds_ib_ended_work(struct work_struct *work)
{
	struct rds_ib_ended *e = container_of(work, struct rds_ib_ended, work);

	rdma_destroy_id(e->id);
	kfree(e);
}

void rds_ib_id_end(struct rdma_cm_id *id)
{
	struct rds_ib_ended *e = kmalloc(sizeof(*e), GFP_KERNEL);

	if (!e) {
		rdma_destroy_id(id);
		return;
	}
	INIT_WORK(&e->work, rds_ib_ended_work);
	e->id = id;
	queue_work(rds_ib_slow_wq, &e->work);
}
