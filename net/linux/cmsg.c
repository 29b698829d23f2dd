// SPDX-License-Identifier: GPL-2.0
/*
 * cmsg.c: control messages of level SOL_RDS.
 *
 * RDMA operations are read and checked as on any host, and then refused where the socket's
 * transport has no RDMA.  An error that mainline finds only while it carries them out, after the
 * data was copied, is kept as a late errno, so that a send with several faults ends with the same
 * one.  Where there is RDMA they are carried out in cmsg_rdma.c.
 */
#include <linux/nospec.h>
#include <linux/socket.h>
#include <linux/uaccess.h>

#include "glue.h"

#define RDS_MAX_MSG_SIZE (1U << 20)
#define RDS_MAX_LOCAL_VECS 1024

static bool is_atomic(int type)
{
	return type >= RDS_CMSG_ATOMIC_FADD && type <= RDS_CMSG_MASKED_ATOMIC_CSWP;
}

int rds_cmsg_check_rdma(struct msghdr *msg)
{
	const struct rds_rdma_args *args;
	struct cmsghdr *c;
	u64 total = 0;

	for_each_cmsghdr(c, msg) {
		if (!CMSG_OK(msg, c))
			return -EINVAL;
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_RDMA_ARGS)
			continue;
		if (c->cmsg_len < CMSG_LEN(sizeof(*args)))
			return -EINVAL;
		args = CMSG_DATA(c);
		if (args->remote_vec.bytes > RDS_MAX_MSG_SIZE)
			return -EMSGSIZE;
		total += args->remote_vec.bytes;
		if (total > RDS_MAX_MSG_SIZE)
			return -EMSGSIZE;
	}
	return 0;
}

/* The caller's vectors must fit into what the operation covers on the other side. */
static int check_local_vecs(const struct rds_rdma_args *args)
{
	const struct rds_iovec __user *at = u64_to_user_ptr(args->local_vec_addr);
	u64 left = args->remote_vec.bytes, i;
	struct rds_iovec vec;
	bool fit = true;

	for (i = 0; i < args->nr_local; i++) {
		if (copy_from_user(&vec, &at[i], sizeof(vec)))
			return -EFAULT;
		fit = fit && vec.bytes <= left;
		left -= fit ? vec.bytes : 0;
	}
	return fit ? 0 : -EINVAL;
}

/* The errno for an RDMA_ARGS that is bad besides its length, at once. */
static int parse_rdma_args(const struct rds_rdma_args *args)
{
	if (!args->nr_local)
		return -EINVAL;
	if (args->nr_local > RDS_MAX_LOCAL_VECS)
		return -EMSGSIZE;
	return 0;
}

/* The same for a transport that has RDMA; 0: it is to be carried out. */
static int keep_rdma(const struct cmsghdr *c, struct rds_send_cmsgs *out)
{
	const struct cmsghdr **kept = &out->op;
	size_t size = sizeof(struct rds_atomic_args);
	bool exact = false;

	if (c->cmsg_type == RDS_CMSG_RDMA_ARGS)
		size = sizeof(struct rds_rdma_args);
	if (c->cmsg_type == RDS_CMSG_RDMA_DEST) {
		kept = &out->dest;
		size = sizeof(rds_rdma_cookie_t);
	}
	if (c->cmsg_type == RDS_CMSG_RDMA_MAP) {
		kept = &out->map;
		size = sizeof(struct rds_get_mr_args);
		exact = true;
	}
	if (*kept || c->cmsg_len < CMSG_LEN(size) || (exact && c->cmsg_len != CMSG_LEN(size)))
		return -EINVAL;
	*kept = c;
	return 0;
}

/* The errno of carrying it out on a transport without RDMA. */
static int late_errno(const struct cmsghdr *c)
{
	const size_t len = c->cmsg_len;

	switch (c->cmsg_type) {
	case RDS_CMSG_RDMA_ARGS:
		return check_local_vecs(CMSG_DATA(c)) ?: -EOPNOTSUPP;
	case RDS_CMSG_RDMA_DEST:
		/* Names memory that this socket registered: it has none. */
		return -EINVAL;
	case RDS_CMSG_RDMA_MAP:
		return len == CMSG_LEN(sizeof(struct rds_get_mr_args)) ? -EOPNOTSUPP : -EINVAL;
	default:
		if (len < CMSG_LEN(sizeof(struct rds_atomic_args)))
			return -EINVAL;
		/* Both ends work on 8 aligned bytes. */
		if (((const struct rds_atomic_args *)CMSG_DATA(c))->local_addr & 7)
			return -EFAULT;
		return -EOPNOTSUPP;
	}
}

