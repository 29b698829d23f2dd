// SPDX-License-Identifier: GPL-2.0
/*
 * rds_bugs.ko: one bug on purpose, named by the parameter `bug`, when it is loaded.  A debug kernel
 * that does not report it would not report ours either.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "net/platform/platform.h"

static char *bug = "";
module_param(bug, charp, 0);

static int zero; /* a parameter, so that the compiler cannot know it */
module_param(zero, int, 0);
static DEFINE_MUTEX(a);
static DEFINE_MUTEX(b);
static DEFINE_SPINLOCK(spin);
static int raced;

static void use_after_free(void)
{
	char *p = kmalloc(40, GFP_KERNEL);

	kfree(p);
	WRITE_ONCE(p[zero], 1);
}

static void out_of_bounds(void)
{
	char *p = kmalloc(40, GFP_KERNEL);

	WRITE_ONCE(p[zero + 40], 1);
	kfree(p);
}

static void lock_order(void)
{
	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);
	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
}

static void leak(void)
{
	int i;

	for (i = 0; i < 400; i++)
		if (!kmalloc(1000, GFP_KERNEL))
			return;
}

static void shift(void)
{
	pr_info("rds_bugs: %d\n", 1 << (zero + 33));
}

static void sleep_in_atomic(void)
{
	spin_lock(&spin);
	msleep(1);
	spin_unlock(&spin);
}

static void sleep_in_rcu(void)
{
	rcu_read_lock();
	might_sleep();
	rcu_read_unlock();
}

/* Until it is told to stop; two of them run at once. */
static int racer(void *unused)
{
	while (!kthread_should_stop()) {
		int i;

		for (i = 0; i < 1000; i++) {
			raced++;
			barrier();
		}
		cond_resched();
	}
	return 0;
}

static void race(void)
{
	struct task_struct *one = kthread_run(racer, NULL, "rds_race/1");
	struct task_struct *two = kthread_run(racer, NULL, "rds_race/2");

	msleep(3000);
	if (!IS_ERR(one))
		kthread_stop(one);
	if (!IS_ERR(two))
		kthread_stop(two);
}

/* The core has sixteen promises that do not hold, and notices each of them several times. */
static void promise(void)
{
	static const char *const texts[] = {"promise 01", "promise 02", "promise 03", "promise 04",
					    "promise 05", "promise 06", "promise 07", "promise 08",
					    "promise 09", "promise 10", "promise 11", "promise 12",
					    "promise 13", "promise 14", "promise 15", "promise 16"};
	void (*tell)(const char *what) = symbol_get(rds_bug); /* the others do without rds.ko */
	int i;

	for (i = 0; tell && i < 3 * ARRAY_SIZE(texts); i++)
		tell(texts[i % ARRAY_SIZE(texts)]);
	if (tell)
		symbol_put(rds_bug);
}

static const struct {
	const char *name;
	void (*fn)(void);
} bugs[] = {
	{"use_after_free", use_after_free},
	{"out_of_bounds", out_of_bounds},
	{"lock_order", lock_order},
	{"leak", leak},
	{"shift", shift},
	{"sleep_in_atomic", sleep_in_atomic},
	{"sleep_in_rcu", sleep_in_rcu},
	{"race", race},
	{"promise", promise},
};

static int __init rds_bugs_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (!strcmp(bug, bugs[i].name)) {
			bugs[i].fn();
			return 0;
		}
	}
	return -EINVAL;
}
module_init(rds_bugs_init);

static void __exit rds_bugs_exit(void)
{
}
module_exit(rds_bugs_exit);

MODULE_DESCRIPTION("Bugs on purpose");
MODULE_LICENSE("GPL");
