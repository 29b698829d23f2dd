// SPDX-License-Identifier: GPL-2.0
/* The seam in the simulator: see sim.h for what it checks. */
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "task.h"

namespace sim
{
namespace
{

constexpr uint32_t kLockMagic = 0x10c4ed00;
constexpr uint32_t kBlockMagic = 0xa110c8ed;
constexpr uint32_t kWorkMagic = 0x0f1cef00;
constexpr uint32_t kTimerMagic = 0x71aeef00;
constexpr unsigned char kPoison = 0x6b;

struct Lock {
	uint32_t magic;
	int rank;
	Task *owner;
};
static_assert(sizeof(Lock) <= sizeof(struct rds_spinlock));
static_assert(sizeof(Lock) <= sizeof(struct rds_mutex));

struct Block {
	size_t bytes;
	uint32_t magic;
	uint32_t pad;
};
static_assert(sizeof(Block) == 16);

struct Work {
	uint32_t magic;
	uint32_t cancels; /* calls of cancel_sync inside: nothing can be queued */
	void (*fn)(struct rds_work *w);
	Task *runner;
	uint64_t queued; /* times it was queued, and times it has run since */
	uint64_t started;
	uint64_t ended;
};
static_assert(sizeof(Work) <= sizeof(struct rds_work));

struct Timer {
	uint32_t magic;
	void (*fn)(struct rds_timer *t);
	uint64_t armed; /* number of the arming that is valid, 0: none */
};
static_assert(sizeof(Timer) <= sizeof(struct rds_timer));

struct Deferred {
	struct rds_rcu_head *head;
	void (*fn)(struct rds_rcu_head *h);
	uint64_t serial; /* RCU sections up to this one have to end first */
	uint64_t number; /* in the order of rds_rcu_defer() */
};

struct Platform {
	size_t bytes = 0;
	size_t blocks = 0;
	unsigned int fail_in = 0;
	uint64_t failed = 0;
	uint64_t rcu_serial = 0;
	uint64_t arming = 0;
	std::vector<Work *> queue; /* pending */
	std::vector<Deferred> deferred;
	uint64_t deferrals = 0;
	std::set<uint64_t> calling;	/* numbers of callbacks that are running */
	std::set<const void *> pending; /* addresses of pending or running work, armed timers */
};

Platform plat;

Lock *as_lock(void *l)
{
	auto *k = static_cast<Lock *>(l);

	if (k->magic != kLockMagic)
		fail("lock was never initialised");
	return k;
}

Work *as_work(struct rds_work *w)
{
	auto *k = reinterpret_cast<Work *>(w);

	if (k->magic != kWorkMagic)
		fail("work item was never initialised");
	return k;
}

Timer *as_timer(struct rds_timer *t)
{
	auto *k = reinterpret_cast<Timer *>(t);

	if (k->magic != kTimerMagic)
		fail("timer was never initialised");
	return k;
}

void must_not_be_hardirq(const char *why)
{
	if (current().ctx == Context::kHardirq)
		fail(why);
}

void might_sleep()
{
	Task &t = current();

	if (t.ctx != Context::kProcess)
		fail("sleeps in a context that may not");
	if (t.spins)
		fail("sleeps under a spin lock");
	if (t.rcu_depth)
		fail("sleeps inside an RCU section");
}

/* What may sleep does: callers that poll with it must not keep the processor. */
void yield_once()
{
	if (in_task())
		yield();
	else
		(void)step_ready();
}

void init_lock(void *l, int rank)
{
	*static_cast<Lock *>(l) = Lock{kLockMagic, rank, nullptr};
}

void check_order(Lock *l, const char *twice, const char *order)
{
	for (const Held &h : current().held) {
		if (h.lock == l)
			fail(twice);
		if (h.rank >= l->rank)
			fail(order);
	}
}

void take(Lock *l, bool spin)
{
	Task &t = current();

	l->owner = &t;
	t.held.push_back(Held{l, l->rank, spin});
	t.spins += spin;
}

void give(Lock *l, bool spin)
{
	Task &t = current();
	auto it = std::find_if(t.held.begin(), t.held.end(),
			       [&](const Held &h) { return h.lock == l; });

	if (it == t.held.end() || it->spin != spin)
		fail("unlocks what it has not locked");
	t.held.erase(it);
	t.spins -= spin;
	l->owner = nullptr;
}

void mutex_lock(struct rds_mutex *m)
{
	preempt_point();
	might_sleep();

	Lock *l = as_lock(m);

	check_order(l, "mutex locked twice", "mutex locked out of rank order");
	wait_until([l] { return !l->owner; });
	take(l, false);
}

/* Runs @w as the current task. */
void run_work(Work *w)
{
	current().work = w;
	w->fn(reinterpret_cast<struct rds_work *>(w));
	current().work = nullptr;
	w->runner = nullptr;
	w->ended = w->started;
	if (w->started == w->queued)
		plat.pending.erase(w);
}

void start_work(size_t nth)
{
	Work *w = plat.queue[nth];

	plat.queue.erase(plat.queue.begin() + static_cast<long>(nth));
	w->started = w->queued;
	spawn("work", [w] {
		w->runner = &current();
		run_work(w);
	});
	/* Taken from now on: it must not start a second time. */
	w->runner = reinterpret_cast<Task *>(w);
}

std::vector<size_t> startable_work()
{
	std::vector<size_t> out;

	for (size_t i = 0; i < plat.queue.size(); i++)
		if (!plat.queue[i]->runner)
			out.push_back(i);
	return out;
}

std::vector<size_t> ripe_callbacks()
{
	std::vector<size_t> out;
	uint64_t oldest = oldest_reader();

	for (size_t i = 0; i < plat.deferred.size(); i++)
		if (plat.deferred[i].serial < oldest)
			out.push_back(i);
	return out;
}

bool forget_queued(Work *w)
{
	auto it = std::find(plat.queue.begin(), plat.queue.end(), w);

	if (it == plat.queue.end())
		return false;
	plat.queue.erase(it);
	if (!w->runner)
		plat.pending.erase(w);
	return true;
}

void check_free(const Block *b)
{
	const char *from = reinterpret_cast<const char *>(b + 1);
	const char *to = from + b->bytes;
	auto it = plat.pending.lower_bound(from);

	if (it != plat.pending.end() && *it < to)
		fail("frees work that is pending or running, or a timer that is armed");
	for (const Held &h : current().held)
		if (h.lock >= from && h.lock < to)
			fail("frees a lock that it holds");
	if (current().spins)
		fail("frees under a spin lock");
}

} // namespace

size_t platform_ready()
{
	return startable_work().size() + ripe_callbacks().size();
}

void platform_start(size_t nth)
{
	auto work = startable_work();

	if (nth < work.size()) {
		start_work(work[nth]);
		return;
	}

	size_t i = ripe_callbacks()[nth - work.size()];
	Deferred d = plat.deferred[i];

	plat.deferred.erase(plat.deferred.begin() + static_cast<long>(i));
	spawn(
		"rcu callback", [d] { d.fn(d.head); }, Context::kSoftirq);
}

void platform_reset()
{
	plat = Platform();
}

std::string platform_leftovers()
{
	std::string out;

	if (plat.blocks)
		out += std::to_string(plat.blocks) + " allocations of " +
		       std::to_string(plat.bytes) + " bytes leaked; ";
	if (!plat.pending.empty())
		out += std::to_string(plat.pending.size()) + " work items or timers pending; ";
	if (!plat.deferred.empty())
		out += std::to_string(plat.deferred.size()) + " RCU callbacks pending; ";
	return out;
}

void fail_nth(unsigned int nth)
{
	plat.fail_in = nth;
}

uint64_t failed_allocs()
{
	return plat.failed;
}

} // namespace sim

