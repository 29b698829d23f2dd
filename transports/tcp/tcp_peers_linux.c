// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_peers_linux.c: TCP connections by the table of peers.
 *
 * TCP keeps keys with sockets.  The listener has one for each entry with a key and gives its
 * children theirs; a socket that calls gets its peer's.  TCP then drops every segment of such a
 * host that is not signed by the key, the SYN first of all, before any code of ours runs.
 *
 * tcp_peers_keys_linux.c gives sockets their keys.
 */
#include "tcp_keys_linux.h"
#include "tcp_linux.h"
#include "tcp_peers_linux.h"

static void rds_tcp_peer_tell(struct rds_tcp_net *tn, const struct rds_addr *faddr, u32 scope,
			      enum rds_peers_cause cause)
{
	rds_tcp_count(tn,
		      cause == RDS_PEERS_UNSIGNED ? RDS_TCP_S_key_refused : RDS_TCP_S_peer_refused);
	rds_peers_tell(tn->peers, faddr, scope, cause);
}

/* TCP sees to the signature, by the keys that the listener had when the SYN came: the table may
 * have changed since. */
static bool rds_tcp_peer_accepts(struct rds_tcp_net *tn, const struct rds_peer *e,
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
	const struct rds_peer *e;
	bool accepted;

	rcu_read_lock();
	e = rds_peers_find(tn->peers, faddr, scope);
	*named = e->len;
	accepted = rds_tcp_peer_accepts(tn, e, sk, faddr, scope);
	rcu_read_unlock();
	return accepted;
}

bool rds_tcp_peers_adopt(struct rds_tcp_path *tp, struct socket *sock)
{
	const struct rds_addr *faddr = rds_path_faddr(tp->path);
	u32 scope = rds_path_scope(tp->path);
	const struct rds_peer *e = rds_peers_find(tp->tn->peers, faddr, scope);

	if (!rds_tcp_peer_accepts(tp->tn, e, sock->sk, faddr, scope))
		return false;
	rds_tcp_peer_renew(sock, e);
	return true;
}

int rds_tcp_peers_call(struct rds_tcp_path *tp, struct socket *sock)
{
	const struct rds_addr *faddr = rds_path_faddr(tp->path);
	u32 scope = rds_path_scope(tp->path);
	const struct rds_peer *e = rds_peers_find(tp->tn->peers, faddr, scope);
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
		rds_peers_tell(tp->tn->peers, rds_path_faddr(tp->path), rds_path_scope(tp->path),
			       RDS_PEERS_NO_ANSWER);
	return tp->keyed;
}

/* Another connection was accepted while this one is up, and this one has answered. */
void rds_tcp_takeover_refused(void *priv)
{
	const struct rds_tcp_path *tp = priv;

	rds_peers_tell(tp->tn->peers, rds_path_faddr(tp->path), rds_path_scope(tp->path),
		       RDS_PEERS_TAKEOVER);
}

/* ---- changes ---- */

static struct rds_tcp_net *rds_tcp_net_of_user(struct rds_peers_user *u)
{
	return container_of(u, struct rds_tcp_net, peers_user);
}

static int rds_tcp_peers_change(struct rds_peers_user *u, const struct rds_peers_change *c)
{
	return rds_tcp_listener_change(rds_tcp_net_of_user(u), c->was, c->now);
}

/* Where it is the key alone that has changed, connections go on that can be given the other one. */
static void rds_tcp_peers_follow(struct rds_peers_user *u, const struct rds_peers_change *c)
{
	struct rds_tcp_net *tn = rds_tcp_net_of_user(u);
	const struct rds_peer *before, *after;
	struct rds_tcp_path *tp;
	unsigned int taken = 0;
	struct klist_iter i;

	rds_tcp_listener_shut(tn);
	klist_iter_init(&tn->socks, &i);
	while ((tp = rds_tcp_next_sock(&i))) {
		if (rds_peers_differ(c, rds_path_faddr(tp->path), rds_path_scope(tp->path), &before,
				     &after) &&
		    !rds_tcp_peer_roll(tp, before, after, &taken))
			rds_path_drop(tp->path, RDS_DROP_ADMIN);
		cond_resched();
	}
	klist_iter_exit(&i);
}

/* ---- a namespace ---- */

void rds_tcp_peers_start(struct rds_tcp_net *tn)
{
	tn->peers_user.change = rds_tcp_peers_change;
	tn->peers_user.follow = rds_tcp_peers_follow;
	rds_peers_join(tn->peers, &tn->peers_user);
}

void rds_tcp_peers_stop(struct rds_tcp_net *tn)
{
	rds_peers_leave(tn->peers, &tn->peers_user);
}
