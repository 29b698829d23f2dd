// SPDX-License-Identifier: GPL-2.0
/*
 * ib_op_linux.c: RDMA and atomic operations as work requests: what rds_ib_hw_op*() do for the link.
 *
 * The pages are mapped when the operation is posted, as so many entries at most as there are runs
 * of them; what an IOMMU joins then takes fewer work requests than slots.  The last slot holds the
 * mapping, and the reference on the message, whose pages they are.
 */
#include <linux/slab.h>

#include "../../net/linux/pages_linux.h"
#include "ib_linux.h"
#include "ib_mr_policy.h"

static bool rds_ib_is_atomic(const struct rds_op *op)
{
	return op->kind == RDS_OP_FADD || op->kind == RDS_OP_CSWP;
}

/* ---- what there is ---- */

u32 rds_ib_op_limits(struct rds_ib_path *tp)
{
	struct ib_device *ibdev = tp->dev->ibdev;
	u32 sges = min_t(u32, ibdev->attrs.max_send_sge, RDS_IB_OP_SGES);

	tp->write_sges = sges;
	/* iWARP would want a key of its own for where the data goes to. */
	tp->read_sges = rdma_protocol_iwarp(ibdev, tp->id->port_num)
				? 0
				: clamp_t(u32, ibdev->attrs.max_sge_rd, 1, sges);
	tp->reads = 0;
	return DIV_ROUND_UP(RDS_IB_MR_1M_PAGES, tp->read_sges ?: tp->write_sges);
}

static u32 rds_ib_op_slots(const struct rds_ib_path *tp, const struct rds_op *op)
{
	u32 sges = op->kind == RDS_OP_WRITE ? tp->write_sges : tp->reads ? tp->read_sges : 0;
	unsigned int needs = op->masked ? RDS_ATOMICS_MASKED : RDS_ATOMICS_PLAIN;

	if (!sges)
		return 0;
	if (!rds_ib_is_atomic(op))
		return DIV_ROUND_UP(op->pages->sgt.orig_nents, sges);
	/* No adapter takes one across a border of 8. */
	if (!(rds_ib_atomics_of(tp->dev) & needs) || op->raddr % sizeof(u64))
		return 0;
	return 1;
}

uint32_t rds_ib_hw_op_slots(void *hw, struct rds_msg *m)
{
	return rds_ib_op_slots(hw, rds_msg_op(m));
}

/* ---- posting ---- */

/* Posting at @first has failed with @err, at @bad: -EINVAL: nothing was posted, and the adapter
 * will never take it; -EIO: it is broken, or has some of it. */
static int rds_ib_refusal(int err, const struct ib_send_wr *first, const struct ib_send_wr *bad)
{
	return rds_ib_is_broken(err) || bad != first ? -EIO : -EINVAL;
}

static int rds_ib_post_atomic(struct rds_ib_path *tp, u32 slot, const struct rds_op *op)
{
	struct scatterlist *sg = op->pages->sgt.sgl;
	struct ib_sge sge = {sg_dma_address(sg), sizeof(u64), tp->dev->pd->local_dma_lkey};
	struct ib_atomic_wr wr = {
		.wr = {.wr_id = slot,
		       .sg_list = &sge,
		       .num_sge = 1,
		       .send_flags = IB_SEND_SIGNALED},
		.remote_addr = op->raddr,
		.rkey = op->rkey,
		.compare_add = op->compare_add,
		.swap = op->swap,
		.compare_add_mask = op->compare_add_mask,
		.swap_mask = op->swap_mask,
	};
	int err;

	if (op->kind == RDS_OP_FADD) {
		wr.wr.opcode =
			op->masked ? IB_WR_MASKED_ATOMIC_FETCH_AND_ADD : IB_WR_ATOMIC_FETCH_AND_ADD;
		rds_ib_count(RDS_IB_S_atomic_fadd);
	} else {
		wr.wr.opcode =
			op->masked ? IB_WR_MASKED_ATOMIC_CMP_AND_SWP : IB_WR_ATOMIC_CMP_AND_SWP;
		rds_ib_count(RDS_IB_S_atomic_cswp);
	}
	err = ib_post_send(tp->id->qp, &wr.wr, NULL);
	return err ? rds_ib_refusal(err, &wr.wr, &wr.wr) : 0;
}

/* The work requests of an operation that reads or writes. */
struct rds_ib_op_rest {
	struct scatterlist *sg;
	u32 entries; /* mapped, from @sg on */
	u64 raddr;
	u32 slot; /* of the next work request */
};

/* One work request: as much as goes into it. */
static void rds_ib_op_wr(struct rds_ib_path *tp, const struct rds_op *op,
			 struct rds_ib_op_rest *rest, struct ib_rdma_wr *wr, struct ib_sge *sge)
{
	u32 sges = op->kind == RDS_OP_WRITE ? tp->write_sges : tp->read_sges;

