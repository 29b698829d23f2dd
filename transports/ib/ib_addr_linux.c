// SPDX-License-Identifier: GPL-2.0
/*
 * ib_addr_linux.c: which addresses are an adapter's, and which of them its sockets take unasked.
 *
 * rdma_cm knows, so it is asked, by an id that is bound and goes again.  Process.
 */
#include <linux/module.h>

#include "ib_linux.h"

static bool rds_ib_everywhere;
module_param(rds_ib_everywhere, bool, 0444);
MODULE_PARM_DESC(rds_ib_everywhere,
		 "Sockets take iWARP adapters, and those of other namespaces, unasked (N)");

static struct rdma_cm_id *rds_ib_bound_at(struct rds_os_net *os, const struct rds_addr *addr,
					  u32 scope, u16 port)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int err;

	id = rdma_create_id(rds_os_net_to_net(os), rds_ib_no_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	rds_sockaddr(&ss, addr, scope, port);
	err = rdma_bind_addr(id, (struct sockaddr *)&ss);
	if (!err)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(err);
}

struct rdma_cm_id *rds_ib_bound(struct rds_os_net *os, const struct rds_addr *addr, u32 scope)
{
	return rds_ib_bound_at(os, addr, scope, 0);
}

/* rdma_cm says the same, -EADDRNOTAVAIL, of an address that no adapter has, and when no port is
 * left.  Whether a port may be had of which it is told, it asks only after it has found the
 * address: nobody has this one for long, and most may not (-EACCES). */
#define RDS_IB_PORT_NOBODYS 1

static struct rdma_cm_id *rds_ib_bound_to_any(struct rds_os_net *os, const struct rds_addr *addr,
					      u32 scope)
{
	struct rdma_cm_id *id = rds_ib_bound(os, addr, scope);

	if (id != ERR_PTR(-EADDRNOTAVAIL))
		return id;
	id = rds_ib_bound_at(os, addr, scope, RDS_IB_PORT_NOBODYS);
	return id == ERR_PTR(-EACCES) ? ERR_PTR(-EADDRINUSE) : id;
}

/* Mainline's choice: it knows neither iWARP nor other namespaces, and serves such an address by
 * TCP; a socket of ours that took the adapter would never reach it. */
static bool rds_ib_takes(const struct ib_device *ibdev, struct rds_os_net *os)
{
	return rds_ib_everywhere ||
	       (ibdev->node_type == RDMA_NODE_IB_CA && rds_os_net_to_net(os) == &init_net);
}

int rds_ib_laddr_check(struct rds_os_net *os, const struct rds_addr *addr, u32 scope)
{
	struct rdma_cm_id *id = rds_ib_bound_to_any(os, addr, scope);
	int ret;

	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		return ret == -ENOMEM || ret == -EADDRINUSE ? ret : -EADDRNOTAVAIL;
	}
	if (!id->device || !rds_ib_is_ours(id->device))
		ret = -EADDRNOTAVAIL;
	else
		ret = rds_ib_takes(id->device, os) ? 0 : RDS_LADDR_IF_ASKED;
	rdma_destroy_id(id);
	return ret;
}
