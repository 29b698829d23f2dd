// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_sysctl_linux.c: net.rds.tcp.*, and how a socket is set up by them.
 *
 * A value that is written holds for the sockets that there are and for those to come.
 * rds_tcp_tune() gives a socket everything; it is called before a path takes the socket, under
 * tn->tuning for reading, and once more for all of them, under tn->tuning for writing, when
 * something has changed.
 *
 * Buffers of TCP belong to the host, whoever's messages are in them: whoever administers the
 * namespace and not the host gets as much as SO_SNDBUF and SO_RCVBUF would give him.
 */
#include <linux/capability.h>
#include <linux/slab.h>

#include "tcp_linux.h"

/* A dead peer is noticed after KEEPIDLE + KEEPCNT * KEEPINTVL seconds without traffic, but after
 * rds_tcp_user_timeout_ms if that is set: TCP then looks at the time instead of the count. */
#define RDS_TCP_KEEPIDLE 5
#define RDS_TCP_KEEPINTVL 5
#define RDS_TCP_KEEPCNT 5

/* ---- one socket ---- */

/*
 * Makes the size that an open connection's receive buffer has its size for good, and lets the
 * window have its part of it; false when a new connection would choose a larger scale for that.
 * Before a connection is open its buffer must not be locked: TCP would choose the smallest scale
 * that the buffer needs, and the window could never grow.
 */
static bool rds_tcp_lock_rcvbuf(struct sock *sk)
{
	u32 window = tcp_win_from_space(sk, sk->sk_rcvbuf);

	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(tcp_sk(sk)->window_clamp, window);
	return !(window >> (16 + tcp_sk(sk)->rx_opt.rcv_wscale));
}

void rds_tcp_tune_established(struct rds_tcp_net *tn, struct sock *sk)
{
	if (READ_ONCE(tn->rcvbuf))
		rds_tcp_lock_rcvbuf(sk);
}

/*
 * As SO_SNDBUF and SO_RCVBUF would, but the value is taken as it is.  Data beyond a smaller buffer
 * stay until they were sent or read; a window that was offered is never taken back.  Of a buffer
 * that is not set any more TCP makes what it likes, beginning with the size that it has.  false:
 * the window cannot follow.
 */
static bool rds_tcp_tune_buffers(struct sock *sk, int sndbuf, int rcvbuf)
{
	bool follows = true, same;

	lock_sock(sk);
	sk->sk_userlocks &= ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
	if (sndbuf) {
		WRITE_ONCE(sk->sk_sndbuf, sndbuf);
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
		sk->sk_write_space(sk); /* there may be room now */
	}
	if (rcvbuf) {
		same = sk->sk_rcvbuf == rcvbuf;
		WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
		if (sk->sk_state == TCP_ESTABLISHED)
			follows = rds_tcp_lock_rcvbuf(sk) || same;
	}
	release_sock(sk);
	return follows;
}

static void rds_tcp_tune_dscp(struct socket *sock, int dscp)
{
	int tos = dscp << 2;

	/* One that listens for both sends both; where nothing changes nothing is done. */
	ip_sock_set_tos(sock->sk, tos);
	if (sock->sk->sk_family == AF_INET6)
		sock->ops->setsockopt(sock, SOL_IPV6, IPV6_TCLASS, KERNEL_SOCKPTR(&tos),
				      sizeof(tos));
}

static int rds_tcp_tune_ca(struct socket *sock, char *name)
{
	return sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION, KERNEL_SOCKPTR(name),
				     strlen(name));
}

void rds_tcp_tune_listener(struct rds_tcp_net *tn, struct socket *sock)
{
	rds_tcp_tune_buffers(sock->sk, tn->sndbuf, tn->rcvbuf);
	rds_tcp_tune_dscp(sock, tn->dscp);
}

