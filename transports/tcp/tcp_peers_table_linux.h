/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tcp_peers_table_linux.h: what a namespace has of the table of peers (tcp_peers_linux.h).
 */
#ifndef RDS_TCP_PEERS_TABLE_LINUX_H
#define RDS_TCP_PEERS_TABLE_LINUX_H

#include <linux/ratelimit.h>
#include <linux/rculist.h>

#include "../../include/uapi/linux/rds_peers.h"
#include "../../net/linux/rds_linux.h"

struct rds_tcp_peer {
	struct list_head link; /* rds_tcp_peers.list */
	struct rcu_head rcu;
	struct rds_addr addr; /* bits beyond @len are 0 */
	u32 scope;	      /* interface; 0: any */
	u8 len;		      /* of 128 bits: IPv4 is mapped, so it begins at 96 */
	u8 policy;	      /* enum rds_peers_policy */
	u8 method;	      /* enum rds_peers_method */
	u8 key_len;	      /* 0: there is none */
	u8 key[RDS_PEERS_MAX_KEY];
};

/* Of a namespace; a part of struct rds_tcp_net. */
struct rds_tcp_peers {
	struct list_head list;	      /* rds_tcp_peer.link, the longest prefix first */
	unsigned int n;		      /* entries */
	unsigned int unsigned_ones;   /* of these: accepted, without a key */
	unsigned int changes;	      /* so far; a dump that sees two numbers says so */
	u8 policy;		      /* of hosts in no entry */
	bool shut;		      /* the listener has keys that nobody knows: strangers' SYNs */
	struct ratelimit_state quiet; /* events */
};

#endif
