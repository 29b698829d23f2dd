// SPDX-License-Identifier: GPL-2.0
/*
 * af_rds.c: the address family: socket(), bind(), connect(), names, poll, ioctl, close.
 */
#include <linux/poll.h>
#include <linux/sockios.h>
#include <linux/swap.h>

#include "linux_net.h"

/*
 * The kernel's socket layer accounts memory of all RDS sockets, in pages: /proc/net/protocols.  The
 * limits (low, pressure, high) are set with the module: beyond the second nothing is reserved by
 * SO_RESERVE_MEM, beyond the third nothing is queued to be sent.  The memory that one socket may
 * always have, in bytes (least, default, most), is read by the socket layer without a NULL check.
 */
static atomic_long_t rds_mem_pages;
static DEFINE_PER_CPU(int, rds_mem_reserve);
static long rds_mem_limits[3];
static int rds_mem_socket[3] = {PAGE_SIZE, PAGE_SIZE, PAGE_SIZE};

struct proto rds_proto = {
	.name = "RDS",
	.owner = THIS_MODULE,
	.memory_allocated = &rds_mem_pages,
	.per_cpu_fw_alloc = &rds_mem_reserve,
	.sysctl_mem = rds_mem_limits,
	.sysctl_wmem = rds_mem_socket,
	.sysctl_rmem = rds_mem_socket,
	.obj_size = sizeof(struct rds_sock), /* and the core's part, see rds_family_register() */
};

static int rds_release(struct socket *sock)
{
	struct sock *sk = sock->sk;

	if (!sk)
		return 0;
	xa_erase(&rds_linux_net(sock_net(sk))->socks, rds_sock(sk)->id);
	sock_orphan(sk);
	rds_socket_release(rds_core(sk));
	skb_queue_purge(&sk->sk_error_queue);
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}

static void rds_destruct(struct sock *sk)
{
	rds_batch_free(sk);
	rds_socket_destroy(rds_core(sk));
	sk_mem_reclaim_final(sk); /* what SO_RESERVE_MEM reserved */
	WARN_ON_ONCE(sk->sk_forward_alloc);
}

static int rds_bind(struct socket *sock, rds_sockaddr_arg *name, int len)
{
	struct rds_endpoint ep;
	int err;

	if (rds_parse_name(name, len, &ep) != RDS_NAME_GOOD)
		return -EINVAL;
	err = rds_may_bind(sock_net(sock->sk), ep.port);
	return err ?: rds_socket_bind(rds_core(sock->sk), &ep);
}

static int rds_connect(struct socket *sock, rds_sockaddr_arg *name, int len, int flags)
{
	struct rds_endpoint ep;

	switch (rds_parse_name(name, len, &ep)) {
	case RDS_NAME_GOOD:
		break;
	case RDS_NAME_FAMILY:
		return -EAFNOSUPPORT;
	case RDS_NAME_ANY:
		return -EDESTADDRREQ;
	case RDS_NAME_NOT_UNICAST:
		return -EPROTOTYPE;
	case RDS_NAME_SHORT:
	case RDS_NAME_GROUP:
	case RDS_NAME_NO_SCOPE:
		return -EINVAL;
	}
	return rds_socket_connect(rds_core(sock->sk), &ep);
}

/* An unbound socket has no family, unless connect() gave it one. */
static int rds_getname(struct socket *sock, struct sockaddr *name, int peer)
{
	struct rds_socket *s = rds_core(sock->sk);
	struct rds_endpoint ep, to;

	if (peer)
		return rds_socket_peer(s, &ep) ? rds_write_name(&ep, name) : -ENOTCONN;
	if (rds_socket_bound(s, &ep))
		return rds_write_name(&ep, name);
	if (!rds_socket_peer(s, &to)) {
		memset(name, 0, sizeof(struct sockaddr_in));
		return sizeof(struct sockaddr_in);
	}
	memset(&ep, 0, sizeof(ep));
	if (rds_addr_is_v4(&to.addr))
		ep.addr = rds_addr_from_v4(htonl(INADDR_ANY));
	return rds_write_name(&ep, name);
}

