// SPDX-License-Identifier: GPL-2.0
/*
 * ib_regq_linux.c: the registration queue of an adapter.
 *
 * Keys of memory regions change by work requests, which only a queue pair that is connected carries
 * out.  Those of paths come and go, and an error of theirs would end a registration, or the other
 * way round.  So an adapter has one for nothing else, connected to itself: nothing ever goes over
 * it.  It is made when first needed, and again when it broke.
 */
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

#include "ib_mr_linux.h"

/* Single work requests at a time; a batch comes on top. */
#define RDS_IB_REGQ_SINGLES 64
#define RDS_IB_REGQ_WRS (RDS_IB_REGQ_SINGLES + RDS_IB_MR_BATCH)
/* An adapter that does nothing for so long is asked in another way. */
#define RDS_IB_REGQ_TIMEOUT (10 * HZ)
/* Nobody answers, as nobody is asked: any will do. */
#define RDS_IB_REGQ_PSN 1
#define RDS_IB_REGQ_ACK_TIMEOUT 14

/* ---- connecting it to itself ---- */

static int rds_ib_regq_gid(struct ib_device *ibdev, u32 port, int entries, struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid = ERR_PTR(-ENOENT);
	int i, err;

	for (i = 0; i < entries && IS_ERR(gid); i++)
		gid = rdma_get_gid_attr(ibdev, port, i);
	if (IS_ERR(gid))
		return PTR_ERR(gid);
	rdma_ah_set_grh(ah, (union ib_gid *)&gid->gid, 0, gid->index, 1, 0);
	err = rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
	rdma_put_gid_attr(gid);
	return err;
}

static int rds_ib_regq_self(struct ib_device *ibdev, u32 port, const struct ib_port_attr *pa,
			    struct rdma_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->type = rdma_ah_find_type(ibdev, port);
	rdma_ah_set_port_num(ah, port);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE)
		return rds_ib_regq_gid(ibdev, port, pa->gid_tbl_len, ah);
	rdma_ah_set_dlid(ah, pa->lid);
	return 0;
}

