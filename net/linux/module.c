// SPDX-License-Identifier: GPL-2.0
/*
 * module.c: rds.ko comes and goes; its namespaces; what it exports to transports.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/netns/generic.h>

#include "linux_net.h"
#include "pages_linux.h"
#include "platform_linux.h"
#include "state.h"

/* The core sees no errno.h: its numbers (result.h) and types (transports.h) must be Linux's. */
static_assert(ENOENT == 2);
static_assert(EINTR == 4);
static_assert(EAGAIN == 11);
static_assert(ENOMEM == 12);
static_assert(EACCES == 13);
static_assert(EFAULT == 14);
static_assert(EEXIST == 17);
static_assert(EINVAL == 22);
static_assert(EPROTO == 71);
static_assert(EMSGSIZE == 90);
static_assert(ENOPROTOOPT == 92);
static_assert(EOPNOTSUPP == 95);
static_assert(EADDRINUSE == 98);
static_assert(EADDRNOTAVAIL == 99);
static_assert(ENETDOWN == 100);
static_assert(ENETUNREACH == 101);
static_assert(ENOBUFS == 105);
static_assert(ENOTCONN == 107);
static_assert(ENOIOCTLCMD == 515);
static_assert(RDS_TRANS_IB == 0);
static_assert(RDS_TRANS_GAP == 1);
static_assert(RDS_TRANS_TCP == 2);
static_assert(RDS_TRANS_LOOP == 3);
static_assert(RDS_ORDER_ORDERED == 0);
static_assert(RDS_ORDER_HALF == 1);
static_assert(RDS_ORDER_UNORDERED == 2);
static_assert(RDS_RDMA_SUCCESS == 0);
static_assert(RDS_RDMA_REMOTE_ERROR == 1);
static_assert(RDS_RDMA_CANCELED == 2);
static_assert(RDS_RDMA_DROPPED == 3);
static_assert(RDS_RDMA_OTHER_ERROR == 4);
static_assert(RDS_RDMA_READWRITE == 0x01);
static_assert(RDS_RDMA_FENCE == 0x02);
static_assert(RDS_RDMA_INVALIDATE == 0x04);
static_assert(RDS_RDMA_USE_ONCE == 0x08);
static_assert(RDS_RDMA_NOTIFY_ME == 0x20);
static_assert(RDS_RDMA_SILENT == 0x40);

static unsigned int rds_net_id __read_mostly;

struct rds_linux_net *rds_linux_net(const struct net *net)
{
	return net_generic(net, rds_net_id);
}

struct rds_net *rds_net_of(struct net *net)
{
	return rds_linux_net(net)->core;
}

struct rds_peers *rds_peers_of(const struct net *net)
{
	return &rds_linux_net(net)->peers;
}

static int __net_init rds_net_init(struct net *net)
{
	struct rds_linux_net *rn = rds_linux_net(net);
	int err = -ENOMEM;

	xa_init_flags(&rn->socks, XA_FLAGS_ALLOC);
	rn->workers = rds_workers_create(net);
	if (!rn->workers)
		return err;
	rn->stats = alloc_percpu_gfp(struct rds_stats, GFP_KERNEL_ACCOUNT);
	if (!rn->stats)
		goto no_stats;
	/* By way of a number: per-CPU memory is an address space of its own to newer compilers. */
	rn->core = rds_net_create(rds_os_net(net),
				  (struct rds_stats *)(__force unsigned long)rn->stats);
	if (!rn->core)
		goto free_stats;
	rds_policy_init(net);
	rds_state_init(net);
	rds_peers_start(net);
	err = rds_sysctl_net_init(net, rn);
	if (err)
		goto destroy_core;
	err = rds_proc_net_init(net);
	if (err)
		goto exit_sysctl;
	return 0;

exit_sysctl:
	rds_sysctl_net_exit(rn);
destroy_core:
	rds_net_destroy(rn->core);
free_stats:
	free_percpu(rn->stats);
no_stats:
	destroy_workqueue(rn->workers);
	return err;
}

static void __net_exit rds_net_exit(struct net *net)
{
	struct rds_linux_net *rn = rds_linux_net(net);

	rds_proc_net_exit(net);
	rds_sysctl_net_exit(rn);
	rds_net_destroy(rn->core);
	rds_peers_stop(net);
	free_percpu(rn->stats);
	destroy_workqueue(rn->workers);
}

static struct pernet_operations rds_net_ops = {
	.init = rds_net_init,
	.exit = rds_net_exit,
	.id = &rds_net_id,
	.size = sizeof(struct rds_linux_net),
};

module_param_named(send_batch_count, rds_send_batch_count, uint, 0444);
MODULE_PARM_DESC(send_batch_count, "messages that one caller transmits before a worker goes on");

/* The ways in which user space looks at all that there is. */
static int __init rds_views_start(void)
{
	int err = rds_info_core_init();

	if (err)
		return err;
	err = rds_peers_genl_start();
	if (err)
		goto exit_info;
	err = rds_state_genl_start();
	if (err)
		goto exit_peers_genl;
	return 0;

exit_peers_genl:
	rds_peers_genl_stop();
exit_info:
	rds_info_core_exit();
	return err;
}

static void rds_views_stop(void)
{
	rds_state_genl_stop();
	rds_peers_genl_stop();
	rds_info_core_exit();
}

static int __init rds_init(void)
{
	int err;

	if (!rds_send_batch_count)
		rds_send_batch_count = 1;
	err = rds_platform_init();
	if (err)
		return err;
	err = rds_core_init();
	if (err)
		goto exit_platform;
	err = register_pernet_subsys(&rds_net_ops);
	if (err)
		goto exit_core;
	err = rds_addr_events_start();
	if (err)
		goto exit_net;
	err = rds_views_start();
	if (err)
		goto stop_events;
	/* Last: from here on there are sockets. */
	err = rds_family_register();
	if (err)
		goto stop_views;
	return 0;

stop_views:
	rds_views_stop();
stop_events:
	rds_addr_events_stop();
exit_net:
	unregister_pernet_subsys(&rds_net_ops);
exit_core:
	rds_core_exit();
exit_platform:
	rds_platform_exit();
	return err;
}
module_init(rds_init);

static void __exit rds_exit(void)
{
	rds_family_unregister();
	rds_views_stop();
	rds_addr_events_stop();
	unregister_pernet_subsys(&rds_net_ops);
	rcu_barrier(); /* entries of tables of peers that have been changed */
	rds_core_exit();
	rds_pages_flush();
	rds_platform_exit();
}
module_exit(rds_exit);

MODULE_DESCRIPTION("Reliable Datagram Sockets: the family and its core");
MODULE_LICENSE("GPL");
MODULE_VERSION(RDS_MODULE_VERSION);
/* No alias for the family, no softdep: a module with one goes round the administrator's "install"
 * (packaging/pf_rds.conf).  rds_loop is asked for when an address of this host is used. */
