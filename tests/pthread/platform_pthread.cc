// SPDX-License-Identifier: GPL-2.0
/* The seam on threads: see platform_pthread.h for what it checks. */
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <random>
#include <thread>
#include <vector>

#include "../sim/siphash.h"
#include "net/rds/rds_core.h"
#include "thread.h"

namespace pt
{

struct Lock {
	uint32_t magic;
	int rank;
	std::mutex m;
};
static_assert(sizeof(Lock) <= sizeof(struct rds_spinlock));
static_assert(sizeof(Lock) <= sizeof(struct rds_mutex));

} // namespace pt

namespace
{

using pt::Context;
using pt::Lock;
using pt::might_sleep;
using pt::must_not_be_hardirq;
using pt::Section;
using pt::self;

constexpr uint32_t kLockMagic = 0x10c4ed01;
constexpr uint32_t kBlockMagic = 0xa110c8ee;
constexpr unsigned char kPoison = 0x6b;

struct Block {
	size_t bytes;
	uint32_t magic;
	uint32_t pad;
};
static_assert(sizeof(Block) == 16);

struct Rcu {
	std::mutex lock; /* of everything but @period */
	std::vector<Section *> sections;
	std::atomic<uint64_t> period = 1;
	struct Deferred {
		struct rds_rcu_head *head;
		void (*fn)(struct rds_rcu_head *h);
	};
	std::deque<Deferred> deferred;
	uint64_t given = 0, called = 0; /* callbacks */
	bool ending = false;
	std::condition_variable more, done;
	std::thread thread;
};

/* Sleepers of many sockets share a few condition variables. */
struct Bell {
	std::mutex lock;
	std::condition_variable rung;
};

Rcu rcu;
Bell bells[16];
std::atomic<size_t> used_bytes;
std::atomic<size_t> used_blocks;

Lock *as_lock(void *l)
{
	auto *k = static_cast<Lock *>(l);

	if (k->magic != kLockMagic)
		pt::fail("lock was never initialised");
	return k;
}

void check_order(const Lock *l)
{
	for (unsigned int i = 0; i < self.n_held; i++) {
		if (self.held[i].lock == l)
			pt::fail("lock taken twice");
		if (self.held[i].lock->rank >= l->rank)
			pt::fail("lock taken out of rank order");
	}
}

void taken(const Lock *l, bool spin)
{
	if (self.n_held == pt::kMaxHeld)
		pt::fail("too many locks held");
	self.held[self.n_held++] = pt::Held{l, spin};
	self.spins += spin;
}

void give(Lock *l, bool spin)
{
	pt::Held *end = self.held + self.n_held;
	pt::Held *h = std::find_if(self.held, end, [&](const pt::Held &k) { return k.lock == l; });

	if (h == end || h->spin != spin)
		pt::fail("unlocks what it has not locked");
	std::copy(h + 1, end, h);
	self.n_held--;
	self.spins -= spin;
	l->m.unlock();
}

void init_lock(void *l, int rank)
{
	auto *k = new (l) Lock;

	k->magic = kLockMagic;
	k->rank = rank;
}

/* ---- read-copy-update ---- */

/* Waits for every section that was entered before.  Not under rcu.lock. */
void grace_period()
{
	uint64_t now = rcu.period.fetch_add(1) + 1;

	/* Pairs with the one in rds_rcu_read_lock(): it sees what was unlinked, or we see it. */
	std::atomic_thread_fence(std::memory_order_seq_cst);
	for (;;) {
		bool inside = false;
		{
			std::lock_guard g(rcu.lock);

			for (const Section *s : rcu.sections) {
				uint64_t since = s->since.load(std::memory_order_acquire);

				inside = inside || (since && since < now);
			}
		}
		if (!inside)
			return;
		std::this_thread::sleep_for(std::chrono::microseconds(50));
	}
}

void rcu_thread()
{
	self.ctx = Context::kSoftirq; /* enters itself under the lock */

	std::unique_lock l(rcu.lock);

	while (!rcu.ending || !rcu.deferred.empty()) {
		if (rcu.deferred.empty()) {
			rcu.more.wait(l);
			continue;
		}
		std::deque<Rcu::Deferred> batch;

		batch.swap(rcu.deferred);
		l.unlock();
		grace_period();
		for (const Rcu::Deferred &d : batch)
			d.fn(d.head);
		l.lock();
		rcu.called += batch.size();
		rcu.done.notify_all();
	}
}

Bell &bell_of(const host::Sock *s)
{
	return bells[reinterpret_cast<uintptr_t>(s) / 256 % std::size(bells)];
}

void ring(host::Sock *s)
{
	Bell &b = bell_of(s);

	/* Empty section: a sleeper is before its look at the counter, or in wait_until(). */
	{
		std::lock_guard g(b.lock);
	}
	b.rung.notify_all();
}

} // namespace

