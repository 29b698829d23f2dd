// SPDX-License-Identifier: GPL-2.0
/*
 * platform_sizes.c: never linked.  Kbuild compiles it to assembly and turns the marked lines into
 * platform_sizes.h: sizes of kernel structures, and what kind of kernel it is, for the core, which
 * sees no kernel header.
 */
#include <linux/kbuild.h>

#include "platform_linux.h"

int main(void);

int main(void)
{
	DEFINE(RDS_SPINLOCK_SIZE, sizeof(spinlock_t));
	DEFINE(RDS_SPINLOCK_ALIGN, __alignof__(spinlock_t));
	DEFINE(RDS_MUTEX_SIZE, sizeof(struct mutex));
	DEFINE(RDS_MUTEX_ALIGN, __alignof__(struct mutex));
	DEFINE(RDS_WORK_SIZE, sizeof(struct rds_linux_work));
	DEFINE(RDS_WORK_ALIGN, __alignof__(struct rds_linux_work));
	DEFINE(RDS_TIMER_SIZE, sizeof(struct rds_linux_timer));
	DEFINE(RDS_TIMER_ALIGN, __alignof__(struct rds_linux_timer));
	DEFINE(RDS_RCU_HEAD_SIZE, sizeof(struct rds_linux_rcu));
	DEFINE(RDS_RCU_HEAD_ALIGN, __alignof__(struct rds_linux_rcu));
	/* A kernel for finding bugs: see net/rds/bug.h. */
	DEFINE(RDS_CHECKS_ALL, IS_ENABLED(CONFIG_PROVE_LOCKING) || IS_ENABLED(CONFIG_KCSAN));
	return 0;
}
