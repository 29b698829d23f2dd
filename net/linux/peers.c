// SPDX-License-Identifier: GPL-2.0
/*
 * peers.c: the table of peers of a namespace.
 *
 * The rules for entries are here, those of transports that are not loaded yet, too: TCP's
 * signatures have some of their own about prefixes in one another (rds_peer_clash()).
 */
#include <linux/slab.h>

#include "peers.h"

/* Events of a namespace within a second. */
#define RDS_PEER_EVENTS 10

/* Hosts in no entry. They are compared with entries by their rank, which is the lowest. */
static const struct rds_peer rds_peer_defaults[] = {
	[RDS_PEERS_ACCEPT] = {.policy = RDS_PEERS_ACCEPT},
	[RDS_PEERS_REFUSE] = {.policy = RDS_PEERS_REFUSE},
};

/* ---- one entry ---- */

/* The order of the list; of two that hold for a host the larger one does. */
static unsigned int rds_peer_rank(const struct rds_peer *e)
{
	return 2 * e->len + !!e->scope;
}

static bool rds_peer_contains(const struct rds_peer *e, const struct rds_addr *addr)
{
	const struct in6_addr prefix = rds_addr_in6(&e->addr), in6 = rds_addr_in6(addr);

	/* A short prefix of IPv6 has IPv4's mapped addresses in it, but means none of them. */
	return rds_addr_is_v4(&e->addr) == rds_addr_is_v4(addr) &&
	       ipv6_prefix_equal(&prefix, &in6, e->len);
}

static bool rds_peer_holds(const struct rds_peer *e, const struct rds_addr *addr, u32 scope)
{
	return (!e->scope || e->scope == scope) &&
	       (!e->len || rds_peer_contains(e, addr)); /* no length: a default */
}

static bool rds_peer_same_prefix(const struct rds_peer *a, const struct rds_peer *b)
{
	return a->len == b->len && a->scope == b->scope &&
	       !memcmp(&a->addr, &b->addr, sizeof(a->addr));
}

static bool rds_peer_same_rule(const struct rds_peer *a, const struct rds_peer *b)
{
	return a->policy == b->policy && rds_peer_key_same(&a->key, &b->key) &&
	       rds_peer_key_same(&a->old, &b->old);
}

static void rds_peer_free(struct rcu_head *rcu)
{
	kfree_sensitive(container_of(rcu, struct rds_peer, rcu));
}

/* ---- looking up ---- */

/* The rule for a host if @but were not there; under RCU or the lock. */
static const struct rds_peer *rds_peers_find_but(struct rds_peers *p, const struct rds_addr *addr,
						 u32 scope, const struct rds_peer *but)
{
	const struct rds_peer *e;

	list_for_each_entry_rcu(e, &p->list, link, lockdep_is_held(&p->lock))
		if (e != but && rds_peer_holds(e, addr, scope))
			return e;
	return &rds_peer_defaults[READ_ONCE(p->policy)];
}

const struct rds_peer *rds_peers_find(struct rds_peers *p, const struct rds_addr *addr, u32 scope)
{
	return rds_peers_find_but(p, addr, scope, NULL);
}

/* Is the change about this host?  To find its rule the table is walked. */
static bool rds_peers_may_differ(const struct rds_peers_change *c, const struct rds_addr *addr,
				 u32 scope)
{
	if (!c->was && !c->now) /* the default */
		return true;
	return (c->was && rds_peer_holds(c->was, addr, scope)) ||
	       (c->now && rds_peer_holds(c->now, addr, scope));
}

bool rds_peers_differ(const struct rds_peers_change *c, const struct rds_addr *addr, u32 scope,
		      const struct rds_peer **before, const struct rds_peer **after)
{
	if (!rds_peers_may_differ(c, addr, scope))
		return false;
	*before = rds_peers_find_but(c->peers, addr, scope, c->now);
	if (c->was && rds_peer_holds(c->was, addr, scope) &&
	    rds_peer_rank(c->was) >= rds_peer_rank(*before))
		*before = c->was;
	*after = rds_peers_find(c->peers, addr, scope);
	return !rds_peer_same_rule(*before, *after);
}

void rds_peers_tell(struct rds_peers *p, const struct rds_addr *faddr, u32 scope,
		    enum rds_peers_cause cause)
{
	if (__ratelimit(&p->quiet))
		rds_peers_genl_refused(p, faddr, scope, cause);
}

/* ---- transports ---- */

void rds_peers_join(struct rds_peers *p, struct rds_peers_user *u)
{
	down_write(&p->lock);
	list_add_tail(&u->link, &p->users);
	up_write(&p->lock);
}

