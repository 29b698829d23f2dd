// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_linux.c: rds_tcp.ko: module, namespaces, counters, and the ops table.
 */
#include <net/netns/generic.h>

#include "tcp_linux.h"

struct workqueue_struct *rds_tcp_wq;

static unsigned int rds_tcp_net_id;

/* All namespaces, so that the module's exit can stop their listeners before anything else. */
static DEFINE_MUTEX(rds_tcp_nets_lock);
static LIST_HEAD(rds_tcp_nets);
static bool rds_tcp_unloading;

static const char *const rds_tcp_stat_names[] = {
#define RDS_TCP_STAT_NAME(name) "tcp_" #name,
	RDS_TCP_STATS(RDS_TCP_STAT_NAME)
#undef RDS_TCP_STAT_NAME
};

struct rds_tcp_net *rds_tcp_net_of(struct net *net)
{
	return net_generic(net, rds_tcp_net_id);
}

static unsigned int rds_tcp_max_paths = RDS_TCP_MAX_PATHS;

static int rds_tcp_set_max_paths(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, RDS_TCP_MAX_PATHS);
}

static const struct kernel_param_ops rds_tcp_max_paths_ops = {
	.set = rds_tcp_set_max_paths,
	.get = param_get_uint,
};
module_param_cb(max_paths, &rds_tcp_max_paths_ops, &rds_tcp_max_paths, 0444);
MODULE_PARM_DESC(max_paths, "TCP connections with one peer, 1 to 8, used as a power of two (8)");

static void rds_tcp_stats(struct rds_os_net *os, uint64_t *values)
{
	struct rds_tcp_net *tn = rds_tcp_net_of(rds_os_net_to_net(os));
	unsigned int i;
	int cpu;

	for (i = 0; i < RDS_TCP_STAT_COUNT; i++) {
		values[i] = 0;
		for_each_possible_cpu(cpu)
			values[i] += READ_ONCE(per_cpu_ptr(tn->counters, cpu)->v[i]);
	}
}

struct rds_transport rds_tcp_transport = {
	.name = "tcp",
	.type = RDS_TRANS_TCP,
	.caps = RDS_CAP_PREFER_LOOP | RDS_CAP_ZEROCOPY | RDS_CAP_COALESCE | RDS_CAP_PROBE |
		RDS_CAP_DELIVERY_ACK | RDS_CAP_TOS_ZERO,
	.max_paths = RDS_TCP_MAX_PATHS,
	.call_ms = RDS_TCP_CALL_MS,
	.use = rds_tcp_use,
	.unuse = rds_tcp_unuse,
	.laddr_check = rds_tcp_laddr_check,
	.path_alloc = rds_tcp_path_alloc,
	.path_free = rds_tcp_path_free,
	.initiates = rds_tcp_initiates,
	.connect = rds_tcp_connect,
	.unanswered = rds_tcp_unanswered,
	.adopt = rds_tcp_adopt,
	.discard = rds_tcp_discard,
	.takeover_refused = rds_tcp_takeover_refused,
	.shutdown = rds_tcp_shutdown,
	.close = rds_tcp_close,
	.ended = rds_tcp_ended,
	.xmit = rds_tcp_xmit,
	.recv_retry = rds_tcp_recv_retry,
	.midway = rds_tcp_midway,
	.wants = rds_tcp_wants,
	.facts = rds_tcp_facts,
	.n_stats = RDS_TCP_STAT_COUNT,
	.stat_names = rds_tcp_stat_names,
	.stats = rds_tcp_stats,
};

static int __net_init rds_tcp_net_init(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net_of(net);
	int err;

	tn->net = net;
	tn->peers = rds_peers_of(net);
	tn->tuning = &tn->peers->lock;
	klist_init(&tn->socks, NULL, NULL);
	rds_tcp_listen_init(tn);
	tn->counters = alloc_percpu_gfp(struct rds_tcp_counters, GFP_KERNEL_ACCOUNT);
	if (!tn->counters)
		return -ENOMEM;
	err = rds_tcp_sysctl_start(tn);
	if (err)
		goto free_counters;
	rds_tcp_peers_start(tn);
	/* Other hosts expect this one to answer, as mainline's does; a container has its port open
	 * while it uses it. */
	if (net_eq(net, &init_net))
		rds_tcp_listen_always(tn, true);
	mutex_lock(&rds_tcp_nets_lock);
	tn->stopping = rds_tcp_unloading;
	list_add_tail(&tn->all, &rds_tcp_nets);
	mutex_unlock(&rds_tcp_nets_lock);
	return 0;
free_counters:
	free_percpu(tn->counters);
	return err;
}

/* In this order: no writer of a sysctl resets a connection, none is accepted, none is left. */
static void __net_exit rds_tcp_net_exit(struct net *net)
{
	struct rds_tcp_net *tn = rds_tcp_net_of(net);

	rds_tcp_sysctl_stop(tn);
	WARN_ON_ONCE(atomic_read(&tn->users));
	mutex_lock(&rds_tcp_nets_lock);
	rds_tcp_listen_stop(tn);
	list_del(&tn->all);
	mutex_unlock(&rds_tcp_nets_lock);
	rds_transport_net_exit(rds_net_of(net), &rds_tcp_transport);
	WARN_ON_ONCE(atomic_read(&tn->paths));
	rds_tcp_peers_stop(tn);
	free_percpu(tn->counters);
}

/* As a device's: they end while the namespace still has its interfaces, so peers hear of it. */
static struct pernet_operations rds_tcp_net_ops = {
	.init = rds_tcp_net_init,
	.exit = rds_tcp_net_exit,
	.id = &rds_tcp_net_id,
	.size = sizeof(struct rds_tcp_net),
};

static int __init rds_tcp_init(void)
{
	int err;

	rds_tcp_transport.owner = rds_module(THIS_MODULE);
	rds_tcp_transport.max_paths = rds_tcp_max_paths;
	rds_tcp_wq = alloc_workqueue("rds_tcp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_tcp_wq)
		return -ENOMEM;
	err = register_pernet_device(&rds_tcp_net_ops);
	if (err)
		goto free_wq;
	err = rds_transport_register(&rds_tcp_transport);
	if (err)
		goto no_nets;
	err = rds_tcp_info_start();
	if (err)
		goto no_transport;
	return 0;
no_transport:
	rds_transport_unregister(&rds_tcp_transport);
no_nets:
	unregister_pernet_device(&rds_tcp_net_ops);
free_wq:
	destroy_workqueue(rds_tcp_wq);
	return err;
}

static void __exit rds_tcp_exit(void)
{
	struct rds_tcp_net *tn;

	rds_tcp_info_stop();
	/* A connection accepted during the unregistration would find nobody to take it. */
	mutex_lock(&rds_tcp_nets_lock);
	rds_tcp_unloading = true;
	list_for_each_entry(tn, &rds_tcp_nets, all)
		rds_tcp_listen_stop(tn);
	mutex_unlock(&rds_tcp_nets_lock);
	rds_transport_unregister(&rds_tcp_transport);
	unregister_pernet_device(&rds_tcp_net_ops);
	destroy_workqueue(rds_tcp_wq);
}

module_init(rds_tcp_init);
module_exit(rds_tcp_exit);

MODULE_DESCRIPTION("RDS over TCP");
MODULE_LICENSE("GPL");
RDS_TRANSPORT_MODULE;
