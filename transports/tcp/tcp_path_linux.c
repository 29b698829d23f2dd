// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_path_linux.c: a path's socket, from connect or adopt to close.
 *
 * All ops here are called by the path's worker, one at a time.  Softirqs come in by the callbacks.
 */
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/route.h>

#include "tcp_linux.h"
#include "tcp_peers_linux.h"

/* ---- addresses ---- */

int rds_tcp_laddr_check(struct rds_os_net *os, const struct rds_addr *addr, u32 scope)
{
	struct net *net = rds_os_net_to_net(os);
	struct in6_addr in6 = rds_addr_in6(addr);
	struct net_device *dev = NULL;
	int ret = -EADDRNOTAVAIL;

	if (rds_addr_is_v4(addr))
		return inet_addr_type(net, rds_addr_v4(addr)) == RTN_LOCAL ? 0 : -EADDRNOTAVAIL;
	if (!IS_ENABLED(CONFIG_IPV6))
		return -EADDRNOTAVAIL;
	rcu_read_lock();
	if (scope)
		dev = dev_get_by_index_rcu(net, scope);
	if ((dev || !scope) && ipv6_chk_addr(net, &in6, dev, 0))
		ret = 0;
	rcu_read_unlock();
	return ret;
}

/* ---- hooking into a socket ---- */

static void rds_tcp_established(struct rds_tcp_path *tp)
{
	if (tp->phase != RDS_TCP_CONNECTING)
		return;
	rds_tcp_tune_established(tp->tn, tp->sock->sk);
	rds_tcp_send_start(tp);
	if (rds_tcp_established_is(rds_path_laddr(tp->path), rds_path_faddr(tp->path)) ==
	    RDS_TCP_USE) {
		rds_tcp_enter(tp, RDS_TCP_OPEN);
		rds_path_connected(tp->path);
	} else {
		rds_tcp_enter(tp, RDS_TCP_ENDED);
		rds_tcp_count(tp->tn, RDS_TCP_S_knock_sent);
		rds_path_drop(tp->path, RDS_DROP_KNOCKED);
	}
}

/*
 * Socket locked by the caller.  The peer's FIN needs nothing here: data_ready() follows it at once.
 * A dead connection gets no more callbacks, so what it left is read here.
 */
static void rds_tcp_state_change(struct sock *sk)
{
	struct rds_tcp_path *tp = sk->sk_user_data;

	if (sk->sk_state == TCP_ESTABLISHED) {
		rds_tcp_established(tp);
	} else if (sk->sk_state == TCP_CLOSE && tp->phase == RDS_TCP_CONNECTING) {
		rds_tcp_enter(tp, RDS_TCP_ENDED);
		rds_path_drop(tp->path,
			      sk->sk_err == ETIMEDOUT ? rds_tcp_unanswered(tp) : RDS_DROP_CONNECT);
	} else if (sk->sk_state == TCP_CLOSE) {
		rds_tcp_receive(tp, RDS_ATOMIC);
	}
}

/* Makes @sock the path's.  Socket locked. */
static void rds_tcp_hook(struct rds_tcp_path *tp, struct socket *sock, enum rds_tcp_phase phase)
{
	struct sock *sk = sock->sk;

	WARN_ON_ONCE(tp->sock);
	WRITE_ONCE(tp->sock, sock); /* for rds_tcp_facts() */
	rds_tcp_enter(tp, phase);
	tp->paused = tp->blocked = false;
	write_lock_bh(&sk->sk_callback_lock);
	tp->plain_state_change = sk->sk_state_change;
	tp->plain_data_ready = sk->sk_data_ready;
	tp->plain_write_space = sk->sk_write_space;
	rcu_assign_sk_user_data(sk, tp);
	sk->sk_state_change = rds_tcp_state_change;
	sk->sk_data_ready = rds_tcp_data_ready;
	sk->sk_write_space = rds_tcp_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	klist_add_tail(&tp->link, &tp->tn->socks);
}

/* The other way.  When the socket is unlocked again, no callback of ours runs or ever will. */
static void rds_tcp_unhook(struct rds_tcp_path *tp)
{
	struct sock *sk = tp->sock->sk;

	klist_remove(&tp->link); /* waits for readers of it */
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_state_change = tp->plain_state_change;
	sk->sk_data_ready = tp->plain_data_ready;
	sk->sk_write_space = tp->plain_write_space;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	rds_tcp_enter(tp, RDS_TCP_IDLE);
}

