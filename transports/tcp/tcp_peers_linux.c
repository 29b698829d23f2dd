// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_peers_linux.c: the table of peers of a namespace.
 *
 * TCP keeps keys with sockets.  The listener has one for each entry with a key and gives its
 * children theirs; a socket that calls gets its peer's.  TCP then drops every segment of such a
 * host that is not signed by the key, the SYN first of all, before any code of ours runs.
 *
 * With TCP's keys, too, the longest prefix holds.  So while strangers are refused and no host may
 * come unsigned, the listener has a key for each family as a whole that nobody knows: no SYN of a
 * stranger is answered.
 */
#include <linux/random.h>
#include <linux/slab.h>

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
	return a->policy == b->policy && a->method == b->method && a->key_len == b->key_len &&
	       !memcmp(a->key, b->key, a->key_len);
}

static bool rds_tcp_peer_is_unsigned(const struct rds_tcp_peer *e)
{
	return e->policy == RDS_PEERS_ACCEPT && !e->key_len;
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

static void rds_tcp_peer_tell(struct rds_tcp_net *tn, const struct rds_addr *faddr, u32 scope,
			      enum rds_peers_cause cause)
{
	rds_tcp_count(tn,
		      cause == RDS_PEERS_UNSIGNED ? RDS_TCP_S_key_refused : RDS_TCP_S_peer_refused);
	if (__ratelimit(&tn->peers.quiet))
		rds_tcp_genl_refused(tn, faddr, scope, cause);
}

static bool rds_tcp_is_signed(const struct sock *sk)
{
#ifdef CONFIG_TCP_MD5SIG
	return rcu_access_pointer(tcp_sk(sk)->md5sig_info);
#else
	return false;
#endif
}

bool rds_tcp_peers_accept(struct rds_tcp_net *tn, const struct sock *sk,
			  const struct rds_addr *faddr, u32 scope)
{
	const struct rds_tcp_peer *e;
	bool refused, keyed;

	rcu_read_lock();
	e = rds_tcp_peer_find(tn, faddr, scope);
	refused = e->policy == RDS_PEERS_REFUSE;
	keyed = e->key_len;
	rcu_read_unlock();
	/* TCP sees to the signature, by the keys that the listener had when the SYN came: the table
	 * may have changed since. */
	if (!refused && keyed == rds_tcp_is_signed(sk))
		return true;
	rds_tcp_peer_tell(tn, faddr, scope, refused ? RDS_PEERS_CALLED_US : RDS_PEERS_UNSIGNED);
	return false;
}

/* ---- keys of sockets ---- */

/* Gives @sock the key for a prefix of @len bits of 128, in place of another, or with no @key_len
 * takes it back.  Process; the socket is not locked. */
static int rds_tcp_md5(struct socket *sock, const struct rds_addr *addr, u8 len, const u8 *key,
		       u8 key_len)
{
	bool v4 = rds_addr_is_v4(addr);
	struct tcp_md5sig md5 = {
		.tcpm_flags = TCP_MD5SIG_FLAG_PREFIX,
		.tcpm_prefixlen = v4 ? len - 96 : len,
		.tcpm_keylen = key_len,
	};
	struct sockaddr_storage *ss = (struct sockaddr_storage *)&md5.tcpm_addr;
	int err;

	if (sock->sk->sk_family == AF_INET6) {
		/* IPv4 stays mapped here. */
		((struct sockaddr_in6 *)ss)->sin6_family = AF_INET6;
		((struct sockaddr_in6 *)ss)->sin6_addr = rds_addr_in6(addr);
	} else if (v4) {
		rds_sockaddr(ss, addr, 0, 0);
	} else {
		return 0; /* there is no IPv6 here */
	}
	if (key_len)
		memcpy(md5.tcpm_key, key, key_len);
	err = sock->ops->setsockopt(sock, SOL_TCP, TCP_MD5SIG_EXT, KERNEL_SOCKPTR(&md5),
				    sizeof(md5));
	memzero_explicit(&md5, sizeof(md5));
	return err;
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
	if (!e->key_len)
		return 0;
	err = rds_tcp_md5(sock, faddr, 128, e->key, e->key_len);
	tp->keyed = !err;
	return err;
}

static int rds_tcp_listener_key(struct rds_tcp_net *tn, const struct rds_tcp_peer *e,
				struct netlink_ext_ack *extack)
{
	int err =
		tn->listener ? rds_tcp_md5(tn->listener, &e->addr, e->len, e->key, e->key_len) : 0;

	if (err == -ENOMEM)
		NL_SET_ERR_MSG(extack, "no room for another key: raise net.core.optmem_max, or "
				       "give hosts of a prefix the same");
	else if (err == -ENOPROTOOPT)
		NL_SET_ERR_MSG(extack, "this kernel has no TCP-MD5");
	else if (err)
		NL_SET_ERR_MSG(extack, "TCP does not take the key");
	return err;
}

static void rds_tcp_listener_forget(struct rds_tcp_net *tn, const struct rds_tcp_peer *e)
{
	/* It is not there: so much the better. */
	if (tn->listener && e->key_len)
		rds_tcp_md5(tn->listener, &e->addr, e->len, NULL, 0);
}

/* Lets strangers' SYNs through or not, as the table has it.  What does not work here is refused
 * when it is accepted. */
static void rds_tcp_listener_shut(struct rds_tcp_net *tn)
{
	struct rds_tcp_peers *p = &tn->peers;
	bool shut = p->policy == RDS_PEERS_REFUSE && !p->unsigned_ones && tn->listener;
	const struct rds_addr all[] = {rds_addr_from_v4(0), {}};
	u8 key[RDS_PEERS_MAX_KEY];
	int i, err = 0;

	if (shut == p->shut || !tn->listener)
		return;
	get_random_bytes(key, sizeof(key));
	for (i = 0; i < ARRAY_SIZE(all); i++)
		err |= rds_tcp_md5(tn->listener, &all[i], i ? 0 : 96, key, shut ? sizeof(key) : 0);
	memzero_explicit(key, sizeof(key));
	p->shut = shut && !err;
	for (i = 0; shut && err && i < ARRAY_SIZE(all); i++)
		rds_tcp_md5(tn->listener, &all[i], i ? 0 : 96, NULL, 0);
}

/* The port may have been another's for long (listen_work).  A host whose key it cannot take is
 * refused: it comes unsigned. */
void rds_tcp_peers_listen(struct rds_tcp_net *tn)
{
	const struct rds_tcp_peer *e;

	list_for_each_entry(e, &tn->peers.list, link)
		if (e->key_len)
			rds_tcp_md5(tn->listener, &e->addr, e->len, e->key, e->key_len);
	rds_tcp_listener_shut(tn);
}

/* ---- changes ---- */

/*
 * @now, if there is one, is in force, @was, if there is one, was before: connections of hosts whose
 * rule that has changed end.  What was not delivered stays queued.
 */
static void rds_tcp_peers_drop(struct rds_tcp_net *tn, const struct rds_tcp_peer *was,
			       const struct rds_tcp_peer *now)
{
	const struct rds_tcp_peer *before;
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
		if (!rds_tcp_peer_same_rule(before, rds_tcp_peer_find(tn, faddr, scope)))
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

/* TCP cannot let hosts come unsigned out of a prefix that has a key.  Is there such a pair? */
static bool rds_tcp_peers_clash(struct rds_tcp_net *tn, const struct rds_tcp_peer *e,
				const struct rds_tcp_peer *old)
{
	const struct rds_tcp_peer *o, *keyed, *other;

	if (e->policy == RDS_PEERS_REFUSE)
		return false;
	list_for_each_entry(o, &tn->peers.list, link) {
		if (o == old || o->policy == RDS_PEERS_REFUSE || !o->key_len == !e->key_len)
			continue;
		keyed = o->key_len ? o : e;
		other = o->key_len ? e : o;
		if (keyed->len <= other->len && rds_tcp_peer_contains(keyed, &other->addr))
			return true;
	}
	return false;
}

/* Puts @e into its place, which is @old's if that is there. */
static void rds_tcp_peers_put(struct rds_tcp_peers *p, struct rds_tcp_peer *e,
			      struct rds_tcp_peer *old)
{
	struct list_head *before = &p->list;
	struct rds_tcp_peer *o;

	if (old) {
		list_replace_rcu(&old->link, &e->link);
		p->unsigned_ones -= rds_tcp_peer_is_unsigned(old);
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
	p->unsigned_ones += rds_tcp_peer_is_unsigned(e);
	p->changes++;
}

int rds_tcp_peers_set(struct rds_tcp_net *tn, struct rds_tcp_peer *e, bool replace,
		      struct netlink_ext_ack *extack)
{
	struct rds_tcp_peer *old = rds_tcp_peer_of_prefix(tn, e);
	int err;

	if (old && !replace) {
		NL_SET_ERR_MSG(extack, "there is an entry of this prefix");
		return -EEXIST;
	}
	if (!old && tn->peers.n == RDS_PEERS_MAX) {
		NL_SET_ERR_MSG(extack, "the table is full");
		return -ENOSPC;
	}
	if (rds_tcp_peers_clash(tn, e, old)) {
		NL_SET_ERR_MSG(extack,
			       "TCP cannot except hosts without a key from a prefix with one");
		return -EBUSY;
	}
	if (e->key_len) {
		err = rds_tcp_listener_key(tn, e, extack);
		if (err)
			return err;
	}
	rds_tcp_peers_put(&tn->peers, e, old);
	if (old && !e->key_len)
		rds_tcp_listener_forget(tn, old);
	rds_tcp_listener_shut(tn);
	rds_tcp_peers_drop(tn, old, e);
	if (old)
		call_rcu(&old->rcu, rds_tcp_peer_free);
	return 0;
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
	tn->peers.unsigned_ones -= rds_tcp_peer_is_unsigned(e);
	tn->peers.changes++;
	rds_tcp_listener_forget(tn, e);
	rds_tcp_listener_shut(tn);
	rds_tcp_peers_drop(tn, e, NULL);
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
	rds_tcp_peers_drop(tn, was, NULL);
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