static int rds_ib_regq_connect(struct ib_qp *qp, u32 port)
{
	struct ib_qp_attr attr = {.qp_state = IB_QPS_INIT, .port_num = port};
	struct ib_port_attr pa;
	int err;

	err = ib_query_port(qp->device, port, &pa);
	if (err)
		return err;
	err = ib_modify_qp(qp, &attr,
			   IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = pa.active_mtu;
	attr.dest_qp_num = qp->qp_num;
	attr.rq_psn = attr.sq_psn = RDS_IB_REGQ_PSN;
	attr.timeout = RDS_IB_REGQ_ACK_TIMEOUT;
	err = rds_ib_regq_self(qp->device, port, &pa, &attr.ah_attr);
	if (err)
		return err;
	err = ib_modify_qp(qp, &attr,
			   IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
				   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(qp, &attr,
			    IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
				    IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

/* iWARP's queue pairs cannot be connected without a peer. */
bool rds_ib_regq_may(struct ib_device *ibdev)
{
	u32 port;

	rdma_for_each_port(ibdev, port)
	{
		if (rdma_ib_or_roce(ibdev, port))
			return true;
	}
	return false;
}

static struct ib_qp *rds_ib_regq_qp(struct rds_ib_dev *dev, struct ib_cq *cq)
{
	struct ib_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = RDS_IB_REGQ_WRS,
			.max_send_sge = 1,
			.max_recv_wr = 1,
			.max_recv_sge = 1},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;
	int err = -ENODEV;
	u32 port;

	rdma_for_each_port(dev->ibdev, port)
	{
		if (!rdma_ib_or_roce(dev->ibdev, port))
			continue;
		qp = ib_create_qp(dev->pd, &attr);
		if (IS_ERR(qp))
			return qp;
		err = rds_ib_regq_connect(qp, port);
		if (!err)
			return qp;
		ib_destroy_qp(qp);
	}
	return ERR_PTR(err);
}

/* ---- its life ---- */

void rds_ib_regq_init(struct rds_ib_regq *q)
{
	init_rwsem(&q->sem);
	sema_init(&q->room, RDS_IB_REGQ_SINGLES);
}

void rds_ib_regq_destroy(struct rds_ib_regq *q)
{
	if (!q->qp)
		return;
	ib_destroy_qp(q->qp);
	ib_free_cq(q->cq);
	q->qp = NULL;
	q->cq = NULL;
}

/* Replaces the queue pair that was the @made'th, unless somebody did.  Requests posted to it are
 * forgotten: no callback comes any more. */
static int rds_ib_regq_renew(struct rds_ib_mrs *mrs, u32 made)
{
	struct rds_ib_regq *q = &mrs->regq;
	struct ib_qp *qp;
	struct ib_cq *cq;
	int err = 0;

	down_write(&q->sem);
	if (q->made != made)
		goto out;
	rds_ib_regq_destroy(q);
	cq = ib_alloc_cq_any(mrs->dev->ibdev, NULL, RDS_IB_REGQ_WRS + 1, IB_POLL_SOFTIRQ);
	err = PTR_ERR_OR_ZERO(cq);
	if (err)
		goto out;
	qp = rds_ib_regq_qp(mrs->dev, cq);
	err = PTR_ERR_OR_ZERO(qp);
	if (err) {
		ib_free_cq(cq);
		goto out;
	}
	q->qp = qp;
	q->cq = cq;
	q->made++;
out:
	up_write(&q->sem);
	return err;
}

/* ---- work requests ---- */

static void rds_ib_reg_each(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_reg *reg = container_of(wc->wr_cqe, struct rds_ib_reg, each);

	reg->failed |= wc->status != IB_WC_SUCCESS;
}

static void rds_ib_reg_last(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_reg *reg = container_of(wc->wr_cqe, struct rds_ib_reg, last);

	reg->failed |= wc->status != IB_WC_SUCCESS;
	complete(&reg->done);
}

static void rds_ib_reg_init(struct rds_ib_reg *reg)
{
	init_completion(&reg->done);
	reg->each.done = rds_ib_reg_each;
	reg->last.done = rds_ib_reg_last;
	reg->failed = false;
}

/* The chain at @wr, whose last one has @reg->last.  0, -EIO: it broke the queue pair, or that was
 * broken; -EINVAL: the adapter took nothing of it, and the queue pair is what it was; another
 * -errno: nothing was done, there is none. */
static int rds_ib_regq_run(struct rds_ib_mrs *mrs, const struct ib_send_wr *wr,
			   struct rds_ib_reg *reg)
{
	struct rds_ib_regq *q = &mrs->regq;
	const struct ib_send_wr *bad = NULL;
	bool refused;
	u32 made;
	int err;

	down_read(&q->sem);
	while (!q->qp) {
		made = q->made;
		up_read(&q->sem);
		err = rds_ib_regq_renew(mrs, made);
		if (err)
			return err;
		down_read(&q->sem);
	}
	made = q->made;
	err = ib_post_send(q->qp, wr, &bad);
	refused = err && bad == wr && !rds_ib_is_broken(err);
	if (!err && !wait_for_completion_timeout(&reg->done, RDS_IB_REGQ_TIMEOUT))
		err = -ETIMEDOUT;
	up_read(&q->sem);
	if (refused)
		return -EINVAL;
	if (!err && !reg->failed)
		return 0;
	/* After this nobody knows of @reg, which is on a stack. */
	rds_ib_regq_renew(mrs, made);
	return -EIO;
}

int rds_ib_regq_register(struct rds_ib_mrs *mrs, struct ib_mr *ibmr, int access)
{
	struct rds_ib_reg reg;
	struct ib_reg_wr wr = {
		.wr = {.wr_cqe = &reg.last, .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED},
		.mr = ibmr,
		.key = ibmr->rkey,
		.access = access,
	};
	int err;

	rds_ib_reg_init(&reg);
	/* An adapter that hangs keeps those that are in for ten seconds, and nobody else. */
	err = down_killable(&mrs->regq.room);
	if (err)
		return err;
	err = rds_ib_regq_run(mrs, &wr.wr, &reg);
	up(&mrs->regq.room);
	return err;
}

int rds_ib_regq_invalidate(struct rds_ib_mrs *mrs, struct rds_ib_mr *const *mr, unsigned int n)
{
	struct rds_ib_reg reg;
	unsigned int i;

	rds_ib_reg_init(&reg);
	for (i = 0; i < n; i++)
		mrs->inv[i] = (struct ib_send_wr){
			.next = i + 1 < n ? &mrs->inv[i + 1] : NULL,
			.wr_cqe = i + 1 < n ? &reg.each : &reg.last,
			.opcode = IB_WR_LOCAL_INV,
			.send_flags = i + 1 < n ? 0 : IB_SEND_SIGNALED,
			.ex.invalidate_rkey = mr[i]->ibmr->rkey,
		};
	return rds_ib_regq_run(mrs, mrs->inv, &reg);
}
