// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_listen_linux.c: a namespace's listener, for IPv6 and IPv4 alike, and what becomes of the
 * connections that it accepts.
 *
 * The port is open while a socket is bound to TCP, and where net.rds.tcp.listen wants it always: in
 * the first namespace, unless somebody writes something else.  A namespace where nobody uses RDS
 * has no port for strangers to find.  Connections outlive the listener: they end as others do, when
 * they are idle, and one that breaks meanwhile is called again by whichever end may.  The peer's
 * calls are refused until there is a socket again; what it has for us waits, as for a host that
 * boots.
 */
#include <net/addrconf.h>

#include "tcp_linux.h"
#include "tcp_peers_linux.h"

/* Connections that wait for accept_work; as mainline's. */
#define RDS_TCP_BACKLOG 64
/* The port is somebody else's: the next try. */
#define RDS_TCP_LISTEN_PAUSE msecs_to_jiffies(10000)
/* Accepting has failed, for want of memory: the next try. */
#define RDS_TCP_ACCEPT_PAUSE msecs_to_jiffies(10)
/* Connections that are accepted before others have their turn on the workqueue. */
#define RDS_TCP_ACCEPTS 64

/*
 * The listener's children begin with these callbacks too, but without its user data (NOCOPY): they
 * are none of our business before accept_work has them.  Unlike a connection's, these come without
 * the socket's lock; stop() excludes them by sk_callback_lock.  That is the only lock here: a
 * child's may run in a process that works off its backlog, outside any RCU section.
 */
