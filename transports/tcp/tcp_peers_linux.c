// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_peers_linux.c: the table of peers of a namespace.
 *
 * TCP keeps keys with sockets.  The listener has one for each entry with a key and gives its
 * children theirs; a socket that calls gets its peer's.  TCP then drops every segment of such a
 * host that is not signed by the key, the SYN first of all, before any code of ours runs.
 *
 * tcp_peers_keys_linux.c gives sockets their keys.
 */
#include <linux/slab.h>

#include "tcp_keys_linux.h"
#include "tcp_linux.h"
#include "tcp_peers_linux.h"

/* Events of a namespace within a second. */
#define RDS_TCP_PEER_EVENTS 10

/* Hosts in no entry. They are compared with entries by their rank, which is the lowest. */
static const struct rds_tcp_peer rds_tcp_peer_defaults[] = {
	[RDS_PEERS_ACCEPT] = {.policy = RDS_PEERS_ACCEPT},
	[RDS_PEERS_REFUSE] = {.policy = RDS_PEERS_REFUSE},
};

/* ---- one entry ---- */

/* The order of the list; of two that hold for a host the larger one does. */
static unsigned int rds_tcp_peer_rank(const struct rds_tcp_peer *e)
{
	return 2 * e->len + !!e->scope;
}

static bool rds_tcp_peer_contains(const struct rds_tcp_peer *e, const struct rds_addr *addr)
{
	const struct in6_addr prefix = rds_addr_in6(&e->addr), in6 = rds_addr_in6(addr);

	/* A short prefix of IPv6 has IPv4's mapped addresses in it, but means none of them. */
	return rds_addr_is_v4(&e->addr) == rds_addr_is_v4(addr) &&
	       ipv6_prefix_equal(&prefix, &in6, e->len);
}

static bool rds_tcp_peer_holds(const struct rds_tcp_peer *e, const struct rds_addr *addr, u32 scope)
{
	return (!e->scope || e->scope == scope) &&
	       (!e->len || rds_tcp_peer_contains(e, addr)); /* no length: a default */
}

static bool rds_tcp_peer_same_prefix(const struct rds_tcp_peer *a, const struct rds_tcp_peer *b)
{
	return a->len == b->len && a->scope == b->scope &&
	       !memcmp(&a->addr, &b->addr, sizeof(a->addr));
}

static bool rds_tcp_peer_same_rule(const struct rds_tcp_peer *a, const struct rds_tcp_peer *b)
{
	return a->policy == b->policy && rds_tcp_key_same(&a->key, &b->key) &&
	       rds_tcp_key_same(&a->old, &b->old);
}

static void rds_tcp_peer_free(struct rcu_head *rcu)
{
	kfree_sensitive(container_of(rcu, struct rds_tcp_peer, rcu));
}

/* ---- looking up ---- */

/* The rule for a host if @but were not there; under RCU or tuning. */
static const struct rds_tcp_peer *rds_tcp_peer_find_but(struct rds_tcp_net *tn,
							const struct rds_addr *addr, u32 scope,
							const struct rds_tcp_peer *but)
{
	const struct rds_tcp_peer *e;

	list_for_each_entry_rcu(e, &tn->peers.list, link, lockdep_is_held(&tn->tuning))
		if (e != but && rds_tcp_peer_holds(e, addr, scope))
			return e;
	return &rds_tcp_peer_defaults[READ_ONCE(tn->peers.policy)];
}

static const struct rds_tcp_peer *rds_tcp_peer_find(struct rds_tcp_net *tn,
						    const struct rds_addr *addr, u32 scope)
{
	return rds_tcp_peer_find_but(tn, addr, scope, NULL);
}

static void rds_tcp_peer_event(struct rds_tcp_net *tn, const struct rds_addr *faddr, u32 scope,
			       enum rds_peers_cause cause)
{
	if (__ratelimit(&tn->peers.quiet))
		rds_tcp_genl_refused(tn, faddr, scope, cause);
}

