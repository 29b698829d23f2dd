// SPDX-License-Identifier: GPL-2.0
/*
 * ib_peers_linux.c: queue pairs by the table of peers (net/linux/peers.h).
 *
 * The table tells hosts by their addresses, and rdma_cm the address of a host that calls.  Nothing
 * on a queue pair can be signed: a host whose entry has a key is refused here, whichever way it
 * would be signed over TCP.
 */
#include "ib_linux.h"

/* Why a host may not be spoken to over queue pairs, 0: it may.  @refused: what its table says of a
 * host that has no key. */
static int rds_ib_peer_fault(const struct rds_peer *e, enum rds_peers_cause refused,
			     enum rds_peers_cause *why)
{
	*why = e->policy == RDS_PEERS_REFUSE ? refused : RDS_PEERS_CANNOT_SIGN;
	return e->policy == RDS_PEERS_REFUSE || e->key.len ? -EACCES : 0;
}

static int rds_ib_peer_check(struct net *net, const struct rds_addr *faddr, u32 scope,
			     enum rds_peers_cause refused)
{
	struct rds_peers *peers = rds_peers_of(net);
	enum rds_peers_cause why;
	int err;

	rcu_read_lock();
	err = rds_ib_peer_fault(rds_peers_find(peers, faddr, scope), refused, &why);
	rcu_read_unlock();
	if (err) {
		rds_ib_count(why == RDS_PEERS_CANNOT_SIGN ? RDS_IB_S_key_refused
							  : RDS_IB_S_peer_refused);
		rds_peers_tell(peers, faddr, scope, why);
	}
	return err;
}

int rds_ib_peers_accept(struct net *net, const struct rds_addr *faddr, u32 scope)
{
	return rds_ib_peer_check(net, faddr, scope, RDS_PEERS_CALLED_US);
}

int rds_ib_peers_call(const struct rds_ib_path *tp)
{
	return rds_ib_peer_check(rds_os_net_to_net(rds_path_os_net(tp->path)),
				 rds_path_faddr(tp->path), rds_path_scope(tp->path),
				 RDS_PEERS_NOT_CALLED);
}

/* Another connection was accepted while this one is up, and this one has answered. */
void rds_ib_takeover_refused(void *priv)
{
	const struct rds_ib_path *tp = priv;

	rds_peers_tell(rds_peers_of(rds_os_net_to_net(rds_path_os_net(tp->path))),
		       rds_path_faddr(tp->path), rds_path_scope(tp->path), RDS_PEERS_TAKEOVER);
}

/* ---- changes ---- */

/* A host that may still be spoken to keeps its connection, whatever else has changed. */
static void rds_ib_peer_follow(void *arg, struct rds_path *path)
{
	const struct rds_peer *before, *after;
	enum rds_peers_cause why;

	if (rds_peers_differ(arg, rds_path_faddr(path), rds_path_scope(path), &before, &after) &&
	    rds_ib_peer_fault(after, RDS_PEERS_NOT_CALLED, &why))
		rds_path_drop(path, RDS_DROP_ADMIN);
}

static void rds_ib_peers_follow(struct rds_peers_user *u, const struct rds_peers_change *c)
{
	rds_transport_net_paths(rds_net_of(c->peers->net), &rds_ib_transport, rds_ib_peer_follow,
				(void *)c);
}

void rds_ib_peers_start(struct rds_ib_net *in)
{
	in->peers_user.follow = rds_ib_peers_follow;
	rds_peers_join(rds_peers_of(in->net), &in->peers_user);
}

void rds_ib_peers_stop(struct rds_ib_net *in)
{
	rds_peers_leave(rds_peers_of(in->net), &in->peers_user);
}
