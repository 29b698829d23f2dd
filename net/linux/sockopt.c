// SPDX-License-Identifier: GPL-2.0
/*
 * sockopt.c: options of level SOL_RDS.  Which errno comes first is mainline's order.
 */
#include "glue.h"

/* A fixed number of bytes, or more, of an option's value. */
static int get_value(void *to, size_t size, sockptr_t optval, unsigned int optlen)
{
	if (optlen < size)
		return -EINVAL;
	return copy_from_sockptr(to, optval, size) ? -EFAULT : 0;
}

/* The family is not looked at, as in mainline, but for a sockaddr_in in a bigger buffer. */
static int cancel_sent_to(struct rds_socket *s, sockptr_t optval, unsigned int optlen)
{
	struct rds_endpoint bound, to = {};
	struct sockaddr_in6 name = {};
	struct sockaddr_in *sin = (struct sockaddr_in *)&name;
	unsigned int size = optlen < sizeof(name) ? sizeof(*sin) : sizeof(name);

	if (!rds_socket_bound(s, &bound))
		return -ENOTCONN;
	if (!optlen) {
		rds_socket_cancel(s, NULL);
		return 0;
	}
	if (optlen < sizeof(*sin))
		return -EINVAL;
	if (copy_from_sockptr(&name, optval, size))
		return -EFAULT;
	if (size == sizeof(*sin) || name.sin6_family == AF_INET) {
		to.addr = rds_addr_from_v4(sin->sin_addr.s_addr);
		to.port = ntohs(sin->sin_port);
	} else {
		to.addr = rds_addr_from_in6(&name.sin6_addr);
		to.port = ntohs(name.sin6_port);
	}
	rds_socket_cancel(s, &to);
	return 0;
}

/* RDS_GET_MR_FOR_DEST only says for whom: the key is good for every peer that is told of it. */
static int get_mr(struct rds_socket *s, sockptr_t optval, unsigned int optlen, size_t size)
{
	struct rds_get_mr_for_dest_args args; /* the larger of the two */
	struct rds_get_mr_args plain;

	if (optlen != size)
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, size))
		return -EFAULT;
	if (size == sizeof(plain)) {
		memcpy(&plain, &args, sizeof(plain));
	} else {
		plain.vec = args.vec;
		plain.cookie_addr = args.cookie_addr;
		plain.flags = args.flags;
	}
	return rds_register_mr(s, &plain, NULL);
}

static int free_mr(struct rds_socket *s, sockptr_t optval, unsigned int optlen)
{
	struct rds_free_mr_args args;

	if (optlen != sizeof(args))
		return -EINVAL;
	if (copy_from_sockptr(&args, optval, sizeof(args)))
		return -EFAULT;
	return rds_mr_free(s, args.cookie, args.flags);
}

static int set_recverr(struct rds_socket *s, sockptr_t optval, unsigned int optlen)
{
	int on, err = get_value(&on, sizeof(on), optval, optlen);

	if (!err)
		rds_socket_set_recverr(s, on != 0);
	return err;
}

static int set_order(struct rds_socket *s, sockptr_t optval, unsigned int optlen)
{
	int order, err = get_value(&order, sizeof(order), optval, optlen);

	return err ?: rds_socket_set_order(s, order);
}

static int set_batch(struct sock *sk, sockptr_t optval, unsigned int optlen)
{
	int most, err = get_value(&most, sizeof(most), optval, optlen);

	return err ?: rds_batch_set(sk, most);
}

/* An int switches the monitor, a u64 says for which ports. */
static int set_cong_monitor(struct rds_socket *s, sockptr_t optval, unsigned int optlen)
{
	u64 mask = 0;
	int on, err;

	if (optlen >= sizeof(mask)) {
		err = get_value(&mask, sizeof(mask), optval, optlen);
		on = mask != 0;
	} else {
		err = get_value(&on, sizeof(on), optval, optlen);
	}
	if (!err)
		rds_socket_set_cong_monitor(s, on != 0, mask);
	return err;
}

