// SPDX-License-Identifier: GPL-2.0
/*
 * ib_listen_linux.c: a namespace's listeners, one each for IPv4 and IPv6, and what becomes of a
 * peer's request.
 *
 * rdma_cm calls under the new id's handler lock, inside of which the core's tables must not be
 * touched: the request is copied, and work finds the path that it is for.
 */
#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "ib_linux.h"

/* Requests that rdma_cm keeps for us; it hands each over at once. */
#define RDS_IB_BACKLOG 64

void rds_ib_call_end(struct rds_ib_call *call, u32 why)
{
	/* mainline writes an int, and most hosts are little-endian. */
	__le32 data = cpu_to_le32(why);

	rdma_reject(call->id, why ? &data : NULL, why ? sizeof(data) : 0,
		    IB_CM_REJ_CONSUMER_DEFINED);
	rds_ib_id_end(call->id);
	kfree(call);
}

static struct rds_addr rds_ib_addr_of(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET)
		return rds_addr_from_v4(((const struct sockaddr_in *)ss)->sin_addr.s_addr);
	return rds_addr_from_in6(&((const struct sockaddr_in6 *)ss)->sin6_addr);
}

static bool rds_ib_is_link_local(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ss;

	return ss->ss_family == AF_INET6 && ipv6_addr_type(&sin6->sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

/* A link-local address, of either end, is one of the interface that the request came by. */
static u32 rds_ib_scope_of(const struct rdma_addr *addr)
{
	return rds_ib_is_link_local(&addr->src_addr) || rds_ib_is_link_local(&addr->dst_addr)
		       ? addr->dev_addr.bound_dev_if
		       : 0;
}

/* Reads what the peer has to say: 0, -EPROTO (no version in common) or -EINVAL. */
static int rds_ib_call_read(struct rds_ib_call *call)
{
	const struct rdma_addr *addr = &call->id->route.addr;
	struct rds_addr peer = rds_ib_addr_of(&addr->dst_addr);
	struct rds_addr own = rds_ib_addr_of(&addr->src_addr);
	struct rds_ib_offer *o = &call->offer;
	int err;

	o->saddr = peer;
	o->daddr = own;
	err = rds_ib_offer_decode(call->data, call->len, addr->src_addr.ss_family == AF_INET6, o);
	if (err)
		return err;
	/* It may not speak for somebody else. */
	if (memcmp(&o->saddr, &peer, sizeof(peer)) || memcmp(&o->daddr, &own, sizeof(own)))
		return -EINVAL;
	return rds_ib_offer_agree(o);
}

/* Did we call, too, and is ours the call that counts? */
static bool rds_ib_ours_wins(const struct rds_path *path)
{
	const struct rds_ib_path *tp = rds_path_priv(path);

	return READ_ONCE(tp->phase) == RDS_IB_CALLING &&
	       rds_ib_keeps_call(rds_path_laddr(path), rds_path_faddr(path),
				 ktime_get_ns() - READ_ONCE(tp->called_ns));
}

/* Gives @call to the path that it is for: 0, or -errno: the caller still has it. */
static int rds_ib_call_place(struct rds_ib_call *call)
{
	const struct rdma_addr *addr = &call->id->route.addr;
	const struct rds_ib_offer *o = &call->offer;
	struct net *net = addr->dev_addr.net;
	u32 scope = rds_ib_scope_of(addr);
	struct rds_path *path;
	struct rds_conn *conn;
	int err = rds_ib_peers_accept(net, &o->saddr, scope);

	if (err)
		return err;
	conn = rds_conn_get(rds_net_of(net), &rds_ib_transport, &o->daddr, &o->saddr, scope, o->tos,
			    &err);
	if (!conn)
		return err;
	path = rds_conn_path(conn, 0);
	if (!path) {
		err = -ENOMEM;
	} else if (rds_path_transport(path) != &rds_ib_transport) {
		err = -EOPNOTSUPP; /* loopback stands in for us */
	} else if (rds_ib_ours_wins(path)) {
		rds_ib_count(RDS_IB_S_connect_raced);
		err = -EBUSY;
	} else {
		err = 0;
		call->proven = rds_ib_proves(rds_path_priv(path), call);
		rds_path_accepted(path, call);
	}
	rds_conn_put(conn);
	return err;
}

static void rds_ib_call_work(struct work_struct *work)
{
	struct rds_ib_call *call = container_of(work, struct rds_ib_call, work);
	int err = rds_ib_call_read(call);

	if (err) {
		rds_ib_count(err == -EPROTO ? RDS_IB_S_version_refused : RDS_IB_S_accept_refused);
		rds_ib_call_end(call, err == -EPROTO ? RDS_IB_REJECT_VERSION : 0);
		return;
	}
	err = rds_ib_call_place(call);
	if (!err)
		return;
	if (err != -EBUSY)
		rds_ib_count(RDS_IB_S_accept_refused);
	rds_ib_call_end(call, 0);
}

/*
 * Of a request until a path takes it, and of the listeners.  Any other event of either shows when
 * somebody tries to use it.
 */
static int rds_ib_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct rds_ib_call *call;

	rds_ib_count(RDS_IB_S_evt_handler_call);
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	call = kzalloc(sizeof(*call), GFP_KERNEL);
	if (!call)
		return -ENOMEM; /* rdma_cm refuses it */
	INIT_WORK(&call->work, rds_ib_call_work);
	call->id = id;
	call->responder_resources = conn->responder_resources;
	call->initiator_depth = conn->initiator_depth;
	if (conn->private_data) {
		call->len = min_t(u8, conn->private_data_len, sizeof(call->data));
		memcpy(call->data, conn->private_data, call->len);
	}
	queue_work(rds_ib_wq, &call->work);
	return 0;
}

static struct rdma_cm_id *rds_ib_listen_on(struct net *net, const struct in6_addr *any, u16 port)
{
	struct rds_addr addr = rds_addr_from_in6(any);
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(net, rds_ib_listen_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	rds_sockaddr(&ss, &addr, 0, port);
	/* They have different ports, and either is for one family. */
	err = rdma_set_afonly(id, 1);
	if (!err)
		err = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!err)
		err = rdma_listen(id, RDS_IB_BACKLOG);
	if (!err)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(err);
}

int rds_ib_listen_start(struct rds_ib_net *in)
{
	struct rdma_cm_id *v4, *v6;
	struct in6_addr any4;

	ipv6_addr_set_v4mapped(htonl(INADDR_ANY), &any4);
	v4 = rds_ib_listen_on(in->net, &any4, RDS_IB_PORT_V4);
	v6 = rds_ib_listen_on(in->net, &in6addr_any, RDS_IB_PORT_V6);
	in->listeners[0] = IS_ERR(v4) ? NULL : v4;
	in->listeners[1] = IS_ERR(v6) ? NULL : v6;
	if (IS_ERR(v4) || IS_ERR(v6))
		rds_ib_count(RDS_IB_S_listen_failed);
	return PTR_ERR_OR_ZERO(v4);
}

void rds_ib_listen_stop(struct rds_ib_net *in)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(in->listeners); i++) {
		if (in->listeners[i])
			rdma_destroy_id(in->listeners[i]);
		in->listeners[i] = NULL;
	}
	flush_workqueue(rds_ib_wq);
}