/* ---- ops ---- */

void *rds_tcp_path_alloc(struct rds_path *path)
{
	struct rds_tcp_net *tn = rds_tcp_net_of(rds_os_net_to_net(rds_path_os_net(path)));
	struct rds_tcp_path *tp;

	if (atomic_inc_return(&tn->paths) > RDS_TCP_MAX_NET_PATHS) {
		rds_tcp_count(tn, RDS_TCP_S_too_many_paths);
		goto full;
	}
	tp = kzalloc(sizeof(*tp), GFP_KERNEL_ACCOUNT);
	if (!tp)
		goto full;
	tp->path = path;
	tp->tn = tn;
	tp->attempt = get_random_u32();
	rds_tcp_frame_init(&tp->frame, path);
	INIT_DELAYED_WORK(&tp->nudge, rds_tcp_nudge);
	return tp;
full:
	atomic_dec(&tn->paths);
	return NULL;
}

void rds_tcp_path_free(void *priv)
{
	struct rds_tcp_path *tp = priv;

	WARN_ON_ONCE(tp->sock);
	atomic_dec(&tp->tn->paths);
	kfree(tp);
}

int rds_tcp_initiates(const void *priv)
{
	const struct rds_tcp_path *tp = priv;

	return rds_tcp_is_caller(rds_path_laddr(tp->path), rds_path_faddr(tp->path));
}

int rds_tcp_midway(const void *priv)
{
	const struct rds_tcp_path *tp = priv;

	return rds_tcp_frame_midway(&tp->frame);
}

/* While it is paused the peer cannot bring anything. */
u32 rds_tcp_wants(const void *priv)
{
	const struct rds_tcp_path *tp = priv;

	return READ_ONCE(tp->paused) ? 0 : rds_tcp_frame_wants(&tp->frame);
}

/* Worker, and connected: the socket stays. */
int rds_tcp_ended(const void *priv)
{
	const struct rds_tcp_path *tp = priv;

	return inet_sk_state_load(tp->sock->sk) != TCP_ESTABLISHED;
}

/*
 * Binds to our own address: the peer knows us by it.  A port that says which path this is may be in
 * use for other peers (SO_REUSEADDR); connect() finds out if it is for this one.
 */
static int rds_tcp_bind(struct rds_tcp_path *tp, struct socket *sock)
{
	struct sockaddr_storage ss;
	int low, high, len, err, one = 1, tries = RDS_TCP_BIND_TRIES;
	u16 port;

	inet_get_local_port_range(tp->tn->net, &low, &high);
	do {
		port = rds_tcp_port_for(rds_tcp_transport.max_paths, rds_path_index(tp->path), low,
					high, tp->attempt++);
		err = -EADDRINUSE;
		if (port && inet_is_local_reserved_port(tp->tn->net, port))
			continue;
		if (port)
			sock_set_reuseaddr(sock->sk);
		else if (rds_path_index(tp->path))
			return -EADDRNOTAVAIL; /* from any other it would be another path's */
		else /* let connect() choose one that is free for this peer */
			sock->ops->setsockopt(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT,
					      KERNEL_SOCKPTR(&one), sizeof(one));
		len = rds_sockaddr(&ss, rds_path_laddr(tp->path), rds_path_scope(tp->path), port);
		err = kernel_bind(sock, (rds_sockaddr_arg *)&ss, len);
	} while (err == -EADDRINUSE && --tries);
	return err;
}

