/* SPDX-License-Identifier: GPL-2.0 */
/*
 * platform_sizes.h: opaque storage of the user-space platforms (tests/sim and tests/pthread).
 *
 * One set for both: big enough for the larger of the two; each platform_*.cc asserts that its own
 * structures fit.
 */
#ifndef RDS_PLATFORM_SIZES_H
#define RDS_PLATFORM_SIZES_H

#define RDS_SPINLOCK_SIZE 64
#define RDS_SPINLOCK_ALIGN 8
#define RDS_MUTEX_SIZE 64
#define RDS_MUTEX_ALIGN 8
#define RDS_WORK_SIZE 64
#define RDS_WORK_ALIGN 8
#define RDS_TIMER_SIZE 64
#define RDS_TIMER_ALIGN 8
#define RDS_RCU_HEAD_SIZE 32
#define RDS_RCU_HEAD_ALIGN 8
#define RDS_CHECKS_ALL 1

#endif
