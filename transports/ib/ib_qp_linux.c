// SPDX-License-Identifier: GPL-2.0
/*
 * ib_qp_linux.c: a path's queue pair, and the one completion queue for both its directions.
 *
 * Completions are polled by a tasklet, in batches, each under the path's lock; what there is to do
 * about many at once (buffers, room, credits) is done once a batch.
 */
#include <linux/log2.h>

#include "ib_linux.h"

/* ---- completions ---- */

/* A frame fills a slot.  A write with immediate data completes a receive as well, and with the
 * length of what it wrote elsewhere: nothing has come into the slot, in whose header and page lies
 * what was there before. */
static bool rds_ib_is_frame(const struct rds_ib_path *tp, const struct ib_wc *wc)
{
	return wc->opcode == IB_WC_RECV && !(wc->wc_flags & IB_WC_WITH_INVALIDATE) &&
	       wc->byte_len <= RDS_HEADER_BYTES + tp->rx[(u32)wc->wr_id].mapped;
}

static void rds_ib_received(struct rds_ib_path *tp, const struct ib_wc *wc)
{
	struct rds_ib_link *l = &tp->link;

	if (!rds_ib_is_frame(tp, wc)) {
		rds_ib_hw_count(tp, RDS_IB_LINK_rx_bad_frame);
		rds_ib_link_broken(l, RDS_DROP_PROTOCOL);
		return;
	}
	if (l->state == RDS_IB_LINK_IDLE)
		queue_work(rds_ib_wq, &tp->begun);
	rds_ib_filled(tp, (u32)wc->wr_id, wc->byte_len);
	rds_ib_link_arrived(l);
}

/* The peer's memory, or the peer itself, was not to be had. */
static bool rds_ib_remote(enum ib_wc_status status)
{
	return status == IB_WC_REM_ACCESS_ERR || status == IB_WC_REM_INV_REQ_ERR ||
	       status == IB_WC_REM_OP_ERR;
}

/* A frame or an operation.  The first work request that failed has a reason, and those behind it
 * are flushed. */
static void rds_ib_send_ended(struct rds_ib_path *tp, const struct ib_wc *wc)
{
	if (wc->wr_id & RDS_IB_WR_RECV || wc->status == IB_WC_WR_FLUSH_ERR)
		return;
	if (wc->status == IB_WC_SUCCESS)
		rds_ib_link_sent(&tp->link, (u32)wc->wr_id);
	else
		rds_ib_link_failed(&tp->link, (u32)wc->wr_id,
				   rds_ib_remote(wc->status) ? RDS_RDMA_REMOTE_ERROR
							     : RDS_RDMA_OTHER_ERROR);
}

/* The adapter's word counts where rdma_cm was faster to tell of the connection's end, too. */
static void rds_ib_completed(struct rds_ib_path *tp, const struct ib_wc *wc)
{
	struct rds_ib_link *l = &tp->link;

	rds_ib_send_ended(tp, wc);
	if (l->state == RDS_IB_LINK_ENDED)
		return;
	if (wc->status != IB_WC_SUCCESS) {
		rds_ib_count(RDS_IB_S_completion_errors);
		rds_ib_link_broken(l, RDS_DROP_ERROR);
	} else if (wc->wr_id & RDS_IB_WR_RECV) {
		rds_ib_received(tp, wc);
	}
}