bool rds_tcp_tune(struct rds_tcp_path *tp, struct socket *sock)
{
	struct rds_tcp_net *tn = tp->tn;
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	/* A connection asks on its first path; what the others do follows from that. */
	if (!rds_path_index(tp->path))
		sock_set_keepalive(sk);
	tcp_sock_set_keepcnt(sk, RDS_TCP_KEEPCNT);
	tcp_sock_set_keepidle(sk, RDS_TCP_KEEPIDLE);
	tcp_sock_set_keepintvl(sk, RDS_TCP_KEEPINTVL);
	tcp_sock_set_user_timeout(sk, tn->user_timeout_ms);
	/* One whose module has gone since leaves the namespace's default. */
	if (tn->ca[0])
		rds_tcp_tune_ca(sock, tn->ca);
	rds_tcp_tune_dscp(sock, tn->dscp);
	lock_sock(sk);
	/* Workers send too, and they may be what frees memory. */
	sk->sk_allocation = GFP_NOFS;
	rds_sk_no_task_frag(sk);
	release_sock(sk);
	return rds_tcp_tune_buffers(sk, tn->sndbuf, tn->rcvbuf);
}

/* ---- the settings ---- */

/* Gives what was written to all sockets; tuning is held for writing, so they stay. */
static void rds_tcp_tune_all(struct rds_tcp_net *tn)
{
	struct klist_iter i;
	struct rds_tcp_path *tp;

	if (tn->listener)
		rds_tcp_tune_listener(tn, tn->listener);
	klist_iter_init(&tn->socks, &i);
	while ((tp = rds_tcp_next_sock(&i)))
		if (!rds_tcp_tune(tp, tp->sock))
			rds_path_drop(tp->path, RDS_DROP_ADMIN); /* a new one can have it */
	klist_iter_exit(&i);
}

struct rds_tcp_range {
	int least, most;
	int option; /* the socket option that bounds it by net.core's limits; 0: none */
};

/*
 * *@value becomes what the option would make of it at most, if it is more.  A socket of the first
 * namespace tells: its limits are the host's.
 */
static int rds_tcp_keep_to(int option, int *value)
{
	struct socket *sock;
	int err = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);

	if (err)
		return err;
	err = sock_setsockopt(sock, SOL_SOCKET, option, KERNEL_SOCKPTR(value), sizeof(*value));
	if (!err)
		*value = min(*value,
			     option == SO_SNDBUF ? sock->sk->sk_sndbuf : sock->sk->sk_rcvbuf);
	sock_release(sock);
	return err;
}

/* A number that is 0, for what TCP does by itself, or between @ctl's extra1 and extra2. */
static int rds_tcp_number(rds_ctl_table *ctl, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rds_tcp_net *tn = ctl->extra1;
	const struct rds_tcp_range *range = ctl->extra2;
	int value = READ_ONCE(*(int *)ctl->data);
	struct ctl_table copy = {.data = &value, .maxlen = sizeof(value)};
	int err = proc_dointvec(&copy, write, buffer, lenp, ppos);

	if (err || !write)
		return err;
	if (value && (value < range->least || value > range->most))
		return -EINVAL;
	if (value && range->option && !capable(CAP_NET_ADMIN))
		err = rds_tcp_keep_to(range->option, &value);
	if (err)
		return err;
	down_write(tn->tuning);
	WRITE_ONCE(*(int *)ctl->data, value);
	rds_tcp_tune_all(tn);
	up_write(tn->tuning);
	return 0;
}

/* Is there such an algorithm, and may the caller use it?  A new socket tells, and loads it. */
static int rds_tcp_try_ca(struct net *net, char *name)
{
	struct socket *sock;
	int err = sock_create_kern(net, PF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);

	if (err)
		return err;
	err = rds_tcp_tune_ca(sock, name);
	sock_release(sock);
	return err;
}

