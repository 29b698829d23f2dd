// SPDX-License-Identifier: GPL-2.0
/*
 * ib_cm_linux.c: a path's connection, from connect or adopt to close, and rdma_cm's events.
 *
 * The ops here are called by the path's worker, one at a time.  rdma_cm's events come in between,
 * each under the id's handler lock; they begin to count when the worker sets a phase under that
 * lock, and none does after close() has set it back.  The id itself lives on for a while
 * (ib_id_linux.c).
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "ib_linux.h"

static unsigned int rds_ib_retry_count = 1;
module_param(rds_ib_retry_count, uint, 0444);
MODULE_PARM_DESC(rds_ib_retry_count, "Times the adapter sends a frame again, 0 to 7 (1)");

/* RDMA reads and atomics of ours that the peer answers at a time.  Of what comes back nobody limits
 * the rate, and 32 KiB each fill any wire. */
#define RDS_IB_READS 8U

/* Nobody posts a buffer in time?  The adapter asks again for ever. */
#define RDS_IB_RNR_RETRY 7

/* ---- what both ends say ---- */

/* Our offer in the version of @o, and how the connection is to be: @data is for both. */
static void rds_ib_say(struct rds_ib_path *tp, struct rds_ib_offer *o, struct rdma_conn_param *p,
		       unsigned char data[RDS_IB_OFFER_BYTES_V6])
{
	const struct ib_device_attr *attrs = &tp->dev->ibdev->attrs;
	const u32 claimed = rds_ib_link_claim(&tp->link);

	o->saddr = *rds_path_laddr(tp->path);
	o->daddr = *rds_path_faddr(tp->path);
	o->ack_seq = rds_path_received(tp->path);
	o->credit = tp->link.p.flow && tp->link.p.named ? claimed : 0;
	o->buffers = ilog2(claimed);
	o->tos = rds_path_tos(tp->path);
	o->order = tp->order;
	o->can = RDS_IB_CAN_END | (rds_ib_is_iwarp(tp->id) ? 0 : RDS_IB_CAN_BEAT);
	p->private_data = data;
	p->private_data_len = rds_ib_offer_encode(o, data);
	p->responder_resources = min_t(u32, p->responder_resources, attrs->max_qp_rd_atom);
	p->initiator_depth =
		min3((u32)p->initiator_depth, (u32)attrs->max_qp_init_rd_atom, RDS_IB_READS);
	p->flow_control = 1;
	p->retry_count = min(rds_ib_retry_count, 7U);
	p->rnr_retry_count = RDS_IB_RNR_RETRY;
	rdma_set_min_rnr_timer(tp->id, IB_RNR_TIMER_000_32);
}

/* The peer's offer, from its private data. */
static void rds_ib_hear(struct rds_ib_path *tp, const struct rds_ib_offer *o)
{
	rds_path_delivered(tp->path, o->ack_seq);
	spin_lock_bh(&tp->lock);
	rds_ib_link_peer_credit(&tp->link, rds_ib_offer_counted(o, tp->link.p.named));
	rds_ib_link_peer_order(&tp->link, o->order);
	if (o->can & RDS_IB_CAN_END)
		rds_ib_link_peer_ends(&tp->link);
	if (o->can & RDS_IB_CAN_BEAT && !rds_ib_is_iwarp(tp->id))
		rds_ib_link_peer_beats(&tp->link);
	spin_unlock_bh(&tp->lock);
}

/* ---- events; under the id's handler lock ---- */

static int rds_ib_call_peer(struct rds_ib_path *tp)
{
	unsigned char data[RDS_IB_OFFER_BYTES_V6];
	struct rdma_conn_param param = {.responder_resources = U8_MAX, .initiator_depth = U8_MAX};
	struct rds_ib_offer o = {.tos = rds_path_tos(tp->path),
				 .secret = READ_ONCE(tp->proof.secret)};
	int err = rds_ib_qp_create(tp, RDS_IB_MOST_ORDER);

	if (err)
		return err;
	if (!rds_ib_offer_propose(&o, tp->attempt)) {
		tp->attempt = 0; /* the peer may have changed its mind */
		rds_ib_offer_propose(&o, 0);
	}
	rds_ib_say(tp, &o, &param, data);
	return rdma_connect_locked(tp->id, &param);
}

