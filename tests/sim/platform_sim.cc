// SPDX-License-Identifier: GPL-2.0
/* The seam in the simulator, first part: memory, locks, time.  See sim.h for what it checks. */
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "aged.h"
#include "chooser.h"
#include "net/rds/rds_core.h"
#include "siphash.h"
#include "task.h"

namespace sim
{
namespace
{

constexpr uint32_t kLockMagic = 0x10c4ed00;
constexpr uint32_t kBlockMagic = 0xa110c8ed;
constexpr unsigned char kPoison = 0x6b;
/* Poison for the beginning of a block is enough to be seen. */
constexpr size_t kPoisoned = 4096;

struct Lock {
	uint32_t magic;
	int rank;
	Task *owner;
	bool wanted; /* somebody sleeps until it is free */
};
static_assert(sizeof(Lock) <= sizeof(struct rds_spinlock));
static_assert(sizeof(Lock) <= sizeof(struct rds_mutex));

struct Block {
	size_t bytes;
	uint32_t magic;
	uint32_t pad;
};
static_assert(sizeof(Block) == 16);

struct Platform {
	size_t bytes = 0;
	size_t blocks = 0;
	unsigned int fail_in = 0;
	uint64_t failed = 0;
	uint64_t spins = 0; /* spin locks taken */
};

Platform plat;

Lock *as_lock(void *l)
{
	auto *k = static_cast<Lock *>(l);

	if (k->magic != kLockMagic)
		fail("lock was never initialised");
	return k;
}

void init_lock(void *l, int rank)
{
	*static_cast<Lock *>(l) = Lock{kLockMagic, rank, nullptr, false};
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
	/* Giving it back is no more than a store where nobody sleeps for it. */
	if (buffered() && in_task() && !l->wanted && (spin || memory() == Memory::kWeak)) {
		t.stores.put(Store{&l->owner, 0, sizeof(l->owner), true, false});
		return;
	}
	barrier();
	l->owner = nullptr;
	if (l->wanted) {
		l->wanted = false;
		wake(l);
	}
}

/* That it was given back may be on its way to memory; what was stored later stays where it is. */
void settle_owner(const Lock *l)
{
	if (l->owner)
		l->owner->stores.drain_to(&l->owner, sizeof(l->owner));
}

void mutex_lock(struct rds_mutex *m)
{
	preempt_point();
	might_sleep();

	Lock *l = as_lock(m);

	check_order(l, "mutex locked twice", "mutex locked out of rank order");
	if (memory() == Memory::kX86)
		barrier();
	wait_on(l, [l] {
		settle_owner(l);
		l->wanted = l->owner;
		return !l->owner;
	});
	take(l, false);
}

void check_free(const Block *b)
{
	const char *from = reinterpret_cast<const char *>(b + 1);
	const char *to = from + b->bytes;

	if (b->bytes >= sizeof(struct rds_timer) && deferred_inside(from, to))
		fail("frees work that is pending or running, or a timer that is armed");
	for (const Held &h : current().held)
		if (h.lock >= from && h.lock < to)
			fail("frees a lock that it holds");
	if (current().spins)
		fail("frees under a spin lock");
	/* Nobody will see them, and nothing has to wait for them: this is no barrier. */
	current().stores.discard(from, b->bytes);
	if (store_waits(from, b->bytes))
		fail("frees what another processor still stores to");
}

} // namespace

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

uint64_t spin_locks()
{
	return plat.spins;
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
	memset(b + 1, kPoison, std::min(size, kPoisoned));
	plat.blocks++;
	plat.bytes += size;
	return b + 1;
}

void *rds_alloc_msg(size_t size, enum rds_ctx ctx)
{
	if (size > 4096)
		fail("a message is larger than its caches");
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
	preempt_point();
	must_not_be_hardirq("frees in hardirq");

	Block *b = static_cast<Block *>(p) - 1;

	if (b->magic != kBlockMagic)
		fail("frees what was not allocated, or twice");
	check_free(b);
	plat.blocks--;
	plat.bytes -= b->bytes;
	b->magic = 0;
	memset(p, kPoison, std::min(b->bytes, kPoisoned));
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
	if (memory() == Memory::kX86)
		barrier();

	/* Nobody knows yet that we gave it back: it is ours again, and nothing had to be seen. */
	bool mine = current().stores.discard(&k->owner, sizeof(k->owner));

	if (mine)
		k->owner = nullptr;
	else if (buffered())
		wait_until([k] {
			if (is_chosen())
				settle_owner(k);
			return !k->owner;
		});
	if (k->owner)
		fail("spin lock owned by a task that was preempted");
	plat.spins++;
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
	if (chance(options().signals_per_1000))
		return -4;
	mutex_lock(m);
	return 0;
}

int rds_mutex_lock_killable(struct rds_mutex *m)
{
	if (chance(options().kills_per_1000))
		return -4;
	mutex_lock(m);
	return 0;
}

int rds_mutex_trylock(struct rds_mutex *m)
{
	preempt_point();
	must_not_be_hardirq("mutex in hardirq");

	Lock *l = as_lock(m);

	barrier();
	settle_owner(l);
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

/* ---- the processor ---- */

void rds_resched(void)
{
	preempt_point();
	might_sleep();
}

/* ---- time and chance ---- */

uint64_t rds_now_ns(void)
{
	preempt_point();
	return now_ns();
}

uint32_t rds_coarse_ms(void)
{
	return static_cast<uint32_t>(now_ns() / (1000 * 1000));
}

uint32_t rds_random(void)
{
	return aged::draw(static_cast<uint32_t>(sim::random()));
}

void rds_secret(uint64_t key[2])
{
	key[0] = sim::random();
	key[1] = ~key[0] * 0x9e3779b97f4a7c15ull;
}

uint64_t rds_siphash(const uint64_t key[2], const uint64_t *words, unsigned int n)
{
	return sip::hash(key, words, n);
}

/* ---- sockets ---- */

void rds_socket_wake(struct rds_socket *s, unsigned int what)
{
	preempt_point();
	must_not_be_hardirq("wakes in hardirq");
	if (current().spins)
		fail("wakes under a spin lock");
	if (host::wake_sleepers)
		host::wake_sleepers(s, what);
	barrier();
	host::count_wake(s, what);
	wake(s);
}

} // extern "C"