namespace pt
{

thread_local Thread self;

Thread::Thread()
{
	std::lock_guard g(rcu.lock);

	rcu.sections.push_back(&section);
}

Thread::~Thread()
{
	if (n_held || rcu_depth)
		fail("thread ends with a lock held or inside an RCU section");
	std::lock_guard g(rcu.lock);

	std::erase(rcu.sections, &section);
}

/* ---- checks ---- */

void might_sleep()
{
	if (self.ctx != Context::kProcess)
		fail("sleeps in a context that may not");
	if (self.spins)
		fail("sleeps under a spin lock");
	if (self.rcu_depth)
		fail("sleeps inside an RCU section");
}

void must_not_be_hardirq(const char *why)
{
	if (self.ctx == Context::kHardirq)
		fail(why);
}

void fail(const char *why)
{
	fprintf(stderr, "platform_pthread: %s\n", why);
	abort();
}

void start(unsigned int workers)
{
	rcu.ending = false;
	host::on_wake = ring;
	rcu.thread = std::thread(rcu_thread);
	start_work(workers);
}

std::string stop()
{
	std::string left = stop_work();

	{
		std::lock_guard g(rcu.lock);

		rcu.ending = true;
	}
	rcu.more.notify_all();
	rcu.thread.join();
	if (used_blocks)
		left += std::to_string(used_blocks) + " allocations of " +
			std::to_string(used_bytes) + " bytes leaked; ";
	return left;
}

void wait_for(host::Sock &s, const std::function<bool()> &ready)
{
	Bell &b = bell_of(&s);

	for (;;) {
		uint32_t seen = s.woken.load();

		if (ready())
			return;
		std::unique_lock l(b.lock);

		if (!b.rung.wait_for(l, std::chrono::minutes(1),
				     [&] { return s.woken.load() != seen; }))
			fail("no wakeup for a minute");
	}
}

} // namespace pt

host::Usage host::usage()
{
	return Usage{used_bytes.load(), used_blocks.load()};
}