/* Link not locked. */
static void rds_ib_up(struct rds_ib_path *tp)
{
	WRITE_ONCE(tp->phase, RDS_IB_OPEN);
	rds_ib_qp_go(tp, true);
	rds_ib_beats_begin(tp);
	rds_ib_dev_through(tp->dev);
}

/*
 * Frames have come, so the peer has our answer: as good as rdma_cm's word, which is under way, or
 * lost.  rdma_cm is not told of it now (rdma_notify): when the connection ended before rdma_cm has
 * worked that off, it would go on sending our answer for a minute, and the id would last as long.
 */
void rds_ib_begun(struct work_struct *work)
{
	struct rds_ib_path *tp = container_of(work, struct rds_ib_path, begun);

	rdma_lock_handler(tp->id);
	if (tp->phase == RDS_IB_ANSWERING)
		rds_ib_up(tp);
	rdma_unlock_handler(tp->id);
}

/* The connection has been up for a while and rdma_cm does not know: the peer's word is lost. */
void rds_ib_insist(struct rds_ib_path *tp)
{
	if (!READ_ONCE(tp->unconfirmed))
		return;
	WRITE_ONCE(tp->unconfirmed, false);
	rdma_notify(tp->id, IB_EVENT_COMM_EST);
}

static int rds_ib_answered(struct rds_ib_path *tp, const struct rdma_conn_param *conn)
{
	struct rds_ib_offer o = {
		.saddr = *rds_path_faddr(tp->path),
		.daddr = *rds_path_laddr(tp->path),
	};
	int err = rds_ib_offer_decode(conn->private_data, conn->private_data_len,
				      !rds_addr_is_v4(&o.saddr), &o);

	if (err)
		return err;
	err = rds_ib_offer_accepted(&o);
	if (err) {
		rds_ib_count(RDS_IB_S_version_refused);
		return err;
	}
	rds_ib_hear(tp, &o);
	rds_ib_have_secret(tp, o.secret);
	tp->reads = conn->initiator_depth;
	rds_ib_up(tp);
	rds_path_connected(tp->path);
	return 0;
}

/* The peer refuses.  Its reason may have been written by a host of either byte order. */
static int rds_ib_refused(struct rds_ib_path *tp, struct rdma_cm_event *event)
{
	const void *data;
	__le32 why;
	u8 len = 0;

	data = rdma_consumer_reject_data(tp->id, event, &len);
	if (data && len >= sizeof(why)) {
		memcpy(&why, data, sizeof(why));
		if (why == cpu_to_le32(RDS_IB_REJECT_VERSION) ||
		    (__force __be32)why == cpu_to_be32(RDS_IB_REJECT_VERSION)) {
			rds_ib_count(RDS_IB_S_version_refused);
			tp->attempt++;
		}
	}
	return -ECONNREFUSED;
}

static void rds_ib_drop(struct rds_ib_path *tp, enum rds_drop_reason why)
{
	if (tp->phase != RDS_IB_OPEN) {
		rds_path_drop(tp->path, tp->phase == RDS_IB_CALLING ? RDS_DROP_CONNECT : why);
		return;
	}
	spin_lock_bh(&tp->lock);
	rds_ib_link_broken(&tp->link, why);
	spin_unlock_bh(&tp->lock);
}

/*
 * A peer that ends in order disconnects when it has our END, or when the adapter has told it that
 * its own has arrived here.  Rdma_cm may be faster to tell of that than our adapter and the core
 * are with the ENDs: they are given a moment (rds_ib_keepalive()).  True: they are not at it.
 */
