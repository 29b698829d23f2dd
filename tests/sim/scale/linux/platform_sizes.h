/* SPDX-License-Identifier: GPL-2.0 */
/*
 * platform_sizes.h: as Kbuild generates it for Debian's 6.1 on x86-64 (no debug options), for
 * linux_sizes.cc alone.
 */
#ifndef RDS_PLATFORM_SIZES_H
#define RDS_PLATFORM_SIZES_H

#define RDS_SPINLOCK_SIZE 4
#define RDS_SPINLOCK_ALIGN 4
#define RDS_MUTEX_SIZE 32
#define RDS_MUTEX_ALIGN 8
#define RDS_WORK_SIZE 40
#define RDS_WORK_ALIGN 8
#define RDS_TIMER_SIZE 72
#define RDS_TIMER_ALIGN 8
#define RDS_RCU_HEAD_SIZE 24
#define RDS_RCU_HEAD_ALIGN 8
#define RDS_CHECKS_ALL 0

#endif
