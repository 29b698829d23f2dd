// SPDX-License-Identifier: GPL-2.0
/*
 * ib_linux.c: rds_rdma.ko: module, counters, and the ops table.
 */
#include "ib_linux.h"

struct workqueue_struct *rds_ib_wq, *rds_ib_slow_wq;

DEFINE_PER_CPU(struct rds_ib_counters, rds_ib_counters);

static const char *const rds_ib_stat_names[] = {
#define RDS_IB_STAT_NAME(name) "ib_" #name,
	RDS_IB_STATS(RDS_IB_STAT_NAME)
#undef RDS_IB_STAT_NAME
};

/* Where links' counters stand among all. */
static const u8 rds_ib_link_stats[] = {
#define RDS_IB_OF_LINK(name) [RDS_IB_LINK_##name] = RDS_IB_S_##name,
	RDS_IB_LINK_STATS(RDS_IB_OF_LINK)
#undef RDS_IB_OF_LINK
};

/* One set for all namespaces: adapters belong to none. */
static void rds_ib_stats(struct rds_os_net *os, uint64_t *values)
{
	unsigned int i;
	int cpu;

	BUILD_BUG_ON(ARRAY_SIZE(rds_ib_stat_names) != RDS_IB_STAT_COUNT);
	for (i = 0; i < RDS_IB_STAT_COUNT; i++) {
		values[i] = 0;
		for_each_possible_cpu(cpu)
			values[i] += READ_ONCE(per_cpu(rds_ib_counters, cpu).v[i]);
	}
}

void rds_ib_hw_count(void *hw, enum rds_ib_link_stat id)
{
	rds_ib_count(rds_ib_link_stats[id]);
}

struct rds_transport rds_ib_transport = {
	.name = "infiniband",
	.type = RDS_TRANS_IB,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_RDMA | RDS_CAP_DELIVERY_ACK | RDS_CAP_NUMBERED,
	.max_paths = 1,
	.call_ms = 2 * RDS_IB_RESOLVE_MS + RDS_IB_REQUEST_MS,
	.use = rds_ib_use,
	.unuse = rds_ib_unuse,
	.laddr_check = rds_ib_laddr_check,
	.path_alloc = rds_ib_path_alloc,
	.path_free = rds_ib_path_free,
	.initiates = rds_ib_initiates,
	.connect = rds_ib_connect,
	.adopt = rds_ib_adopt,
	.discard = rds_ib_discard,
	.takeover_refused = rds_ib_takeover_refused,
	.shutdown = rds_ib_shutdown,
	.close = rds_ib_close,
	.xmit = rds_ib_xmit,
	.recv_retry = rds_ib_recv_retry,
	.midway = rds_ib_midway,
	.ended = rds_ib_ended,
	.wants = rds_ib_wants,
	.mr_get = rds_ib_mr_get,
	.mr_free = rds_ib_mr_free,
	.mr_sync = rds_ib_mr_sync,
	.mr_flush = rds_ib_mr_flush,
	.atomics = rds_ib_atomics,
	.n_stats = RDS_IB_STAT_COUNT,
	.stat_names = rds_ib_stat_names,
	.stats = rds_ib_stats,
};

static int __init rds_ib_start(void)
{
	int err = rds_ib_sysctl_start();

	if (err)
		return err;
	err = rds_ib_nets_start();
	if (err)
		goto no_sysctl;
	err = rds_ib_devices_start();
	if (err)
		goto no_nets;
	err = rds_transport_register(&rds_ib_transport);
	if (err)
		goto no_devices;
	err = rds_ib_info_start();
	if (err)
		goto no_transport;
	err = rds_ib_nets_open();
	if (err)
		goto no_info;
	return 0;
no_info:
	rds_ib_info_stop();
no_transport:
	rds_transport_unregister(&rds_ib_transport);
no_devices:
	rds_ib_devices_stop();
no_nets:
	rds_ib_nets_stop();
no_sysctl:
	rds_ib_sysctl_stop();
	return err;
}

static void rds_ib_free_wqs(void)
{
	if (rds_ib_wq)
		destroy_workqueue(rds_ib_wq);
	if (rds_ib_slow_wq)
		destroy_workqueue(rds_ib_slow_wq);
}

static int __init rds_ib_init(void)
{
	int err = -ENOMEM;

	rds_ib_transport.owner = rds_module(THIS_MODULE);
	rds_ib_wq = alloc_workqueue("rds_ib", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	rds_ib_slow_wq = alloc_workqueue("rds_ib_slow", WQ_UNBOUND, 0);
	if (rds_ib_wq && rds_ib_slow_wq)
		err = rds_ib_start();
	if (err)
		rds_ib_free_wqs();
	return err;
}

static void __exit rds_ib_exit(void)
{
	/* A request taken during the unregistration would find nobody to take it. */
	rds_ib_nets_close();
	rds_ib_info_stop();
	rds_transport_unregister(&rds_ib_transport);
	rds_ib_devices_stop();
	rds_ib_nets_stop();
	rds_ib_sysctl_stop();
	rds_ib_free_wqs();
}

module_init(rds_ib_init);
module_exit(rds_ib_exit);

MODULE_DESCRIPTION("RDS over InfiniBand and RoCE");
MODULE_LICENSE("GPL");
RDS_TRANSPORT_MODULE;