static void rds_tcp_peer_tell(struct rds_tcp_net *tn, const struct rds_addr *faddr, u32 scope,
			      enum rds_peers_cause cause)
{
	rds_tcp_count(tn,
		      cause == RDS_PEERS_UNSIGNED ? RDS_TCP_S_key_refused : RDS_TCP_S_peer_refused);
	rds_tcp_peer_event(tn, faddr, scope, cause);
}

/* TCP sees to the signature, by the keys that the listener had when the SYN came: the table may
 * have changed since. */
static bool rds_tcp_peer_accepts(struct rds_tcp_net *tn, const struct rds_tcp_peer *e,
				 const struct sock *sk, const struct rds_addr *faddr, u32 scope)
{
	bool refused = e->policy == RDS_PEERS_REFUSE;

	if (!refused && e->key.method == rds_tcp_signed_by(sk))
		return true;
	rds_tcp_peer_tell(tn, faddr, scope, refused ? RDS_PEERS_CALLED_US : RDS_PEERS_UNSIGNED);
	return false;
}

bool rds_tcp_peers_accept(struct rds_tcp_net *tn, const struct sock *sk,
			  const struct rds_addr *faddr, u32 scope, bool *named)
{
	const struct rds_tcp_peer *e;
	bool accepted;

	rcu_read_lock();
	e = rds_tcp_peer_find(tn, faddr, scope);
	*named = e->len;
	accepted = rds_tcp_peer_accepts(tn, e, sk, faddr, scope);
	rcu_read_unlock();
	return accepted;
}

bool rds_tcp_peers_adopt(struct rds_tcp_path *tp, struct socket *sock)
{
	const struct rds_addr *faddr = rds_path_faddr(tp->path);
	u32 scope = rds_path_scope(tp->path);
	const struct rds_tcp_peer *e = rds_tcp_peer_find(tp->tn, faddr, scope);

	if (!rds_tcp_peer_accepts(tp->tn, e, sock->sk, faddr, scope))
		return false;
	rds_tcp_peer_renew(sock, e);
	return true;
}

int rds_tcp_peers_call(struct rds_tcp_path *tp, struct socket *sock)
{
	const struct rds_addr *faddr = rds_path_faddr(tp->path);
	u32 scope = rds_path_scope(tp->path);
	const struct rds_tcp_peer *e = rds_tcp_peer_find(tp->tn, faddr, scope);
	int err;

	tp->keyed = false;
	if (e->policy == RDS_PEERS_REFUSE) {
		rds_tcp_peer_tell(tp->tn, faddr, scope, RDS_PEERS_NOT_CALLED);
		return -EACCES;
	}
	if (!e->key.len)
		return 0;
	err = rds_tcp_peer_sign(tp, sock, e);
	tp->keyed = !err;
	return err;
}

/* A segment whose signature is wrong is dropped without a word, and so is one without: the call may
 * have met another key. */
bool rds_tcp_peers_silent(const struct rds_tcp_path *tp)
{
	if (tp->keyed)
		rds_tcp_peer_event(tp->tn, rds_path_faddr(tp->path), rds_path_scope(tp->path),
				   RDS_PEERS_NO_ANSWER);
	return tp->keyed;
}

/* ---- changes ---- */

/*
 * @now, if there is one, is in force, @was, if there is one, was before: connections of hosts whose
 * rule that has changed end, unless it is the key alone, and they can be given the other one.  Any
 * message that was not delivered stays queued.
 */
static void rds_tcp_peers_follow(struct rds_tcp_net *tn, const struct rds_tcp_peer *was,
				 const struct rds_tcp_peer *now)
{
	const struct rds_tcp_peer *before, *after;
	const struct rds_addr *faddr;
	struct rds_tcp_path *tp;
	struct klist_iter i;
	u32 scope;

	klist_iter_init(&tn->socks, &i);
	while ((tp = rds_tcp_next_sock(&i))) {
		faddr = rds_path_faddr(tp->path);
		scope = rds_path_scope(tp->path);
		before = rds_tcp_peer_find_but(tn, faddr, scope, now);
		if (was && rds_tcp_peer_holds(was, faddr, scope) &&
		    rds_tcp_peer_rank(was) >= rds_tcp_peer_rank(before))
			before = was;
		after = rds_tcp_peer_find(tn, faddr, scope);
		if (!rds_tcp_peer_same_rule(before, after) && !rds_tcp_peer_roll(tp, before, after))
			rds_path_drop(tp->path, RDS_DROP_ADMIN);
		cond_resched();
	}
	klist_iter_exit(&i);
}