int rds_tcp_connect(void *priv)
{
	struct rds_tcp_path *tp = priv;
	const struct rds_addr *laddr = rds_path_laddr(tp->path);
	const struct rds_addr *faddr = rds_path_faddr(tp->path);
	struct sockaddr_storage ss;
	struct socket *sock;
	int err, len;

	if (!rds_tcp_may_connect(laddr, faddr))
		return -EINVAL;
	err = sock_create_kern(tp->tn->net, rds_addr_is_v4(faddr) ? PF_INET : PF_INET6, SOCK_STREAM,
			       IPPROTO_TCP, &sock);
	if (err)
		return err;
	err = rds_tcp_bind(tp, sock);
	if (err) {
		sock_release(sock);
		return err;
	}
	down_read(tp->tn->tuning);
	err = rds_tcp_peers_call(tp, sock);
	if (!err) {
		rds_tcp_tune(tp, sock);
		lock_sock(sock->sk);
		rds_tcp_hook(tp, sock, RDS_TCP_CONNECTING);
		release_sock(sock->sk);
	}
	up_read(tp->tn->tuning);
	if (err) {
		sock_release(sock);
		return err;
	}
	len = rds_sockaddr(&ss, faddr, rds_path_scope(tp->path), RDS_TCP_PORT);
	err = kernel_connect(sock, (rds_sockaddr_arg *)&ss, len, O_NONBLOCK);
	return err == -EINPROGRESS ? 0 : err;
}

enum rds_drop_reason rds_tcp_unanswered(const void *priv)
{
	const struct rds_tcp_path *tp = priv;

	return rds_tcp_peers_silent(tp) ? RDS_DROP_KEY : RDS_DROP_CONNECT;
}

/*
 * The peer may have written, and gone, long before we get to hook into its connection: what came is
 * read now, and its end is noticed now, because no callback will tell of either.
 */
int rds_tcp_adopt(void *priv, void *handle)
{
	struct rds_tcp_path *tp = priv;
	struct socket *sock = handle;
	struct sock *sk = sock->sk;
	bool dead;

	down_read(tp->tn->tuning);
	if (!rds_tcp_peers_adopt(tp, sock)) {
		up_read(tp->tn->tuning);
		rds_tcp_release(sock);
		return -EACCES;
	}
	rds_tcp_tune(tp, sock);
	lock_sock(sk);
	dead = sk->sk_state == TCP_CLOSE && skb_queue_empty(&sk->sk_receive_queue);
	if (!dead)
		rds_tcp_hook(tp, sock, RDS_TCP_OPEN);
	up_read(tp->tn->tuning);
	if (dead) {
		release_sock(sk);
		rds_tcp_discard(handle);
		return -ECONNRESET;
	}
	rds_tcp_send_start(tp);
	rds_tcp_receive(tp, RDS_MAY_SLEEP);
	release_sock(sk);
	return 0;
}

void rds_tcp_discard(void *handle)
{
	struct socket *sock = handle;

	rds_tcp_count(rds_tcp_net_of(sock_net(sock->sk)), RDS_TCP_S_listen_closed_stale);
	rds_tcp_release(sock);
}

void rds_tcp_shutdown(void *priv)
{
	struct rds_tcp_path *tp = priv;
	struct sock *sk = tp->sock->sk;
	bool open;

	lock_sock(sk);
	open = tp->phase == RDS_TCP_OPEN;
	if (open)
		rds_tcp_enter(tp, RDS_TCP_DRAINING);
	release_sock(sk);
	if (!open) {
		rds_path_drained(tp->path);
		return;
	}
	kernel_sock_shutdown(tp->sock, SHUT_WR);
	lock_sock(sk);
	rds_tcp_receive(tp, RDS_MAY_SLEEP); /* the peer may have ended before */
	release_sock(sk);
}

void rds_tcp_close(void *priv)
{
	struct rds_tcp_path *tp = priv;
	struct socket *sock = tp->sock;

	if (!sock)
		return;
	down_read(tp->tn->tuning);
	lock_sock(sock->sk);
	rds_tcp_unhook(tp);
	release_sock(sock->sk);
	up_read(tp->tn->tuning);
	cancel_delayed_work_sync(&tp->nudge);
	rds_tcp_frame_reset(&tp->frame);
	WRITE_ONCE(tp->sock, NULL);
	rds_tcp_release(sock);
}

void rds_tcp_release(struct socket *sock)
{
	struct sock *sk = sock->sk;

	/* A peer that has ended in order, and of which all was read, gets an orderly answer; any
	 * other a reset: it takes FIN for "all that you said was heard". */
	if (inet_sk_state_load(sk) == TCP_CLOSE_WAIT &&
	    skb_queue_empty_lockless(&sk->sk_receive_queue))
		kernel_sock_shutdown(sock, SHUT_WR);
	sock_no_linger(sk);
	sock_release(sock);
}
