// SPDX-License-Identifier: GPL-2.0
/*
 * Orders that the simulated processors may show and must not: the litmus tests of memory models,
 * each run under many schedules.  An outcome that is allowed is seen; one that is forbidden is not.
 */
#include <gtest/gtest.h>

#include "net/rds/lock.h"
#include "net/rds/ref.h"
#include "sim.h"

using rds::Atomic;
using sim::Memory;

namespace
{

constexpr uint64_t kSchedules = 4000;

/* Two places, what two tasks saw, and a lock of each. */
struct Litmus {
	rds::Spinlock<RDS_RANK_PATH> firsts, seconds;
	Atomic<uint32_t> x{0}, y{0};
	uint32_t a = 0, b = 0;
};

using Body = void (*)(Litmus &);

/* True: some schedule ends with @outcome. */
bool seen(Memory memory, Body first, Body second, bool (*outcome)(const Litmus &))
{
	for (uint64_t seed = 1; seed <= kSchedules; seed++) {
		Litmus l;

		sim::reset(sim::Options{.seed = seed, .preempt_per_1000 = 300, .memory = memory});
		sim::spawn("first", [&] { first(l); });
		sim::spawn("second", [&] { second(l); });
		sim::run_ready();
		if (outcome(l))
			return true;
	}
	return false;
}

bool both_zero(const Litmus &l)
{
	return !l.a && !l.b;
}

/* Store buffering: each says, then looks at the other's word. */
void store_x_load_y(Litmus &l)
{
	l.x.store(1);
	l.a = l.y.load();
}

void store_y_load_x(Litmus &l)
{
	l.y.store(1);
	l.b = l.x.load();
}

TEST(Litmus, BothMayMissWhatIsOnlyStored)
{
	EXPECT_FALSE(seen(Memory::kSequential, store_x_load_y, store_y_load_x, both_zero));
	EXPECT_TRUE(seen(Memory::kX86, store_x_load_y, store_y_load_x, both_zero));
	EXPECT_TRUE(seen(Memory::kWeak, store_x_load_y, store_y_load_x, both_zero));
}

void store_x_fence_load_y(Litmus &l)
{
	l.x.store(1);
	rds::full_fence();
	l.a = l.y.load();
}

void store_y_fence_load_x(Litmus &l)
{
	l.y.store(1);
	rds::full_fence();
	l.b = l.x.load();
}

TEST(Litmus, FencesForbidIt)
{
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_FALSE(seen(m, store_x_fence_load_y, store_y_fence_load_x, both_zero));
}

TEST(Litmus, OneFenceDoesNot)
{
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_TRUE(seen(m, store_x_fence_load_y, store_y_load_x, both_zero));
}

void exchange_x_load_y(Litmus &l)
{
	l.x.exchange(1);
	l.a = l.y.load();
}

void add_y_load_x(Litmus &l)
{
	l.y.fetch_add(1);
	l.b = l.x.load();
}

TEST(Litmus, AReadModifyWriteIsAFenceOnX86Only)
{
	EXPECT_FALSE(seen(Memory::kX86, exchange_x_load_y, add_y_load_x, both_zero));
	EXPECT_TRUE(seen(Memory::kWeak, exchange_x_load_y, add_y_load_x, both_zero));
}

void exchange_x_look_y(Litmus &l)
{
	l.x.exchange(1);
	l.a = l.y.load_seq();
}

void add_y_look_x(Litmus &l)
{
	l.y.fetch_add(1);
	l.b = l.x.load_seq();
}

TEST(Litmus, ALookInTheOneOrderIsEnoughAfterIt)
{
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_FALSE(seen(m, exchange_x_look_y, add_y_look_x, both_zero));
}

/* A lock of one's own, taken twice: on a weak processor the second takes what the first gave, and
 * nothing has to be seen for it. */
void pass_twice(rds::Spinlock<RDS_RANK_PATH> &lock)
{
	for (int i = 0; i < 2; i++)
		rds::Guard g(lock);
}

void store_x_lock_load_y(Litmus &l)
{
	l.x.store(1);
	pass_twice(l.firsts);
	l.a = l.y.load();
}

void store_y_lock_load_x(Litmus &l)
{
	l.y.store(1);
	pass_twice(l.seconds);
	l.b = l.x.load();
}

TEST(Litmus, ALockIsAFenceOnX86Only)
{
	EXPECT_FALSE(seen(Memory::kX86, store_x_lock_load_y, store_y_lock_load_x, both_zero));
	EXPECT_TRUE(seen(Memory::kWeak, store_x_lock_load_y, store_y_lock_load_x, both_zero));
}

void store_x_free_load_y(Litmus &l)
{
	l.x.store(1);
	rds_free(rds_alloc(8, RDS_ATOMIC));
	l.a = l.y.load();
}

void store_y_free_load_x(Litmus &l)
{
	l.y.store(1);
	rds_free(rds_alloc(8, RDS_ATOMIC));
	l.b = l.x.load();
}

TEST(Litmus, MemoryThatIsGivenBackIsNoFence)
{
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_TRUE(seen(m, store_x_free_load_y, store_y_free_load_x, both_zero));
}

/* Message passing: data, then a flag. */
void write_then_flag(Litmus &l)
{
	l.x.store(1);
	l.y.store(1);
}

void write_then_release(Litmus &l)
{
	l.x.store(1);
	l.y.store_release(1);
}

void flag_then_read(Litmus &l)
{
	l.a = l.y.load_acquire();
	l.b = l.x.load();
}

bool flag_without_data(const Litmus &l)
{
	return l.a && !l.b;
}

TEST(Litmus, AFlagMayPassItsDataUnlessItReleasesThem)
{
	EXPECT_FALSE(seen(Memory::kX86, write_then_flag, flag_then_read, flag_without_data));
	EXPECT_TRUE(seen(Memory::kWeak, write_then_flag, flag_then_read, flag_without_data));
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_FALSE(seen(m, write_then_release, flag_then_read, flag_without_data));
}

void count(Litmus &l)
{
	for (int i = 0; i < 5; i++)
		l.x.fetch_add(1);
}

void raise_to_five(Litmus &l)
{
	uint32_t v = l.x.load();

	while (v < 5 && !l.x.compare_exchange(v, v + 1))
		;
	l.y.store(l.x.load());
	l.x.fetch_add(5);
}

TEST(Litmus, ReadModifyWritesLoseNothing)
{
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_FALSE(
			seen(m, count, count, [](const Litmus &l) { return l.x.load() != 10; }));
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_FALSE(seen(m, count, raise_to_five,
				  [](const Litmus &l) { return l.x.load() < 10; }));
}

/* A task sees its own stores at once, and another's in the order of one place. */
void two_stores(Litmus &l)
{
	l.x.store(1);
	l.x.store(2);
	l.a = l.x.load();
}

void two_loads(Litmus &l)
{
	uint32_t before = l.x.load();

	l.b = before > l.x.load();
}

TEST(Litmus, OnePlaceHasOneOrder)
{
	for (Memory m : {Memory::kX86, Memory::kWeak})
		EXPECT_FALSE(seen(m, two_stores, two_loads,
				  [](const Litmus &l) { return l.a != 2 || l.b; }));
}

} // namespace
