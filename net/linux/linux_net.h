/* SPDX-License-Identifier: GPL-2.0 */
/*
 * linux_net.h: all that rds.ko has of one namespace, beside the core's part.  module.c makes it and
 * ends it; each member is its own file's, which says how it is guarded.
 */
#ifndef RDS_LINUX_NET_H
#define RDS_LINUX_NET_H

#include <linux/ratelimit_types.h>
#include <linux/xarray.h>

#include "glue.h"
#include "peers.h"

struct rds_linux_net {
	struct rds_net *core;
	struct workqueue_struct *workers; /* of the core's work items */
	struct rds_stats __percpu *stats;
	struct ctl_table_header *sysctl;
	struct ctl_table *sysctl_table;
	struct rds_policy policy;
	struct rds_peers peers;
	struct ratelimit_state port_news; /* state_events.c */
	struct xarray socks;		  /* every open socket, bound or not, for rds-info */
};

#endif
