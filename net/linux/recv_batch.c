// SPDX-License-Identifier: GPL-2.0
/*
 * recv_batch.c: one recvmsg that returns many messages (RDS_RECV_BATCH).
 *
 * A message is taken off its queue only when everything that tells of it has been copied, and the
 * lengths come last: so all are copied first, while they stay where they are, and then taken.  A
 * fault loses none.
 */
#include <linux/slab.h>

#include "glue.h"

/* A socket's, for the one reader at a time. */
struct rds_recv_batch {
	unsigned int most; /* messages a call, 1 .. RDS_MAX_SEGMENTS */
	u32 len[];	   /* ... and the length of each, while a call is at it */
};

int rds_batch_set(struct sock *sk, int most)
{
	struct rds_recv_batch *b = NULL;
	int err;

	if (most < 0 || most > RDS_MAX_SEGMENTS)
		return -EINVAL;
	if (most) {
		b = kmalloc(struct_size(b, len, most), GFP_KERNEL_ACCOUNT);
		if (!b)
			return -ENOMEM;
		b->most = most;
	}
	err = rds_recv_lock(rds_core(sk));
	if (!err) {
		swap(rds_sock(sk)->batch, b);
		rds_recv_unlock(rds_core(sk));
	}
	kfree(b);
	return err;
}

int rds_batch_get(const struct sock *sk)
{
	struct rds_socket *s = rds_core(sk);
	int most = rds_recv_lock(s);

	if (!most) {
		most = rds_sock(sk)->batch ? rds_sock(sk)->batch->most : 0;
		rds_recv_unlock(s);
	}
	return most;
}

void rds_batch_free(struct sock *sk)
{
	kfree(rds_sock(sk)->batch);
}

/* Where the control messages stand: what was told of a message that is not returned is taken
 * back. */
struct control_end {
	void *control;
	size_t left;
	unsigned int flags;
};

static struct control_end end_of_control(const struct msghdr *msg)
{
	return (struct control_end){msg->msg_control, msg->msg_controllen, msg->msg_flags};
}

static void take_back(struct msghdr *msg, const struct control_end *end)
{
	msg->msg_control = end->control;
	msg->msg_controllen = end->left;
	msg->msg_flags = end->flags;
}

/* The one message that a call without the option would return: its bytes in the buffer. */
static int copy_first(struct sock *sk, struct msghdr *msg, size_t size, struct rds_msg *m,
		      const struct rds_recv_info *info)
{
	u32 n = min_t(size_t, size, info->len);
	int err = rds_recv_copy(rds_core(sk), m, n, rds_uio(&msg->msg_iter));

	err = err ?: rds_cmsg_recv(sk, msg, info);
	if (err)
		return err;
	if (n < info->len)
		msg->msg_flags |= MSG_TRUNC;
	return n;
}

/* Is of @info told as much as of @first?  Control messages do not say whose they are, so each has
 * as many as the first, but for a cookie of memory, which the first alone may bring. */
static bool is_alike(const struct rds_recv_info *info, const struct rds_recv_info *first)
{
	return !info->cookie && !info->stamp_ns == !first->stamp_ns;
}

/* Behind the messages' own control messages come the bytes that are left, and @n lengths. */
static size_t room_for_end(const struct sock *sk, unsigned int n)
{
	return CMSG_SPACE(n * sizeof(u32)) + (rds_sock(sk)->inq ? CMSG_SPACE(sizeof(int)) : 0);
}

/* One more, if there is room for its bytes, for what is told of it and for the end with @n lengths:
 * whether it was copied. */
static bool copy_another(struct sock *sk, struct msghdr *msg, size_t room, unsigned int n,
			 struct rds_msg *m, const struct rds_recv_info *info)
{
	const struct control_end before = end_of_control(msg);

	if (info->len > room)
		return false;
	if (!rds_cmsg_recv(sk, msg, info) && !(msg->msg_flags & MSG_CTRUNC) &&
	    msg->msg_controllen >= room_for_end(sk, n) &&
	    !rds_recv_copy(rds_core(sk), m, info->len, rds_uio(&msg->msg_iter)))
		return true;
	take_back(msg, &before);
	return false;
}

static int tell_left(struct sock *sk, struct msghdr *msg, int flags, unsigned int n)
{
	const struct rds_recv_batch *b = rds_sock(sk)->batch;
	u64 taken = 0;

	if (!rds_sock(sk)->inq)
		return 0;
	while (n-- && !(flags & MSG_PEEK))
		taken += b->len[n];
	return rds_cmsg_inq(sk, msg, taken);
}

/* The messages are copied, and their @bytes: tells how long each is, and takes them. */
static int finish(struct sock *sk, struct msghdr *msg, int flags, unsigned int n, int bytes)
{
	struct rds_recv_batch *b = rds_sock(sk)->batch;
	struct rds_socket *s = rds_core(sk);
	int err = tell_left(sk, msg, flags, n);
	int cookies;

	err = err ?: put_cmsg(msg, SOL_RDS, RDS_CMSG_RECV_BATCH, n * sizeof(u32), b->len);
	cookies = err ?: rds_cmsg_zcopy(sk, msg);

	if (cookies < 0)
		return cookies;
	rds_socket_zcopy_done(s, cookies);
	if (!(flags & MSG_PEEK))
		rds_recv_pop(s, n);
	return bytes;
}

int rds_recv_batch(struct sock *sk, struct msghdr *msg, size_t size, int flags, struct rds_msg *m,
		   const struct rds_recv_info *first)
{
	struct rds_recv_batch *b = rds_sock(sk)->batch;
	const bool alone = flags & MSG_PEEK || size < first->len;
	struct rds_recv_info info = *first;
	int bytes = copy_first(sk, msg, size, m, first);
	unsigned int n = 1;

	if (bytes < 0)
		return bytes;
	b->len[0] = first->len;
	while (!alone && n < b->most) {
		m = rds_recv_next(rds_core(sk), m, &info);
		if (!m || !is_alike(&info, first) ||
		    !copy_another(sk, msg, size - bytes, n + 1, m, &info))
			break;
		bytes += info.len;
		b->len[n++] = info.len;
	}
	if (msg->msg_name)
		msg->msg_namelen = rds_write_name(&first->from, msg->msg_name);
	return finish(sk, msg, flags, n, alone && flags & MSG_TRUNC ? first->len : bytes);
}
