// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_peers_keys_linux.c: keys of the table of peers, on the listener and on open connections.
 *
 * The listener has the keys of each entry, and, while strangers are refused and no host may come
 * unsigned, something that keeps their SYNs from being answered.  Connections keep the keys that
 * they began with; only TCP-AO can give them another while they are up.
 */
#include <linux/random.h>

#include "tcp_keys_linux.h"
#include "tcp_linux.h"
#include "tcp_peers_linux.h"

static bool rds_tcp_peer_has(const struct rds_peer *e, const struct rds_peer_key *key)
{
	return e && (rds_peer_key_same(&e->key, key) || rds_peer_key_same(&e->old, key));
}

/* ---- strangers' SYNs ---- */

/*
 * Keys of TCP-MD5 for each family as a whole, that nobody knows, keep everybody out who is in no
 * longer prefix.  But TCP takes no key of TCP-AO where there is one of the other method, and of its
 * own prefixes the longest does not hold; it can be told that no SYN is answered without it.
 * With peers of both methods there is neither.
 */
static enum rds_tcp_shut rds_tcp_shut_wanted(const struct rds_peers *p)
{
	if (p->policy != RDS_PEERS_REFUSE || p->accepted[RDS_PEERS_NONE])
		return RDS_TCP_OPEN_TO_ALL;
	if (!p->accepted[RDS_PEERS_TCP_AO])
		return RDS_TCP_SHUT_BY_KEYS;
	return p->accepted[RDS_PEERS_TCP_MD5] ? RDS_TCP_OPEN_TO_ALL : RDS_TCP_SHUT_BY_AO;
}

static int rds_tcp_listener_lock_out(struct socket *listener, bool on)
{
	const struct rds_addr all[] = {rds_addr_from_v4(0), {}};
	struct rds_peer_key key = {.method = RDS_PEERS_TCP_MD5, .len = RDS_PEERS_MAX_KEY};
	int i, one, err = 0;

	get_random_bytes(key.bytes, sizeof(key.bytes));
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		one = on ? rds_tcp_key_add(listener, &all[i], i ? 0 : 96, &key)
			 : rds_tcp_key_del(listener, &all[i], i ? 0 : 96, &key);
		err = err ?: one;
	}
	memzero_explicit(&key, sizeof(key));
	return err;
}

/* Lets everybody's SYNs through.  Under tuning. */
static void rds_tcp_listener_open(struct rds_tcp_net *tn)
{
	if (tn->shut == RDS_TCP_SHUT_BY_AO)
		rds_tcp_key_require_ao(tn->listener, false);
	else if (tn->shut == RDS_TCP_SHUT_BY_KEYS)
		rds_tcp_listener_lock_out(tn->listener, false);
	tn->shut = RDS_TCP_OPEN_TO_ALL;
}

/* Where neither works, strangers are refused when they are accepted. */
void rds_tcp_listener_shut(struct rds_tcp_net *tn)
{
	enum rds_tcp_shut want = rds_tcp_shut_wanted(tn->peers);

	if (!tn->listener || want == tn->shut)
		return;
	rds_tcp_listener_open(tn);
	if (want == RDS_TCP_SHUT_BY_AO && !rds_tcp_key_require_ao(tn->listener, true))
		tn->shut = want;
	else if (want == RDS_TCP_SHUT_BY_KEYS && !rds_tcp_listener_lock_out(tn->listener, true))
		tn->shut = want;
	else if (want == RDS_TCP_SHUT_BY_KEYS)
		rds_tcp_listener_lock_out(tn->listener, false);
}

/* ---- keys of the listener ---- */

static void rds_tcp_listener_learn(struct rds_tcp_net *tn, const struct rds_peer *e)
{
	if (e->key.len)
		rds_tcp_key_add(tn->listener, &e->addr, e->len, &e->key);
	if (e->old.len)
		rds_tcp_key_add(tn->listener, &e->addr, e->len, &e->old);
}

/* Takes @key of @was back, unless @now has it.  That it is not there: so much the better. */
static void rds_tcp_listener_forget(struct rds_tcp_net *tn, const struct rds_peer *was,
				    const struct rds_peer_key *key, const struct rds_peer *now)
{
	bool replaced = now && key->method == RDS_PEERS_TCP_MD5 && now->key.method == key->method;

	if (key->len && !replaced && !rds_tcp_peer_has(now, key))
		rds_tcp_key_del(tn->listener, &was->addr, was->len, key);
}

