// SPDX-License-Identifier: GPL-2.0
/*
 * reap.c: the memory of released sockets.
 *
 * Softirqs may look at a socket until a grace period after its release.  RCU would call back for
 * each, ten and more in one softirq, which nobody may interrupt.  So all that were released
 * meanwhile share a grace period, in a work item, which frees them one by one and lets others run
 * between.  A program that releases faster than that waits for it, once in so many sockets.
 */
#include <linux/llist.h>

#include "linux_net.h"

/* Released sockets that wait for their end, of all users together. */
#define MOST_RELEASED 4096

static LLIST_HEAD(released);
static atomic_t n_released;

static void reap_all(struct rds_work *w)
{
	struct llist_node *list = llist_del_all(&released);
	struct rds_sock *rs, *next;

	if (list)
		rds_rcu_sync();
	llist_for_each_entry_safe(rs, next, list, released) {
		sock_put(&rs->sk);
		atomic_dec(&n_released);
		cond_resched();
	}
}

static struct rds_work reap_work;

/* Takes the reference of the socket that was released.  Process. */
void rds_reap_later(struct sock *sk)
{
	const bool many = atomic_inc_return(&n_released) > MOST_RELEASED;

	if (llist_add(&rds_sock(sk)->released, &released))
		rds_work_queue(&reap_work);
	if (many)
		rds_work_flush(&reap_work);
}

void rds_reap_start(void)
{
	rds_work_init(&reap_work, reap_all, RDS_WORK_LEAF);
}

/* After it none has memory that was released before.  Process. */
void rds_reap_flush(void)
{
	rds_work_flush(&reap_work);
}
