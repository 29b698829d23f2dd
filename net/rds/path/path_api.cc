// SPDX-License-Identifier: GPL-2.0
/*
 * path_api.cc: what a transport asks of a path, and tells it (transport.h).
 */
#include "path.h"

#include "../conn/connection.h"
#include "../rdma.h"

extern "C" {

void *rds_path_priv(const struct rds_path *path)
{
	return path->priv;
}

const struct rds_addr *rds_path_laddr(const struct rds_path *path)
{
	return &path->conn.laddr;
}

const struct rds_addr *rds_path_faddr(const struct rds_path *path)
{
	return &path->conn.faddr;
}

uint32_t rds_path_scope(const struct rds_path *path)
{
	return path->conn.scope;
}

unsigned char rds_path_tos(const struct rds_path *path)
{
	return path->conn.tos;
}

unsigned int rds_path_index(const struct rds_path *path)
{
	return path->index;
}

struct rds_net *rds_path_net(const struct rds_path *path)
{
	return &path->conn.net;
}

struct rds_os_net *rds_path_os_net(const struct rds_path *path)
{
	return path->conn.net.os;
}

const struct rds_transport *rds_path_transport(const struct rds_path *path)
{
	return &path->conn.trans;
}

void rds_path_connected(struct rds_path *path)
{
	path->post(rds::kEvConnected);
}

void rds_path_accepted(struct rds_path *path, void *handle)
{
	(void)path->accepted(handle); /* too late: the peer calls again */
}

void rds_path_knocked(struct rds_path *path)
{
	path->conn.net.count(RDS_S_conn_knock);
	if (path->heeds_knock())
		path->post(rds::kEvKnocked);
}

void rds_path_drop(struct rds_path *path, enum rds_drop_reason why)
{
	path->drop(why);
}

void rds_path_drained(struct rds_path *path)
{
	path->post(rds::kEvDrained);
}

void rds_path_writable(struct rds_path *path)
{
	path->writable();
}

void rds_op_done(struct rds_path *path, struct rds_msg *m, int status)
{
	if (rds::op_decide(*m, status) && rds::op_alone(*m))
		path->let_go();
}

} // extern "C"
