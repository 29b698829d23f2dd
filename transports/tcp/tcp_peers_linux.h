/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcp_peers_linux.h: whom a namespace speaks to, and with which key (docs/peers.md).
 *
 * A list of prefixes, the longest first, and a default.  Written under rds_tcp_net.tuning, held for
 * writing; read under RCU, or with tuning held either way.  An entry is constant: a change puts
 * another into its place, and the old one is freed, its key wiped, after a grace period.
 *
 * An entry takes effect in four places:
 *	a path calls		rds_tcp_peers_call(), before the socket connects
 *	a host calls		rds_tcp_peers_accept(), before there is an object for it
 *	its call is taken	the same once more, with tuning held
 *	the table changes	the listener gets the key, and connections whose rule is another now
 *				are dropped; they come back under it, or do not
 * The last two are under tuning both, so no connection is taken by a rule that has gone.
 */
#ifndef RDS_TCP_PEERS_LINUX_H
#define RDS_TCP_PEERS_LINUX_H

#include <linux/netlink.h>

#include "tcp_peers_table_linux.h"

struct rds_tcp_net;
struct rds_tcp_path;

/* There is a listener, and was none before: it gets the keys of the table.  Under tuning.
 * Process. */
void rds_tcp_peers_listen(struct rds_tcp_net *tn);
/* May @tp's path call?  Then @sock, which is not connected yet, gets the key, and tp->keyed tells.
 * 0, -EACCES, or what TCP says of the key.  Under tuning.  Process. */
int rds_tcp_peers_call(struct rds_tcp_path *tp, struct socket *sock);
/* May @sock, accepted from @faddr, become a connection?  Any refusal is counted.  Process. */
bool rds_tcp_peers_accept(struct rds_tcp_net *tn, const struct sock *sk,
			  const struct rds_addr *faddr, u32 scope);

/* ---- changes, for tcp_genl_linux.c: process, under tuning for writing ---- */
/* Takes @e over if it returns 0; else it is the caller's still, and nothing has changed. */
int rds_tcp_peers_set(struct rds_tcp_net *tn, struct rds_tcp_peer *e, bool replace,
		      struct netlink_ext_ack *extack);
int rds_tcp_peers_del(struct rds_tcp_net *tn, const struct rds_tcp_peer *like,
		      struct netlink_ext_ack *extack);
void rds_tcp_peers_default(struct rds_tcp_net *tn, u8 policy);

/* tcp_genl_linux.c */
/* Somebody may be listening.  Process. */
void rds_tcp_genl_refused(struct rds_tcp_net *tn, const struct rds_addr *faddr, u32 scope,
			  enum rds_peers_cause cause);

#endif
