// SPDX-License-Identifier: GPL-2.0
/* The seam in the simulator, second part: RCU, work items, timers. */
#include <set>

#include "chooser.h"
#include "task.h"

namespace sim
{
namespace
{

constexpr uint32_t kWorkMagic = 0x0f1cef00;
constexpr uint32_t kTimerMagic = 0x71aeef00;
constexpr uint64_t kHeadMagic = 0x0de4e44edull << 20;

struct Work {
	uint32_t magic;
	uint32_t cancels; /* calls of cancel_sync inside: nothing can be queued */
	void (*fn)(struct rds_work *w);
	Task *runner;
	uint64_t queued; /* times it was queued, and times it has run since */
	uint64_t started;
	uint64_t ended;
	uint32_t at; /* in the list of what can start */
	bool pending;
	rds_work_kind kind;
};
static_assert(sizeof(Work) <= sizeof(struct rds_work));

struct Timer {
	uint32_t magic;
	void (*fn)(struct rds_timer *t);
	uint64_t armed; /* number of the arming that is valid, 0: none */
	uint32_t running;
};
static_assert(sizeof(Timer) <= sizeof(struct rds_timer));

struct Deferred {
	struct rds_rcu_head *head;
	void (*fn)(struct rds_rcu_head *h);
	uint64_t serial; /* RCU sections up to this one have to end first */
	uint64_t number; /* in the order of rds_rcu_defer() */
};

struct Platform {
	uint64_t rcu_serial = 0;
	Task *oldest = nullptr, *newest = nullptr; /* readers inside */
	uint64_t arming = 0;
	std::vector<Work *> startable;	/* pending and not running */
	std::vector<Deferred> deferred; /* in order */
	uint64_t deferrals = 0;
	uint64_t turns = 0;
	std::set<uint64_t> calling;	/* numbers of callbacks that are running */
	std::set<const void *> pending; /* addresses of pending or running work, armed timers */
};

Platform plat;

Work *as_work(struct rds_work *w)
{
	auto *k = reinterpret_cast<Work *>(w);

	if (k->magic != kWorkMagic)
		fail("work item was never initialised");
	return k;
}

/* As lockdep sees it: one that waits may wait for one that does not. */
void must_may_wait_for(const Work *k)
{
	auto *me = static_cast<const Work *>(current().work);

	if (me && (me->kind != RDS_WORK_WAITS || k->kind == RDS_WORK_WAITS))
		fail("a work item waits for one that it may not wait for");
}

Timer *as_timer(struct rds_timer *t)
{
	auto *k = reinterpret_cast<Timer *>(t);

	if (k->magic != kTimerMagic)
		fail("timer was never initialised");
	return k;
}

uint64_t &head_mark(struct rds_rcu_head *h)
{
	return *reinterpret_cast<uint64_t *>(h);
}

/* A call that may sleep does: callers that poll with it must not keep the processor. */
void yield_once()
{
	if (in_task())
		yield();
	else
		(void)step_ready();
}

uint64_t oldest_reader()
{
	return plat.oldest ? plat.oldest->rcu_serial : UINT64_MAX;
}

void make_startable(Work *w)
{
	w->at = static_cast<uint32_t>(plat.startable.size());
	plat.startable.push_back(w);
}

void unmake_startable(Work *w)
{
	plat.startable[w->at] = plat.startable.back();
	plat.startable[w->at]->at = w->at;
	plat.startable.pop_back();
}

/* Runs @w as the current task. */
void run_work(Work *w)
{
	w->runner = &current();
	current().work = w;
	plat.turns++;
	w->fn(reinterpret_cast<struct rds_work *>(w));
	barrier(); /* whoever runs it next sees what this run stored */
	current().work = nullptr;
	w->runner = nullptr;
	w->ended = w->started;
	if (w->pending)
		make_startable(w);
	else
		plat.pending.erase(w);
	wake(w);
}

void start_work(Work *w)
{
	unmake_startable(w);
	w->pending = false;
	w->started = w->queued;
	/* Taken from now on: it must not start a second time. */
	w->runner = reinterpret_cast<Task *>(w);
	spawn("work", [w] { run_work(w); });
}

/* Callbacks that no reader holds up: the first so many. */
size_t ripe_callbacks()
{
	uint64_t oldest = oldest_reader();
	size_t n = plat.deferred.size();

	while (n && plat.deferred[n - 1].serial >= oldest)
		n--;
	return n;
}

void run_callback(const Deferred &d)
{
	barrier_everywhere(); /* the grace period was one on every processor */
	plat.calling.insert(d.number);
	head_mark(d.head) = 0;
	d.fn(d.head);
	plat.calling.erase(d.number);
}

void run_timer(Timer *k)
{
	k->armed = 0;
	k->running++;
	plat.turns++;
	k->fn(reinterpret_cast<struct rds_timer *>(k));
	barrier();
	k->running--;
	if (!k->armed && !k->running)
		plat.pending.erase(k);
}

bool forget_queued(Work *w)
{
	if (!w->pending)
		return false;
	w->pending = false;
	if (!w->runner) {
		unmake_startable(w);
		plat.pending.erase(w);
	}
	return true;
}

} // namespace

uint64_t turns()
{
	return plat.turns;
}

size_t deferred_ready()
{
	return plat.startable.size() + (plat.deferred.empty() ? 0 : ripe_callbacks());
}

void deferred_start(size_t nth)
{
	if (nth < plat.startable.size()) {
		start_work(plat.startable[nth]);
		return;
	}

	auto it = plat.deferred.begin() + static_cast<long>(nth - plat.startable.size());
	Deferred d = *it;

	plat.deferred.erase(it);
	spawn(
		"rcu callback", [d] { run_callback(d); }, Context::kSoftirq);
}

const void *deferred_work(size_t nth)
{
	return nth < plat.startable.size() ? plat.startable[nth] : nullptr;
}

void deferred_reset()
{
	plat = Platform();
}

std::string deferred_leftovers()
{
	std::string out;

	if (!plat.pending.empty())
		out += std::to_string(plat.pending.size()) + " work items or timers pending; ";
	if (!plat.deferred.empty())
		out += std::to_string(plat.deferred.size()) + " RCU callbacks pending; ";
	return out;
}

bool deferred_inside(const void *from, const void *to)
{
	auto it = plat.pending.lower_bound(from);

	return it != plat.pending.end() && *it < to;
}

} // namespace sim