static __poll_t rds_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	__poll_t mask = rds_poll_socket(file, sock, wait);

	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

static int rds_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct rds_socket *s = rds_core(sock->sk);
	rds_tos_t __user *at = (rds_tos_t __user *)arg;
	rds_tos_t tos;

	switch (cmd) {
	case SIOCRDSSETTOS:
		if (get_user(tos, at))
			return -EFAULT;
		return rds_socket_set_tos(s, tos);
	case SIOCRDSGETTOS:
		return put_user(rds_socket_tos(s), at);
	default:
		return -ENOIOCTLCMD;
	}
}

/* RDS_NO_SENDPAGE brings its comma, or is nothing. */
/* clang-format off */
static const struct proto_ops rds_proto_ops = {
	.family = AF_RDS,
	.owner = THIS_MODULE,
	.release = rds_release,
	.bind = rds_bind,
	.connect = rds_connect,
	.socketpair = sock_no_socketpair,
	.accept = sock_no_accept,
	.getname = rds_getname,
	.poll = rds_poll,
	.ioctl = rds_ioctl,
	.listen = sock_no_listen,
	.shutdown = sock_no_shutdown,
	.setsockopt = rds_setsockopt,
	.getsockopt = rds_getsockopt,
	.sendmsg = rds_sendmsg,
	.recvmsg = rds_recvmsg,
	.mmap = sock_no_mmap,
	RDS_NO_SENDPAGE
};
/* clang-format on */

static int rds_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct rds_linux_net *rn = rds_linux_net(net);
	struct sock *sk;
	int err;
	u32 id;

	if (sock->type != SOCK_SEQPACKET || protocol)
		return -ESOCKTNOSUPPORT;
	if (!kern && rds_may_open(net))
		return -EACCES;
	/*
	 * A place, which is filled when the socket can be looked at.  The lowest that is free:
	 * beyond those in use, each socket would have nodes of its own, which RCU frees.
	 */
	if (xa_alloc(&rn->socks, &id, NULL, xa_limit_31b, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	sk = sk_alloc(net, AF_RDS, GFP_KERNEL, &rds_proto, kern);
	err = sk ? rds_socket_init(rds_core(sk), rn->core, rds_user_of_call(net)) : -ENOMEM;
	if (err) {
		if (sk)
			sk_free(sk);
		xa_release(&rn->socks, id);
		return err;
	}
	sock_init_data(sock, sk);
	sock->ops = &rds_proto_ops;
	sk->sk_protocol = protocol;
	sk->sk_destruct = rds_destruct;
	sock_set_flag(sk, SOCK_RCU_FREE);
	rds_sock(sk)->id = id;
	xa_store(&rn->socks, id, rds_sock(sk),
		 GFP_KERNEL_ACCOUNT); /* no memory: it has its place */
	return 0;
}

static const struct net_proto_family rds_family_ops = {
	.family = AF_RDS,
	.create = rds_create,
	.owner = THIS_MODULE,
};

/* As other families do it: of the memory that buffers may take. */
static void limit_memory(void)
{
	unsigned long pages = nr_free_buffer_pages();

	rds_mem_limits[0] = pages / 4;
	rds_mem_limits[1] = pages / 8 * 3;
	rds_mem_limits[2] = pages / 2;
}

int rds_family_register(void)
{
	int err;

	limit_memory();
	rds_proto.obj_size = sizeof(struct rds_sock) + rds_socket_size();
	err = proto_register(&rds_proto, 1);
	if (err)
		return err;
	err = sock_register(&rds_family_ops);
	if (err)
		proto_unregister(&rds_proto);
	return err;
}

/* Sockets hold the module, so none is open; their memory may still wait for RCU. */
void rds_family_unregister(void)
{
	sock_unregister(AF_RDS);
	rcu_barrier();
	proto_unregister(&rds_proto);
}
