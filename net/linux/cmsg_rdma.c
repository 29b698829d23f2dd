// SPDX-License-Identifier: GPL-2.0
/*
 * cmsg_rdma.c: the control messages of RDMA, from the ABI's structures to the core's, where the
 * socket's transport has it.
 */
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uaccess.h>

#include "glue.h"

int rds_register_mr(struct rds_socket *s, const struct rds_get_mr_args *args, u64 *cookie)
{
	struct rds_iov vec = {.addr = args->vec.addr, .bytes = args->vec.bytes};
	u64 made;
	int err = rds_mr_get(s, &vec, args->flags, &made);

	if (err)
		return err;
	if (args->cookie_addr && put_user(made, (u64 __user *)u64_to_user_ptr(args->cookie_addr))) {
		rds_mr_free(s, made, RDS_RDMA_INVALIDATE);
		return -EFAULT;
	}
	if (cookie)
		*cookie = made;
	return 0;
}

static int apply_rdma(struct rds_socket *s, struct rds_msg *m, const struct rds_rdma_args *args)
{
	struct rds_op_args a = {
		.kind = args->flags & RDS_RDMA_READWRITE ? RDS_OP_WRITE : RDS_OP_READ,
		.cookie = args->cookie,
		.remote_addr = args->remote_vec.addr,
		.remote_bytes = args->remote_vec.bytes,
		.n_local = args->nr_local,
		.flags = args->flags,
		.token = args->user_token,
	};
	struct rds_iov *vecs;
	int err;

	/* How many there may be was looked at before (rds_cmsg_parse). */
	vecs = memdup_user(u64_to_user_ptr(args->local_vec_addr), a.n_local * sizeof(*vecs));
	if (IS_ERR(vecs))
		return PTR_ERR(vecs);
	a.local = vecs;
	err = rds_msg_set_op(s, m, &a);
	kfree(vecs);
	return err;
}

static int apply_atomic(struct rds_socket *s, struct rds_msg *m, int type,
			const struct rds_atomic_args *args)
{
	struct rds_iov vec = {.addr = args->local_addr, .bytes = sizeof(u64)};
	struct rds_op_args a = {
		.cookie = args->cookie,
		.remote_addr = args->remote_addr,
		.remote_bytes = sizeof(u64),
		.local = &vec,
		.n_local = 1,
		.flags = args->flags,
		.token = args->user_token,
	};

	if (args->local_addr & 7)
		return -EFAULT;
	switch (type) {
	case RDS_CMSG_MASKED_ATOMIC_FADD:
		a.masked = true;
		a.compare_add_mask = args->m_fadd.nocarry_mask;
		fallthrough;
	case RDS_CMSG_ATOMIC_FADD:
		a.kind = RDS_OP_FADD;
		a.compare_add = args->fadd.add;
		break;
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		a.masked = true;
		a.compare_add_mask = args->m_cswp.compare_mask;
		a.swap_mask = args->m_cswp.swap_mask;
		fallthrough;
	default:
		a.kind = RDS_OP_CSWP;
		a.compare_add = args->cswp.compare;
		a.swap = args->cswp.swap;
	}
	return rds_msg_set_op(s, m, &a);
}

/* The members that both forms have lie in the same places. */
static_assert(offsetof(struct rds_atomic_args, m_fadd.add) ==
	      offsetof(struct rds_atomic_args, fadd.add));
static_assert(offsetof(struct rds_atomic_args, m_cswp.swap) ==
	      offsetof(struct rds_atomic_args, cswp.swap));

static int apply_map(struct rds_socket *s, struct rds_msg *m, struct rds_send_cmsgs *c)
{
	int err = rds_register_mr(s, CMSG_DATA(c->map), &c->mapped);

	if (err)
		return err == -ENODEV ? -EAGAIN : err;
	return rds_msg_set_cookie(s, m, c->mapped);
}

int rds_cmsg_apply(struct rds_socket *s, struct rds_msg *m, struct rds_send_cmsgs *c)
{
	int err = c->has_order ? rds_msg_set_order(s, m, c->order) : 0;
	u64 cookie;

	if (err)
		return err;
	if (c->op && c->op->cmsg_type == RDS_CMSG_RDMA_ARGS)
		err = apply_rdma(s, m, CMSG_DATA(c->op));
	else if (c->op)
		err = apply_atomic(s, m, c->op->cmsg_type, CMSG_DATA(c->op));
	if (!err && c->map)
		err = apply_map(s, m, c);
	if (!err && c->dest) {
		memcpy(&cookie, CMSG_DATA(c->dest), sizeof(cookie));
		err = rds_msg_set_cookie(s, m, cookie);
	}
	return err;
}

void rds_cmsg_undo(struct rds_socket *s, struct rds_send_cmsgs *c)
{
	if (c->mapped)
		rds_mr_free(s, c->mapped, 0);
	c->mapped = 0;
}
