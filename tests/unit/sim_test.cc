// SPDX-License-Identifier: GPL-2.0
/* The simulator's own checks: each of them must be able to fail. */
#include "net/rds/lock.h"
#include "net/rds/ref.h"

#include "fixture.h"

namespace
{

class Sim : public SimTest
{
protected:
	Sim()
	{
		::testing::FLAGS_gtest_death_test_style = "fast";
	}
};

using Outer = rds::Spinlock<RDS_RANK_CONG>;
using Inner = rds::Spinlock<RDS_RANK_RECV>;
using AMutex = rds::Mutex<RDS_RANK_TABLE>;

/* Of AddressSanitizer; NULL where the build has none. */
extern "C" int __asan_address_is_poisoned(const volatile void *at) __attribute__((weak));

/* Other tasks ran meanwhile: what lies behind a variable is nobody's all the same. */
TEST_F(Sim, ASwitchLeavesRedZonesAlone)
{
	unsigned int looks = 0;

	for (const char *name : {"one", "other"})
		sim::spawn(name, [&looks] {
			volatile char four[4] = {};

			for (unsigned int i = 0; i < 3; i++) {
				four[i] = 1;
				sim::yield();
				if (__asan_address_is_poisoned) {
					EXPECT_TRUE(
						__asan_address_is_poisoned(four + sizeof(four)));
				}
				looks++;
			}
		});
	sim::run_ready();
	EXPECT_EQ(looks, 6u);
}

TEST_F(Sim, AllowsLocksInRankOrder)
{
	Outer a;
	Inner b;

	rds::Guard g(a);
	rds::Guard h(b);
}

TEST_F(Sim, StopsLocksOutOfRankOrder)
{
	EXPECT_DEATH(
		{
			Outer a;
			Inner b;
			rds::Guard g(b);
			rds::Guard h(a);
		},
		"out of rank order");
}

TEST_F(Sim, StopsALockTakenTwice)
{
	EXPECT_DEATH(
		{
			Outer a;
			a.lock();
			a.lock();
		},
		"locked twice");
}

TEST_F(Sim, StopsSleepingUnderASpinLock)
{
	EXPECT_DEATH(
		{
			Outer a;
			rds::Guard g(a);
			rds_free(rds_alloc(8, RDS_MAY_SLEEP));
		},
		"sleeps under a spin lock");
	EXPECT_DEATH(
		{
			Outer a;
			AMutex m;
			rds::Guard g(a);
			m.lock();
		},
		"sleeps under a spin lock");
}

TEST_F(Sim, StopsSleepingInAnRcuSection)
{
	EXPECT_DEATH(
		{
			rds::RcuReader rcu;
			rds_rcu_sync();
		},
		"sleeps inside an RCU section");
}

TEST_F(Sim, StopsFreesAndWakeupsUnderASpinLock)
{
	EXPECT_DEATH(
		{
			Outer a;
			void *p = rds_alloc(8, RDS_MAY_SLEEP);
			rds::Guard g(a);
			rds_free(p);
		},
		"frees under a spin lock");
	EXPECT_DEATH(
		{
			Outer a;
			host::Sock *s = static_cast<host::Sock *>(calloc(1, sizeof(*s)));
			rds::Guard g(a);
			rds_socket_wake(s->core(), RDS_WAKE_READ);
		},
		"wakes under a spin lock");
}

TEST_F(Sim, StopsLocksInHardirq)
{
	EXPECT_DEATH(
		{
			static Outer a;
			sim::after(
				1, "irq", [] { a.lock(); }, sim::Context::kHardirq);
			sim::run_for(10);
		},
		"spin lock in hardirq");
}

TEST_F(Sim, StopsSleepingInSoftirq)
{
	EXPECT_DEATH(
		{
			sim::after(1, "softirq", [] { rds_rcu_sync(); });
			sim::run_for(10);
		},
		"sleeps in a context");
}

struct Box {
	struct rds_work work;
	struct rds_timer timer;
};

TEST_F(Sim, StopsFreeingQueuedWorkAndArmedTimers)
{
	EXPECT_DEATH(
		{
			auto *b = static_cast<Box *>(rds_alloc(sizeof(Box), RDS_MAY_SLEEP));
			rds_work_init(
				&b->work, [](struct rds_work *) {}, RDS_WORK_LEAF);
			rds_work_queue(&b->work, nullptr);
			rds_free(b);
		},
		"work that is pending");
	EXPECT_DEATH(
		{
			auto *b = static_cast<Box *>(rds_alloc(sizeof(Box), RDS_MAY_SLEEP));
			rds_timer_init(&b->timer, [](struct rds_timer *) {});
			rds_timer_arm(&b->timer, 5);
			rds_free(b);
		},
		"timer that is armed");
}

TEST_F(Sim, StopsFreeingTwice)
{
	EXPECT_DEATH(
		{
			static uint64_t mem[8];
			rds_free(&mem[4]);
		},
		"was not allocated");
}

TEST_F(Sim, CountsLeaksAndBugs)
{
	void *p = rds_alloc(8, RDS_MAY_SLEEP);

	EXPECT_NE(sim::leftovers().find("1 allocations of 8 bytes"), std::string::npos);
	rds_free(p);
	rds_bug("only a test");
	EXPECT_NE(sim::leftovers().find("only a test"), std::string::npos);
	host::bugs = 0;
}

TEST_F(Sim, FailsTheNthAllocation)
{
	sim::fail_nth(2);

	void *a = rds_alloc(8, RDS_MAY_SLEEP), *b = rds_alloc(8, RDS_MAY_SLEEP);

	EXPECT_NE(a, nullptr);
	EXPECT_EQ(b, nullptr);
	EXPECT_EQ(sim::failed_allocs(), 1u);
	rds_free(a);
}

TEST_F(Sim, DefersUntilTheReadersHaveLeft)
{
	static bool freed;
	struct rds_rcu_head h;
	bool go = false;

	freed = false;
	sim::spawn("reader", [&] {
		rds::RcuReader rcu;

		while (!go)
			sim::yield();
		EXPECT_FALSE(freed);
	});
	EXPECT_TRUE(sim::step());
	rds_rcu_defer(&h, [](struct rds_rcu_head *) { freed = true; });
	for (int i = 0; i < 20; i++)
		sim::step();
	EXPECT_FALSE(freed);
	go = true;
	sim::run_ready();
	EXPECT_TRUE(freed);
}

TEST_F(Sim, RunsWorkOnceMoreWhenQueuedWhileItRuns)
{
	static int runs;
	struct rds_work w;

	runs = 0;
	rds_work_init(
		&w,
		[](struct rds_work *w) {
			if (++runs == 1)
				rds_work_queue(w, nullptr);
			sim::yield();
		},
		RDS_WORK_LEAF);
	rds_work_queue(&w, nullptr);
	rds_work_queue(&w, nullptr);
	sim::run_ready();
	EXPECT_EQ(runs, 2);
}

/* A work item that runs until it is stopped.  One at a time: the flags are static, as the function
 * of a work item captures nothing. */
class LongWork : public Sim
{
protected:
	static inline bool started, stop, ended;
	struct rds_work w;

