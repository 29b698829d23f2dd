// SPDX-License-Identifier: GPL-2.0
/* The seam on Linux: memory, locks, counters, modules. */
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>

#include "kunit_rds.h"
#include "net/linux/glue.h"

static void memory_of_all_sizes(struct kunit *test)
{
	static const size_t sizes[] = {1, 8, 4096, 8192, 8193, 1 << 20, 16 << 20};
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u8 *p = rds_alloc(sizes[i], RDS_MAY_SLEEP);

		KUNIT_ASSERT_NOT_NULL(test, p);
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)p, 8));
		p[0] = p[sizes[i] - 1] = 1;
		rds_free(p);
	}
	rds_free(NULL);
}

static void memory_without_sleeping(struct kunit *test)
{
	static const size_t sizes[] = {512, 16384};
	struct rds_spinlock lock;
	void *p;
	int i;

	rds_spin_init(&lock, RDS_RANK_PATH);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		rds_test_no_reclaim(true);
		p = rds_alloc(sizes[i], RDS_ATOMIC);
		rds_test_no_reclaim(false);
		KUNIT_EXPECT_NOT_NULL(test, p);
		rds_spin_lock(&lock);
		rds_free(p);
		rds_spin_unlock(&lock);
	}
}

static void memory_that_there_is_not(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, rds_alloc(SIZE_MAX / 2, RDS_ATOMIC));
}

static void spin_lock_keeps_softirqs_off(struct kunit *test)
{
	struct rds_spinlock lock;

	rds_spin_init(&lock, RDS_RANK_RECV);
	KUNIT_EXPECT_FALSE(test, softirq_count());
	rds_spin_lock(&lock);
	KUNIT_EXPECT_TRUE(test, softirq_count());
	KUNIT_EXPECT_TRUE(test, spin_is_locked((spinlock_t *)&lock));
	rds_spin_unlock(&lock);
	KUNIT_EXPECT_FALSE(test, softirq_count());
}

static void mutex_is_held_by_one(struct kunit *test)
{
	struct rds_mutex mutex;

	rds_mutex_init(&mutex, RDS_RANK_READER);
	rds_mutex_lock(&mutex);
	KUNIT_EXPECT_EQ(test, rds_mutex_trylock(&mutex), 0);
	rds_mutex_unlock(&mutex);
	KUNIT_EXPECT_EQ(test, rds_mutex_trylock(&mutex), 1);
	rds_mutex_unlock(&mutex);
	KUNIT_EXPECT_EQ(test, rds_mutex_lock_interruptible(&mutex), 0);
	rds_mutex_unlock(&mutex);
	KUNIT_EXPECT_EQ(test, rds_mutex_lock_killable(&mutex), 0);
	rds_mutex_unlock(&mutex);
}

/* With a signal pending, on a mutex that another holds. */
static int lock_with_signal(void *mutex)
{
	allow_signal(SIGUSR1);
	send_sig(SIGUSR1, current, 1);
	return -rds_mutex_lock_interruptible(mutex);
}

/* The same, of a signal that ends the caller. */
static int lock_when_killed(void *mutex)
{
	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 1);
	return -rds_mutex_lock_killable(mutex);
}

static void gives_way(struct kunit *test, int (*lock)(void *mutex))
{
	struct rds_mutex mutex;
	struct task_struct *task;

	rds_mutex_init(&mutex, RDS_RANK_READER);
	rds_mutex_lock(&mutex);
	task = kthread_create(lock, &mutex, "rds_kunit");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	get_task_struct(task);
	wake_up_process(task);
	/* kthread_stop() before it has run would make it not run at all. */
	while (!READ_ONCE(task->exit_state) && !signal_pending(task))
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), EINTR);
	put_task_struct(task);
	rds_mutex_unlock(&mutex);
}

static void mutex_gives_way_to_signals(struct kunit *test)
{
	gives_way(test, lock_with_signal);
	gives_way(test, lock_when_killed);
}

