/* SPDX-License-Identifier: GPL-2.0 */
/*
 * task.h: tasks and their scheduler, as the platform (platform_sim.cc, defer_sim.cc) sees them.
 * Tests use sim.h.
 */
#ifndef RDS_TESTS_TASK_H
#define RDS_TESTS_TASK_H

#include <vector>

#include "between/store_buffer.h"
#include "sim.h"

namespace sim
{

struct Held {
	const void *lock;
	int rank;
	bool spin;
};

/* The locks and context of a task; the platform checks every call of the seam against it. */
struct Task {
	const char *name = "test";
	Context ctx = Context::kProcess;
	std::vector<Held> held;
	unsigned int spins = 0; /* spin locks among held */
	unsigned int rcu_depth = 0;
	uint64_t rcu_serial = 0;			 /* of the open RCU section */
	Task *rcu_older = nullptr, *rcu_newer = nullptr; /* all that are in a section, by serial */
	const void *work = nullptr;			 /* the item that it runs */
	StoreBuffer stores;				 /* of its processor */
	/* Where the order is chosen (chooser.h): what it has seen, and how far it is. */
	uint64_t trail = 0;
	bool interrupted = false;
};

/* Never null: outside of tasks, the test itself. */
extern Task *the_task;
inline Task &current()
{
	return *the_task;
}
bool in_task();
/* One thing that can run now, without letting time jump; false when there is none. */
bool step_ready();

/* A place where the processor may be lost. */
extern uint64_t preempt_countdown; /* 0: never */
void preempt();
inline void preempt_point()
{
	if (preempt_countdown && !--preempt_countdown)
		preempt();
}

/* defer_sim.cc: what can run beside tasks.  Number of candidates, and making the @nth a task. */
size_t deferred_ready();
void deferred_start(size_t nth);
/* The item that the @nth is, nullptr if it is none: they come first. */
const void *deferred_work(size_t nth);
void deferred_reset();
std::string deferred_leftovers();
/* Is there pending or running work or an armed timer in [@from, @to)? */
bool deferred_inside(const void *from, const void *to);

/* platform_sim.cc */
void platform_reset();
std::string platform_leftovers();
/* The seam's call may sleep: fails where it may not. */
void might_sleep();
void must_not_be_hardirq(const char *why);

} // namespace sim
#endif
