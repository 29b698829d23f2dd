// SPDX-License-Identifier: GPL-2.0
/*
 * sendmsg.c: from a system call to rds_socket_send().  Waiting is in wait.c.
 *
 * The order of the checks is mainline's: programs see the same errno when several things are wrong.
 */
#include "glue.h"

/* A message carries at most this much, and one RDMA operation too. */
#define RDS_MAX_MSG_SIZE (1U << 20)

/* Beyond mainline's (DONTWAIT, CMSG_COMPAT, ZEROCOPY): flags that cost nobody anything.  NOSIGNAL:
 * there never is one.  EOR: every message is a record (write(2) sets it).  MORE, BATCH: the caller
 * sends again at once (sendmmsg(2) sets BATCH), so there is no need to push this one. */
#define RDS_SEND_FLAGS                                                                             \
	(MSG_DONTWAIT | MSG_CMSG_COMPAT | MSG_ZEROCOPY | MSG_NOSIGNAL | MSG_EOR | MSG_MORE |       \
	 MSG_BATCH)

/* Where to: the name of this call, or the connected peer.  Checks it against the bound address. */
static int find_destination(struct rds_socket *s, const struct msghdr *msg, struct rds_endpoint *to)
{
	struct rds_endpoint bound;

	if (!msg->msg_name || !msg->msg_namelen) {
		if (!rds_socket_peer(s, to) || !rds_socket_bound(s, &bound))
			return -ENOTCONN;
		return 0;
	}
	if (rds_parse_name(msg->msg_name, msg->msg_namelen, to) != RDS_NAME_GOOD)
		return -EINVAL;
	if (!rds_socket_bound(s, &bound))
		return -ENOTCONN;
	if (rds_addr_is_v4(&bound.addr) != rds_addr_is_v4(&to->addr))
		return -EOPNOTSUPP;
	/* Bound to an interface: no other one. */
	if (to->scope && bound.scope && to->scope != bound.scope)
		return -EINVAL;
	return 0;
}

static int check_size(struct sock *sk, struct msghdr *msg, size_t len)
{
	int err;

	if (unlikely(msg->msg_controllen)) {
		err = rds_cmsg_check_rdma(msg);
		if (err)
			return err;
	}
	if (len > RDS_MAX_MSG_SIZE || len > rds_socket_sndbuf(rds_core(sk)))
		return -EMSGSIZE;
	return 0;
}

static int queue_message(struct sock *sk, const struct rds_endpoint *to, struct rds_msg *m,
			 unsigned int flags)
{
	long timeo = sock_sndtimeo(sk, flags & MSG_DONTWAIT);
	int more = flags & (MSG_MORE | MSG_BATCH);
	int err = rds_socket_send(rds_core(sk), to, m, more);

	if (likely(err != -EAGAIN && err != -ENOBUFS) || !timeo)
		return err;
	return rds_wait_and_send(sk, to, m, more, timeo);
}

int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	struct rds_socket *s = rds_core(sk);
	struct rds_send_cmsgs cmsgs = {};
	struct rds_endpoint to;
	struct rds_msg *m;
	bool zcopy;
	int err;

	if (msg->msg_flags & ~RDS_SEND_FLAGS)
		return -EOPNOTSUPP;
	err = find_destination(s, msg, &to);
	if (err)
		return err;
	err = check_size(sk, msg, len);
	if (err)
		return err;
	zcopy = (msg->msg_flags & MSG_ZEROCOPY) && sock_flag(sk, SOCK_ZEROCOPY);
	if (zcopy && !(rds_socket_caps(s) & RDS_CAP_ZEROCOPY))
		return -EOPNOTSUPP;
	if (unlikely(msg->msg_controllen || (msg->msg_flags & MSG_ZEROCOPY))) {
		err = rds_cmsg_parse(s, msg, zcopy, &cmsgs);
		if (err)
			return err;
		if (zcopy && !len)
			return -EINVAL;
	}
	err = rds_msg_create(s, len, rds_uio(&msg->msg_iter), zcopy, cmsgs.cookie, &m);
	if (err)
		return err;
	err = cmsgs.late;
	if (!err && unlikely(msg->msg_controllen))
		err = rds_cmsg_apply(s, m, &cmsgs);
	if (!err)
		err = queue_message(sk, &to, m, msg->msg_flags);
	if (err) {
		rds_msg_put(m);
		rds_cmsg_undo(s, &cmsgs);
		return err;
	}
	return len;
}
