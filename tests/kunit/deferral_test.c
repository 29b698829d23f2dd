// SPDX-License-Identifier: GPL-2.0
/* The seam on Linux: RCU, work items, timers, clock. */
#include <linux/completion.h>

#include "kunit_rds.h"
#include "net/linux/platform_linux.h"

/* ---- RCU ---- */
struct deferred {
	struct rds_rcu_head head;
	bool ran;
};

static void rcu_ran(struct rds_rcu_head *head)
{
	WRITE_ONCE(container_of(head, struct deferred, head)->ran, true);
}

static void deferred_until_readers_leave(struct kunit *test)
{
	struct deferred *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, d);
	rds_rcu_read_lock();
	rds_rcu_defer(&d->head, rcu_ran);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(d->ran));
	rds_rcu_read_unlock();
	rcu_barrier();
	KUNIT_EXPECT_TRUE(test, READ_ONCE(d->ran));
}

/* A grace period passes before it returns. */
static void sync_waits_for_readers(struct kunit *test)
{
	unsigned long now = get_state_synchronize_rcu();

	rds_rcu_sync();
	KUNIT_EXPECT_TRUE(test, poll_state_synchronize_rcu(now));
}

/* ---- work ---- */
struct job {
	struct rds_work work;
	struct completion began, go_on;
	int runs;
	bool in_process, blocks;
};

static void job_runs(struct rds_work *work)
{
	struct job *j = container_of(work, struct job, work);

	j->in_process = in_task() && !irqs_disabled();
	complete(&j->began);
	if (j->blocks)
		wait_for_completion(&j->go_on);
	WRITE_ONCE(j->runs, j->runs + 1);
}

static struct job *new_job(struct kunit *test)
{
	struct job *j = kunit_kzalloc(test, sizeof(*j), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, j);
	rds_work_init(&j->work, job_runs, RDS_WORK_LEAF);
	init_completion(&j->began);
	init_completion(&j->go_on);
	return j;
}

static void work_runs_in_process_context(struct kunit *test)
{
	struct job *j = new_job(test);

	rds_work_queue(&j->work, rds_os_net(&init_net));
	rds_work_flush(&j->work);
	KUNIT_EXPECT_EQ(test, j->runs, 1);
	KUNIT_EXPECT_TRUE(test, j->in_process);
	rds_work_flush(&j->work);
	KUNIT_EXPECT_EQ(test, j->runs, 1);
}

static void work_queued_while_it_runs_runs_once_more(struct kunit *test)
{
	struct job *j = new_job(test);

	j->blocks = true;
	rds_work_queue(&j->work, rds_os_net(&init_net));
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&j->began, RDS_SOON), 0);
	rds_work_queue(&j->work, rds_os_net(&init_net));
	rds_work_queue(&j->work, rds_os_net(&init_net));
	complete_all(&j->go_on);
	rds_work_flush(&j->work);
	KUNIT_EXPECT_EQ(test, j->runs, 2);
}

static void work_cancelled_is_over(struct kunit *test)
{
	struct job *j = new_job(test);
	int runs;

	rds_work_cancel_sync(&j->work);
	KUNIT_EXPECT_EQ(test, j->runs, 0);
	rds_work_queue(&j->work, rds_os_net(&init_net));
	rds_work_cancel_sync(&j->work);
	runs = READ_ONCE(j->runs);
	KUNIT_EXPECT_LE(test, runs, 1);
	rds_work_flush(&j->work);
	KUNIT_EXPECT_EQ(test, j->runs, runs);
}

/* ---- work of two namespaces ---- */
/* More than a workqueue of the kernel runs at a time. */
#define MANY 1100

/* Any but the first, with a reference: the test's guest has one. */
static struct net *another_net(void)
{
	struct net *net, *found = NULL;

	rcu_read_lock();
	for_each_net_rcu(net)
		if (!net_eq(net, &init_net) && !found)
			found = maybe_get_net(net);
	rcu_read_unlock();
	return found;
}

/* A great many work items of @net, none of which ends before let_go(). */
static struct job *block(struct kunit *test, struct net *net)
{
	struct job *jobs = kunit_kcalloc(test, MANY, sizeof(*jobs), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, jobs);
	for (i = 0; i < MANY; i++) {
		rds_work_init(&jobs[i].work, job_runs, RDS_WORK_LEAF);
		init_completion(&jobs[i].began);
		init_completion(&jobs[i].go_on);
		jobs[i].blocks = true;
		rds_work_queue(&jobs[i].work, rds_os_net(net));
	}
	return jobs;
}

static unsigned int began(struct job *jobs)
{
	unsigned int i, n = 0;

	for (i = 0; i < MANY; i++)
		n += completion_done(&jobs[i].began);
	return n;
}

static void let_go(struct job *jobs)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		complete_all(&jobs[i].go_on);
	for (i = 0; i < MANY; i++)
		rds_work_flush(&jobs[i].work);
}

/* All that @busy may run at a time waits for something, and much more is queued: @other does not
 * notice. */
static void one_namespace_beside(struct kunit *test, struct net *busy, struct net *other)
{
	struct job *many = block(test, busy), *one = new_job(test);

	rds_work_queue(&one->work, rds_os_net(other));
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&one->began, RDS_SOON), 0);
	if (!net_eq(busy, &init_net))
		KUNIT_EXPECT_LE(test, began(many), RDS_WORKERS_OF_A_NET * nr_node_ids);
	let_go(many);
	KUNIT_EXPECT_EQ(test, began(many), MANY);
	rds_work_flush(&one->work);
}