static struct rds_tcp_peer *rds_tcp_peer_of_prefix(struct rds_tcp_net *tn,
						   const struct rds_tcp_peer *like)
{
	struct rds_tcp_peer *e;

	list_for_each_entry(e, &tn->peers.list, link)
		if (rds_tcp_peer_same_prefix(e, like))
			return e;
	return NULL;
}

static bool rds_tcp_peer_within(const struct rds_tcp_peer *e, const struct rds_tcp_peer *outer)
{
	return outer->len <= e->len && rds_tcp_peer_contains(outer, &e->addr);
}

/* Why TCP cannot have both of two accepted entries; NULL: it can. */
static const char *rds_tcp_peer_clash(const struct rds_tcp_peer *a, const struct rds_tcp_peer *b)
{
	bool overlap = rds_tcp_peer_within(a, b) || rds_tcp_peer_within(b, a);

	if ((a->key.len && !b->key.len && rds_tcp_peer_within(b, a)) ||
	    (b->key.len && !a->key.len && rds_tcp_peer_within(a, b)))
		return "TCP cannot except hosts without a key from a prefix with one";
	if (a->key.len && b->key.len && overlap &&
	    (a->key.method == RDS_PEERS_TCP_AO || b->key.method == RDS_PEERS_TCP_AO))
		return "a prefix with a TCP-AO key has no other key in it, and is in none";
	return NULL;
}

static const char *rds_tcp_peers_clash(struct rds_tcp_net *tn, const struct rds_tcp_peer *e,
				       const struct rds_tcp_peer *old)
{
	const struct rds_tcp_peer *o;
	const char *why = NULL;

	list_for_each_entry(o, &tn->peers.list, link) {
		if (why)
			break;
		if (o != old && o->policy == RDS_PEERS_ACCEPT && e->policy == RDS_PEERS_ACCEPT)
			why = rds_tcp_peer_clash(e, o);
	}
	return why;
}

static void rds_tcp_peers_number(struct rds_tcp_peers *p, const struct rds_tcp_peer *e, int by)
{
	if (e->policy == RDS_PEERS_ACCEPT)
		p->accepted[e->key.method] += by;
}

/* Puts @e into its place, which is @old's if that is there. */
static void rds_tcp_peers_put(struct rds_tcp_peers *p, struct rds_tcp_peer *e,
			      struct rds_tcp_peer *old)
{
	struct list_head *before = &p->list;
	struct rds_tcp_peer *o;

	if (old) {
		list_replace_rcu(&old->link, &e->link);
		rds_tcp_peers_number(p, old, -1);
	} else {
		list_for_each_entry(o, &p->list, link) {
			if (rds_tcp_peer_rank(o) <= rds_tcp_peer_rank(e)) {
				before = &o->link;
				break;
			}
		}
		list_add_tail_rcu(&e->link, before);
		p->n++;
	}
	rds_tcp_peers_number(p, e, 1);
	p->changes++;
}

/* The key of @old goes on for a while beside @e's, if TCP can tell them apart. */
static void rds_tcp_peer_inherit(struct rds_tcp_peer *e, const struct rds_tcp_peer *old)
{
	if (e->key.method != RDS_PEERS_TCP_AO || old->key.method != RDS_PEERS_TCP_AO)
		return;
	if (rds_tcp_key_same(&e->key, &old->key))
		e->old = old->old;
	else if (e->key.sndid != old->key.sndid && e->key.rcvid != old->key.rcvid)
		e->old = old->key;
}

/* @e is in force in place of @old, if there was one. */
static int rds_tcp_peers_exchange(struct rds_tcp_net *tn, struct rds_tcp_peer *e,
				  struct rds_tcp_peer *old, struct netlink_ext_ack *extack)
{
	int err = rds_tcp_listener_change(tn, old, e, extack);

