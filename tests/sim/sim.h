/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sim.h: the simulator: one thread, a seeded scheduler, virtual time, injected faults.
 *
 * Everything that runs is a task on a stack of its own: system calls of the test's applications,
 * work items, softirq events.  One runs at a time; at every call of the seam it may lose the
 * processor to another (preempt_per_1000), as if that one ran on another CPU, except while it holds
 * a spin lock. The task that goes on is drawn from the seed, so a seed is a schedule and a failure
 * can be run again.  A build with hooked atomics (between/) makes every atomic such a place, under
 * spin locks and in hardirq as well, and lets stores be seen late.
 *
 * Time stands still while anything can run and then jumps to the next event.
 *
 * The seam is strict: what the kernel would deadlock on, sleep in, or corrupt, ends the process
 * here with the seed, the task and a stack: locks out of rank order, taken twice, sleeping or
 * waking or freeing under a spin lock, sleeping inside an RCU section, freeing what is locked,
 * queued or armed, freeing twice.  Freed memory is poisoned and left to AddressSanitizer.
 */
#ifndef RDS_TESTS_SIM_H
#define RDS_TESTS_SIM_H

#include <cstdint>
#include <functional>

#include "between/store_buffer.h"
#include "call.h"
#include "host.h"

namespace sim
{

/* The rights of code: to sleep; not to sleep; only set atomics and queue work. */
enum class Context { kProcess, kSoftirq, kHardirq };

struct Options {
	uint64_t seed = 1;
	/* Chance of losing the processor at a call of the seam. */
	unsigned int preempt_per_1000 = 0;
	/* Chance of every allocation to fail. */
	unsigned int fail_per_1000 = 0;
	/* The processors' dealings with stores, in a build that hooks the atomics. */
	Memory memory = Memory::kBySeed;
	/* Chance of a signal whenever somebody waits where one may end it. */
	unsigned int signals_per_1000 = 0;
	/* The same of a signal that ends the caller. */
	unsigned int kills_per_1000 = 0;
};

/* A fresh world.  The old one must be clean(). */
void reset(const Options &opt);
Options &options();
/* Forgets the world as it is: after a test that failed. */
void discard();

/* ---- chance and time ---- */
uint64_t random();
/* 0 .. n - 1 */
uint64_t random_below(uint64_t n);
bool chance(unsigned int per_1000);
uint64_t now_ns();

/* ---- tasks ---- */
void spawn(const char *name, Call fn, Context ctx = Context::kProcess);
/* Runs @fn @ns from now. */
void after(uint64_t ns, const char *name, Call fn, Context ctx = Context::kSoftirq);
/* Gives others the processor.  In a task. */
void yield();
/*
 * Sleeps until @ready is true.  In a task, or outside of all: then tasks run meanwhile.  Process
 * context.  wait_until() looks at @ready (which has no side effects) after every step of anybody;
 * wait_on() only after a wake(@channel), as a sleeper in the kernel does: where a wakeup is
 * forgotten it sleeps for ever.
 */
void sleep_until(bool (*ready)(void *arg), void *arg, const void *channel);
template <typename F>
void wait_on(const void *channel, F &&ready)
{
	sleep_until(
		[](void *f) -> bool { return (*static_cast<std::remove_reference_t<F> *>(f))(); },
		&ready, channel);
}
template <typename F>
void wait_until(F &&ready)
{
	wait_on(nullptr, std::forward<F>(ready));
}
void sleep_for(uint64_t ns);
/* Tasks that sleep on @channel look again. */
void wake(const void *channel);

/* ---- the scheduler; called outside of tasks ---- */
/* One decision.  False when nothing can run and nothing is scheduled. */
bool step();
/* Runs until nothing is left to do at this moment: events of the future stay. */
void run_ready();
/* Runs until @done or until @ns of virtual time have gone: the last value of @done. */
bool run_until(const std::function<bool()> &done, uint64_t ns);
/* Runs for @ns of virtual time. */
void run_for(uint64_t ns);
/* Lets the clock jump ahead: what was due meanwhile is late. */
void jump(uint64_t ns);
/* Draws from here on depend on @seed alone, whatever was drawn before. */
void reseed(uint64_t seed);
/* A digest of everything that happened: every decision of the scheduler and every note(). */
uint64_t history();
void note(uint64_t what);

/* ---- faults ---- */
/* The @nth allocation from now fails (1: the next one); 0: none. */
void fail_nth(unsigned int nth);
/* Allocations that were made to fail since reset(). */
uint64_t failed_allocs();
/* Spin locks taken since reset(). */
uint64_t spin_locks();
/* Runs of work items and timers since then. */
uint64_t turns();

/* ---- a trace to read ---- */
extern bool tracing;
/* One line, with the time before it, if tracing. */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);

/* ---- verdict ---- */
/* The leftovers: leaked memory, held locks, open RCU sections, pending work, armed timers,
 * rds_bug() calls.  Empty when clean. */
std::string leftovers();
/* Ends the process with @why, the seed and the current task. */
[[noreturn]] void fail(const char *why);
/* Told of it before the end. */
extern void (*on_fail)(const char *why);

} // namespace sim
#endif
