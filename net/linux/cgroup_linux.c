// SPDX-License-Identifier: GPL-2.0
/*
 * cgroup_linux.c: whether a socket's cgroup may have more memory.
 */
#include <linux/memcontrol.h>
#include <linux/page_counter.h>
#include <net/sock.h>

#include "glue.h"

#define MOST_OVER (1 << 20) /* bytes that a cgroup may be charged over its limit */

/*
 * The kernel lets every charge of who may not sleep pass (cgroup 2): others' charges are to reclaim
 * what is too much, and a host that sends to sockets here makes no others.  That a limit is only
 * reached says nothing: caches fill every cgroup.
 */
bool rds_sk_over_limit(const struct sock *sk)
{
#ifdef CONFIG_MEMCG
	struct mem_cgroup *m;

	if (!mem_cgroup_sockets_enabled || !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return false;
	for (m = sk->sk_memcg; m; m = parent_mem_cgroup(m)) {
		unsigned long max = READ_ONCE(m->memory.max);

		if (page_counter_read(&m->memory) > max + (MOST_OVER >> PAGE_SHIFT))
			return true;
	}
#endif
	return false;
}
