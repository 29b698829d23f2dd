/* SPDX-License-Identifier: GPL-2.0 */
/*
 * task.h: tasks and their scheduler, as platform_sim.cc sees them.  Tests use sim.h.
 */
#ifndef RDS_TESTS_TASK_H
#define RDS_TESTS_TASK_H

#include <vector>

#include "sim.h"

namespace sim
{

struct Held {
	const void *lock;
	int rank;
	bool spin;
};

/* What a task holds; the platform checks every call of the seam against it. */
struct Task {
	const char *name = "test";
	Context ctx = Context::kProcess;
	std::vector<Held> held;
	unsigned int spins = 0; /* spin locks among held */
	unsigned int rcu_depth = 0;
	uint64_t rcu_serial = 0;    /* of the open RCU section */
	const void *work = nullptr; /* the item that it runs */
};

/* Never null: outside of tasks, the test itself. */
Task &current();
bool in_task();
/* One thing that can run now, without letting time jump; false when there is none. */
bool step_ready();
/* A place where the processor may be lost. */
void preempt_point();
/* Oldest RCU section that is still open, UINT64_MAX when there is none. */
uint64_t oldest_reader();

/* platform_sim.cc: what can run beside tasks.  Number of candidates, and making the @nth a task. */
size_t platform_ready();
void platform_start(size_t nth);
void platform_reset();
std::string platform_leftovers();

} // namespace sim
#endif
