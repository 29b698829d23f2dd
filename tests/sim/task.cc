// SPDX-License-Identifier: GPL-2.0
#include "task.h"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <execinfo.h>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <unordered_map>

#include "chooser.h"
#include "fiber.h"
#include "rng.h"

namespace sim
{

Task *the_task;
uint64_t preempt_countdown;
void (*on_fail)(const char *why);
bool tracing;
Chooser *chooser;

namespace
{

/* Virtual cost of one scheduling decision. */
constexpr uint64_t kStepNs = 50;
/* A task that never comes to an end is a livelock of ours. */
constexpr uint64_t kMaxSteps = 2000ull * 1000 * 1000;
constexpr size_t kManyTasks = 4096;

enum class State { kIdle, kReady, kRunning, kPolling, kSleeping };

struct Thread : Task {
	Thread() : fiber([](void *t) { static_cast<Thread *>(t)->main(); }, this)
	{
	}
	[[noreturn]] void main();

	Fiber fiber;
	Call fn;
	State state = State::kIdle;
	size_t at = 0;	   /* in its list: ready or polling */
	size_t in_all = 0; /* in the list of all */
	bool (*ready)(void *) = nullptr;
	void *arg = nullptr;
};

/* Waits for a wake(), or is about to. */
struct Sleeper {
	Thread *thread;
	bool enlisted = true;
	bool asleep = false;
};

struct Event {
	const char *name = nullptr;
	Call fn;
	Context ctx = Context::kProcess;
};

/* Order of events: by time, then in the order in which they were made. */
struct Due {
	uint64_t at;
	uint64_t serial;
	uint32_t slot;