extern "C" {

/* ---- memory ---- */

void *rds_alloc(size_t size, enum rds_ctx ctx)
{
	must_not_be_hardirq("allocates in hardirq");
	if (ctx == RDS_MAY_SLEEP)
		might_sleep();

	auto *b = static_cast<Block *>(malloc(sizeof(Block) + size));

	if (!b)
		pt::fail("the host has no memory");
	*b = Block{size, kBlockMagic, 0};
	memset(b + 1, kPoison, size);
	used_blocks++;
	used_bytes += size;
	return b + 1;
}

void *rds_alloc_msg(size_t size, enum rds_ctx ctx)
{
	if (size > 4096)
		pt::fail("a message is larger than its caches");
	return rds_alloc(size, ctx);
}

void *rds_alloc_object(enum rds_object what, enum rds_ctx ctx)
{
	return rds_alloc(rds_core_size(what), ctx);
}

void rds_free_many(size_t n, void **p)
{
	while (n)
		rds_free(p[--n]);
}

void rds_free(void *p)
{
	if (!p)
		return;
	must_not_be_hardirq("frees in hardirq");
	if (self.spins)
		pt::fail("frees under a spin lock");

	Block *b = static_cast<Block *>(p) - 1;

	if (b->magic != kBlockMagic)
		pt::fail("frees what was not allocated, or twice");
	used_blocks--;
	used_bytes -= b->bytes;
	b->magic = 0;
	memset(p, kPoison, b->bytes);
	free(b);
}

/* ---- locks ---- */

/* Where another processor may be long ahead, or an interrupt comes.  Two processors alone hardly
 * ever are between two lines for long. */
static void preempt()
{
	static thread_local std::minstd_rand draw(static_cast<unsigned int>(
		std::hash<std::thread::id>()(std::this_thread::get_id())));
	unsigned int n = draw() % 4096;

	if (n < 8)
		std::this_thread::sleep_for(std::chrono::microseconds(100 << n));
	else if (n < 64)
		std::this_thread::yield();
}

void rds_spin_init(struct rds_spinlock *l, enum rds_lock_rank rank)
{
	init_lock(l, rank);
}

void rds_spin_lock(struct rds_spinlock *l)
{
	must_not_be_hardirq("spin lock in hardirq");

	Lock *k = as_lock(l);

	preempt();
	check_order(k);
	k->m.lock();
	taken(k, true);
}

void rds_spin_unlock(struct rds_spinlock *l)
{
	give(as_lock(l), true);
	preempt();
}

void rds_mutex_init(struct rds_mutex *m, enum rds_lock_rank rank)
{
	init_lock(m, rank);
}

void rds_mutex_lock(struct rds_mutex *m)
{
	might_sleep();

	Lock *k = as_lock(m);

	check_order(k);
	k->m.lock();
	taken(k, false);
}

int rds_mutex_lock_interruptible(struct rds_mutex *m)
{
	rds_mutex_lock(m);
	return 0;
}

int rds_mutex_lock_killable(struct rds_mutex *m)
{
	rds_mutex_lock(m);
	return 0;
}

int rds_mutex_trylock(struct rds_mutex *m)
{
	must_not_be_hardirq("mutex in hardirq");

	Lock *k = as_lock(m);

	if (!k->m.try_lock())
		return 0;
	taken(k, false);
	return 1;
}

void rds_mutex_unlock(struct rds_mutex *m)
{
	give(as_lock(m), false);
}

/* ---- read-copy-update ---- */

void rds_rcu_read_lock(void)
{
	if (self.rcu_depth++)
		return;
	self.section.since.store(rcu.period.load(std::memory_order_relaxed),
				 std::memory_order_release);
	std::atomic_thread_fence(std::memory_order_seq_cst);
}

void rds_rcu_read_unlock(void)
{
	if (!self.rcu_depth)
		pt::fail("leaves an RCU section that it is not in");
	if (!--self.rcu_depth)
		self.section.since.store(0, std::memory_order_release);
}

void rds_resched(void)
{
	might_sleep();
	std::this_thread::yield();
}

void rds_rcu_sync(void)
{
	might_sleep();
	grace_period();
}

void rds_rcu_barrier(void)
{
	might_sleep();
	std::unique_lock l(rcu.lock);
	uint64_t until = rcu.given;

	rcu.done.wait(l, [&] { return rcu.called >= until; });
}

void rds_rcu_defer(struct rds_rcu_head *h, void (*fn)(struct rds_rcu_head *h))
{
	must_not_be_hardirq("rds_rcu_defer in hardirq");
	std::lock_guard g(rcu.lock);

	rcu.deferred.push_back(Rcu::Deferred{h, fn});
	rcu.given++;
	rcu.more.notify_one();
}

/* ---- time and chance ---- */

uint64_t rds_now_ns(void)
{
	return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

uint32_t rds_coarse_ms(void)
{
	return static_cast<uint32_t>(rds_now_ns() / (1000 * 1000));
}

uint32_t rds_random(void)
{
	thread_local std::minstd_rand r{std::random_device{}()};

	return static_cast<uint32_t>(r()) * 2654435761u;
}

void rds_secret(uint64_t key[2])
{
	for (int i = 0; i < 2; i++)
		key[i] = uint64_t{rds_random()} << 32 | rds_random();
}

uint64_t rds_siphash(const uint64_t key[2], const uint64_t *words, unsigned int n)
{
	return sip::hash(key, words, n);
}

/* ---- sockets ---- */

void rds_socket_wake(struct rds_socket *s, unsigned int what)
{
	must_not_be_hardirq("wakes in hardirq");
	if (self.spins)
		pt::fail("wakes under a spin lock");
	host::count_wake(s, what);
}

} // extern "C"