	LongWork()
	{
		rds_work_init(
			&w,
			[](struct rds_work *) {
				started = true;
				while (!stop)
					sim::yield();
				ended = true;
			},
			RDS_WORK_LEAF);
	}

	void queue()
	{
		started = stop = ended = false;
		rds_work_queue(&w, nullptr);
	}
};

TEST_F(LongWork, CancelWaitsForTheRunningItem)
{
	queue();
	sim::spawn("canceller", [&] {
		while (!started)
			sim::yield();
		rds_work_cancel_sync(&w);
		EXPECT_TRUE(ended);
	});
	sim::after(1000, "stop", [] { stop = true; });
	sim::run_until([] { return false; }, 5000);
	EXPECT_TRUE(ended);
}

/* As flush_work() of Linux does: a run that is cancelled is nothing to wait for any more.  Which of
 * the two sees the end of the first run before the other is chance, hence the rounds. */
TEST_F(LongWork, FlushDoesNotWaitForARunThatWasCancelled)
{
	unsigned int flushed = 0;

	for (unsigned int round = 1; round <= 20; round++) {
		queue();
		sim::run_until([] { return started; }, 5000);
		rds_work_queue(&w, nullptr);
		sim::spawn("flusher", [&] {
			rds_work_flush(&w);
			flushed++;
		});
		sim::spawn("canceller", [&] { rds_work_cancel_sync(&w); });
		sim::after(1000, "stop", [] { stop = true; });
		sim::run_until([&] { return flushed == round; }, 5000);
		ASSERT_EQ(flushed, round);
	}
}

TEST_F(Sim, TimersFireOnceAtTheirTime)
{
	static uint64_t fired_at;
	static int fired;
	struct rds_timer t;

	fired = 0;
	rds_timer_init(&t, [](struct rds_timer *) {
		fired++;
		fired_at = sim::now_ns();
	});
	uint64_t start = sim::now_ns();

	rds_timer_arm(&t, 1000);
	rds_timer_arm(&t, 3000);
	sim::run_for(10000);
	EXPECT_EQ(fired, 1);
	EXPECT_EQ(fired_at, start + 3000);
	rds_timer_arm(&t, 1000);
	rds_timer_cancel_sync(&t);
	sim::run_for(10000);
	EXPECT_EQ(fired, 1);
}

/* Sleeping on a channel is what sleepers in the kernel do: without a wakeup nobody looks again. */
TEST_F(Sim, ASleeperNeedsItsWakeup)
{
	bool go = false, gone = false;

	sim::spawn("sleeper", [&] {
		sim::wait_on(&go, [&] { return go; });
		gone = true;
	});
	sim::run_ready();
	go = true;
	sim::run_ready();
	EXPECT_FALSE(gone);
	sim::wake(&go);
	sim::run_ready();
	EXPECT_TRUE(gone);
}

/* Nor is a wakeup lost that comes while the sleeper looks. */
TEST_F(Sim, ASleeperEnlistsBeforeItLooks)
{
	bool go = false, gone = false;

	sim::spawn("sleeper", [&] {
		sim::wait_on(&go, [&] {
			bool seen = go;

			sim::yield();
			return seen;
		});
		gone = true;
	});
	sim::spawn("waker", [&] {
		for (int i = 0; i < 3; i++)
			sim::yield();
		go = true;
		sim::wake(&go);
	});
	sim::run_ready();
	EXPECT_TRUE(gone);
}

/* The same seed gives the same schedule, another one another. */
TEST_F(Sim, SchedulesBySeed)
{
	auto run = [](uint64_t seed) {
		std::string order;

		sim::reset(sim::Options{.seed = seed});
		for (char c = 'a'; c < 'k'; c++) {
			sim::spawn("letter", [&order, c] {
				order += c;
				sim::yield();
				order += c;
			});
		}
		sim::run_ready();
		return order;
	};
	std::string one = run(1);

	EXPECT_EQ(run(1), one);
	EXPECT_NE(run(2), one);
}

} // namespace
