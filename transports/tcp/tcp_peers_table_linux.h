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

/* A key, constant; compared as a whole, so bytes that say nothing are 0. */
struct rds_tcp_key {
	u8 method;	 /* enum rds_peers_method; RDS_PEERS_NONE: there is no key */
	u8 alg;		 /* enum rds_peers_alg; this and the ids are TCP-AO's */
	u8 sndid, rcvid; /* of what is signed with it here, and by the peer */
	u8 len;		 /* 0: there is none */
	u8 bytes[RDS_PEERS_MAX_KEY];
};

struct rds_tcp_peer {
	struct list_head link; /* rds_tcp_peers.list */
	struct rcu_head rcu;
	struct rds_addr addr; /* bits beyond @len are 0 */
	u32 scope;	      /* interface; 0: any */
	u8 len;		      /* of 128 bits: IPv4 is mapped, so it begins at 96 */
	u8 policy;	      /* enum rds_peers_policy */
	struct rds_tcp_key key;
	struct rds_tcp_key old; /* the one that was replaced, taken as well; TCP-AO only */
};

/* How the listener keeps strangers' SYNs out, see rds_tcp_listener_shut(). */
enum rds_tcp_shut { RDS_TCP_OPEN_TO_ALL, RDS_TCP_SHUT_BY_KEYS, RDS_TCP_SHUT_BY_AO };

/* Of a namespace; a part of struct rds_tcp_net. */
struct rds_tcp_peers {
	struct list_head list;	      /* rds_tcp_peer.link, the longest prefix first */
	unsigned int n;		      /* entries */
	unsigned int accepted[3];     /* of these: accepted, by method */
	unsigned int changes;	      /* so far; a dump that sees two numbers says so */
	u8 policy;		      /* of hosts in no entry */
	u8 shut;		      /* enum rds_tcp_shut */
	struct ratelimit_state quiet; /* events */
};

#endif
