// SPDX-License-Identifier: GPL-2.0
#include "steps.h"

#include <algorithm>

#include "net/platform/platform.h"

namespace
{

scale::Steps now;

/* Nothing is preempted here, so locks and sections are nested, and the outermost counts. */
struct Stretch {
	unsigned int depth = 0;
	uint64_t begun = 0;

	void begin()
	{
		if (!depth++)
			begun = now.all;
	}
	void end(uint64_t &longest)
	{
		if (!--depth)
			longest = std::max(longest, now.all - begun);
	}
};
Stretch lock, rcu;
uint64_t asked;

void ask()
{
	now.unasked = std::max(now.unasked, now.all - asked);
	asked = now.all;
}

} // namespace

scale::Steps scale::take_steps()
{
	ask();

	Steps taken = now;

	now = Steps();
	asked = 0;
	return taken;
}

extern "C" {

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	now.all++;
}

void __real_rds_spin_lock(struct rds_spinlock *l);
void __wrap_rds_spin_lock(struct rds_spinlock *l)
{
	lock.begin();
	__real_rds_spin_lock(l);
}

void __real_rds_spin_unlock(struct rds_spinlock *l);
void __wrap_rds_spin_unlock(struct rds_spinlock *l)
{
	lock.end(now.under_lock);
	__real_rds_spin_unlock(l);
}

void __real_rds_rcu_read_lock(void);
void __wrap_rds_rcu_read_lock(void)
{
	rcu.begin();
	__real_rds_rcu_read_lock();
}

void __real_rds_rcu_read_unlock(void);
void __wrap_rds_rcu_read_unlock(void)
{
	rcu.end(now.in_rcu);
	__real_rds_rcu_read_unlock();
}

void __real_rds_rcu_sync(void);
void __wrap_rds_rcu_sync(void)
{
	now.syncs++;
	__real_rds_rcu_sync();
}

void __real_rds_resched(void);
void __wrap_rds_resched(void)
{
	ask();
	__real_rds_resched();
}

} // extern "C"
