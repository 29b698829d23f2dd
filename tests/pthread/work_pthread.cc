// SPDX-License-Identifier: GPL-2.0
/* Work items on a pool of threads, timers on one more. */
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "thread.h"

namespace
{

using pt::Context;
using pt::might_sleep;
using pt::self;

constexpr uint32_t kWorkMagic = 0x0f1cef01;
constexpr uint32_t kTimerMagic = 0x71aeef01;

/* Everything but @magic and @fn is under Pool::lock. */
struct Work {
	uint32_t magic;
	uint32_t cancels; /* calls of cancel_sync inside: nothing can be queued */
	void (*fn)(struct rds_work *w);
	bool pending;
	bool running;
	uint64_t queued; /* times it was queued, and how many of them have run */
	uint64_t ended;
};
static_assert(sizeof(Work) <= sizeof(struct rds_work));

/* @armed and @when are under Clock::lock. */
struct Timer {
	uint32_t magic;
	bool armed;
	void (*fn)(struct rds_timer *t);
	uint64_t when;
};
static_assert(sizeof(Timer) <= sizeof(struct rds_timer));

struct Pool {
	std::mutex lock;
	std::deque<Work *> ready; /* pending, and not running */
	unsigned int busy = 0;
	bool ending = false;
	std::condition_variable more, done;
	std::vector<std::thread> threads;
};

struct Clock {
	std::mutex lock;
	std::multimap<uint64_t, Timer *> armed;
	const Timer *firing = nullptr;
	bool ending = false;
	std::condition_variable changed, done;
	std::thread thread;
};

Pool pool;
Clock timers;

Work *as_work(struct rds_work *w)
{
	auto *k = reinterpret_cast<Work *>(w);

	if (k->magic != kWorkMagic)
		pt::fail("work item was never initialised");
	return k;
}

Timer *as_timer(struct rds_timer *t)
{
	auto *k = reinterpret_cast<Timer *>(t);

	if (k->magic != kTimerMagic)
		pt::fail("timer was never initialised");
	return k;
}

void run_one(std::unique_lock<std::mutex> &l)
{
	Work *w = pool.ready.front();
	uint64_t until = w->queued;

	pool.ready.pop_front();
	w->pending = false;
	w->running = true;
	pool.busy++;
	l.unlock();
	self.work = w;
	w->fn(reinterpret_cast<struct rds_work *>(w));
	self.work = nullptr;
	if (self.n_held || self.rcu_depth)
		pt::fail("work item returns with a lock held or inside an RCU section");
	l.lock();
	pool.busy--;
	w->running = false;
	w->ended = until;
	if (w->pending) {
		pool.ready.push_back(w);
		pool.more.notify_one();
	}
	pool.done.notify_all();
}

void pool_thread()
{
	std::unique_lock l(pool.lock);

	while (!pool.ending || !pool.ready.empty()) {
		if (pool.ready.empty())
			pool.more.wait(l);
		else
			run_one(l);
	}
}

/* Under Clock::lock. */
void disarm(Timer *k)
{
	if (!k->armed)
		return;
	auto [at, end] = timers.armed.equal_range(k->when);

	timers.armed.erase(std::find_if(at, end, [&](auto &e) { return e.second == k; }));
	k->armed = false;
}

void fire(std::unique_lock<std::mutex> &l)
{
	Timer *k = timers.armed.begin()->second;

	disarm(k);
	timers.firing = k;
	l.unlock();
	k->fn(reinterpret_cast<struct rds_timer *>(k));
	l.lock();
	timers.firing = nullptr;
	timers.done.notify_all();
}

void timer_thread()
{
	self.ctx = Context::kHardirq;

	std::unique_lock l(timers.lock);

	while (!timers.ending) {
		uint64_t now = rds_now_ns();

		if (timers.armed.empty())
			timers.changed.wait(l);
		else if (timers.armed.begin()->first <= now)
			fire(l);
		else
			timers.changed.wait_for(
				l, std::chrono::nanoseconds(timers.armed.begin()->first - now));
	}
}

} // namespace

namespace pt
{

void start_work(unsigned int workers)
{
	pool.ending = timers.ending = false;
	timers.thread = std::thread(timer_thread);
	for (unsigned int i = 0; i < workers; i++)
		pool.threads.emplace_back(pool_thread);
}

std::string stop_work()
{
	std::string left;
	{
		std::lock_guard g(timers.lock);

		if (!timers.armed.empty())
			left += std::to_string(timers.armed.size()) + " timers armed; ";
		timers.ending = true;
	}
	timers.changed.notify_all();
	timers.thread.join();
	timers.armed.clear();
	{
		std::lock_guard g(pool.lock);

		if (!pool.ready.empty() || pool.busy)
			left += "work pending; ";
		pool.ending = true;
	}
	pool.more.notify_all();
	for (std::thread &t : pool.threads)
		t.join();
	pool.threads.clear();
	return left;
}

} // namespace pt

extern "C" {

void rds_work_init(struct rds_work *w, void (*fn)(struct rds_work *w), enum rds_work_kind)
{
	auto *k = new (w) Work{};

	k->magic = kWorkMagic;
	k->fn = fn;
}

void rds_work_queue(struct rds_work *w, struct rds_os_net *)
{
	Work *k = as_work(w);
	std::lock_guard g(pool.lock);

	if (k->cancels || k->pending)
		return;
	k->pending = true;
	k->queued++;
	if (k->running)
		return; /* its runner queues it again */
	pool.ready.push_back(k);
	pool.more.notify_one();
}

void rds_work_cancel_sync(struct rds_work *w)
{
	Work *k = as_work(w);

	might_sleep();
	if (self.work == k)
		pt::fail("work item cancels itself");
	std::unique_lock l(pool.lock);

	k->cancels++;
	std::erase(pool.ready, k);
	k->pending = false;
	pool.done.wait(l, [&] { return !k->running; });
	k->ended = k->queued;
	k->cancels--;
	pool.done.notify_all();
}

void rds_work_flush(struct rds_work *w)
{
	Work *k = as_work(w);

	might_sleep();
	if (self.work == k)
		pt::fail("work item flushes itself");
	std::unique_lock l(pool.lock);
	uint64_t until = k->queued;

	pool.done.wait(l, [&] { return k->ended >= until; });
}

void rds_timer_init(struct rds_timer *t, void (*fn)(struct rds_timer *t))
{
	auto *k = new (t) Timer{};

	k->magic = kTimerMagic;
	k->fn = fn;
}

void rds_timer_arm(struct rds_timer *t, uint64_t ns)
{
	Timer *k = as_timer(t);
	std::lock_guard g(timers.lock);

	disarm(k);
	k->when = rds_now_ns() + ns;
	k->armed = true;
	timers.armed.emplace(k->when, k);
	timers.changed.notify_one();
}

void rds_timer_cancel_sync(struct rds_timer *t)
{
	Timer *k = as_timer(t);

	might_sleep();
	std::unique_lock l(timers.lock);

	/* Its function may arm it again while we wait. */
	do {
		disarm(k);
		timers.done.wait(l, [&] { return timers.firing != k; });
	} while (k->armed);
}

} // extern "C"
