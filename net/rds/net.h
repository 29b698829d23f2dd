/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net.h: everything of one network namespace: the tables that netns.h only names.
 *
 * net.cc makes it and destroys it (process); its lock is that of the list of all namespaces.
 */
#ifndef RDS_NET_H
#define RDS_NET_H

#include "socket/bind.h"
#include "cong.h"
#include "conn/conn_table.h"
#include "netns.h"

namespace rds
{
struct WholeNet final : Net {
	WholeNet(struct rds_os_net *os, struct rds_stats *st)
		: Net(os, st, bind_table, conn_table, cong_table), cong_table(os)
	{
	}

	BindTable bind_table;
	ConnTable conn_table;
	CongTable cong_table;
};
} // namespace rds
#endif