/* There is no listener to ask whether TCP takes the key. */
static int rds_tcp_key_try(struct rds_tcp_net *tn, const struct rds_peer *e)
{
	struct socket *sock;
	int err = sock_create_kern(tn->net, rds_addr_is_v4(&e->addr) ? PF_INET : PF_INET6,
				   SOCK_STREAM, IPPROTO_TCP, &sock);

	if (err)
		return err == -EAFNOSUPPORT ? 0 : err;
	err = rds_tcp_key_add(sock, &e->addr, e->len, &e->key);
	sock_release(sock);
	return err;
}

int rds_tcp_listener_change(struct rds_tcp_net *tn, const struct rds_peer *was,
			    const struct rds_peer *now)
{
	bool fresh = now && now->key.len && !rds_tcp_peer_has(was, &now->key);
	int err;

	if (!tn->listener)
		return fresh ? rds_tcp_key_try(tn, now) : 0;
	if (fresh && tn->shut &&
	    (tn->shut == RDS_TCP_SHUT_BY_AO) != (now->key.method == RDS_PEERS_TCP_AO))
		rds_tcp_listener_open(tn);
	if (was) {
		rds_tcp_listener_forget(tn, was, &was->key, now);
		rds_tcp_listener_forget(tn, was, &was->old, now);
	}
	if (!fresh)
		return 0;
	err = rds_tcp_key_add(tn->listener, &now->addr, now->len, &now->key);
	if (!err)
		return 0;
	if (was)
		rds_tcp_listener_learn(tn, was);
	rds_tcp_listener_shut(tn);
	return err;
}

/* The port may have been another's for long (listen_work).  A host whose key it cannot take is
 * refused: it comes unsigned. */
void rds_tcp_peers_listen(struct rds_tcp_net *tn)
{
	const struct rds_peer *e;

	list_for_each_entry(e, &tn->peers->list, link)
		rds_tcp_listener_learn(tn, e);
	tn->shut = RDS_TCP_OPEN_TO_ALL;
	rds_tcp_listener_shut(tn);
}

/* ---- keys of connections ---- */

/* While a key is replaced nobody knows which of the two the peer has: calls begin with either, by
 * turns. */
int rds_tcp_peer_sign(struct rds_tcp_path *tp, struct socket *sock, const struct rds_peer *e)
{
	int err = rds_tcp_key_add(sock, &e->addr, e->len, &e->key);

	if (err || !e->old.len)
		return err;
	err = rds_tcp_key_add(sock, &e->addr, e->len, &e->old);
	if (err)
		return err;
	tp->old_key = !tp->old_key;
	return rds_tcp_key_begin(sock, tp->old_key ? &e->old : &e->key);
}

/* The listener's key may have been replaced since the SYN came; then the peer is asked for the new
 * one.  Where it is the same, that changes nothing. */
void rds_tcp_peer_renew(struct socket *sock, const struct rds_peer *e)
{
	if (e->key.method != RDS_PEERS_TCP_AO || inet_sk_state_load(sock->sk) != TCP_ESTABLISHED)
		return;
	rds_tcp_key_add(sock, &e->addr, e->len, &e->key);
	rds_tcp_key_prefer(sock, &e->key);
}

bool rds_tcp_peer_roll(struct rds_tcp_path *tp, const struct rds_peer *was,
		       const struct rds_peer *now, unsigned int *taken)
{
	int err = 0;

	if (now->key.method != RDS_PEERS_TCP_AO || !rds_tcp_peer_has(now, &was->key))
		return false;
	if (READ_ONCE(tp->phase) != RDS_TCP_OPEN ||
	    inet_sk_state_load(tp->sock->sk) != TCP_ESTABLISHED)
		return false;
	if (was->old.len && !rds_tcp_peer_has(now, &was->old)) {
		if (*taken == RDS_TCP_KEYS_TAKEN)
			return false;
		err = rds_tcp_key_del(tp->sock, &was->addr, was->len, &was->old);
		*taken += !err;
	}
	if (err && err != -ENOENT)
		return false;
	if (!rds_tcp_peer_has(was, &now->key) &&
	    rds_tcp_key_add(tp->sock, &now->addr, now->len, &now->key))
		return false;
	return !rds_tcp_key_prefer(tp->sock, &now->key);
}
