/* SPDX-License-Identifier: GPL-2.0 */
/*
 * platform_linux.h: what lies in the opaque storage of types.h on Linux.
 *
 * Only platform_linux.c looks inside; platform_sizes.c measures them for platform_sizes.h, so the
 * core's objects fit whatever kernel (debug options included) they are built for.
 */
#ifndef RDS_PLATFORM_LINUX_H
#define RDS_PLATFORM_LINUX_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct net;
struct rds_work;
struct rds_timer;
struct rds_rcu_head;

/* Each carries the core's callback: the kernel's own callbacks have other argument types, and an
 * indirect call through a cast pointer is what control-flow integrity forbids. */
struct rds_linux_work {
	struct work_struct work;
	void (*fn)(struct rds_work *w);
};

struct rds_linux_timer {
	struct hrtimer timer;
	void (*fn)(struct rds_timer *t);
};

struct rds_linux_rcu {
	struct rcu_head head;
	void (*fn)(struct rds_rcu_head *h);
};

/* Caches of messages, connections and paths (memory_linux.c). */
int rds_memory_init(void);
void rds_memory_exit(void);
int rds_platform_init(void);
/* Nothing of the core runs any more: waits for RCU callbacks. */
void rds_platform_exit(void);

/* So many work items of a namespace run at a time, but of the first one (on a host with several
 * memory nodes, before Linux 6.9, on each of them). */
#define RDS_WORKERS_OF_A_NET max_t(int, num_possible_cpus() / 2, 4)
/* For @net, NULL without memory: runs all that may sleep and is nobody's system call, of one
 * namespace (docs/decisions/055-works-of-a-namespace.md).  Process. */
struct workqueue_struct *rds_workers_create(const struct net *net);

#endif
