/* SPDX-License-Identifier: GPL-2.0 */
/*
 * thread.h: what the files of the thread platform know of the thread that calls them: the context
 * it stands for, the locks it holds, the RCU section it is in.
 */
#ifndef RDS_PTHREAD_THREAD_H
#define RDS_PTHREAD_THREAD_H

#include <atomic>
#include <string>

#include "platform_pthread.h"

namespace pt
{

enum class Context { kProcess, kSoftirq, kHardirq };

struct Lock;

struct Held {
	const Lock *lock;
	bool spin;
};

/* The RCU section a thread is in: 0, or the grace period that was current when it entered. */
struct Section {
	std::atomic<uint64_t> since = 0;
};

constexpr unsigned int kMaxHeld = 16;

struct Thread {
	Context ctx = Context::kProcess;
	Held held[kMaxHeld];
	unsigned int n_held = 0;
	unsigned int spins = 0;
	unsigned int rcu_depth = 0;
	const void *work = nullptr; /* the item that it runs */
	Section section;

	Thread();
	~Thread();
};

extern thread_local Thread self;

void might_sleep();
void must_not_be_hardirq(const char *why);

/* work_pthread.cc */
void start_work(unsigned int workers);
std::string stop_work();

} // namespace pt
#endif
