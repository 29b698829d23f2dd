// SPDX-License-Identifier: GPL-2.0
/*
 * recvmsg.c: from a socket's receive queue to a system call.  Waiting is in wait.c.
 *
 * A message, a notification or a completion is taken off its queue only when everything that tells
 * of it has been copied: a fault loses nothing.
 */
#include <net/ip.h>

#include "glue.h"

/* Ports of which we were told that they take messages again. */
static int recv_cong_notice(struct rds_socket *s, struct msghdr *msg, u64 mask)
{
	int err = put_cmsg(msg, SOL_RDS, RDS_CMSG_CONG_UPDATE, sizeof(mask), &mask);

	if (!err)
		rds_socket_cong_notice_done(s, mask);
	return err;
}

/* How operations ended: as many as there is room for, but one always.  If the control buffer ends
 * in a fault, those that were told are returned all the same, and the next stays queued. */
static int recv_notices(struct rds_socket *s, struct msghdr *msg)
{
	unsigned int room = msg->msg_controllen / CMSG_SPACE(sizeof(struct rds_rdma_notify));
	struct rds_notice n;
	int err, told = 0;

	do {
		struct rds_rdma_notify out;

		if (!rds_socket_notices(s, &n, 1))
			break;
		memset(&out, 0, sizeof(out)); /* what lies behind its members, too */
		out.user_token = n.token;
		out.status = n.status;
		err = put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_STATUS, sizeof(out), &out);
		if (err)
			return told ? 0 : err;
		told++;
		rds_socket_notices_done(s, 1);
	} while (room && --room);
	return 0;
}

/* One message; the reader's lock is held. */
static int recv_message(struct sock *sk, struct msghdr *msg, size_t size, int flags,
			struct rds_msg *m, const struct rds_recv_info *info)
{
	struct rds_socket *s = rds_core(sk);
	u32 n = min_t(size_t, size, info->len);
	int err, cookies;

	err = rds_recv_copy(s, m, n, rds_uio(&msg->msg_iter));
	if (err)
		return err;
	err = rds_cmsg_recv(sk, msg, info);
	err = err ?: rds_cmsg_inq(sk, msg, flags & MSG_PEEK ? 0 : info->len);
	if (err)
		return err;
	cookies = rds_cmsg_zcopy(sk, msg);
	if (cookies < 0)
		return cookies;
	if (msg->msg_name)
		msg->msg_namelen = rds_write_name(&info->from, msg->msg_name);
	if (n < info->len)
		msg->msg_flags |= MSG_TRUNC;
	rds_socket_zcopy_done(s, cookies);
	if (!(flags & MSG_PEEK))
		rds_recv_pop(s, 1);
	return flags & MSG_TRUNC ? info->len : n;
}

/* Takes what is there now: 0 or a length, or -EAGAIN when there is nothing. */
static int recv_now(struct sock *sk, struct msghdr *msg, size_t size, int flags)
{
	struct rds_socket *s = rds_core(sk);
	/* Filled by rds_recv_head(), and not cleared before for each look at an empty queue. */
	struct rds_recv_info info __attribute__((__uninitialized__));
	struct rds_notice notice;
	struct rds_msg *m;
	u64 mask;
	int ret;

	if (!rds_socket_readable(s))
		return -EAGAIN;
	ret = rds_recv_lock(s);
	if (ret)
		return ret;
	mask = rds_socket_cong_notice(s);
	if (unlikely(rds_socket_notices(s, &notice, 1))) {
		ret = recv_notices(s, msg);
	} else if (unlikely(mask)) {
		ret = recv_cong_notice(s, msg, mask);
	} else {
		m = rds_recv_head(s, &info);
		if (!m)
			ret = -EAGAIN;
		else if (unlikely(rds_sock(sk)->batch))
			ret = rds_recv_batch(sk, msg, size, flags, m, &info);
		else
			ret = recv_message(sk, msg, size, flags, m, &info);
	}
	rds_recv_unlock(s);
	return ret;
}

/*
 * Completions alone do not wake a blocking reader; one that does not block gets them.  Two who look
 * at once would both be told of the first, and nobody of those behind them.
 */
static int recv_completions(struct sock *sk, struct msghdr *msg)
{
	struct rds_socket *s = rds_core(sk);
	int n = rds_recv_lock(s);

	if (n)
		return n == -EINTR ? -ERESTARTSYS : n;
	n = rds_cmsg_zcopy(sk, msg);
	if (n > 0)
		rds_socket_zcopy_done(s, n);
	rds_recv_unlock(s);
	if (n > 0)
		return 0;
	return n ?: -EAGAIN;
}

int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)
{
	struct sock *sk = sock->sk;
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	bool wait = timeo != 0;
	int ret;

	if (flags & MSG_OOB)
		return 0;
	if (flags & MSG_ERRQUEUE)
		return sock_recv_errqueue(sk, msg, size, SOL_IP, IP_RECVERR);
	/* A message without a name, a notification. */
	msg->msg_namelen = 0;
	for (;;) {
		ret = recv_now(sk, msg, size, flags);
		if (ret == -EINTR)
			return -ERESTARTSYS;
		if (ret != -EAGAIN)
			return ret;
		if (!wait)
			return recv_completions(sk, msg);
		ret = rds_wait_to_recv(sk, &timeo);
		if (ret)
			return ret;
	}
}