using namespace sim;

extern "C" {

/* ---- read-copy-update ---- */

void rds_rcu_read_lock(void)
{
	Task &t = current();

	if (!t.rcu_depth++) {
		t.rcu_serial = ++plat.rcu_serial;
		t.rcu_older = plat.newest;
		t.rcu_newer = nullptr;
		(plat.newest ? plat.newest->rcu_newer : plat.oldest) = &t;
		plat.newest = &t;
	}
	preempt_point();
}

void rds_rcu_read_unlock(void)
{
	Task &t = current();

	preempt_point();
	if (!t.rcu_depth)
		fail("leaves an RCU section that it is not in");
	if (--t.rcu_depth)
		return;
	(t.rcu_older ? t.rcu_older->rcu_newer : plat.oldest) = t.rcu_newer;
	(t.rcu_newer ? t.rcu_newer->rcu_older : plat.newest) = t.rcu_older;
}

void rds_rcu_sync(void)
{
	preempt_point();
	might_sleep();

	barrier(); /* a reader that begins from here on sees what we stored */

	uint64_t now = plat.rcu_serial;

	yield_once();
	wait_until([now] { return now < oldest_reader(); });
	barrier_everywhere();
}

/* Runs every callback that was deferred before: process context, as rds_rcu_sync(). */
void rds_rcu_barrier(void)
{
	uint64_t until = plat.deferrals;

	might_sleep();
	yield_once();
	wait_until([until] {
		return (plat.deferred.empty() || plat.deferred.front().number > until) &&
		       (plat.calling.empty() || *plat.calling.begin() > until);
	});
}

void rds_rcu_defer(struct rds_rcu_head *h, void (*fn)(struct rds_rcu_head *h))
{
	must_not_be_hardirq("rds_rcu_defer in hardirq");
	if (head_mark(h) == kHeadMagic + reinterpret_cast<uintptr_t>(h))
		fail("RCU head deferred twice");
	head_mark(h) = kHeadMagic + reinterpret_cast<uintptr_t>(h);
	barrier();
	plat.deferred.push_back(Deferred{h, fn, plat.rcu_serial, ++plat.deferrals});
	preempt_point();
}

/* ---- deferred execution ---- */

void rds_work_init(struct rds_work *w, void (*fn)(struct rds_work *w), enum rds_work_kind kind)
{
	auto *k = reinterpret_cast<Work *>(w);

	*k = Work{};
	k->magic = kWorkMagic;
	k->kind = kind;
	k->fn = fn;
}

void rds_work_queue(struct rds_work *w, struct rds_os_net *)
{
	Work *k = as_work(w);

	preempt_point(); /* whoever queues it may be late */
	barrier();
	if (k->cancels || k->pending)
		return;
	k->queued++;
	k->pending = true;
	if (!k->runner) {
		make_startable(k);
		plat.pending.insert(k);
	}
	preempt_point();
}

void rds_work_cancel_sync(struct rds_work *w)
{
	Work *k = as_work(w);

	might_sleep();
	must_may_wait_for(k);
	k->cancels++;
	forget_queued(k);
	yield_once();
	wait_on(k, [k] { return !k->runner; });
	k->started = k->ended = k->queued;
	k->cancels--;
	wake(k); /* rds_work_flush() may be waiting for the run that will not be */
}

void rds_work_flush(struct rds_work *w)
{
	Work *k = as_work(w);
	uint64_t until = k->queued;

	might_sleep();
	must_may_wait_for(k);
	yield_once();
	wait_on(k, [k, until] { return k->ended >= until; });
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

	barrier();
	plat.pending.insert(k);
	k->armed = arming;
	after(
		ns, "timer",
		[k, arming] {
			/* The address is looked up first: the timer may be gone. */
			if (plat.pending.count(k) && k->armed == arming)
				run_timer(k);
		},
		Context::kHardirq);
}

void rds_timer_cancel_sync(struct rds_timer *t)
{
	Timer *k = as_timer(t);

	preempt_point();
	might_sleep();
	barrier();
	k->armed = 0;
	if (k->running)
		wait_until([k] { return !k->running; });
	k->armed = 0; /* the callback may have armed it again */
	plat.pending.erase(k);
}

} // extern "C"
