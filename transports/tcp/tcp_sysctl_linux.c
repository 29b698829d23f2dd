// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_sysctl_linux.c: net.rds.tcp.rds_tcp_sndbuf and rds_tcp_rcvbuf, and the set-up of every
 * socket.
 */
#include <linux/slab.h>

#include "tcp_linux.h"

/* A dead peer is noticed after KEEPIDLE + KEEPCNT * KEEPINTVL seconds without traffic. */
#define RDS_TCP_KEEPIDLE 5
#define RDS_TCP_KEEPINTVL 5
#define RDS_TCP_KEEPCNT 5

static int rds_tcp_min_sndbuf = SOCK_MIN_SNDBUF;
static int rds_tcp_min_rcvbuf = SOCK_MIN_RCVBUF;

/* Sizes take effect on new connections only, so every write makes all connections new. */
static int rds_tcp_bufsize(rds_ctl_table *ctl, int write, void *buffer, size_t *lenp,
			   loff_t *ppos, struct rds_tcp_net *tn)
{
	int err = proc_dointvec_minmax(ctl, write, buffer, lenp, ppos);

	if (!err && write)
		rds_transport_net_reset(rds_net_of(tn->net), &rds_tcp_transport);
	return err;
}

static int rds_tcp_sndbuf_handler(rds_ctl_table *ctl, int write, void *buffer, size_t *lenp,
				  loff_t *ppos)
{
	return rds_tcp_bufsize(ctl, write, buffer, lenp, ppos,
			       container_of(ctl->data, struct rds_tcp_net, sndbuf));
}

static int rds_tcp_rcvbuf_handler(rds_ctl_table *ctl, int write, void *buffer, size_t *lenp,
				  loff_t *ppos)
{
	return rds_tcp_bufsize(ctl, write, buffer, lenp, ppos,
			       container_of(ctl->data, struct rds_tcp_net, rcvbuf));
}

static const struct ctl_table rds_tcp_table[] = {
	{
		.procname = "rds_tcp_sndbuf",
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = rds_tcp_sndbuf_handler,
		.extra1 = &rds_tcp_min_sndbuf,
	},
	{
		.procname = "rds_tcp_rcvbuf",
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = rds_tcp_rcvbuf_handler,
		.extra1 = &rds_tcp_min_rcvbuf,
	},
	{}
};

int rds_tcp_sysctl_start(struct rds_tcp_net *tn)
{
	tn->table = kmemdup(rds_tcp_table, sizeof(rds_tcp_table), GFP_KERNEL);
	if (!tn->table)
		return -ENOMEM;
	tn->table[0].data = &tn->sndbuf;
	tn->table[1].data = &tn->rcvbuf;
	tn->sysctl = rds_register_sysctl(tn->net, "net/rds/tcp", tn->table,
					 ARRAY_SIZE(rds_tcp_table) - 1);
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

void rds_tcp_tune(struct rds_tcp_net *tn, struct socket *sock)
{
	struct sock *sk = sock->sk;
	int sndbuf = READ_ONCE(tn->sndbuf);
	int rcvbuf = READ_ONCE(tn->rcvbuf);

	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepcnt(sk, RDS_TCP_KEEPCNT);
	tcp_sock_set_keepidle(sk, RDS_TCP_KEEPIDLE);
	tcp_sock_set_keepintvl(sk, RDS_TCP_KEEPINTVL);
	lock_sock(sk);
	/* Workers send too, and they may be what frees memory. */
	sk->sk_allocation = GFP_NOFS;
	rds_sk_no_task_frag(sk);
	if (sndbuf > 0) {
		sk->sk_sndbuf = sndbuf;
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	}
	if (rcvbuf > 0) {
		sk->sk_rcvbuf = rcvbuf;
		sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	}
	release_sock(sk);
}