static int set_transport(struct rds_socket *s, sockptr_t optval, unsigned int optlen)
{
	int type;

	if (rds_socket_transport(s) != RDS_TRANS_NONE)
		return -EOPNOTSUPP;
	if (optlen != sizeof(type))
		return -EINVAL;
	if (copy_from_sockptr(&type, optval, sizeof(type)))
		return -EFAULT;
	if (type < 0 || type >= RDS_TRANS_COUNT)
		return -EINVAL;
	return rds_socket_set_transport(s, type);
}

static int set_trace(struct sock *sk, sockptr_t optval, unsigned int optlen)
{
	struct rds_rx_trace_so want;
	int i;

	if (optlen != sizeof(want) || copy_from_sockptr(&want, optval, sizeof(want)) ||
	    want.rx_traces > RDS_MSG_RX_DGRAM_TRACE_MAX)
		return -EFAULT;
	for (i = 0; i < want.rx_traces; i++) {
		if (want.rx_trace_pos[i] >= RDS_MSG_RX_DGRAM_TRACE_MAX)
			return -EFAULT;
	}
	lock_sock(sk);
	rds_sock(sk)->trace = want;
	rds_socket_set_trace(rds_core(sk), want.rx_traces != 0);
	release_sock(sk);
	return 0;
}

static int set_timestamp(struct sock *sk, int optname, sockptr_t optval, unsigned int optlen)
{
	int on;

	if (optlen != sizeof(on) || copy_from_sockptr(&on, optval, sizeof(on)))
		return -EFAULT;
	lock_sock(sk);
	sock_valbool_flag(sk, SOCK_RCVTSTAMP, on);
	sock_valbool_flag(sk, SOCK_TSTAMP_NEW, optname == SO_TIMESTAMP_NEW);
	release_sock(sk);
	return 0;
}

static int set_inq(struct sock *sk, sockptr_t optval, unsigned int optlen)
{
	int on, err = get_value(&on, sizeof(on), optval, optlen);

	err = err ?: rds_recv_lock(rds_core(sk));
	if (err)
		return err;
	WRITE_ONCE(rds_sock(sk)->inq, on != 0);
	rds_recv_unlock(rds_core(sk));
	return 0;
}

/* It is for those who may take an interface down. */
static int reset_conns(struct sock *sk, const struct rds_addr *src, const struct rds_addr *dst,
		       u8 tos)
{
	struct net *net = sock_net(sk);

	if (!ns_capable(net->user_ns, CAP_NET_ADMIN))
		return -EACCES;
	return rds_net_reset(rds_net_of(net), src, dst, tos) ? 0 : -ENOENT;
}

static int reset_v4(struct sock *sk, sockptr_t optval)
{
	struct rds_addr src, dst = {};
	struct rds_reset r;

	if (copy_from_sockptr(&r, optval, sizeof(r)))
		return -EFAULT;
	src = rds_addr_from_v4(r.src);
	if (r.dst)
		dst = rds_addr_from_v4(r.dst);
	return reset_conns(sk, &src, &dst, r.tos);
}

static int reset_v6(struct sock *sk, sockptr_t optval, unsigned int optlen)
{
	struct rds_addr src, dst;
	struct rds6_reset r;

	if (optlen != sizeof(r))
		return -EINVAL;
	if (copy_from_sockptr(&r, optval, sizeof(r)))
		return -EFAULT;
	src = rds_addr_from_in6(&r.src);
	dst = rds_addr_from_in6(&r.dst);
	return reset_conns(sk, &src, &dst, r.tos);
}

