/* SPDX-License-Identifier: GPL-2.0 */
/*
 * state.h: generic netlink family "rds": what there is, and what happens (rdsctl(8)).
 *
 *	state_genl.c	the family, and its dumps of paths, sockets and counters
 *	state_events.c	news of paths, for who listens
 *
 * A dump holds nothing between two of its messages but its place in a table; within one it holds
 * what a reader of /proc/net/rds does (docs/decisions/038-between-steps.md).
 */
#ifndef RDS_STATE_H
#define RDS_STATE_H

#include <net/genetlink.h>

#include "../../include/uapi/linux/rds_state.h"
#include "rds_linux.h"

/* Its multicast groups, by number. */
enum { RDS_STATE_EVENTS };

extern struct genl_family rds_state_family;

/* ---- for module.c: between the two nobody asks, and no path is there ---- */
int rds_state_genl_start(void);
void rds_state_genl_stop(void);

/* The address @addr as attribute @attr.  0 or -EMSGSIZE. */
int rds_state_put_addr(struct sk_buff *skb, int attr, const struct rds_addr *addr);

/* state_events.c: a path went from one state to another (rds_trace_state() of the seam).  The
 * worker of its connection. */
void rds_state_event(const struct rds_path *p, unsigned int from, unsigned int to,
		     unsigned int why);
/* The messages of @p, a further path, went to path 0.  The same worker. */
void rds_state_fold(const struct rds_path *p);
/* A port at @addr, of the namespace (@ours) or a peer's, is full, or takes messages again.  Any
 * context. */
void rds_state_port(struct net *net, bool ours, const struct rds_addr *addr, u16 port, bool full);
/* Before any of these. */
void rds_state_init(struct net *net);

#endif