static bool rds_ib_disconnected(struct rds_ib_path *tp)
{
	bool ending;

	spin_lock_bh(&tp->lock);
	ending = tp->phase == RDS_IB_OPEN && rds_ib_link_ending(&tp->link);
	tp->left |= ending;
	spin_unlock_bh(&tp->lock);
	if (ending)
		mod_delayed_work(rds_ib_wq, &tp->keepalive, RDS_IB_LAST_WORDS);
	return !ending;
}

static int rds_ib_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rds_ib_path *tp = id->context;
	int err = 0;

	rds_ib_count(RDS_IB_S_evt_handler_call);
	if (tp->phase == RDS_IB_IDLE)
		return 0;
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rdma_resolve_route(id, RDS_IB_RESOLVE_MS);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		queue_work(rds_ib_wq, &tp->routed);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		WRITE_ONCE(tp->unconfirmed, false);
		if (tp->phase == RDS_IB_CALLING)
			err = rds_ib_answered(tp, &event->param.conn);
		else if (tp->phase == RDS_IB_ANSWERING)
			rds_ib_up(tp);
		break;
	case RDMA_CM_EVENT_REJECTED:
		err = rds_ib_refused(tp, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		err = -ECONNRESET;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		err = rds_ib_disconnected(tp) ? -ECONNRESET : 0;
		break;
	default:
		break;
	}
	if (err)
		rds_ib_drop(tp, RDS_DROP_ERROR);
	/* Never for rdma_cm to destroy: the worker does. */
	return 0;
}

/*
 * A queue pair with its rings takes milliseconds, or seconds while memory is short, and the thread
 * that tells of events is one for all users of rdma_cm.  A call that has ended since, or whose
 * adapter goes, is refused by rdma_cm, or finds its phase set back.
 */
static void rds_ib_routed(struct work_struct *work)
{
	struct rds_ib_path *tp = container_of(work, struct rds_ib_path, routed);
	int err = 0;

	rdma_lock_handler(tp->id);
	if (tp->phase == RDS_IB_CALLING)
		err = rds_ib_call_peer(tp);
	rdma_unlock_handler(tp->id);
	if (err)
		rds_path_drop(tp->path, RDS_DROP_CONNECT);
}

/* ---- ops ---- */

void *rds_ib_path_alloc(struct rds_path *path)
{
	struct rds_ib_path *tp = kzalloc(sizeof(*tp), GFP_KERNEL_ACCOUNT);

	if (!tp)
		return NULL;
	tp->path = path;
	spin_lock_init(&tp->lock);
	skb_queue_head_init(&tp->spare);
	__skb_queue_head_init(&tp->lent);
	tasklet_setup(&tp->tasklet, rds_ib_poll);
	INIT_DELAYED_WORK(&tp->refill, rds_ib_refill);
	rds_ib_beats_init(tp);
	INIT_WORK(&tp->routed, rds_ib_routed);
	INIT_WORK(&tp->begun, rds_ib_begun);
	init_completion(&tp->heard);
	rds_ib_link_init(&tp->link, path, tp);
	return tp;
}

void rds_ib_path_free(void *priv)
{
	struct rds_ib_path *tp = priv;

	WARN_ON_ONCE(tp->id);
	kfree(tp);
}

/* Both do, so that they meet. */
int rds_ib_initiates(const void *priv)
{
	return 1;
}