static void namespaces_do_not_wait_for_each_other(struct kunit *test)
{
	struct net *net = another_net();

	KUNIT_ASSERT_NOT_NULL(test, net);
	one_namespace_beside(test, net, &init_net);
	one_namespace_beside(test, &init_net, net);
	put_net(net);
}

/* ---- timers ---- */
struct ringer {
	struct rds_timer timer;
	struct completion fired;
	struct job *job;
	int count;
};

static void ringer_fires(struct rds_timer *timer)
{
	struct ringer *a = container_of(timer, struct ringer, timer);

	WRITE_ONCE(a->count, a->count + 1);
	if (a->job)
		rds_work_queue(&a->job->work, rds_os_net(&init_net));
	complete(&a->fired);
}

static struct ringer *new_ringer(struct kunit *test)
{
	struct ringer *a = kunit_kzalloc(test, sizeof(*a), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	rds_timer_init(&a->timer, ringer_fires);
	init_completion(&a->fired);
	return a;
}

static void timer_fires_once(struct kunit *test)
{
	struct ringer *a = new_ringer(test);
	u64 began = rds_now_ns();

	a->job = new_job(test);
	rds_timer_arm(&a->timer, 3000000);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&a->fired, RDS_SOON), 0);
	KUNIT_EXPECT_GE(test, rds_now_ns() - began, 3000000);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&a->job->began, RDS_SOON), 0);
	rds_timer_cancel_sync(&a->timer);
	rds_work_cancel_sync(&a->job->work);
	KUNIT_EXPECT_EQ(test, a->count, 1);
}

static void timer_armed_again_forgets_the_first(struct kunit *test)
{
	struct ringer *a = new_ringer(test);

	rds_timer_arm(&a->timer, 3600ULL * NSEC_PER_SEC);
	rds_timer_arm(&a->timer, 0);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&a->fired, RDS_SOON), 0);
	rds_timer_cancel_sync(&a->timer);
	KUNIT_EXPECT_EQ(test, a->count, 1);
}

static void timer_cancelled_does_not_fire(struct kunit *test)
{
	struct ringer *a = new_ringer(test), *later = new_ringer(test);
	int count;

	rds_timer_arm(&a->timer, 20000000);
	rds_timer_arm(&later->timer, 30000000);
	rds_timer_cancel_sync(&a->timer);
	/* 1 if this task was kept waiting before it came to the cancel. */
	count = READ_ONCE(a->count);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&later->fired, RDS_SOON), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(a->count), count);
	rds_timer_cancel_sync(&later->timer);
}

/* ---- clock and chance ---- */
static void clock_never_goes_back(struct kunit *test)
{
	u64 before = rds_now_ns();
	int i;

	for (i = 0; i < 10000; i++) {
		u64 now = rds_now_ns();

		if (now < before)
			KUNIT_FAIL(test, "%llu after %llu", now, before);
		before = now;
	}
}

static void chance_sets_and_clears_every_bit(struct kunit *test)
{
	u32 ones = 0, zeroes = 0;
	int i;

	for (i = 0; i < 200; i++) {
		u32 r = rds_random();

		ones |= r;
		zeroes |= ~r;
	}
	KUNIT_EXPECT_EQ(test, ones & zeroes, U32_MAX);
}

/* The vectors of unit.Hash.SipHashIsWhatOthersCallSo: simulator and kernel have one function. */
static void siphash_is_what_others_call_so(struct kunit *test)
{
	const u64 key[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

	KUNIT_EXPECT_EQ(test, rds_siphash(key, key, 0), 0x726fdb47dd0e0e31);
	KUNIT_EXPECT_EQ(test, rds_siphash(key, key, 1), 0x93f5f5799a932462);
	KUNIT_EXPECT_EQ(test, rds_siphash(key, key, 2), 0x3f2acc7f57c29bdb);
}

static void no_two_secrets_are_alike(struct kunit *test)
{
	u64 one[2] = {}, other[2] = {};

	rds_secret(one);
	rds_secret(other);
	KUNIT_EXPECT_NE(test, one[0], other[0]);
	KUNIT_EXPECT_NE(test, one[1], other[1]);
	KUNIT_EXPECT_NE(test, one[0], one[1]);
}

static struct kunit_case cases[] = {KUNIT_CASE(deferred_until_readers_leave),
				    KUNIT_CASE(sync_waits_for_readers),
				    KUNIT_CASE(work_runs_in_process_context),
				    KUNIT_CASE(work_queued_while_it_runs_runs_once_more),
				    KUNIT_CASE(work_cancelled_is_over),
				    KUNIT_CASE(namespaces_do_not_wait_for_each_other),
				    KUNIT_CASE(timer_fires_once),
				    KUNIT_CASE(timer_armed_again_forgets_the_first),
				    KUNIT_CASE(timer_cancelled_does_not_fire),
				    KUNIT_CASE(clock_never_goes_back),
				    KUNIT_CASE(chance_sets_and_clears_every_bit),
				    KUNIT_CASE(siphash_is_what_others_call_so),
				    KUNIT_CASE(no_two_secrets_are_alike),
				    {}};

static struct kunit_suite suite = {.name = "rds_deferral", .test_cases = cases};
kunit_test_suite(suite);