void rds_peers_leave(struct rds_peers *p, struct rds_peers_user *u)
{
	down_write(&p->lock);
	list_del(&u->link);
	up_write(&p->lock);
}

/* The words are this module's: they are read after the call, when a transport's may have gone. */
static int rds_peers_no(const struct rds_peers_change *c, int err, struct netlink_ext_ack *extack)
{
	bool ao = c->now && c->now->key.method == RDS_PEERS_TCP_AO;

	if (err == -ENOMEM) {
		NL_SET_ERR_MSG(extack, "no room for another key: raise net.core.optmem_max, or "
				       "give hosts of a prefix the same");
	} else if (err == -ENOPROTOOPT && ao) {
		NL_SET_ERR_MSG(extack, "this kernel has no TCP-AO (6.7 and CONFIG_TCP_AO): use "
				       "TCP-MD5");
		err = -EOPNOTSUPP;
	} else if (err == -ENOPROTOOPT) {
		NL_SET_ERR_MSG(extack, "this kernel has no TCP-MD5");
		err = -EOPNOTSUPP;
	} else if (err == -ENOENT && ao) {
		NL_SET_ERR_MSG(extack, "this kernel has not that algorithm");
		err = -EOPNOTSUPP;
	} else {
		NL_SET_ERR_MSG(extack, "TCP does not take the key");
	}
	return err;
}

/* All of them can do it, or nothing has changed for any. */
static int rds_peers_ask(const struct rds_peers_change *c, struct netlink_ext_ack *extack)
{
	const struct rds_peers_change back = {.peers = c->peers, .was = c->now, .now = c->was};
	struct rds_peers_user *u;
	int err = 0;

	list_for_each_entry(u, &c->peers->users, link) {
		err = u->change ? u->change(u, c) : 0;
		if (err)
			break;
	}
	if (!err)
		return 0;
	list_for_each_entry_continue_reverse(u, &c->peers->users, link)
	{
		if (u->change)
			u->change(u, &back);
	}
	return rds_peers_no(c, err, extack);
}

static void rds_peers_follow(const struct rds_peers_change *c)
{
	struct rds_peers_user *u;

	list_for_each_entry(u, &c->peers->users, link)
		u->follow(u, c);
}

/* ---- changes ---- */

static struct rds_peer *rds_peers_of_prefix(struct rds_peers *p, const struct rds_peer *like)
{
	struct rds_peer *e;

	list_for_each_entry(e, &p->list, link)
		if (rds_peer_same_prefix(e, like))
			return e;
	return NULL;
}

static bool rds_peer_within(const struct rds_peer *e, const struct rds_peer *outer)
{
	return outer->len <= e->len && rds_peer_contains(outer, &e->addr);
}

/* Why TCP cannot have both of two accepted entries; NULL: it can. */
static const char *rds_peer_clash(const struct rds_peer *a, const struct rds_peer *b)
{
	bool overlap = rds_peer_within(a, b) || rds_peer_within(b, a);

	if ((a->key.len && !b->key.len && rds_peer_within(b, a)) ||
	    (b->key.len && !a->key.len && rds_peer_within(a, b)))
		return "TCP cannot except hosts without a key from a prefix with one";
	if (a->key.len && b->key.len && overlap &&
	    (a->key.method == RDS_PEERS_TCP_AO || b->key.method == RDS_PEERS_TCP_AO))
		return "a prefix with a TCP-AO key has no other key in it, and is in none";
	return NULL;
}

static const char *rds_peers_clash(struct rds_peers *p, const struct rds_peer *e,
				   const struct rds_peer *old)
{
	const struct rds_peer *o;
	const char *why = NULL;

	list_for_each_entry(o, &p->list, link) {
		if (why)
			break;
		if (o != old && o->policy == RDS_PEERS_ACCEPT && e->policy == RDS_PEERS_ACCEPT)
			why = rds_peer_clash(e, o);
	}
	return why;
}

static void rds_peers_number(struct rds_peers *p, const struct rds_peer *e, int by)
{
	if (e->policy == RDS_PEERS_ACCEPT)
		p->accepted[e->key.method] += by;
}

/* Puts @e into its place, which is @old's if that is there. */
static void rds_peers_put(struct rds_peers *p, struct rds_peer *e, struct rds_peer *old)
{
	struct list_head *before = &p->list;
	struct rds_peer *o;

	if (old) {
		list_replace_rcu(&old->link, &e->link);
		rds_peers_number(p, old, -1);
	} else {
		list_for_each_entry(o, &p->list, link) {
			if (rds_peer_rank(o) <= rds_peer_rank(e)) {
				before = &o->link;
				break;
			}
		}
		list_add_tail_rcu(&e->link, before);
		p->n++;
	}
	rds_peers_number(p, e, 1);
	p->changes++;
}

