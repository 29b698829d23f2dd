// SPDX-License-Identifier: GPL-2.0
/*
 * ib_atomics_linux.c: the atomics that an adapter has.
 *
 * Its attributes speak of programs: there are drivers whose kernel side has none of these (mlx5),
 * or not the masked ones (bnxt_re).  So each adapter is asked once, when a program first wants to
 * know: by a queue pair in its error state, which takes work requests and carries out none.
 */
#include <linux/slab.h>

#include "ib_linux.h"

/* Of an adapter's @atomics: it was asked. */
#define RDS_IB_PROBED 0x80

static unsigned int rds_ib_atomics_said(const struct ib_device *ibdev)
{
	const struct ib_device_attr *attrs = &ibdev->attrs;

	return (attrs->atomic_cap != IB_ATOMIC_NONE ? RDS_ATOMICS_PLAIN : 0) |
	       (attrs->masked_atomic_cap != IB_ATOMIC_NONE ? RDS_ATOMICS_MASKED : 0);
}

/* Memory for an answer that never comes. */
struct rds_ib_probe {
	struct ib_qp *qp;
	u64 *mem;
	u64 dma;
};

static bool rds_ib_probe_takes(struct rds_ib_dev *dev, const struct rds_ib_probe *p,
			       enum ib_wr_opcode opcode)
{
	struct ib_sge sge = {p->dma, sizeof(u64), dev->pd->local_dma_lkey};
	struct ib_atomic_wr wr = {.wr = {.sg_list = &sge,
					 .num_sge = 1,
					 .opcode = opcode,
					 .send_flags = IB_SEND_SIGNALED}};

	return !ib_post_send(p->qp, &wr.wr, NULL);
}

/* As far as @said goes. */
static unsigned int rds_ib_probe_all(struct rds_ib_dev *dev, const struct rds_ib_probe *p,
				     unsigned int said)
{
	unsigned int has = 0;

	if (said & RDS_ATOMICS_PLAIN && rds_ib_probe_takes(dev, p, IB_WR_ATOMIC_FETCH_AND_ADD))
		has |= RDS_ATOMICS_PLAIN;
	if (said & RDS_ATOMICS_MASKED &&
	    rds_ib_probe_takes(dev, p, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD))
		has |= RDS_ATOMICS_MASKED;
	return has;
}

static int rds_ib_probe_qp(struct rds_ib_dev *dev, struct ib_cq *cq, struct rds_ib_probe *p)
{
	struct ib_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 2, .max_send_sge = 1, .max_recv_wr = 1, .max_recv_sge = 1},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_attr to = {.qp_state = IB_QPS_INIT, .port_num = rdma_start_port(dev->ibdev)};
	int err;

	p->qp = ib_create_qp(dev->pd, &attr);
	if (IS_ERR(p->qp))
		return PTR_ERR(p->qp);
	err = ib_modify_qp(p->qp, &to,
			   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	to.qp_state = IB_QPS_ERR;
	if (!err)
		err = ib_modify_qp(p->qp, &to, IB_QP_STATE);
	if (err)
		ib_destroy_qp(p->qp);
	return err;
}

/* The atomics of @said that it takes, or -errno: it could not be asked. */
static int rds_ib_probe(struct rds_ib_dev *dev, unsigned int said)
{
	struct rds_ib_probe p = {.mem = kzalloc(sizeof(*p.mem), GFP_KERNEL)};
	struct ib_cq *cq;
	int r = -ENOMEM;

	if (!p.mem)
		return r;
	p.dma = ib_dma_map_single(dev->ibdev, p.mem, sizeof(*p.mem), DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev->ibdev, p.dma))
		goto out;
	cq = ib_alloc_cq(dev->ibdev, NULL, 4, 0, IB_POLL_DIRECT);
	r = PTR_ERR_OR_ZERO(cq);
	if (!r) {
		r = rds_ib_probe_qp(dev, cq, &p);
		if (!r) {
			r = rds_ib_probe_all(dev, &p, said);
			ib_destroy_qp(p.qp);
		}
		ib_free_cq(cq);
	}
	ib_dma_unmap_single(dev->ibdev, p.dma, sizeof(*p.mem), DMA_FROM_DEVICE);
out:
	kfree(p.mem);
	return r;
}

unsigned int rds_ib_atomics_of(const struct rds_ib_dev *dev)
{
	const u8 known = READ_ONCE(dev->atomics);

	return known & RDS_IB_PROBED ? known & ~RDS_IB_PROBED : rds_ib_atomics_said(dev->ibdev);
}

unsigned int rds_ib_atomics(struct rds_os_net *os, const struct rds_addr *laddr, u32 scope)
{
	struct rds_ib_dev *dev = rds_ib_dev_get(os, laddr, scope);
	unsigned int has;
	int r;

	if (IS_ERR(dev))
		return 0;
	/* Two at once learn the same. */
	if (!(READ_ONCE(dev->atomics) & RDS_IB_PROBED)) {
		r = rds_ib_probe(dev, rds_ib_atomics_said(dev->ibdev));
		if (r >= 0)
			WRITE_ONCE(dev->atomics, r | RDS_IB_PROBED);
	}
	has = rds_ib_atomics_of(dev);
	rds_ib_dev_put(dev);
	return has;
}
