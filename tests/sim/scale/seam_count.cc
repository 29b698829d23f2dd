// SPDX-License-Identifier: GPL-2.0
#include "seam_count.h"

#include "net/platform/platform.h"

scale::SeamCount scale::seam;
using scale::seam;

/* For each wrapped function: __real_f is the platform's, __wrap_f is what the core calls. */
extern "C" {

void *__real_rds_alloc(size_t size, enum rds_ctx ctx);
void *__wrap_rds_alloc(size_t size, enum rds_ctx ctx)
{
	seam.allocs++;
	seam.alloc_bytes += size;
	return __real_rds_alloc(size, ctx);
}

void __real_rds_spin_lock(struct rds_spinlock *l);
void __wrap_rds_spin_lock(struct rds_spinlock *l)
{
	seam.locks++;
	__real_rds_spin_lock(l);
}

void __real_rds_mutex_lock(struct rds_mutex *m);
void __wrap_rds_mutex_lock(struct rds_mutex *m)
{
	seam.locks++;
	__real_rds_mutex_lock(m);
}

int __real_rds_mutex_lock_interruptible(struct rds_mutex *m);
int __wrap_rds_mutex_lock_interruptible(struct rds_mutex *m)
{
	seam.locks++;
	return __real_rds_mutex_lock_interruptible(m);
}

void __real_rds_rcu_read_lock(void);
void __wrap_rds_rcu_read_lock(void)
{
	seam.rcu++;
	__real_rds_rcu_read_lock();
}

void __real_rds_rcu_sync(void);
void __wrap_rds_rcu_sync(void)
{
	seam.syncs++;
	__real_rds_rcu_sync();
}

void __real_rds_work_queue(struct rds_work *w, struct rds_os_net *os);
void __wrap_rds_work_queue(struct rds_work *w, struct rds_os_net *os)
{
	seam.works++;
	__real_rds_work_queue(w, os);
}

void __real_rds_timer_arm(struct rds_timer *t, uint64_t ns);
void __wrap_rds_timer_arm(struct rds_timer *t, uint64_t ns)
{
	seam.timers++;
	__real_rds_timer_arm(t, ns);
}

void __real_rds_socket_wake(struct rds_socket *s, unsigned int what);
void __wrap_rds_socket_wake(struct rds_socket *s, unsigned int what)
{
	seam.wakes++;
	__real_rds_socket_wake(s, what);
}

void __real_rds_stat_add(struct rds_stats *st, unsigned int id, uint64_t n);
void __wrap_rds_stat_add(struct rds_stats *st, unsigned int id, uint64_t n)
{
	seam.stats++;
	__real_rds_stat_add(st, id, n);
}

} // extern "C"
