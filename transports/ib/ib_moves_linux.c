// SPDX-License-Identifier: GPL-2.0
/*
 * ib_moves_linux.c: addresses that move: to another adapter of a host, to another port of a bond,
 * or to another host.
 *
 * A queue pair stays where it was made, and its adapter notices only that nobody acknowledges
 * frames any more, after some seconds.  The kernel is told at once: an address that leaves an
 * adapter takes its GID away there, and a peer's that has moved is announced (by gratuitous ARP, or
 * an unsolicited neighbour advertisement), so that its neighbour entry names another link-layer
 * address.  rdma_cm tells of the latter, but only the end that had called.  In either case the
 * connection ends here, and the path makes the next one where the address is now.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <rdma/ib_cache.h>

#include "ib_linux.h"

/* Once of a connection: several are told while it ends. */
static void rds_ib_moved(struct rds_ib_path *tp)
{
	if (tp->moved)
		return;
	tp->moved = true;
	rds_ib_count(RDS_IB_S_address_moved);
	rds_path_drop(tp->path,
		      READ_ONCE(tp->phase) == RDS_IB_CALLING ? RDS_DROP_CONNECT : RDS_DROP_ERROR);
}

/* The id holds the entry of its GID, which comes back as another one if it does. */
bool rds_ib_left_adapter(struct rds_ib_path *tp)
{
	const struct ib_gid_attr *gid = tp->id->route.addr.dev_addr.sgid_attr;
	bool gone;

	if (!gid)
		return false;
	rcu_read_lock();
	gone = rdma_read_gid_attr_ndev_rcu(gid) == ERR_PTR(-EINVAL);
	rcu_read_unlock();
	if (gone)
		rds_ib_moved(tp);
	return gone;
}

/* Where the kernel says that an address is. */
struct rds_ib_place {
	struct net *net;
	int ifindex;
	u8 mac[ETH_ALEN];
};

/* rds_ib_devs_lock. */
static void rds_ib_is_at(void *arg, struct rds_ib_path *tp)
{
	const struct rdma_route *route = &tp->id->route;
	struct sa_path_rec *way = route->path_rec;
	const struct rds_ib_place *place = arg;

	if (rds_os_net_to_net(rds_path_os_net(tp->path)) == place->net && way &&
	    sa_path_is_roce(way) && route->addr.dev_addr.bound_dev_if == place->ifindex &&
	    !ether_addr_equal(sa_path_get_dmac(way), place->mac))
		rds_ib_moved(tp);
}

/* Any context but hard interrupts; often, for each neighbour of the host. */
static int rds_ib_neighbour(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct rds_ib_place place;
	struct neighbour *n = arg;
	struct rds_addr addr;

	if (event != NETEVENT_NEIGH_UPDATE || n->dev->type != ARPHRD_ETHER ||
	    !(READ_ONCE(n->nud_state) & NUD_VALID))
		return NOTIFY_DONE;
	if (n->tbl->family == AF_INET)
		addr = rds_addr_from_v4(*(const __be32 *)n->primary_key);
	else if (n->tbl->family == AF_INET6)
		addr = rds_addr_from_in6((const struct in6_addr *)n->primary_key);
	else
		return NOTIFY_DONE;
	place.net = dev_net(n->dev);
	place.ifindex = n->dev->ifindex;
	neigh_ha_snapshot(place.mac, n, n->dev);
	rds_ib_each_path_to(&addr, rds_ib_is_at, &place);
	return NOTIFY_DONE;
}

static struct notifier_block rds_ib_neighbours = {.notifier_call = rds_ib_neighbour};

void rds_ib_moves_start(void)
{
	register_netevent_notifier(&rds_ib_neighbours);
}

void rds_ib_moves_stop(void)
{
	unregister_netevent_notifier(&rds_ib_neighbours);
}