static int rds_tcp_ca(rds_ctl_table *ctl, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rds_tcp_net *tn = ctl->extra1;
	char name[TCP_CA_NAME_MAX], *wanted;
	struct ctl_table copy = {.data = name, .maxlen = sizeof(name)};
	int err;

	down_read(tn->tuning);
	strscpy(name, tn->ca, sizeof(name));
	up_read(tn->tuning);
	err = proc_dostring(&copy, write, buffer, lenp, ppos);
	if (err || !write)
		return err;
	wanted = strim(name);
	err = *wanted ? rds_tcp_try_ca(tn->net, wanted) : 0;
	if (err)
		return err;
	down_write(tn->tuning);
	strscpy(tn->ca, wanted, sizeof(tn->ca));
	rds_tcp_tune_all(tn);
	up_write(tn->tuning);
	return 0;
}

/* The port of a namespace, without sockets, too. */
static int rds_tcp_listen(rds_ctl_table *ctl, int write, void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rds_tcp_net *tn = ctl->extra1;
	int value = READ_ONCE(tn->always);
	struct ctl_table copy = {.data = &value,
				 .maxlen = sizeof(value),
				 .extra1 = SYSCTL_ZERO,
				 .extra2 = SYSCTL_ONE};
	int err = proc_dointvec_minmax(&copy, write, buffer, lenp, ppos);

	if (!err && write)
		rds_tcp_listen_always(tn, value);
	return err;
}

static const struct rds_tcp_range rds_tcp_sndbufs = {SOCK_MIN_SNDBUF, 1 << 30, SO_SNDBUF};
static const struct rds_tcp_range rds_tcp_rcvbufs = {SOCK_MIN_RCVBUF, 1 << 30, SO_RCVBUF};
/* A retransmission, and the answer to it, must have a chance; a day is for ever. */
static const struct rds_tcp_range rds_tcp_timeouts = {1000, 24 * 3600 * 1000};
static const struct rds_tcp_range rds_tcp_dscps = {1, 63};

#define RDS_TCP_NUMBER(name, range)                                                                \
	{                                                                                          \
		.procname = name, .maxlen = sizeof(int), .mode = 0644,                             \
		.proc_handler = rds_tcp_number, .extra2 = (void *)&(range)                         \
	}

static const struct ctl_table rds_tcp_table[] = {
	RDS_TCP_NUMBER("rds_tcp_sndbuf", rds_tcp_sndbufs),
	RDS_TCP_NUMBER("rds_tcp_rcvbuf", rds_tcp_rcvbufs),
	RDS_TCP_NUMBER("rds_tcp_user_timeout_ms", rds_tcp_timeouts),
	RDS_TCP_NUMBER("rds_tcp_dscp", rds_tcp_dscps),
	{
		.procname = "rds_tcp_congestion_control",
		.maxlen = TCP_CA_NAME_MAX,
		.mode = 0644,
		.proc_handler = rds_tcp_ca,
	},
	{.procname = "listen", .mode = 0644, .proc_handler = rds_tcp_listen},
	{}};

int rds_tcp_sysctl_start(struct rds_tcp_net *tn)
{
	void *data[] = {&tn->sndbuf, &tn->rcvbuf, &tn->user_timeout_ms,
			&tn->dscp,   tn->ca,	  &tn->always};
	int i;

	BUILD_BUG_ON(ARRAY_SIZE(data) != ARRAY_SIZE(rds_tcp_table) - 1);
	tn->user_timeout_ms = RDS_TCP_USER_TIMEOUT_MS;
	tn->table = kmemdup(rds_tcp_table, sizeof(rds_tcp_table), GFP_KERNEL_ACCOUNT);
	if (!tn->table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(data); i++) {
		tn->table[i].data = data[i];
		tn->table[i].extra1 = tn;
	}
	tn->sysctl = rds_register_sysctl(tn->net, "net/rds/tcp", tn->table, ARRAY_SIZE(data));
	if (tn->sysctl)
		return 0;
	kfree(tn->table);
	return -ENOMEM;
}

void rds_tcp_sysctl_stop(struct rds_tcp_net *tn)
{
	unregister_net_sysctl_table(tn->sysctl);
	kfree(tn->table);
}