int rds_setsockopt(struct socket *sock, int level, int optname, sockptr_t optval,
		   unsigned int optlen)
{
	struct sock *sk = sock->sk;
	struct rds_socket *s = rds_core(sk);

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	switch (optname) {
	case RDS_CANCEL_SENT_TO:
		return cancel_sent_to(s, optval, optlen);
	case RDS_GET_MR:
		return get_mr(s, optval, optlen, sizeof(struct rds_get_mr_args));
	case RDS_GET_MR_FOR_DEST:
		return get_mr(s, optval, optlen, sizeof(struct rds_get_mr_for_dest_args));
	case RDS_FREE_MR:
		return free_mr(s, optval, optlen);
	case RDS_RECVERR:
		return set_recverr(s, optval, optlen);
	case RDS_CONG_MONITOR:
		return set_cong_monitor(s, optval, optlen);
	case RDS_ORDER:
		return set_order(s, optval, optlen);
	case RDS_RECV_BATCH:
		return set_batch(sk, optval, optlen);
	case SO_RDS_INQ:
		return set_inq(sk, optval, optlen);
	case SO_RDS_TRANSPORT: /* and RDS_CONN_RESET */
		if (optlen == sizeof(struct rds_reset))
			return reset_v4(sk, optval);
		return set_transport(s, optval, optlen);
	case RDS6_CONN_RESET:
		return reset_v6(sk, optval, optlen);
	case SO_RDS_MSG_RXPATH_LATENCY:
		return set_trace(sk, optval, optlen);
	case SO_TIMESTAMP_OLD:
	case SO_TIMESTAMP_NEW:
		return set_timestamp(sk, optname, optval, optlen);
	default:
		return -ENOPROTOOPT;
	}
}

static int put_value(const void *value, int size, char __user *optval, int __user *optlen)
{
	if (copy_to_user(optval, value, size) || put_user(size, optlen))
		return -EFAULT;
	return 0;
}

static int get_cong_monitor(struct rds_socket *s, char __user *optval, int __user *optlen, int len)
{
	u64 mask;
	int on;

	rds_socket_cong_monitor(s, &on, &mask);
	if (len >= (int)sizeof(mask))
		return put_value(&mask, sizeof(mask), optval, optlen);
	return put_value(&on, sizeof(on), optval, optlen);
}

/* Reads what is asked, and writes the answer to the same place. */
static int recv_query(struct rds_socket *s, char __user *optval, int __user *optlen, int len)
{
	struct rds_recv_counts counts;
	struct rds_endpoint peer;
	struct rds_recv_query q;
	int err;

	if (len < (int)sizeof(q))
		return -EINVAL;
	if (copy_from_user(&q, optval, sizeof(q)))
		return -EFAULT;
	if (q.want & ~(RDS_RECV_QUERY_NBUFS | RDS_RECV_QUERY_SPAN) || q.reserved ||
	    (q.peer.ss_family && rds_parse_name(&q.peer, sizeof(q.peer), &peer) != RDS_NAME_GOOD))
		return -EINVAL;
	err = rds_socket_recv_query(s, q.peer.ss_family ? &peer : NULL, &counts);
	if (err)
		return err;
	if (q.want & RDS_RECV_QUERY_NBUFS)
		q.nbufs_allocated = counts.held;
	if (q.want & RDS_RECV_QUERY_SPAN)
		q.bufs_alloc_span = counts.span;
	return put_value(&q, sizeof(q), optval, optlen);
}

int rds_getsockopt(struct socket *sock, int level, int optname, char __user *optval,
		   int __user *optlen)
{
	struct rds_socket *s = rds_core(sock->sk);
	int len, value;

	if (level != SOL_RDS)
		return -ENOPROTOOPT;
	if (get_user(len, optlen))
		return -EFAULT;
	if (optname >= RDS_INFO_FIRST && optname <= RDS_INFO_LAST)
		return rds_info_getsockopt(sock->sk, optname, optval, optlen, len);
	switch (optname) {
	case RDS_RECVERR:
		value = rds_socket_recverr(s);
		break;
	case RDS_CONG_MONITOR:
		if (len < (int)sizeof(value))
			return -EINVAL;
		return get_cong_monitor(s, optval, optlen, len);
	case RDS_ORDER:
		value = rds_socket_order(s);
		break;
	case RDS_RECV_BATCH:
		value = rds_batch_get(sock->sk);
		if (value < 0)
			return value;
		break;
	case SO_RDS_INQ:
		value = READ_ONCE(rds_sock(sock->sk)->inq);
		break;
	case RDS_RECV_QUERY:
		return recv_query(s, optval, optlen, len);
	case SO_RDS_TRANSPORT:
		value = rds_socket_transport(s);
		break;
	default:
		return -ENOPROTOOPT;
	}
	if (len < (int)sizeof(value))
		return -EINVAL;
	return put_value(&value, sizeof(value), optval, optlen);
}