static void ranks_are_lock_classes(struct kunit *test)
{
#ifdef CONFIG_LOCKDEP
	struct rds_spinlock a, b, c;
	struct rds_mutex m;

	rds_spin_init(&a, RDS_RANK_PATH);
	rds_spin_init(&b, RDS_RANK_PATH);
	rds_spin_init(&c, RDS_RANK_RECV);
	rds_mutex_init(&m, RDS_RANK_BIND);
	KUNIT_EXPECT_STREQ(test, ((spinlock_t *)&a)->dep_map.name, "rds:path");
	KUNIT_EXPECT_STREQ(test, ((struct mutex *)&m)->dep_map.name, "rds:bind");
	KUNIT_EXPECT_PTR_EQ(test, ((spinlock_t *)&a)->dep_map.key, ((spinlock_t *)&b)->dep_map.key);
	KUNIT_EXPECT_PTR_NE(test, ((spinlock_t *)&a)->dep_map.key, ((spinlock_t *)&c)->dep_map.key);
#else
	KUNIT_FAIL(test, "no lockdep");
#endif
}

static struct rds_stats __percpu *counters;

static void count_here(void *unused)
{
	rds_stat_add((struct rds_stats __force *)counters, 3, 5);
}

static void every_cpu_counts_for_itself(struct kunit *test)
{
	u64 sum = 0, others = 0;
	int cpu, i;

	counters = alloc_percpu(struct rds_stats);
	KUNIT_ASSERT_NOT_NULL(test, counters);
	on_each_cpu(count_here, NULL, 1);
	for_each_online_cpu(cpu)
	{
		KUNIT_EXPECT_EQ(test, per_cpu_ptr(counters, cpu)->v[3], 5);
		for (i = 0; i < RDS_STAT_COUNT; i++)
			*(i == 3 ? &sum : &others) += per_cpu_ptr(counters, cpu)->v[i];
	}
	KUNIT_EXPECT_EQ(test, sum, 5ULL * num_online_cpus());
	KUNIT_EXPECT_EQ(test, others, 0);
	free_percpu(counters);
}

/* The case that loads this module looks for the lines. */
static void connections_are_named_in_the_log(struct kunit *test)
{
	struct rds_addr v4 = rds_addr_from_v4(htonl(0x0a080001));
	struct in6_addr in6 = {.s6_addr = {0xfd, 0, 0, 8, [15] = 2}};
	struct rds_addr v6 = rds_addr_from_in6(&in6);

	rds_log("kunit: both", &v4, &v6);
	rds_log("kunit: none", NULL, NULL);
}

/* One that is being loaded may still fail to start, and then it goes with all references. */
static void a_reference_holds_a_module_that_runs(struct kunit *test)
{
	static const enum module_state states[] = {MODULE_STATE_UNFORMED, MODULE_STATE_COMING,
						   MODULE_STATE_GOING};
	static struct module nobody = {.name = "rds_nobody"};
	int i;

	atomic_set(&nobody.refcnt, 1); /* as long as it is loaded */
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		nobody.state = states[i];
		KUNIT_EXPECT_EQ(test, rds_module_get(rds_module(&nobody)), -ENOENT);
		KUNIT_EXPECT_EQ(test, atomic_read(&nobody.refcnt), 1);
	}
	nobody.state = MODULE_STATE_LIVE;
	KUNIT_EXPECT_EQ(test, rds_module_get(rds_module(&nobody)), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&nobody.refcnt), 2);
	rds_module_put(rds_module(&nobody));
	KUNIT_EXPECT_EQ(test, atomic_read(&nobody.refcnt), 1);
}

static struct kunit_case cases[] = {KUNIT_CASE(memory_of_all_sizes),
				    KUNIT_CASE(memory_without_sleeping),
				    KUNIT_CASE(memory_that_there_is_not),
				    KUNIT_CASE(spin_lock_keeps_softirqs_off),
				    KUNIT_CASE(mutex_is_held_by_one),
				    KUNIT_CASE(mutex_gives_way_to_signals),
				    KUNIT_CASE(ranks_are_lock_classes),
				    KUNIT_CASE(every_cpu_counts_for_itself),
				    KUNIT_CASE(a_reference_holds_a_module_that_runs),
				    KUNIT_CASE(connections_are_named_in_the_log),
				    {}};

static struct kunit_suite suite = {.name = "rds_locks", .test_cases = cases};
kunit_test_suite(suite);

MODULE_DESCRIPTION("KUnit suites of PF_RDS");
MODULE_LICENSE("GPL");