static int rds_ib_call(struct rds_ib_path *tp)
{
	struct net *net = rds_os_net_to_net(rds_path_os_net(tp->path));
	u32 scope = rds_path_scope(tp->path);
	struct sockaddr_storage src, dst;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(net, rds_ib_event, tp, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	rdma_set_service_type(id, rds_path_tos(tp->path));
	tp->id = id;
	rds_sockaddr(&src, rds_path_laddr(tp->path), scope, 0);
	rds_sockaddr(&dst, rds_path_faddr(tp->path), scope, rds_ib_port(rds_path_faddr(tp->path)));
	/* rdma_cm binds the id to an adapter here, and warns when that goes before it has its next
	 * state; the end of an adapter waits for the handler. */
	rdma_lock_handler(id);
	WRITE_ONCE(tp->called_ns, ktime_get_ns());
	WRITE_ONCE(tp->phase, RDS_IB_CALLING);
	err = rdma_resolve_addr(id, (struct sockaddr *)&src, (struct sockaddr *)&dst,
				RDS_IB_RESOLVE_MS);
	rdma_unlock_handler(id);
	return err;
}

static struct rw_semaphore *rds_ib_peers_lock(const struct rds_ib_path *tp)
{
	return &rds_peers_of(rds_os_net_to_net(rds_path_os_net(tp->path)))->lock;
}

/* Under the lock of the table of peers: a change of it finds what is begun here. */
int rds_ib_connect(void *priv)
{
	struct rds_ib_path *tp = priv;
	int err;

	down_read(rds_ib_peers_lock(tp));
	err = rds_ib_peers_call(tp) ?: rds_ib_call(tp);
	up_read(rds_ib_peers_lock(tp));
	return err;
}

/* Data may arrive before we know that our answer did; then it is polled already. */
static int rds_ib_answer(struct rds_ib_path *tp, struct rds_ib_call *call)
{
	struct rdma_conn_param param = {.responder_resources = call->responder_resources,
					.initiator_depth = call->initiator_depth};
	unsigned char data[RDS_IB_OFFER_BYTES_V6];
	int err = rds_ib_qp_create(tp, call->offer.order);

	if (err)
		return err;
	rds_ib_hear(tp, &call->offer);
	call->offer.secret = rds_ib_new_secret(tp);
	rds_ib_say(tp, &call->offer, &param, data);
	tp->reads = param.initiator_depth;
	rdma_lock_handler(tp->id);
	WRITE_ONCE(tp->phase, RDS_IB_ANSWERING);
	WRITE_ONCE(tp->unconfirmed, true);
	tp->id->context = tp;
	tp->id->event_handler = rds_ib_event;
	rds_ib_qp_go(tp, false);
	err = rdma_accept(tp->id, &param);
	rdma_unlock_handler(tp->id);
	return err;
}

int rds_ib_adopt(void *priv, void *handle)
{
	struct rds_ib_path *tp = priv;
	struct rds_ib_call *call = handle;
	int err;

	down_read(rds_ib_peers_lock(tp));
	err = rds_ib_peers_accept(rds_os_net_to_net(rds_path_os_net(tp->path)),
				  rds_path_faddr(tp->path), rds_path_scope(tp->path));
	if (!err && !rds_ib_admits(tp, call))
		err = -ECONNREFUSED;
	if (err) {
		up_read(rds_ib_peers_lock(tp));
		rds_ib_call_end(call, 0);
		return err;
	}
	tp->id = call->id;
	err = rds_ib_answer(tp, call);
	up_read(rds_ib_peers_lock(tp));
	kfree(call);
	if (err) {
		rds_ib_count(RDS_IB_S_listen_closed_stale);
		rds_ib_close(tp);
	}
	return err;
}

void rds_ib_discard(void *handle)
{
	rds_ib_count(RDS_IB_S_listen_closed_stale);
	rds_ib_call_end(handle, 0);
}

/* While peers may reach our memory, which they do without our hearing of it, they end it. */
int rds_ib_midway(const void *priv)
{
	const struct rds_ib_path *tp = priv;

	return rds_ib_link_midway(&tp->link) || rds_ib_mrs_in_use(tp->dev);
}

void rds_ib_shutdown(void *priv)
{
	struct rds_ib_path *tp = priv;

	spin_lock_bh(&tp->lock);
	rds_ib_link_shutdown(&tp->link);
	spin_unlock_bh(&tp->lock);
}

void rds_ib_close(void *priv)
{
	struct rds_ib_path *tp = priv;
	struct rdma_cm_id *id = tp->id;

	if (!id)
		return;
	rdma_lock_handler(id);
	WRITE_ONCE(tp->phase, RDS_IB_IDLE);
	id->event_handler = rds_ib_no_event;
	rdma_unlock_handler(id);
	cancel_work_sync(&tp->routed);
	rds_ib_qp_destroy(tp);
	rds_ib_id_end(id);
	tp->id = NULL;
}