	bool operator<(const Due &o) const
	{
		return at != o.at ? at > o.at
				  : serial > o.serial; /* the heap's top is the largest */
	}
};

struct World {
	Options opt;
	Memory memory = Memory::kSequential;
	unsigned int drain_every = 1;
	Rng rng;
	uint64_t now = 1;
	uint64_t steps = 0;
	uint64_t history = 0;
	Task outside; /* the test */
	Thread *running = nullptr;
	std::vector<Thread *> threads; /* all that are not idle */
	std::vector<Thread *> ready, polling;
	std::unordered_multimap<const void *, Sleeper *> sleeping;
	std::vector<Due> due; /* a heap */
	std::vector<Event> events;
	std::vector<uint32_t> free_events;
	uint64_t event_serial = 0;
};

World *make_world()
{
	auto *w = new World;

	the_task = &w->outside;
	return w;
}

World *const w = make_world();
/* Threads of all worlds that have nothing to do: a stack is expensive to make. */
std::vector<std::unique_ptr<Thread>> pool;

void put(std::vector<Thread *> &list, Thread *t, State s)
{
	t->state = s;
	t->at = list.size();
	list.push_back(t);
}

void take(std::vector<Thread *> &list, Thread *t)
{
	list[t->at] = list.back();
	list[t->at]->at = t->at;
	list.pop_back();
}

void check_left(const Task &t)
{
	if (!t.held.empty())
		fail("task ended with a lock held");
	if (t.rcu_depth)
		fail("task ended inside an RCU section");
}

[[noreturn]] void Thread::main()
{
	for (;;) {
		fn();
		fn.reset();
		if (!stores.empty())
			preempt_point(); /* its last stores may be late, too */
		stores.drain();
		check_left(*this);
		state = State::kIdle;
		fiber.leave();
	}
}

/* Back to the scheduler; returns when somebody resumes this task. */
void suspend(Thread *t)
{
	t->fiber.leave();
}

void retire(Thread *t)
{
	w->threads[t->in_all] = w->threads.back();
	w->threads[t->in_all]->in_all = t->in_all;
	w->threads.pop_back();
	pool.emplace_back(t);
}

void renew_countdown()
{
	unsigned int p = w->opt.preempt_per_1000;

	if (chooser) {
		preempt_countdown = 1;
		return;
	}
	/* Any number up to twice the mean is as likely. */
	preempt_countdown = p ? 1 + random_below(2000 / p) : 0;
}

void run_thread(Thread *t)
{
	take(w->ready, t);
	t->state = State::kRunning;
	if (!preempt_countdown)
		renew_countdown();
	w->running = t;
	the_task = t;
	t->fiber.enter();
	w->running = nullptr;
	the_task = &w->outside;
	if (t->state == State::kIdle)
		retire(t);
}

void run_hardirq(Event &e)
{
	w->outside.ctx = Context::kHardirq;
	w->outside.name = e.name;
	e.fn();
	w->outside.ctx = Context::kProcess;
	w->outside.name = "test";
}

/* The event in front of the others comes, and is none any more. */
Event take_due()
{
	uint32_t slot = w->due.front().slot;

	std::pop_heap(w->due.begin(), w->due.end());
	w->due.pop_back();
	w->free_events.push_back(slot);
	return std::move(w->events[slot]);
}

/* Events that are due become tasks; hardirq ones run at once, nothing can interrupt them, except
 * where tasks are told apart by their stores: those have a processor each. */
void start_due()
{
	while (!w->due.empty() && w->due.front().at <= w->now) {
		Event e = take_due();

		if (e.ctx == Context::kHardirq && !buffered())
			run_hardirq(e);
		else
			spawn(e.name, std::move(e.fn), e.ctx);
	}
}

void poll_all()
{
	for (size_t i = 0; i < w->polling.size();) {
		Thread *t = w->polling[i];

		if (!t->ready(t->arg)) {
			i++;
			continue;
		}
		take(w->polling, t);
		put(w->ready, t, State::kReady);
	}
}

/* A store of somebody reaches memory. */
void drain_somebody()
{
	size_t n = 0;

	for (const Thread *t : w->threads)
		n += !t->stores.empty();

	size_t pick = random_below(n);

	for (Thread *t : w->threads)
		if (!t->stores.empty() && !pick--) {
			t->stores.drain_one();
			return;
		}
}

bool stores_wait()
{
	return buffered() && std::any_of(w->threads.begin(), w->threads.end(),
					 [](const Thread *t) { return !t->stores.empty(); });
}

/* ---- the order is chosen (chooser.h) ---- */

/* Told by the clock, and so in the order of their time; all others come when the network likes. */
bool by_clock(const Event &e)
{
	static const std::string_view names[] = {"timer", "alarm", "again", "keepalive"};

	return std::find(std::begin(names), std::end(names), e.name) != std::end(names);
}

std::vector<Due> in_order()
{
	std::vector<Due> due = w->due;

	std::sort(due.begin(), due.end(), [](const Due &a, const Due &b) { return b < a; });
	return due;
}

std::vector<Option> options_now()
{
	std::vector<Option> out;
	const Due *clock = nullptr;
	std::vector<Due> due = in_order();

	for (const Thread *t : w->ready)
		if (!t->interrupted)
			out.push_back({Option::kTask, t->name, t, t->trail});
	for (size_t i = 0; const void *work = deferred_work(i); i++)
		out.push_back({Option::kWork, "work", work, i});
	for (const Due &d : due) {
		const Event &e = w->events[d.slot];

		if (!by_clock(e))
			out.push_back({Option::kEvent, e.name, nullptr, d.serial});
		else if (!clock)
			clock = &d;
	}
	for (const Thread *t : w->ready)
		if (t->interrupted)
			out.push_back({Option::kTask, t->name, t, t->trail});
	if (clock)
		out.push_back(
			{Option::kClock, w->events[clock->slot].name, nullptr, clock->serial});
	return out;
}

void resume_chosen(Thread *t)
{
	t->interrupted = false;
	t->trail = mix(t->trail ^ chooser->state());
	run_thread(t);
}

/* Time goes on to it, unless something with a time limit comes before. */
void fire_chosen(const Option &o)
{
	auto it = std::find_if(w->due.begin(), w->due.end(),
			       [&o](const Due &d) { return d.serial == o.serial; });
	uint64_t at = it->at;

	for (const Due &d : w->due)
		if (o.kind != Option::kClock && by_clock(w->events[d.slot]))
			at = std::min(at, d.at);
	w->now = std::max(w->now, at);
	it->at = 0;
	std::make_heap(w->due.begin(), w->due.end());

	Event e = take_due();

	if (e.ctx == Context::kHardirq) {
		run_hardirq(e);
		return;
	}
	spawn(e.name, std::move(e.fn), e.ctx);
	resume_chosen(w->ready.back());
}

bool run_chosen()
{
	if (!w->polling.empty())
		poll_all();

	std::vector<Option> all = options_now();

	/* That memory is given back changes nothing for anybody. */
	if (size_t n = deferred_ready(); n && !deferred_work(n - 1)) {
		deferred_start(n - 1);
		run_thread(w->ready.back());
		return true;
	}
	w->now += kStepNs;
	if (++w->steps > kMaxSteps)
		fail("too many steps");

	size_t pick = chooser->pick(all);

	if (pick >= all.size())
		return pick == kAgain;

	const Option &o = all[pick];

	if (o.kind == Option::kTask) {
		resume_chosen(const_cast<Thread *>(static_cast<const Thread *>(o.what)));
	} else if (o.kind == Option::kWork) {
		deferred_start(o.serial);
		resume_chosen(w->ready.back());
	} else {
		fire_chosen(o);
	}
	return true;
}

/* Runs one thing that can run now. */
bool run_one()
{
	if (w->running)
		fail("scheduler called inside a task");
	if (chooser)
		return run_chosen();
	start_due();
	if (!w->polling.empty())
		poll_all();

	/* Each has a stack: with so many of them no others are begun. */
	size_t more = w->ready.size() < kManyTasks ? deferred_ready() : 0;
	size_t n = w->ready.size() + more + stores_wait();

	if (!n)
		return false;
	w->now += kStepNs;
	if (++w->steps > kMaxSteps)
		fail("too many steps");

	size_t pick = random_below(n);

	note(w->now << 16 | pick);
	if (pick < w->ready.size())
		run_thread(w->ready[pick]);
	else if (pick < w->ready.size() + more)
		deferred_start(pick - w->ready.size());
	else
		drain_somebody();
	return true;
}

void clear_world()
{
	for (Thread *t : w->threads)
		delete t; /* in the middle of something: its stack is of no use */
	*w = World();
	the_task = &w->outside;
	preempt_countdown = 0;
	platform_reset();
	deferred_reset();
	host::bugs = 0;
}

} // namespace

void discard()
{
	clear_world();
}

void reset(const Options &opt)
{
	std::string left = leftovers();

	if (!left.empty())
		fail(left.c_str());
	clear_world();
	w->opt = opt;
	if (hooked)
		w->memory = opt.memory != Memory::kBySeed ? opt.memory
			    : opt.seed & 1		  ? Memory::kX86
							  : Memory::kWeak;
	reseed(opt.seed);
	if (buffered())
		w->drain_every = 2u << random_below(6);
	host::logged = 0;
	host::date = 1;
	host::on_wake = nullptr;
	host::wake_sleepers = nullptr;
	host::on_limit = preempt_point;
	host::on_state = nullptr;
	host::on_event = nullptr;
	host::on_drop = nullptr;
	host::on_cong = nullptr;
	host::on_module_request = nullptr;
}

Memory memory()
{
	return w->memory;
}

unsigned int drain_every()
{
	return w->drain_every;
}

void barrier_everywhere()
{
	for (Thread *t : w->threads)
		t->stores.drain();
}

bool store_waits(const void *at, size_t bytes)
{
	return buffered() &&
	       std::any_of(w->threads.begin(), w->threads.end(),
			   [=](const Thread *t) { return t->stores.touches(at, bytes); });
}

void settle_others(const StoreBuffer &mine, const void *at)
{
	if (w->memory != Memory::kWeak)
		return;
	for (Thread *t : w->threads)
		if (&t->stores != &mine)
			t->stores.settle(at);
}

Options &options()
{
	return w->opt;
}

void reseed(uint64_t seed)
{
	w->rng = Rng(seed);
	renew_countdown();
}

uint64_t random()
{
	return w->rng.next();
}

uint64_t random_below(uint64_t n)
{
	if (chooser)
		return n ? n - 1 : 0;
	return w->rng.below(n);
}

bool chance(unsigned int per_1000)
{
	if (chooser)
		return per_1000 >= 500;
	return w->rng.chance(per_1000);
}

uint64_t now_ns()
{
	return w->now;
}

uint64_t history()
{
	return w->history;
}

void note(uint64_t what)
{
	w->history = mix(w->history + 0x9e3779b97f4a7c15ull + what);
}

void spawn(const char *name, Call fn, Context ctx)
{
	Thread *t;

	if (pool.empty()) {
		t = new Thread;
	} else {
		t = pool.back().release();
		pool.pop_back();
	}
	t->name = name;
	t->ctx = ctx;
	t->fn = std::move(fn);
	t->interrupted = false;
	t->trail = digest(name);
	t->in_all = w->threads.size();
	w->threads.push_back(t);
	put(w->ready, t, State::kReady);
}

void after(uint64_t ns, const char *name, Call fn, Context ctx)
{
	uint32_t slot;

	if (w->free_events.empty()) {
		slot = static_cast<uint32_t>(w->events.size());
		w->events.emplace_back();
	} else {
		slot = w->free_events.back();
		w->free_events.pop_back();
	}
	w->events[slot] = Event{name, std::move(fn), ctx};
	w->due.push_back(Due{w->now + ns, w->event_serial++, slot});
	std::push_heap(w->due.begin(), w->due.end());
}

void yield()
{
	if (!w->running)
		fail("yield() outside of tasks");
	put(w->ready, w->running, State::kReady);
	suspend(w->running);
}

namespace
{

void forget(const Sleeper &s, const void *channel)
{
	auto [it, to] = w->sleeping.equal_range(channel);

	while (it != to && it->second != &s)
		++it;
	w->sleeping.erase(it);
}

/* Enlists first and looks second, as everybody has to who sleeps: a wakeup in between is not lost.
 * The look may sleep itself, for a mutex say. */
void sleep_on(Thread *t, bool (*ready)(void *), void *arg, const void *channel)
{
	for (;;) {
		Sleeper s{t};

		w->sleeping.emplace(channel, &s);
		barrier(); /* set_current_state() */

		bool over = ready(arg);

		if (!over && s.enlisted) {
			s.asleep = true;
			t->state = State::kSleeping;
			suspend(t);
			over = ready(arg);
		}
		if (s.enlisted)
			forget(s, channel);
		if (over)
			return;
	}
}

} // namespace

void sleep_until(bool (*ready)(void *), void *arg, const void *channel)
{
	Thread *t = w->running;

	while (!t && !ready(arg))
		if (!step())
			fail("deadlock: the test waits and nothing can run");
	if (!t || ready(arg))
		return;
	if (channel) {
		sleep_on(t, ready, arg, channel);
		return;
	}
	do {
		t->ready = ready;
		t->arg = arg;
		barrier();
		put(w->polling, t, State::kPolling);
		suspend(t);
	} while (!ready(arg));
}

void sleep_for(uint64_t ns)
{
	bool over = false;

	after(
		ns, "alarm",
		[&over] {
			over = true;
			wake(&over);
		},
		Context::kHardirq);
	wait_on(&over, [&over] { return over; });
}

void wake(const void *channel)
{
	if (w->sleeping.empty())
		return;

	auto [from, to] = w->sleeping.equal_range(channel);

	for (auto it = from; it != to; ++it) {
		Sleeper &s = *it->second;

		s.enlisted = false;
		if (s.asleep)
			put(w->ready, s.thread, State::kReady);
		s.asleep = false;
	}
	w->sleeping.erase(from, to);
}

bool step()
{
	if (run_one())
		return true;
	if (w->due.empty())
		return false;
	w->now = w->due.front().at;
	start_due();
	return true;
}

void run_ready()
{
	while (run_one())
		;
}

bool run_until(const std::function<bool()> &done, uint64_t ns)
{
	uint64_t end = w->now + ns;

	while (!done()) {
		if (run_one())
			continue;
		if (w->due.empty() || w->due.front().at > end)
			break;
		w->now = w->due.front().at;
	}
	return done();
}

void run_for(uint64_t ns)
{
	uint64_t end = w->now + ns;

	run_until([] { return false; }, ns);
	if (w->now < end)
		w->now = end;
}

void jump(uint64_t ns)
{
	w->now += ns;
}

bool in_task()
{
	return w->running;
}

bool step_ready()
{
	return run_one();
}

void preempt()
{
	renew_countdown();
	if (chooser) {
		if (!w->running || w->running->ctx == Context::kHardirq)
			return;
		/* Unless the others have processors of their own. */
		if (w->running->spins && !buffered())
			return;
		w->running->trail++;
		if (chooser->interrupts()) {
			w->running->interrupted = true;
			yield();
		}
		return;
	}
	if (!preempt_countdown || !w->running)
		return;
	if (w->running->spins && !buffered())
		preempt_countdown = 1; /* at the next place without a spin lock */
	else
		yield();
}

uint64_t digest(const char *text)
{
	uint64_t h = 0;

	while (*text)
		h = h * 31 + static_cast<unsigned char>(*text++);
	return mix(h);
}

uint64_t digest()
{
	uint64_t h = 0;

	for (const Thread *t : w->threads)
		h += mix(t->trail * 8 + static_cast<uint64_t>(t->state));
	for (const Due &d : in_order()) {
		const Event &e = w->events[d.slot];

		h = mix(h + digest(e.name));
		/* How far, about: others may come before it or not. */
		if (by_clock(e))
			h += d.at > w->now ? std::bit_width((d.at - w->now) / 1000) : 0;
	}
	return h;
}

bool is_chosen()
{
	return chooser;
}

void choose_with(Chooser *c)
{
	chooser = c;
	renew_countdown();
}

std::string leftovers()
{
	std::string out = platform_leftovers() + deferred_leftovers();

	if (host::bugs.load())
		out += "rds_bug called: " + std::string(host::last_bug.load()) + "; ";
	for (const Thread *t : w->threads)
		out += std::string("task '") + t->name + "' has not ended; ";
	if (!w->outside.held.empty())
		out += "the test holds a lock; ";
	if (w->outside.rcu_depth)
		out += "the test is inside an RCU section; ";
	return out;
}

void say(const char *fmt, ...)
{
	va_list args;

	if (!tracing)
		return;
	printf("%14.6f ms  ", static_cast<double>(w->now) / 1e6);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

void fail(const char *why)
{
	void *frames[48];
	int n = backtrace(frames, 48);
	Task &t = current();

	fprintf(stderr, "\nsim: %s\nsim: seed %llu, task '%s', time %llu ns, step %llu\n", why,
		static_cast<unsigned long long>(w->opt.seed), t.name,
		static_cast<unsigned long long>(w->now), static_cast<unsigned long long>(w->steps));
	for (const Held &h : t.held)
		fprintf(stderr, "sim: holds %s lock of rank %d\n", h.spin ? "spin" : "mutex",
			h.rank);
	backtrace_symbols_fd(frames, n, STDERR_FILENO);
	if (on_fail)
		on_fail(why);
	abort();
}

} // namespace sim
