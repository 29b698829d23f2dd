// SPDX-License-Identifier: GPL-2.0
/*
 * sendmsg.c: from a system call to rds_msg_create() and rds_socket_send().  Waiting is in wait.c.
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
	if (len > RDS_MAX_MSG_SIZE)
		return -EMSGSIZE;
	if (len > rds_socket_sndbuf(rds_core(sk)) && !rds_cmsg_has_segments(msg))
		return -EMSGSIZE;
	return 0;
}

struct rds_send_call {
	struct rds_endpoint to;
	struct msghdr *msg;
	size_t len; /* of the datagram */
	bool zcopy;
	bool more;  /* the caller sends again at once */
	bool final; /* the errno is of a control message, which no wakeup follows */
	struct rds_send_cmsgs cmsgs;
};

static int queue_message(struct sock *sk, struct rds_send_call *c, struct rds_msg *m)
{
	int err = c->cmsgs.late;

	if (!err && unlikely(c->msg->msg_controllen))
		err = rds_cmsg_apply(rds_core(sk), m, &c->cmsgs);
	if (unlikely(err)) {
		c->final = true;
		return err;
	}
	return rds_socket_send(rds_core(sk), &c->to, m, c->more);
}

bool rds_send_may_wait(const struct rds_send_call *c, int err)
{
	return (err == -EAGAIN || err == -ENOBUFS) && !c->final;
}

int rds_send_once(struct sock *sk, struct rds_send_call *c)
{
	struct iov_iter *from = &c->msg->msg_iter;
	struct rds_socket *s = rds_core(sk);
	struct rds_msg *m;
	int err = rds_msg_create(s, &c->to, c->len, rds_uio(from), c->zcopy, c->cmsgs.cookie, &m);

	if (unlikely(err)) /* no wait helps a send that fails anyway */
		return err == -EAGAIN || err == -ENOBUFS ? c->cmsgs.late ?: err : err;
	err = queue_message(sk, c, m);
	if (unlikely(err)) {
		rds_msg_drop(s, m);
		rds_cmsg_undo(s, &c->cmsgs);
		iov_iter_revert(from, c->len);
	}
	return err;
}

/* After rds_send_once() has failed: as long as *@timeo allows, the call waits. */
static int send_later(struct sock *sk, struct rds_send_call *c, int err, long *timeo)
{
	if (!rds_send_may_wait(c, err))
		return err;
	if (*timeo)
		return rds_wait_and_send(sk, c, timeo);
	while (err == -ENOBUFS && !rds_socket_refused(rds_core(sk), &c->to))
		err = rds_send_once(sk, c);
	return err;
}

/* The length of datagram @i, of a call that has @left bytes for it and those behind it. */
static size_t segment_len(const struct rds_send_cmsgs *g, unsigned int i, size_t left)
{
	return g->n_segments == 1 ? min_t(size_t, g->segments[0], left) : g->segments[i];
}

/* Are the bytes of the call those of its datagrams, and may each be sent? */
static int check_segments(struct sock *sk, const struct rds_send_call *c)
{
	const struct rds_send_cmsgs *g = &c->cmsgs;
	const u32 most = rds_socket_sndbuf(rds_core(sk));
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < g->n_segments; i++) {
		if (!g->segments[i])
			return -EINVAL;
		sum += g->segments[i];
	}
	if (!c->len || (g->n_segments > 1 && sum != c->len))
		return -EINVAL;
	if (g->n_segments == 1 && DIV_ROUND_UP_ULL(c->len, g->segments[0]) > RDS_MAX_SEGMENTS)
		return -EMSGSIZE;
	for (i = 0; i < g->n_segments; i++) {
		if (segment_len(g, i, c->len) > most)
			return -EMSGSIZE;
	}
	return 0;
}

/* One datagram after the other: the bytes of those that were sent, or why the first was not. */
static long send_segments(struct sock *sk, struct rds_send_call *c)
{
	long timeo = sock_sndtimeo(sk, c->msg->msg_flags & MSG_DONTWAIT);
	const bool more = c->more;
	size_t sent = 0, len = c->len;
	int err = check_segments(sk, c);
	unsigned int i;

	for (i = 0; !err && sent < len; i++) {
		c->len = segment_len(&c->cmsgs, i, len - sent);
		c->more = more || sent + c->len < len;
		err = rds_send_once(sk, c);
		if (unlikely(err))
			err = send_later(sk, c, err, &timeo);
		if (!err)
			sent += c->len;
		cond_resched();
	}
	return sent ?: err;
}

static int parse_cmsgs(struct rds_socket *s, struct rds_send_call *c)
{
	int err = rds_cmsg_parse(s, c->msg, c->zcopy, &c->cmsgs);

	return err ?: c->zcopy && !c->len ? -EINVAL : 0;
}

int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct rds_send_call c;
	struct sock *sk = sock->sk;
	struct rds_socket *s = rds_core(sk);
	long timeo;
	int err;

	c.msg = msg;
	c.len = len;
	c.more = msg->msg_flags & (MSG_MORE | MSG_BATCH);
	c.final = false;
	c.cmsgs = (struct rds_send_cmsgs){};
	if (msg->msg_flags & ~RDS_SEND_FLAGS)
		return -EOPNOTSUPP;
	err = find_destination(s, msg, &c.to);
	if (err)
		return err;
	err = check_size(sk, msg, len);
	if (err)
		return err;
	c.zcopy = (msg->msg_flags & MSG_ZEROCOPY) && sock_flag(sk, SOCK_ZEROCOPY);
	if (c.zcopy && !(rds_socket_caps(s) & RDS_CAP_ZEROCOPY))
		return -EOPNOTSUPP;
	if (unlikely(msg->msg_controllen || (msg->msg_flags & MSG_ZEROCOPY))) {
		err = parse_cmsgs(s, &c);
		if (err)
			return err;
	}
	if (unlikely(c.cmsgs.n_segments))
		return send_segments(sk, &c);
	err = rds_send_once(sk, &c);
	if (unlikely(err)) {
		timeo = sock_sndtimeo(sk, msg->msg_flags & MSG_DONTWAIT);
		err = send_later(sk, &c, err, &timeo);
	}
	return err ?: len;
}
