// SPDX-License-Identifier: GPL-2.0
/*
 * ib_info_linux.c: RDS_INFO_IB_CONNECTIONS and its IPv6 form: every path that has a queue pair.
 */
#include "ib_linux.h"

struct rds_ib_info {
	struct net *net;
	struct rds_info_buf *b;
};

static bool rds_ib_info_begin(const struct rds_ib_info *info, const struct rds_ib_path *tp)
{
	return rds_os_net_to_net(rds_path_os_net(tp->path)) == info->net;
}

static u8 rds_ib_info_sl(const struct rds_ib_path *tp)
{
	const struct sa_path_rec *rec = tp->id->route.path_rec;

	return rec ? rec->sl : 0;
}

/*
 * The part that both forms have in common; snapshots, without the link's lock.  The structures are
 * not packed: first what lies between their members is cleared, too.
 */
#define RDS_IB_INFO(i, tp)                                                                         \
	do {                                                                                       \
		memset(i, 0, sizeof(*(i)));                                                        \
		(i)->max_send_wr = (tp)->send_wr;                                                  \
		(i)->max_recv_wr = (tp)->recv_wr;                                                  \
		(i)->max_send_sge = (tp)->write_sges;                                              \
		(i)->tos = rds_path_tos((tp)->path);                                               \
		(i)->sl = rds_ib_info_sl(tp);                                                      \
		rds_ib_mrs_info((tp)->dev->mrs, &(i)->rdma_mr_max, &(i)->rdma_mr_size);            \
		rdma_read_gids((tp)->id, (union ib_gid *)(i)->src_gid,                             \
			       (union ib_gid *)(i)->dst_gid);                                      \
	} while (0)

static void rds_ib_info_v4(void *arg, struct rds_ib_path *tp)
{
	struct rds_ib_info *info = arg;
	struct rds_info_rdma_connection i;

	if (!rds_ib_info_begin(info, tp) || !rds_addr_is_v4(rds_path_faddr(tp->path)))
		return;
	RDS_IB_INFO(&i, tp);
	i.src_addr = rds_addr_v4(rds_path_laddr(tp->path));
	i.dst_addr = rds_addr_v4(rds_path_faddr(tp->path));
	rds_info_add(info->b, &i);
}

static void rds_ib_info_v6(void *arg, struct rds_ib_path *tp)
{
	struct rds_ib_info *info = arg;
	struct rds6_info_rdma_connection i;

	if (!rds_ib_info_begin(info, tp))
		return;
	RDS_IB_INFO(&i, tp);
	i.src_addr = rds_addr_in6(rds_path_laddr(tp->path));
	i.dst_addr = rds_addr_in6(rds_path_faddr(tp->path));
	rds_info_add(info->b, &i);
}

static void rds_ib_info_conns(struct net *net, struct rds_info_buf *b)
{
	struct rds_ib_info info = {.net = net, .b = b};

	rds_ib_each_path(rds_ib_info_v4, &info);
}

static void rds_ib_info_conns6(struct net *net, struct rds_info_buf *b)
{
	struct rds_ib_info info = {.net = net, .b = b};

	rds_ib_each_path(rds_ib_info_v6, &info);
}

int rds_ib_info_start(void)
{
	int err;

	err = rds_info_register(RDS_INFO_IB_CONNECTIONS, sizeof(struct rds_info_rdma_connection),
				RDS_TABLE_OF_ALL, rds_ib_info_conns);
	if (err)
		return err;
	err = rds_info_register(RDS6_INFO_IB_CONNECTIONS, sizeof(struct rds6_info_rdma_connection),
				RDS_TABLE_OF_ALL, rds_ib_info_conns6);
	if (err)
		rds_info_unregister(RDS_INFO_IB_CONNECTIONS);
	return err;
}

void rds_ib_info_stop(void)
{
	rds_info_unregister(RDS_INFO_IB_CONNECTIONS);
	rds_info_unregister(RDS6_INFO_IB_CONNECTIONS);
}
