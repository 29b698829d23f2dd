/* SPDX-License-Identifier: GPL-2.0 */
/*
 * peers.h: whom a namespace speaks to, and with which key (docs/peers.md).
 *
 * A list of prefixes, the longest first, and a default.  The table belongs to rds.ko; transports
 * ask it, and do what it says on their own connections.  It is written with rds_peers.lock held for
 * writing; read under RCU, or with the lock held either way.  An entry is constant: a change puts
 * another into its place, and the old one is freed, its key wiped, after a grace period.
 *
 * A transport keeps to it in four places:
 *	a path calls		asks rds_peers_find(), with the lock held
 *	a host calls		asks, under RCU, before there is an object for it
 *	its call is taken	asks once more, with the lock held
 *	the table changes	is told by its struct rds_peers_user, once that has joined, with the
 *				lock held for writing: connections whose rule is another now end
 *
 * A connection is made with the lock held for reading, so none is by a rule that has gone.
 *
 *	peers.c			the table
 *	peers_genl.c		generic netlink: that table as an administrator sees it, and events
 */
#ifndef RDS_PEERS_H
#define RDS_PEERS_H

#include <linux/netlink.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/rwsem.h>

#include "../../include/uapi/linux/rds_peers.h"
#include "rds_linux.h"

/* A key, constant; compared as a whole, so bytes that say nothing are 0. */
struct rds_peer_key {
	u8 method;	 /* enum rds_peers_method; RDS_PEERS_NONE: there is no key */
	u8 alg;		 /* enum rds_peers_alg; this and the ids are TCP-AO's */
	u8 sndid, rcvid; /* of what is signed with it here, and by the peer */
	u8 len;		 /* 0: there is none */
	u8 bytes[RDS_PEERS_MAX_KEY];
};

struct rds_peer {
	struct list_head link; /* rds_peers.list */
	struct rcu_head rcu;
	struct rds_addr addr; /* bits beyond @len are 0 */
	u32 scope;	      /* interface; 0: any */
	u8 len;		      /* of 128 bits: IPv4 is mapped, so it begins at 96; 0: a default */
	u8 policy;	      /* enum rds_peers_policy */
	struct rds_peer_key key;
	struct rds_peer_key old; /* the one that was replaced, taken as well; TCP-AO only */
};

/* Of a namespace; a part of struct rds_linux_net. */
struct rds_peers {
	struct net *net;
	/* Outside of everything.  Held for reading by those that make a connection or end it, for
	 * writing by those that change by what connections are made: the table, or a transport's
	 * settings. */
	struct rw_semaphore lock;
	struct list_head users;	      /* rds_peers_user.link */
	struct list_head list;	      /* rds_peer.link, the longest prefix first */
	unsigned int n;		      /* entries */
	unsigned int accepted[3];     /* of these: accepted, by method */
	unsigned int changes;	      /* so far; a dump that sees two numbers says so */
	u8 policy;		      /* of hosts in no entry */
	struct ratelimit_state quiet; /* events */
};

/* @now, if there is one, is in force, @was, if there is one, was before. */
struct rds_peers_change {
	struct rds_peers *peers;
	const struct rds_peer *was, *now;
};

/* A transport in a namespace.  Both are called in process context, the lock held for writing. */
struct rds_peers_user {
	struct list_head link;
	/* Can it do as @c->now says in place of @c->was?  Of a prefix; either may be NULL.  Else
	 * it changes nothing, nor does the table: -ENOMEM, -ENOPROTOOPT: it has not the method,
	 * -ENOENT: nor the algorithm, or another error.  NULL: whatever it says. */
	int (*change)(struct rds_peers_user *u, const struct rds_peers_change *c);
	/* The table has changed: connections of hosts whose rule is another now end.  Any message
	 * that was not delivered stays queued. */
	void (*follow)(struct rds_peers_user *u, const struct rds_peers_change *c);
};

/* Valid for as long as rds_net_of() is (module.c). */
struct rds_peers *rds_peers_of(const struct net *net);
/* From now on, until it leaves, @u is told.  Process. */
void rds_peers_join(struct rds_peers *p, struct rds_peers_user *u);
void rds_peers_leave(struct rds_peers *p, struct rds_peers_user *u);

/* The rule for a host: an entry, or a default (len is 0).  Under RCU or the lock. */
const struct rds_peer *rds_peers_find(struct rds_peers *p, const struct rds_addr *addr, u32 scope);
/* The rules for a host before a change and after it; false: they say the same.  Under the lock. */
bool rds_peers_differ(const struct rds_peers_change *c, const struct rds_addr *addr, u32 scope,
		      const struct rds_peer **before, const struct rds_peer **after);
/* Tells administrators that listen, but not of all when there are many.  Any context. */
void rds_peers_tell(struct rds_peers *p, const struct rds_addr *faddr, u32 scope,
		    enum rds_peers_cause cause);

static inline bool rds_peer_key_same(const struct rds_peer_key *a, const struct rds_peer_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* ---- for module.c ---- */
void rds_peers_start(struct net *net);
/* No reader is left: no transport, no netlink socket. */
void rds_peers_stop(struct net *net);
/* peers_genl.c */
int rds_peers_genl_start(void);
void rds_peers_genl_stop(void);

/* ---- changes, for peers_genl.c: process, the lock held for writing ---- */
/* Takes @e over if it returns 0; else it is the caller's still, and nothing has changed. */
int rds_peers_set(struct rds_peers *p, struct rds_peer *e, bool replace,
		  struct netlink_ext_ack *extack);
/* The key that was replaced is not taken any more. */
int rds_peers_forget(struct rds_peers *p, const struct rds_peer *like,
		     struct netlink_ext_ack *extack);
int rds_peers_del(struct rds_peers *p, const struct rds_peer *like, struct netlink_ext_ack *extack);
void rds_peers_default(struct rds_peers *p, u8 policy);

/* ---- for peers.c ---- */
/* Somebody may be listening.  Any context. */
void rds_peers_genl_refused(struct rds_peers *p, const struct rds_addr *faddr, u32 scope,
			    enum rds_peers_cause cause);

#endif