using namespace sim;

host::Usage host::usage()
{
	return Usage{plat.bytes, plat.blocks};
}

extern "C" {

/* ---- memory ---- */

void *rds_alloc(size_t size, enum rds_ctx ctx)
{
	preempt_point();
	must_not_be_hardirq("allocates in hardirq");
	if (ctx == RDS_MAY_SLEEP)
		might_sleep();
	if ((plat.fail_in && !--plat.fail_in) || chance(options().fail_per_1000)) {
		plat.failed++;
		return nullptr;
	}

	auto *b = static_cast<Block *>(malloc(sizeof(Block) + size));

	if (!b)
		fail("the host has no memory");
	*b = Block{size, kBlockMagic, 0};
	memset(b + 1, kPoison, size);
	plat.blocks++;
	plat.bytes += size;
	return b + 1;
}

void rds_free(void *p)
{
	if (!p)
		return;
	preempt_point();
	must_not_be_hardirq("frees in hardirq");

	Block *b = static_cast<Block *>(p) - 1;

	if (b->magic != kBlockMagic)
		fail("frees what was not allocated, or twice");
	check_free(b);
	plat.blocks--;
	plat.bytes -= b->bytes;
	b->magic = 0;
	memset(p, kPoison, b->bytes);
	free(b);
}

/* ---- locks ---- */

void rds_spin_init(struct rds_spinlock *l, enum rds_lock_rank rank)
{
	init_lock(l, rank);
}

void rds_spin_lock(struct rds_spinlock *l)
{
	preempt_point();
	must_not_be_hardirq("spin lock in hardirq");

	Lock *k = as_lock(l);

	check_order(k, "spin lock locked twice", "spin lock locked out of rank order");
	if (k->owner)
		fail("spin lock owned by a task that was preempted");
	take(k, true);
}

void rds_spin_unlock(struct rds_spinlock *l)
{
	give(as_lock(l), true);
	preempt_point();
}

void rds_mutex_init(struct rds_mutex *m, enum rds_lock_rank rank)
{
	init_lock(m, rank);
}

void rds_mutex_lock(struct rds_mutex *m)
{
	mutex_lock(m);
}

int rds_mutex_lock_interruptible(struct rds_mutex *m)
{
	mutex_lock(m);
	return 0;
}

int rds_mutex_trylock(struct rds_mutex *m)
{
	preempt_point();
	must_not_be_hardirq("mutex in hardirq");

	Lock *l = as_lock(m);

	if (l->owner)
		return 0;
	take(l, false);
	return 1;
}

void rds_mutex_unlock(struct rds_mutex *m)
{
	give(as_lock(m), false);
	preempt_point();
}

/* ---- read-copy-update ---- */

void rds_rcu_read_lock(void)
{
	Task &t = current();

	if (!t.rcu_depth++)
		t.rcu_serial = ++plat.rcu_serial;
	preempt_point();
}

void rds_rcu_read_unlock(void)
{
	Task &t = current();

	preempt_point();
	if (!t.rcu_depth--)
		fail("leaves an RCU section that it is not in");
}

void rds_rcu_sync(void)
{
	preempt_point();
	might_sleep();

	uint64_t now = plat.rcu_serial;

	yield_once();
	wait_until([now] { return now < oldest_reader(); });
}

/* Runs every callback that was deferred before: process context, as rds_rcu_sync(). */
void rds_rcu_barrier(void)
{
	uint64_t until = plat.deferrals;

	might_sleep();
	yield_once();
	wait_until([until] {
		for (const Deferred &d : plat.deferred)
			if (d.number <= until)
				return false;
		for (uint64_t n : plat.calling)
			if (n <= until)
				return false;
		return true;
	});
}

void rds_rcu_defer(struct rds_rcu_head *h, void (*fn)(struct rds_rcu_head *h))
{
	must_not_be_hardirq("rds_rcu_defer in hardirq");
	for (const Deferred &d : plat.deferred)
		if (d.head == h)
			fail("RCU head deferred twice");
	plat.deferred.push_back(Deferred{h, fn, plat.rcu_serial, ++plat.deferrals});
	preempt_point();
}

/* ---- deferred execution ---- */

void rds_work_init(struct rds_work *w, void (*fn)(struct rds_work *w))
{
	auto *k = reinterpret_cast<Work *>(w);

	*k = Work{};
	k->magic = kWorkMagic;
	k->fn = fn;
}

void rds_work_queue(struct rds_work *w)
{
	Work *k = as_work(w);

	if (k->cancels || std::find(plat.queue.begin(), plat.queue.end(), k) != plat.queue.end())
		return;
	k->queued++;
	plat.queue.push_back(k);
	plat.pending.insert(k);
	preempt_point();
}

void rds_work_cancel_sync(struct rds_work *w)
{
	Work *k = as_work(w);

	might_sleep();
	if (current().work == k)
		fail("work item cancels itself");
	k->cancels++;
	forget_queued(k);
	yield_once();
	wait_until([k] { return !k->runner; });
	k->started = k->ended = k->queued;
	plat.pending.erase(k);
	k->cancels--;
}

void rds_work_flush(struct rds_work *w)
{
	Work *k = as_work(w);
	uint64_t until = k->queued;

	might_sleep();
	if (current().work == k)
		fail("work item flushes itself");
	yield_once();
	wait_until([k, until] { return k->ended >= until; });
}

void rds_timer_init(struct rds_timer *t, void (*fn)(struct rds_timer *t))
{
	auto *k = reinterpret_cast<Timer *>(t);

	*k = Timer{};
	k->magic = kTimerMagic;
	k->fn = fn;
}

void rds_timer_arm(struct rds_timer *t, uint64_t ns)
{
	Timer *k = as_timer(t);
	uint64_t arming = ++plat.arming;

	k->armed = arming;
	plat.pending.insert(k);
	after(
		ns, "timer",
		[k, arming] {
			/* The address is looked up first: the timer may be gone. */
			if (!plat.pending.count(k) || k->armed != arming)
				return;
			k->armed = 0;
			plat.pending.erase(k);
			k->fn(reinterpret_cast<struct rds_timer *>(k));
		},
		Context::kHardirq);
}

void rds_timer_cancel_sync(struct rds_timer *t)
{
	Timer *k = as_timer(t);

	preempt_point();
	might_sleep();
	k->armed = 0;
	plat.pending.erase(k);
}

/* ---- time and chance ---- */

uint64_t rds_now_ns(void)
{
	return now_ns();
}

uint32_t rds_random(void)
{
	return static_cast<uint32_t>(sim::random());
}

/* ---- sockets ---- */

void rds_socket_wake(struct rds_socket *s, unsigned int what)
{
	preempt_point();
	must_not_be_hardirq("wakes in hardirq");
	if (current().spins)
		fail("wakes under a spin lock");
	host::count_wake(s, what);
}

} // extern "C"