	*wr = (struct ib_rdma_wr){
		.wr = {.wr_id = rest->slot,
		       .sg_list = sge,
		       .opcode = op->kind == RDS_OP_WRITE ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ},
		.remote_addr = rest->raddr,
		.rkey = op->rkey,
	};
	for (; rest->entries && wr->wr.num_sge < sges; rest->entries--) {
		*sge = (struct ib_sge){sg_dma_address(rest->sg), sg_dma_len(rest->sg),
				       tp->dev->pd->local_dma_lkey};
		rest->raddr += sge->length;
		rest->sg = sg_next(rest->sg);
		sge++;
		wr->wr.num_sge++;
	}
	rest->slot = (rest->slot + 1) % tp->send_wr;
}

static int rds_ib_post_rdma(struct rds_ib_path *tp, u32 slot, u32 slots, const struct rds_op *op)
{
	struct rds_ib_op_rest rest = {op->pages->sgt.sgl, op->pages->sgt.nents, op->raddr, slot};
	struct rds_ib_op_wrs *w = tp->op_wrs;
	const struct ib_send_wr *bad = NULL;
	unsigned int n, chains;
	int err;

	for (chains = 0; rest.entries; chains++) {
		for (n = 0; n < RDS_IB_OP_CHAIN && rest.entries; n++) {
			rds_ib_op_wr(tp, op, &rest, &w->wr[n], &w->sge[n * RDS_IB_OP_SGES]);
			if (n)
				w->wr[n - 1].wr.next = &w->wr[n].wr;
		}
		if (!rest.entries) {
			w->wr[n - 1].wr.send_flags = IB_SEND_SIGNALED;
			w->wr[n - 1].wr.wr_id = (slot + slots - 1) % tp->send_wr;
		}
		err = ib_post_send(tp->id->qp, &w->wr[0].wr, &bad);
		if (err)
			return chains ? -EIO : rds_ib_refusal(err, &w->wr[0].wr, bad);
	}
	return 0;
}

/* From now on @slots slots are the operation's. */
static void rds_ib_op_take(struct rds_ib_path *tp, u32 slot, u32 slots, struct rds_msg *m,
			   enum dma_data_direction dir)
{
	struct rds_ib_tx *tx = NULL;

	for (; slots; slots--, slot++) {
		tx = &tp->tx[slot % tp->send_wr];
		tx->m = m;
		tx->kind = RDS_IB_SLOT_OP;
	}
	tx->kind = RDS_IB_SLOT_OP_LAST;
	tx->dir = dir;
	tx->pages = rds_msg_op(m)->pages;
	rds_msg_get(m);
}

/*
 * Where posting fails in the midst of it the adapter has some of the work requests, and uses the
 * memory: it is kept until the queue pair is gone.
 */
int rds_ib_hw_op(void *hw, uint32_t slot, struct rds_msg *m)
{
	struct rds_ib_path *tp = hw;
	const struct rds_op *op = rds_msg_op(m);
	u32 slots = rds_ib_op_slots(tp, op);
	enum dma_data_direction dir = op->kind == RDS_OP_WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
	int err;

	if (ib_dma_map_sgtable_attrs(tp->dev->ibdev, &op->pages->sgt, dir, 0)) {
		rds_ib_map_later(tp);
		return -ENOMEM;
	}
	rds_ib_op_take(tp, slot, slots, m, dir);
	err = rds_ib_is_atomic(op) ? rds_ib_post_atomic(tp, slot, op)
				   : rds_ib_post_rdma(tp, slot, slots, op);
	if (err == -EINVAL) {
		rds_ib_count(RDS_IB_S_op_refused);
		for (; slots; slots--, slot++)
			rds_ib_op_sent(tp, &tp->tx[slot % tp->send_wr]);
	}
	return err;
}

/* ---- and after it ---- */

struct rds_msg *rds_ib_hw_op_of(void *hw, uint32_t slot, int *last)
{
	struct rds_ib_path *tp = hw;
	struct rds_ib_tx *tx = &tp->tx[slot];

	if (tx->kind == RDS_IB_SLOT_FRAME)
		return NULL;
	*last = tx->kind == RDS_IB_SLOT_OP_LAST;
	return tx->m;
}

/* One that failed was told while the adapter had its slots.  Its memory is the program's again, and
 * must not be written from bounce buffers. */
void rds_ib_op_sent(struct rds_ib_path *tp, struct rds_ib_tx *tx)
{
	struct rds_msg *m = tx->kind == RDS_IB_SLOT_OP_LAST ? tx->m : NULL;

	tx->m = NULL;
	tx->kind = RDS_IB_SLOT_FRAME;
	if (!m)
		return;
	ib_dma_unmap_sgtable_attrs(tp->dev->ibdev, &tx->pages->sgt, tx->dir,
				   rds_msg_op(m) ? 0 : DMA_ATTR_SKIP_CPU_SYNC);
	rds_msg_put(m);
}