	if (err)
		return err;
	rds_tcp_peers_put(&tn->peers, e, old);
	rds_tcp_listener_shut(tn);
	rds_tcp_peers_follow(tn, old, e);
	if (old)
		call_rcu(&old->rcu, rds_tcp_peer_free);
	return 0;
}

int rds_tcp_peers_set(struct rds_tcp_net *tn, struct rds_tcp_peer *e, bool replace,
		      struct netlink_ext_ack *extack)
{
	struct rds_tcp_peer *old = rds_tcp_peer_of_prefix(tn, e);
	const char *why;

	if (old && !replace) {
		NL_SET_ERR_MSG(extack, "there is an entry of this prefix");
		return -EEXIST;
	}
	if (!old && tn->peers.n == RDS_PEERS_MAX) {
		NL_SET_ERR_MSG(extack, "the table is full");
		return -ENOSPC;
	}
	why = rds_tcp_peers_clash(tn, e, old);
	if (why) {
		extack->_msg = why;
		return -EBUSY;
	}
	if (old)
		rds_tcp_peer_inherit(e, old);
	return rds_tcp_peers_exchange(tn, e, old, extack);
}

int rds_tcp_peers_forget(struct rds_tcp_net *tn, const struct rds_tcp_peer *like,
			 struct netlink_ext_ack *extack)
{
	struct rds_tcp_peer *old = rds_tcp_peer_of_prefix(tn, like), *e;
	int err;

	if (!old || !old->old.len) {
		NL_SET_ERR_MSG(extack, "no key of this prefix was replaced by one with other ids");
		return -ENOENT;
	}
	e = kmemdup(old, sizeof(*old), GFP_KERNEL_ACCOUNT);
	if (!e)
		return -ENOMEM;
	memzero_explicit(&e->old, sizeof(e->old));
	err = rds_tcp_peers_exchange(tn, e, old, extack);
	if (err)
		kfree_sensitive(e);
	return err;
}

int rds_tcp_peers_del(struct rds_tcp_net *tn, const struct rds_tcp_peer *like,
		      struct netlink_ext_ack *extack)
{
	struct rds_tcp_peer *e = rds_tcp_peer_of_prefix(tn, like);

	if (!e) {
		NL_SET_ERR_MSG(extack, "there is no entry of this prefix");
		return -ENOENT;
	}
	list_del_rcu(&e->link);
	tn->peers.n--;
	rds_tcp_peers_number(&tn->peers, e, -1);
	tn->peers.changes++;
	rds_tcp_listener_change(tn, e, NULL, extack);
	rds_tcp_listener_shut(tn);
	rds_tcp_peers_follow(tn, e, NULL);
	call_rcu(&e->rcu, rds_tcp_peer_free);
	return 0;
}

void rds_tcp_peers_default(struct rds_tcp_net *tn, u8 policy)
{
	const struct rds_tcp_peer *was = &rds_tcp_peer_defaults[tn->peers.policy];

	if (policy == tn->peers.policy)
		return;
	WRITE_ONCE(tn->peers.policy, policy);
	tn->peers.changes++;
	rds_tcp_listener_shut(tn);
	rds_tcp_peers_follow(tn, was, NULL);
}

/* ---- a namespace ---- */

void rds_tcp_peers_start(struct rds_tcp_net *tn)
{
	INIT_LIST_HEAD(&tn->peers.list);
	tn->peers.changes = 1; /* 0 means to netlink that nobody counts */
	ratelimit_state_init(&tn->peers.quiet, HZ, RDS_TCP_PEER_EVENTS);
	ratelimit_set_flags(&tn->peers.quiet, RATELIMIT_MSG_ON_RELEASE); /* nothing in the log */
}

void rds_tcp_peers_stop(struct rds_tcp_net *tn)
{
	struct rds_tcp_peer *e, *next;

	list_for_each_entry_safe(e, next, &tn->peers.list, link)
		kfree_sensitive(e);
}
