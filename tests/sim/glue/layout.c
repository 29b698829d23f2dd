// SPDX-License-Identifier: GPL-2.0
/* Where the core's part of a socket lies, for glue.cc: the glue's header is C. */
#include "net/linux/glue.h"

#include "layout.h"

const size_t glue_sock_bytes = sizeof(struct rds_sock);

struct sock *glue_sk(const struct rds_socket *s)
{
	return rds_sk(s);
}

struct rds_socket *glue_core(const struct sock *sk)
{
	return rds_core(sk);
}