static void rds_tcp_listener_says(struct sock *sk, bool ended)
{
	struct rds_tcp_net *tn;

	read_lock_bh(&sk->sk_callback_lock);
	tn = __locked_read_sk_user_data_with_flags(sk, SK_USER_DATA_NOCOPY);
	if (tn)
		mod_delayed_work(rds_tcp_wq, ended ? &tn->listen_work : &tn->accept_work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void rds_tcp_listen_data_ready(struct sock *sk)
{
	rds_tcp_listener_says(sk, false);
}

/* An administrator has ended it (`ss -K`): there is to be another. */
static void rds_tcp_listen_state_change(struct sock *sk)
{
	rds_tcp_listener_says(sk, true);
}

/* Both ends of an accepted connection as RDS sees them; the peer's port is returned. */
static u16 rds_tcp_ends(const struct sock *sk, struct rds_addr *laddr, struct rds_addr *faddr,
			u32 *scope)
{
	*scope = 0;
	if (sk->sk_family == AF_INET) {
		*laddr = rds_addr_from_v4(sk->sk_rcv_saddr);
		*faddr = rds_addr_from_v4(sk->sk_daddr);
	} else {
#if IS_ENABLED(CONFIG_IPV6)
		*laddr = rds_addr_from_in6(&sk->sk_v6_rcv_saddr);
		*faddr = rds_addr_from_in6(&sk->sk_v6_daddr);
		/* The peer's address binds it to an interface; ours alone does not. */
		if (ipv6_addr_type(&sk->sk_v6_daddr) & IPV6_ADDR_LINKLOCAL)
			*scope = sk->sk_bound_dev_if;
		else if (ipv6_addr_type(&sk->sk_v6_rcv_saddr) & IPV6_ADDR_LINKLOCAL)
			*scope = inet6_sk(sk)->mcast_oif; /* the one that its SYN came by */
#endif
	}
	return ntohs(sk->sk_dport);
}

/* Gives @sock to the path that it is for; false: the caller still has it and is to refuse it. */
static bool rds_tcp_place(struct rds_tcp_net *tn, struct rds_path *path, struct socket *sock,
			  enum rds_tcp_meaning meaning)
{
	const struct rds_tcp_path *tp = rds_path_priv(path);

	/* Loopback may stand in for us. */
	if (rds_path_transport(path) != &rds_tcp_transport)
		return false;
	if (meaning == RDS_TCP_KNOCK) {
		rds_tcp_count(tn, RDS_TCP_S_knock_refused);
		rds_tcp_release(sock);
		rds_path_knocked(path);
		return true;
	}
	if (READ_ONCE(tp->phase) == RDS_TCP_CONNECTING)
		rds_tcp_count(tn, RDS_TCP_S_connect_raced);
	rds_path_accepted(path, sock);
	return true;
}

static bool rds_tcp_receive_call(struct rds_tcp_net *tn, struct socket *sock)
{
	struct rds_addr laddr, faddr;
	enum rds_tcp_meaning meaning;
	struct rds_path *path;
	struct rds_conn *conn;
	u32 scope;
	u16 sport;
	bool placed, named;
	int err;

	/* By Fast Open it is here before its host has shown that it has the address. */
	if (inet_sk_state_load(sock->sk) == TCP_SYN_RECV)
		return false;
	sport = rds_tcp_ends(sock->sk, &laddr, &faddr, &scope);
	meaning = rds_tcp_accepted_is(&laddr, &faddr);
	if (meaning == RDS_TCP_REFUSE || !rds_tcp_laddr_check(rds_os_net(tn->net), &faddr, scope))
		return false;
	if (!rds_tcp_peers_accept(tn, sock->sk, &faddr, scope, &named) ||
	    !rds_conn_may_call(rds_net_of(tn->net), &rds_tcp_transport, &laddr, &faddr, scope,
			       named))
		return false;
	conn = rds_conn_get(rds_net_of(tn->net), &rds_tcp_transport, &laddr, &faddr, scope, 0,
			    &err);
	if (!conn)
		return false;
	path = rds_conn_path(conn, rds_tcp_path_of_port(sport));
	placed = path && rds_tcp_place(tn, path, sock, meaning);
	rds_conn_put(conn);
	return placed;
}

static void rds_tcp_take_call(struct rds_tcp_net *tn, struct socket *sock)
{
	/* Not the listener's any more; nobody hears of what comes until a path adopts it. */
	lock_sock(sock->sk);
	write_lock_bh(&sock->sk->sk_callback_lock);
	sock->sk->sk_data_ready = tn->plain_data_ready;
	sock->sk->sk_state_change = tn->plain_state_change;
	write_unlock_bh(&sock->sk->sk_callback_lock);
	release_sock(sock->sk);
	if (!rds_tcp_receive_call(tn, sock)) {
		rds_tcp_count(tn, RDS_TCP_S_accept_refused);
		rds_tcp_release(sock);
	}
	cond_resched();
}

/* However fast strangers connect, listen_stop() waits for one of them at most. */
static void rds_tcp_accept_work(struct work_struct *work)
{
	struct rds_tcp_net *tn =
		container_of(to_delayed_work(work), struct rds_tcp_net, accept_work);
	struct socket *sock;
	unsigned int n;
	int err = 0;

	for (n = 0; n < RDS_TCP_ACCEPTS && !READ_ONCE(tn->stopping); n++) {
		err = kernel_accept(tn->listener, &sock, O_NONBLOCK);
		if (err)
			break;
		rds_tcp_take_call(tn, sock);
	}
	/* Nobody would tell us again of those that wait already, and their peers count on us. */
	if (err != -EAGAIN && !READ_ONCE(tn->stopping))
		queue_delayed_work(rds_tcp_wq, &tn->accept_work, err ? RDS_TCP_ACCEPT_PAUSE : 0);
}

/* @v6only: not for IPv4 as well. */
static int rds_tcp_listen_on(struct net *net, int family, bool v6only, struct socket **res)
{
	struct sockaddr_storage ss = {.ss_family = family};
	struct socket *sock;
	int err, len;

	err = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	sock_set_reuseaddr(sock->sk);
	if (family == AF_INET6) {
		sock->sk->sk_ipv6only = v6only; /* net.ipv6.bindv6only may say otherwise */
		((struct sockaddr_in6 *)&ss)->sin6_port = htons(RDS_TCP_PORT);
		len = sizeof(struct sockaddr_in6);
	} else {
		((struct sockaddr_in *)&ss)->sin_port = htons(RDS_TCP_PORT);
		len = sizeof(struct sockaddr_in);
	}
	err = kernel_bind(sock, (rds_sockaddr_arg *)&ss, len);
	if (err) {
		sock_release(sock);
		return err;
	}
	*res = sock;
	return 0;
}

/*
 * After it no connection is accepted, and no accepted one is on its way to a path.  The port is
 * closed first, which resets the children that nobody accepted: else others would come meanwhile.
 * The grace period sees off a callback that has begun on one of them.
 */
static void rds_tcp_close_listener(struct rds_tcp_net *tn)
{
	struct socket *sock = tn->listener;

	write_lock_bh(&sock->sk->sk_callback_lock);
	rcu_assign_sk_user_data(sock->sk, NULL);
	write_unlock_bh(&sock->sk->sk_callback_lock);
	kernel_sock_shutdown(sock, SHUT_RDWR);
	cancel_delayed_work_sync(&tn->accept_work);
	down_read(tn->tuning);
	WRITE_ONCE(tn->listener, NULL);
	up_read(tn->tuning);
	sock_release(sock);
	synchronize_rcu();
}

/* For both versions of IP, or for the fourth alone: there is no sixth, or it is not to be had yet:
 * somebody has its port, or memory is scarce. */
static int rds_tcp_listen_on_any(struct rds_tcp_net *tn, struct socket **res)
{
	int err = rds_tcp_listen_on(tn->net, AF_INET6, false, res);

	tn->v6_err = err == -EAFNOSUPPORT ? 0 : err;
	return err ? rds_tcp_listen_on(tn->net, AF_INET, false, res) : 0;
}

/* The program that had the port is gone, or there is memory again. */
static bool rds_tcp_may_have_v6(const struct rds_tcp_net *tn)
{
	struct socket *sock;

	if (!tn->v6_err || rds_tcp_listen_on(tn->net, AF_INET6, true, &sock))
		return false;
	sock_release(sock);
	return true;
}

static int rds_tcp_open_listener(struct rds_tcp_net *tn)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	err = rds_tcp_listen_on_any(tn, &sock);
	if (err)
		return err;
	sk = sock->sk;
	down_read(tn->tuning);
	rds_tcp_tune_listener(tn, sock);
	WRITE_ONCE(tn->listener, sock);
	rds_tcp_peers_listen(tn);
	up_read(tn->tuning);
	write_lock_bh(&sk->sk_callback_lock);
	tn->plain_data_ready = sk->sk_data_ready;
	tn->plain_state_change = sk->sk_state_change;
	__rcu_assign_sk_user_data_with_flags(sk, tn, SK_USER_DATA_NOCOPY);
	sk->sk_data_ready = rds_tcp_listen_data_ready;
	sk->sk_state_change = rds_tcp_listen_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	err = kernel_listen(sock, RDS_TCP_BACKLOG);
	if (err)
		rds_tcp_close_listener(tn);
	return err;
}

/* The port is not to be had.  Some program of its own namespace has it: that keeps the namespace
 * from being called, and nobody else from anything. */
static void rds_tcp_listen_later(struct rds_tcp_net *tn, int err)
{
	rds_tcp_count(tn, RDS_TCP_S_listen_failed);
	if (!tn->logged)
		pr_warn_ratelimited("rds_tcp: port %d of a namespace is not to be had%s (%d): tried"
				    " again\n",
				    RDS_TCP_PORT, tn->listener ? " for IPv6" : "", err);
	tn->logged = true;
	queue_delayed_work(rds_tcp_wq, &tn->listen_work, RDS_TCP_LISTEN_PAUSE);
}

/*
 * Opens or closes the port, as is wanted now.  It is the work's alone: a listener that a program
 * made by its bind() would be one of that program's cgroup, with filters of its own, and serve
 * others.
 */
static void rds_tcp_listen_work(struct work_struct *work)
{
	struct rds_tcp_net *tn =
		container_of(to_delayed_work(work), struct rds_tcp_net, listen_work);
	bool wanted =
		!READ_ONCE(tn->stopping) && (READ_ONCE(tn->always) || atomic_read(&tn->users));
	bool listens = tn->listener && inet_sk_state_load(tn->listener->sk) == TCP_LISTEN;
	int err = 0;

	if (tn->listener && (!wanted || !listens || rds_tcp_may_have_v6(tn)))
		rds_tcp_close_listener(tn);
	if (!wanted)
		return;
	if (!tn->listener)
		err = rds_tcp_open_listener(tn);
	if (err || tn->v6_err)
		rds_tcp_listen_later(tn, err ?: tn->v6_err);
}

static void rds_tcp_listen_now(struct rds_tcp_net *tn)
{
	mod_delayed_work(rds_tcp_wq, &tn->listen_work, 0);
	flush_delayed_work(&tn->listen_work);
}

/*
 * Peers may call as soon as bind() returns.  Each socket is another try where the port was somebody
 * else's; and the first one's word comes after that of the last one, if that was just closed.
 */
void rds_tcp_use(struct rds_os_net *os)
{
	struct rds_tcp_net *tn = rds_tcp_net_of(rds_os_net_to_net(os));

	if (atomic_inc_return(&tn->users) == 1 || !READ_ONCE(tn->listener))
		rds_tcp_listen_now(tn);
}

/* close() waits for no grace period. */
void rds_tcp_unuse(struct rds_os_net *os)
{
	struct rds_tcp_net *tn = rds_tcp_net_of(rds_os_net_to_net(os));

	if (atomic_dec_and_test(&tn->users))
		mod_delayed_work(rds_tcp_wq, &tn->listen_work, 0);
}

void rds_tcp_listen_init(struct rds_tcp_net *tn)
{
	INIT_DELAYED_WORK(&tn->accept_work, rds_tcp_accept_work);
	INIT_DELAYED_WORK(&tn->listen_work, rds_tcp_listen_work);
}

void rds_tcp_listen_always(struct rds_tcp_net *tn, bool always)
{
	WRITE_ONCE(tn->always, always);
	rds_tcp_listen_now(tn);
}

void rds_tcp_listen_stop(struct rds_tcp_net *tn)
{
	WRITE_ONCE(tn->stopping, true);
	rds_tcp_listen_now(tn);
	cancel_delayed_work_sync(&tn->listen_work);
}