/* The key of @old goes on for a while beside @e's, if TCP can tell them apart. */
static void rds_peer_inherit(struct rds_peer *e, const struct rds_peer *old)
{
	if (e->key.method != RDS_PEERS_TCP_AO || old->key.method != RDS_PEERS_TCP_AO)
		return;
	if (rds_peer_key_same(&e->key, &old->key))
		e->old = old->old;
	else if (e->key.sndid != old->key.sndid && e->key.rcvid != old->key.rcvid)
		e->old = old->key;
}

/* @e is in force in place of @old, if there was one. */
static int rds_peers_exchange(struct rds_peers *p, struct rds_peer *e, struct rds_peer *old,
			      struct netlink_ext_ack *extack)
{
	const struct rds_peers_change c = {.peers = p, .was = old, .now = e};
	int err = rds_peers_ask(&c, extack);

	if (err)
		return err;
	rds_peers_put(p, e, old);
	rds_peers_follow(&c);
	if (old)
		call_rcu(&old->rcu, rds_peer_free);
	return 0;
}

int rds_peers_set(struct rds_peers *p, struct rds_peer *e, bool replace,
		  struct netlink_ext_ack *extack)
{
	struct rds_peer *old = rds_peers_of_prefix(p, e);
	const char *why;

	if (old && !replace) {
		NL_SET_ERR_MSG(extack, "there is an entry of this prefix");
		return -EEXIST;
	}
	if (!old && p->n == RDS_PEERS_MAX) {
		NL_SET_ERR_MSG(extack, "the table is full");
		return -ENOSPC;
	}
	why = rds_peers_clash(p, e, old);
	if (why) {
		extack->_msg = why;
		return -EBUSY;
	}
	if (old)
		rds_peer_inherit(e, old);
	return rds_peers_exchange(p, e, old, extack);
}

int rds_peers_forget(struct rds_peers *p, const struct rds_peer *like,
		     struct netlink_ext_ack *extack)
{
	struct rds_peer *old = rds_peers_of_prefix(p, like), *e;
	int err;

	if (!old || !old->old.len) {
		NL_SET_ERR_MSG(extack, "no key of this prefix was replaced by one with other ids");
		return -ENOENT;
	}
	e = kmemdup(old, sizeof(*old), GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;
	memzero_explicit(&e->old, sizeof(e->old));
	err = rds_peers_exchange(p, e, old, extack);
	if (err)
		kfree_sensitive(e);
	return err;
}

int rds_peers_del(struct rds_peers *p, const struct rds_peer *like, struct netlink_ext_ack *extack)
{
	struct rds_peer *e = rds_peers_of_prefix(p, like);
	const struct rds_peers_change c = {.peers = p, .was = e};

	if (!e) {
		NL_SET_ERR_MSG(extack, "there is no entry of this prefix");
		return -ENOENT;
	}
	list_del_rcu(&e->link);
	p->n--;
	rds_peers_number(p, e, -1);
	p->changes++;
	rds_peers_ask(&c, extack);
	rds_peers_follow(&c);
	call_rcu(&e->rcu, rds_peer_free);
	return 0;
}

void rds_peers_default(struct rds_peers *p, u8 policy)
{
	const struct rds_peers_change c = {.peers = p, .was = &rds_peer_defaults[p->policy]};

	if (policy == p->policy)
		return;
	WRITE_ONCE(p->policy, policy);
	p->changes++;
	rds_peers_follow(&c);
}

/* ---- a namespace ---- */

void rds_peers_start(struct net *net)
{
	struct rds_peers *p = rds_peers_of(net);

	p->net = net;
	init_rwsem(&p->lock);
	INIT_LIST_HEAD(&p->users);
	INIT_LIST_HEAD(&p->list);
	p->changes = 1; /* 0 means to netlink that nobody counts */
	ratelimit_state_init(&p->quiet, HZ, RDS_PEER_EVENTS);
	ratelimit_set_flags(&p->quiet, RATELIMIT_MSG_ON_RELEASE); /* nothing in the log */
}

void rds_peers_stop(struct net *net)
{
	struct rds_peers *p = rds_peers_of(net);
	struct rds_peer *e, *next;

	WARN_ON_ONCE(!list_empty(&p->users));
	list_for_each_entry_safe(e, next, &p->list, link)
		kfree_sensitive(e);
}
