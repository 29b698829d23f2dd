// SPDX-License-Identifier: GPL-2.0
#include "task.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <map>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#endif
#ifdef SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace sim
{
namespace
{

constexpr size_t kStackBytes = 256 * 1024;
/* Virtual cost of one scheduling decision. */
constexpr uint64_t kStepNs = 50;
/* A task that never comes to an end is a livelock of ours. */
constexpr uint64_t kMaxSteps = 200 * 1000 * 1000;

/* A stack with an unmapped page below it. */
class Stack final
{
public:
	Stack()
	{
		base_ = static_cast<char *>(mmap(nullptr, kStackBytes + kGuard,
						 PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		if (base_ == MAP_FAILED || mprotect(base_, kGuard, PROT_NONE))
			fail("no memory for a stack");
	}
	~Stack()
	{
		munmap(base_, kStackBytes + kGuard);
	}
	Stack(const Stack &) = delete;
	Stack &operator=(const Stack &) = delete;
	char *bottom() const
	{
		return base_ + kGuard;
	}

private:
	static constexpr size_t kGuard = 4096;
	char *base_;
};

struct Fiber : Task {
	ucontext_t uc;
	std::unique_ptr<Stack> stack;
	std::function<void()> fn;
	std::function<bool()> wait; /* empty: ready */
	bool done = false;
	void *fake_stack = nullptr;
};

struct Event {
	const char *name;
	std::function<void()> fn;
	Context ctx;
};

struct World {
	Options opt;
	uint64_t rng = 0;
	uint64_t now = 1;
	uint64_t steps = 0;
	uint64_t rcu_serials = 0;
	Task outside; /* the test */
	ucontext_t outside_uc;
	void *outside_fake = nullptr;
	const void *outside_bottom = nullptr;
	size_t outside_bytes = 0;
	Fiber *running = nullptr;
	std::vector<std::unique_ptr<Fiber>> fibers;
	std::multimap<uint64_t, Event> events;
};

World *world()
{
	static World *w = new World;
	return w;
}

std::vector<std::unique_ptr<Stack>> &spare_stacks()
{
	static auto *v = new std::vector<std::unique_ptr<Stack>>;
	return *v;
}

void enter_switch(void **save, const void *bottom, size_t bytes)
{
#ifdef SIM_ASAN
	__sanitizer_start_switch_fiber(save, bottom, bytes);
#else
	(void)save;
	(void)bottom;
	(void)bytes;
#endif
}

void leave_switch(void *saved, const void **bottom, size_t *bytes)
{
#ifdef SIM_ASAN
	__sanitizer_finish_switch_fiber(saved, bottom, bytes);
#else
	(void)saved;
	(void)bottom;
	(void)bytes;
#endif
}

void check_left(const Task &t)
{
	if (!t.held.empty())
		fail("task ended with a lock held");
	if (t.rcu_depth)
		fail("task ended inside an RCU section");
}

/* First and last function on a task's stack. */
void fiber_main()
{
	World *w = world();
	Fiber *f = w->running;

	leave_switch(nullptr, &w->outside_bottom, &w->outside_bytes);
	f->fn();
	f->fn = nullptr;
	check_left(*f);
	f->done = true;
	enter_switch(nullptr, w->outside_bottom, w->outside_bytes);
	swapcontext(&f->uc, &w->outside_uc);
	abort();
}

void resume(Fiber *f)
{
	World *w = world();

	w->running = f;
	enter_switch(&w->outside_fake, f->stack->bottom(), kStackBytes);
	swapcontext(&w->outside_uc, &f->uc);
	leave_switch(w->outside_fake, nullptr, nullptr);
	w->running = nullptr;
}

/* Back to the scheduler; returns when somebody resumes this task. */
void suspend()
{
	World *w = world();
	Fiber *f = w->running;

	enter_switch(&f->fake_stack, w->outside_bottom, w->outside_bytes);
	swapcontext(&f->uc, &w->outside_uc);
	leave_switch(f->fake_stack, nullptr, nullptr);
}

void run_fiber(size_t i)
{
	World *w = world();
	Fiber *f = w->fibers[i].get();

	f->wait = nullptr;
	resume(f);
	if (!f->done)
		return;
	spare_stacks().push_back(std::move(f->stack));
	w->fibers[i] = std::move(w->fibers.back());
	w->fibers.pop_back();
}

/* Events that are due become tasks; hardirq ones run at once, nothing can interrupt them. */
void start_due()
{
	World *w = world();

	while (!w->events.empty() && w->events.begin()->first <= w->now) {
		Event e = std::move(w->events.begin()->second);

		w->events.erase(w->events.begin());
		if (e.ctx != Context::kHardirq) {
			spawn(e.name, std::move(e.fn), e.ctx);
			continue;
		}
		w->outside.ctx = Context::kHardirq;
		w->outside.name = e.name;
		e.fn();
		w->outside.ctx = Context::kProcess;
		w->outside.name = "test";
	}
}

/* Runs one thing that can run now. */
bool run_one()
{
	World *w = world();
	std::vector<size_t> ready;

	if (w->running)
		fail("scheduler called inside a task");
	start_due();
	for (size_t i = 0; i < w->fibers.size(); i++)
		if (!w->fibers[i]->wait || w->fibers[i]->wait())
			ready.push_back(i);

	size_t more = platform_ready();

	if (ready.empty() && !more)
		return false;
	w->now += kStepNs;
	if (++w->steps > kMaxSteps)
		fail("too many steps");

	size_t pick = random_below(ready.size() + more);

	if (pick < ready.size())
		run_fiber(ready[pick]);
	else
		platform_start(pick - ready.size());
	return true;
}

} // namespace

void discard()
{
	*world() = World();
	platform_reset();
	host::bugs = 0;
}

void reset(const Options &opt)
{
	World *w = world();
	std::string left = leftovers();

	if (!left.empty())
		fail(left.c_str());
	*w = World();
	w->opt = opt;
	w->rng = opt.seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
	platform_reset();
	host::bugs = 0;
	host::logged = 0;
	host::on_wake = nullptr;
	host::on_state = nullptr;
	host::on_module_request = nullptr;
}

Options &options()
{
	return world()->opt;
}

/* splitmix64 */
uint64_t random()
{
	uint64_t x = world()->rng += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t random_below(uint64_t n)
{
	return n > 1 ? random() % n : 0;
}

bool chance(unsigned int per_1000)
{
	return per_1000 && random_below(1000) < per_1000;
}

uint64_t now_ns()
{
	return world()->now;
}

void spawn(const char *name, std::function<void()> fn, Context ctx)
{
	World *w = world();
	auto f = std::make_unique<Fiber>();

	f->name = name;
	f->ctx = ctx;
	f->fn = std::move(fn);
	if (spare_stacks().empty()) {
		f->stack = std::make_unique<Stack>();
	} else {
		f->stack = std::move(spare_stacks().back());
		spare_stacks().pop_back();
	}
#ifdef SIM_ASAN
	/* What the former owner left behind is no trespass of the new one. */
	__asan_unpoison_memory_region(f->stack->bottom(), kStackBytes);
#endif
	getcontext(&f->uc);
	f->uc.uc_stack.ss_sp = f->stack->bottom();
	f->uc.uc_stack.ss_size = kStackBytes;
	f->uc.uc_link = nullptr;
	makecontext(&f->uc, fiber_main, 0);
	/* Or AddressSanitizer clears the shadow of the whole stack at every switch. */
	f->uc.uc_stack.ss_size = 0;
	w->fibers.push_back(std::move(f));
}

void after(uint64_t ns, const char *name, std::function<void()> fn, Context ctx)
{
	World *w = world();

	w->events.emplace(w->now + ns, Event{name, std::move(fn), ctx});
}

void yield()
{
	if (!world()->running)
		fail("yield() outside of tasks");
	suspend();
}

void wait_until(std::function<bool()> ready)
{
	World *w = world();

	if (w->running) {
		while (!ready()) {
			w->running->wait = ready;
			suspend();
		}
		return;
	}
	while (!ready())
		if (!step())
			fail("deadlock: the test waits and nothing can run");
}

bool step()
{
	World *w = world();

	if (run_one())
		return true;
	if (w->events.empty())
		return false;
	w->now = w->events.begin()->first;
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
	World *w = world();
	uint64_t end = w->now + ns;

	while (!done()) {
		if (run_one())
			continue;
		if (w->events.empty() || w->events.begin()->first > end)
			break;
		w->now = w->events.begin()->first;
	}
	return done();
}

void run_for(uint64_t ns)
{
	World *w = world();
	uint64_t end = w->now + ns;

	run_until([] { return false; }, ns);
	if (w->now < end)
		w->now = end;
}

Task &current()
{
	World *w = world();

	return w->running ? *w->running : w->outside;
}

bool in_task()
{
	return world()->running;
}

bool step_ready()
{
	return run_one();
}

void preempt_point()
{
	World *w = world();

	if (w->running && !w->running->spins && chance(w->opt.preempt_per_1000))
		suspend();
}

uint64_t oldest_reader()
{
	World *w = world();
	uint64_t oldest = w->outside.rcu_depth ? w->outside.rcu_serial : UINT64_MAX;

	for (const auto &f : w->fibers)
		if (f->rcu_depth && f->rcu_serial < oldest)
			oldest = f->rcu_serial;
	return oldest;
}

std::string leftovers()
{
	World *w = world();
	std::string out = platform_leftovers();

	if (host::bugs.load())
		out += "rds_bug called: " + std::string(host::last_bug.load()) + "; ";
	for (const auto &f : w->fibers)
		out += std::string("task '") + f->name + "' has not ended; ";
	if (!w->outside.held.empty())
		out += "the test holds a lock; ";
	if (w->outside.rcu_depth)
		out += "the test is inside an RCU section; ";
	return out;
}

void fail(const char *why)
{
	void *frames[48];
	int n = backtrace(frames, 48);
	Task &t = current();

	fprintf(stderr, "\nsim: %s\nsim: seed %llu, task '%s', time %llu ns, step %llu\n", why,
		static_cast<unsigned long long>(world()->opt.seed), t.name,
		static_cast<unsigned long long>(world()->now),
		static_cast<unsigned long long>(world()->steps));
	for (const Held &h : t.held)
		fprintf(stderr, "sim: holds %s lock of rank %d\n", h.spin ? "spin" : "mutex",
			h.rank);
	backtrace_symbols_fd(frames, n, STDERR_FILENO);
	abort();
}

} // namespace sim