/* Is there more, or may there be?  If not, the next completion schedules the tasklet. */
static bool rds_ib_poll_batch(struct rds_ib_path *tp)
{
	int i, n = ib_poll_cq(tp->cq, RDS_IB_BATCH, tp->wc);

	for (i = 0; i < n; i++)
		rds_ib_completed(tp, &tp->wc[i]);
	if (n > 0)
		rds_ib_link_settle(&tp->link, RDS_ATOMIC);
	if (n == RDS_IB_BATCH)
		return true;
	rds_ib_link_heard_all(&tp->link);
	return ib_req_notify_cq(tp->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

/* Will the adapter tell of operations, if it is given time?  Behind a failure all are flushed. */
static bool rds_ib_may_tell(const struct rds_ib_path *tp)
{
	return tp->live && tp->link.ops && !tp->link.failed;
}

void rds_ib_poll(struct tasklet_struct *t)
{
	struct rds_ib_path *tp = container_of(t, struct rds_ib_path, tasklet);
	unsigned int left = RDS_IB_BATCHES;
	bool more;

	rds_ib_count(RDS_IB_S_tasklet_call);
	do {
		spin_lock(&tp->lock);
		more = tp->live && rds_ib_poll_batch(tp);
		if (tp->closing && !rds_ib_may_tell(tp))
			complete(&tp->heard);
		spin_unlock(&tp->lock);
	} while (more && --left);
	if (more)
		tasklet_schedule(&tp->tasklet);
}

/* Hard interrupt, or what the adapter has. */
static void rds_ib_cq_ready(struct ib_cq *cq, void *context)
{
	struct rds_ib_path *tp = context;

	tasklet_schedule(&tp->tasklet);
}

/*
 * Either queue is beyond repair; or frames have come before rdma_cm said that we are connected.  A
 * peer that asked for what it may not (IB_EVENT_QP_ACCESS_ERR, _REQ_ERR) is still to be refused by
 * the adapter when that is told: what is flushed then ends the connection.
 */
static void rds_ib_async_event(struct ib_event *event, void *context)
{
	struct rds_ib_path *tp = context;

	switch (event->event) {
	case IB_EVENT_CQ_ERR:
	case IB_EVENT_QP_FATAL:
		rds_path_drop(tp->path, RDS_DROP_ERROR);
		break;
	case IB_EVENT_COMM_EST:
		queue_work(rds_ib_wq, &tp->begun);
		break;
	default:
		break;
	}
}

/* ---- from making to destroying ---- */

/* A power of two; at least @least, if the adapter has that. */
static u32 rds_ib_ring(unsigned int wanted, u32 least, int most)
{
	least = min_t(u32, roundup_pow_of_two(least), most);
	return rounddown_pow_of_two(clamp_t(u32, wanted, least, most));
}

static int rds_ib_cq_create(struct rds_ib_path *tp)
{
	static atomic_t vector;
	struct ib_device *ibdev = tp->dev->ibdev;
	struct ib_cq_init_attr attr = {
		.cqe = tp->send_wr + tp->recv_wr + 1,
		.comp_vector = (u32)atomic_inc_return(&vector) % max(ibdev->num_comp_vectors, 1),
	};
	struct ib_cq *cq = ib_create_cq(ibdev, rds_ib_cq_ready, rds_ib_async_event, tp, &attr);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	tp->cq = cq;
	return ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
}

/* How large frames may be, 4 KiB << @order at most.  An adapter may take few entries; and of large
 * buffers a small ring would have few, where a small message takes one, too. */
static u8 rds_ib_frame_order(const struct rds_ib_path *tp, unsigned int order)
{
	const u32 frame = READ_ONCE(rds_ib_frame_bytes), ring = READ_ONCE(rds_ib_max_recv_wr);

	order = min_t(u32, order, ilog2(frame / RDS_IB_FRAME));
	while (order && (RDS_IB_SGES(order) > tp->dev->ibdev->attrs.max_send_sge ||
			 ring >> order < RDS_IB_FIRST_BUFFERS))
		order--;
	return order;
}

/* The rings are as large as the settings say, if the adapter can do that.  Larger frames are fewer,
 * in as much memory. */
static void rds_ib_size_rings(struct rds_ib_path *tp)
{
	const struct ib_device_attr *can = &tp->dev->ibdev->attrs;
	int most = min(can->max_qp_wr, can->max_cqe / 2 - 1);

	tp->send_wr = rds_ib_ring(READ_ONCE(rds_ib_max_send_wr),
				  rds_ib_op_limits(tp) + RDS_IB_OP_SPARE, most);
	tp->recv_wr = rds_ib_ring(READ_ONCE(rds_ib_max_recv_wr) >> tp->order, 4, most);
}

static void rds_ib_cq_destroy(struct rds_ib_path *tp)
{
	if (tp->cq)
		ib_destroy_cq(tp->cq);
	tp->cq = NULL;
}

/* Rings, completion queue and queue pair, of the sizes that the rings have now. */
static int rds_ib_queues_create(struct rds_ib_path *tp)
{
	struct ib_qp_init_attr attr = {
		.event_handler = rds_ib_async_event,
		.qp_context = tp,
		.cap = {.max_send_wr = tp->send_wr,
			.max_recv_wr = tp->recv_wr,
			.max_send_sge = tp->write_sges,
			.max_recv_sge = 2},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int err = rds_ib_rings_alloc(tp);

	if (!err)
		err = rds_ib_cq_create(tp);
	if (err)
		return err;
	attr.send_cq = attr.recv_cq = tp->cq;
	return rdma_create_qp(tp->id, tp->dev->pd, &attr);
}

/* Half of each ring, if that is still of use.  An adapter may say that it has more than it can
 * make, and a long queue wants memory in one piece. */
static bool rds_ib_try_smaller(struct rds_ib_path *tp)
{
	u32 least = roundup_pow_of_two(rds_ib_op_limits(tp) + RDS_IB_OP_SPARE);
	u32 send_wr = max(tp->send_wr / 2, min(tp->send_wr, least));
	u32 recv_wr = max_t(u32, tp->recv_wr / 2, min_t(u32, tp->recv_wr, RDS_IB_FIRST_BUFFERS));

	if (send_wr == tp->send_wr && recv_wr == tp->recv_wr)
		return false;
	rds_ib_cq_destroy(tp);
	rds_ib_rings_free(tp);
	tp->send_wr = send_wr;
	tp->recv_wr = recv_wr;
	return true;
}

int rds_ib_qp_create(struct rds_ib_path *tp, unsigned int order)
{
	const bool iwarp = rds_ib_is_iwarp(tp->id);
	struct rds_ib_link_params params = {
		.max_unsignaled = READ_ONCE(rds_ib_max_unsignaled_wr),
		.flow = 1,
		/* iWARP has no adapter that asks again when there is no buffer. */
		.named = READ_ONCE(rds_ib_flow_control) || iwarp,
		.csum = 1,
		.hears_first = iwarp && tp->phase != RDS_IB_CALLING,
	};
	int err;

	if (!rds_ib_dev_attach(tp, tp->id->device))
		return -ENODEV;
	tp->order = rds_ib_frame_order(tp, order);
	rds_ib_size_rings(tp);
	do
		err = rds_ib_queues_create(tp);
	while ((err == -ENOMEM || err == -EINVAL) && rds_ib_try_smaller(tp));
	if (err)
		return err;
	params.send_wr = tp->send_wr;
	params.recv_wr = tp->recv_wr;
	params.order = tp->order;
	/* An iWARP adapter is done with what TCP has taken, whoever hears it: that a peer is gone
	 * shows only when that is full, and so the peer's word must be good for more
	 * (decisions/054). */
	params.first_buffers =
		iwarp ? tp->recv_wr : min_t(u32, RDS_IB_FIRST_BUFFERS >> tp->order, tp->recv_wr);
	tp->still = 0;
	tp->closing = tp->left = false;
	reinit_completion(&tp->heard);
	rds_ib_link_prepare(&tp->link, &params);
	/* With some buffers one can begin; the others come later. */
	err = rds_ib_link_offer(&tp->link, RDS_MAY_SLEEP);
	return tp->link.offered >= RDS_IB_FEWEST_BUFFERS ? 0 : err;
}

void rds_ib_qp_go(struct rds_ib_path *tp, bool open)
{
	spin_lock_bh(&tp->lock);
	tp->live = true;
	if (open)
		rds_ib_link_open(&tp->link);
	spin_unlock_bh(&tp->lock);
	tasklet_schedule(&tp->tasklet);
}

/*
 * A peer whose adapter refused an operation ends the connection, too, and rdma_cm may tell us of
 * that before our adapter has told of the operation: soft-RoCE works off what came in its own time.
 */
static void rds_ib_listen_on(struct rds_ib_path *tp)
{
	bool may;

	spin_lock_bh(&tp->lock);
	may = tp->closing = rds_ib_may_tell(tp);
	spin_unlock_bh(&tp->lock);
	if (may)
		wait_for_completion_timeout(&tp->heard, RDS_IB_LAST_WORDS);
}

/* Takes the completions that there are: so operations that were carried out are known to be. */
static void rds_ib_last_words(struct rds_ib_path *tp)
{
	int i, n, left = tp->send_wr + tp->recv_wr;

	for (; left > 0; left -= n) {
		n = ib_poll_cq(tp->cq, RDS_IB_BATCH, tp->wc);
		if (n <= 0)
			return;
		for (i = 0; i < n; i++)
			rds_ib_send_ended(tp, &tp->wc[i]);
	}
}

/*
 * The queue pair's end flushes what is posted, of which the adapter tells once, for nobody asks it
 * to tell of more.  That is waited for: soft-RoCE of 6.1 tells from a tasklet, and does not look
 * whether that has run when the completion queue goes.  An adapter that flushes nothing has 100 ms.
 */
static void rds_ib_quiesce(struct rds_ib_path *tp)
{
	struct ib_qp_attr attr = {.qp_state = IB_QPS_ERR};

	if (rdma_disconnect(tp->id))
		ib_modify_qp(tp->id->qp, &attr, IB_QP_STATE);
	wait_for_completion_timeout(&tp->heard, RDS_IB_LAST_WORDS);
}

/*
 * The adapter may schedule the tasklet until the completion queue is gone, and it may run after
 * that; it looks at @live first.
 */
void rds_ib_qp_destroy(struct rds_ib_path *tp)
{
	if (!tp->dev)
		return;
	rds_ib_listen_on(tp);
	spin_lock_bh(&tp->lock);
	if (tp->live)
		rds_ib_last_words(tp);
	tp->live = false;
	tp->closing = true;
	reinit_completion(&tp->heard);
	spin_unlock_bh(&tp->lock);
	rds_ib_beats_end(tp);
	cancel_delayed_work_sync(&tp->refill);
	if (tp->id->qp) {
		rds_ib_quiesce(tp);
		rdma_destroy_qp(tp->id);
	}
	rds_ib_cq_destroy(tp);
	tasklet_kill(&tp->tasklet);
	cancel_work_sync(&tp->begun);
	rds_ib_link_end(&tp->link);
	rds_ib_rings_free(tp);
	rds_ib_dev_detach(tp);
}

/* ---- ops, and work ---- */

long rds_ib_xmit(void *priv, const struct rds_xmit *x)
{
	struct rds_ib_path *tp = priv;
	long r;

	spin_lock_bh(&tp->lock);
	r = rds_ib_link_xmit(&tp->link, x);
	if (tp->live && rds_ib_link_dry(&tp->link))
		rds_ib_dry(tp);
	spin_unlock_bh(&tp->lock);
	return r;
}

u32 rds_ib_wants(const void *priv)
{
	const struct rds_ib_path *tp = priv;

	return rds_ib_link_wants(&tp->link);
}

void rds_ib_recv_retry(void *priv)
{
	struct rds_ib_path *tp = priv;

	spin_lock_bh(&tp->lock);
	if (tp->live)
		rds_ib_link_retry(&tp->link);
	spin_unlock_bh(&tp->lock);
}

/* Where softirqs found no memory.  Still none?  Then rds_ib_hw_offer() asks for us again. */
void rds_ib_refill(struct work_struct *work)
{
	struct rds_ib_path *tp = container_of(to_delayed_work(work), struct rds_ib_path, refill);
	bool live;

	rds_ib_count(RDS_IB_S_rx_refill_from_thread);
	rds_ib_spares(tp);
	spin_lock_bh(&tp->lock);
	live = tp->live;
	if (live)
		rds_ib_link_settle(&tp->link, RDS_ATOMIC);
	spin_unlock_bh(&tp->lock);
	if (!live) /* not connected yet */
		queue_delayed_work(rds_ib_wq, &tp->refill, RDS_IB_REFILL_DELAY);
}