/* A program may give cookies with a zerocopy send only, one at a time. */
static int late_cookie(const struct cmsghdr *c, bool zcopy, struct rds_send_cmsgs *out)
{
	if (!zcopy || out->has_cookie || c->cmsg_len < CMSG_LEN(sizeof(u32)))
		return -EINVAL;
	out->has_cookie = true;
	memcpy(&out->cookie, CMSG_DATA(c), sizeof(u32));
	return 0;
}

/* A fence is a hint of its own: an operation with it has its place. */
static bool has_fence(const struct cmsghdr *c)
{
	const struct rds_rdma_args *rdma = CMSG_DATA(c);
	const struct rds_atomic_args *atomic = CMSG_DATA(c);

	if (c->cmsg_type == RDS_CMSG_RDMA_ARGS)
		return rdma->flags & RDS_RDMA_FENCE;
	return is_atomic(c->cmsg_type) && c->cmsg_len >= CMSG_LEN(sizeof(*atomic)) &&
	       atomic->flags & RDS_RDMA_FENCE;
}

static int parse_order(const struct cmsghdr *c, struct rds_send_cmsgs *out)
{
	if (out->has_order || c->cmsg_len != CMSG_LEN(sizeof(u32)))
		return -EINVAL;
	memcpy(&out->order, CMSG_DATA(c), sizeof(u32));
	out->has_order = true;
	return out->order > RDS_ORDER_UNORDERED ? -EINVAL : 0;
}

static bool is_segments(const struct cmsghdr *c)
{
	return c->cmsg_level == SOL_RDS && c->cmsg_type == RDS_CMSG_SEGMENT;
}

bool rds_cmsg_has_segments(struct msghdr *msg)
{
	struct cmsghdr *c;

	for_each_cmsghdr(c, msg) {
		if (is_segments(c))
			return true;
	}
	return false;
}

/* Control messages are the kernel's copy, which lasts as long as the call. */
static int parse_segments(const struct cmsghdr *c, struct rds_send_cmsgs *out)
{
	const size_t bytes = c->cmsg_len - CMSG_LEN(0);

	if (out->n_segments || !bytes || bytes % sizeof(u32))
		return -EINVAL;
	if (bytes > RDS_MAX_SEGMENTS * sizeof(u32))
		return -EMSGSIZE;
	out->n_segments = bytes / sizeof(u32);
	out->segments = CMSG_DATA(c);
	return 0;
}

/* A control message that concerns no operation: 0 or an errno.  1: it is none of those. */
static int parse_plain(const struct cmsghdr *c, struct rds_send_cmsgs *out)
{
	if (c->cmsg_type == RDS_CMSG_ORDER)
		return parse_order(c, out);
	return is_segments(c) ? parse_segments(c, out) : 1;
}

/* Operations and what belongs to messages do not go together. */
enum cmsg_group { GROUP_MESSAGE = 1, GROUP_OPERATION = 2 };

static int group_of(int type)
{
	switch (type) {
	case RDS_CMSG_RDMA_DEST:
	case RDS_CMSG_RDMA_MAP:
	case RDS_CMSG_ZCOPY_COOKIE:
		return GROUP_MESSAGE;
	case RDS_CMSG_RDMA_ARGS:
		return GROUP_OPERATION;
	default:
		return is_atomic(type) ? GROUP_OPERATION : -EINVAL;
	}
}

int rds_cmsg_parse(struct rds_socket *s, struct msghdr *msg, bool zcopy, struct rds_send_cmsgs *out)
{
	bool rdma = rds_socket_caps(s) & RDS_CAP_RDMA;
	bool cookie = false, operation = false, fence = false;
	struct cmsghdr *c;
	int groups = 0, group, err;

	for_each_cmsghdr(c, msg) {
		if (!CMSG_OK(msg, c))
			return -EINVAL;
		if (c->cmsg_level != SOL_RDS)
			continue;
		err = parse_plain(c, out);
		if (err < 0)
			return err;
		if (!err)
			continue;
		group = group_of(c->cmsg_type);
		if (group < 0)
			return group;
		fence |= has_fence(c);
		groups |= group;
		cookie |= c->cmsg_type == RDS_CMSG_ZCOPY_COOKIE;
		if (c->cmsg_type == RDS_CMSG_RDMA_ARGS) {
			err = parse_rdma_args(CMSG_DATA(c));
			if (err)
				return err;
		}
		if (c->cmsg_type == RDS_CMSG_ZCOPY_COOKIE)
			err = late_cookie(c, zcopy, out);
		else
			err = rdma ? keep_rdma(c, out) : late_errno(c);
		/* A second operation is wrong, whether or not there is RDMA. */
		if (group == GROUP_OPERATION && operation)
			err = -EINVAL;
		operation |= group == GROUP_OPERATION;
		if (!out->late || (out->late == -EOPNOTSUPP && err))
			out->late = err;
	}
	if (groups == (GROUP_MESSAGE | GROUP_OPERATION) || (groups && out->n_segments) ||
	    (fence && out->order) || ((msg->msg_flags & MSG_ZEROCOPY) && !cookie))
		return -EINVAL;
	return 0;
}

static int put_timestamp(struct sock *sk, struct msghdr *msg, u64 ns)
{
	struct timespec64 ts = ns_to_timespec64(ns);

	if (sock_flag(sk, SOCK_TSTAMP_NEW)) {
		struct __kernel_sock_timeval tv = {.tv_sec = ts.tv_sec,
						   .tv_usec = ts.tv_nsec / NSEC_PER_USEC};

		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_NEW, sizeof(tv), &tv);
	} else {
		struct __kernel_old_timeval tv = {.tv_sec = ts.tv_sec,
						  .tv_usec = ts.tv_nsec / NSEC_PER_USEC};

		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_OLD, sizeof(tv), &tv);
	}
}

/* The spans between the core's stamps: header, whole, delivered (0: was not asked for then).  The
 * header and its first bytes are seen at once here, so the first span is 0. */
static int put_trace(struct sock *sk, struct msghdr *msg, const struct rds_recv_info *info)
{
	const struct rds_rx_trace_so *want = &rds_sock(sk)->trace;
	struct rds_cmsg_rx_trace t;
	u64 span[RDS_MSG_RX_DGRAM_TRACE_MAX] = {};
	int i;

	memset(&t, 0, sizeof(t)); /* what lies between its members, too */
	if (info->trace_ns[0] && info->trace_ns[1])
		span[RDS_MSG_RX_DGRAM_REASSEMBLE] = info->trace_ns[1] - info->trace_ns[0];
	if (info->trace_ns[2])
		span[RDS_MSG_RX_DGRAM_DELIVERED] = rds_now_ns() - info->trace_ns[2];
	t.rx_traces = min_t(u8, READ_ONCE(want->rx_traces), RDS_MSG_RX_DGRAM_TRACE_MAX);
	for (i = 0; i < t.rx_traces; i++) {
		u8 pos = READ_ONCE(want->rx_trace_pos[i]);

		t.rx_trace_pos[i] = pos;
		t.rx_trace[i] = span[array_index_nospec(pos, RDS_MSG_RX_DGRAM_TRACE_MAX)];
	}
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(t), &t);
}

int rds_cmsg_recv(struct sock *sk, struct msghdr *msg, const struct rds_recv_info *info)
{
	u64 cookie = info->cookie;
	int err;

	if (unlikely(cookie)) {
		err = put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_DEST, sizeof(cookie), &cookie);
		if (err)
			return err;
	}
	if (unlikely(info->stamp_ns && sock_flag(sk, SOCK_RCVTSTAMP))) {
		err = put_timestamp(sk, msg, info->stamp_ns);
		if (err)
			return err;
	}
	if (unlikely(READ_ONCE(rds_sock(sk)->trace.rx_traces)))
		return put_trace(sk, msg, info);
	return 0;
}

int rds_cmsg_inq(struct sock *sk, struct msghdr *msg, u64 taken)
{
	struct rds_socket_fill fill;
	int left;

	if (likely(!rds_sock(sk)->inq))
		return 0;
	rds_socket_fill(rds_core(sk), &fill);
	left = min_t(u64, fill.unread - taken, S32_MAX);
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_INQ, sizeof(left), &left);
}

int rds_cmsg_zcopy(struct sock *sk, struct msghdr *msg)
{
	struct rds_zcopy_cookies z;
	int err;

	if (likely(!sock_flag(sk, SOCK_ZEROCOPY)) || !msg->msg_control ||
	    msg->msg_controllen < CMSG_SPACE(sizeof(z)))
		return 0;
	memset(&z, 0, sizeof(z));
	z.num = rds_socket_zcopy(rds_core(sk), z.cookies, RDS_MAX_ZCOOKIES);
	if (!z.num)
		return 0;
	err = put_cmsg(msg, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION, sizeof(z), &z);
	return err ?: z.num;
}
