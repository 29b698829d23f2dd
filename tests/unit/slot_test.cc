// SPDX-License-Identifier: GPL-2.0
#include <atomic>
#include <thread>
#include <vector>

#include "fixture.h"
#include "net/rds/slot.h"

namespace
{

struct Thing {
	std::atomic<unsigned int> out = 0;
};

class SlotTest : public SimTest
{
protected:
	rds::Slot<Thing> slot;
	Thing a, b;
};

TEST_F(SlotTest, WhatIsPutIsTakenOnce)
{
	EXPECT_TRUE(slot.empty());
	EXPECT_EQ(slot.take(), nullptr);
	EXPECT_EQ(slot.put(&a), nullptr);
	EXPECT_FALSE(slot.empty());
	EXPECT_EQ(slot.take(), &a);
	EXPECT_TRUE(slot.empty());
	EXPECT_EQ(slot.take(), nullptr);
}

TEST_F(SlotTest, TheNewestCounts)
{
	EXPECT_EQ(slot.put(&a), nullptr);
	EXPECT_EQ(slot.put(&b), &a) << "the older one comes back";
	EXPECT_EQ(slot.take(), &b);
}

TEST_F(SlotTest, ClosingGivesWhatLayThere)
{
	EXPECT_EQ(slot.put(&a), nullptr);
	EXPECT_EQ(slot.close(), &a);
	EXPECT_TRUE(slot.empty());
}

TEST_F(SlotTest, AClosedOneGivesBackAndStaysClosed)
{
	EXPECT_EQ(slot.close(), nullptr);
	EXPECT_TRUE(slot.empty()) << "a tombstone is nothing to adopt";
	EXPECT_EQ(slot.put(&a), &a);
	EXPECT_EQ(slot.take(), nullptr) << "nor to take";
	EXPECT_EQ(slot.close(), nullptr);
	EXPECT_EQ(slot.put(&b), &b);
	EXPECT_TRUE(slot.empty());
}

/* Two put, the owner takes and then closes: each thing comes out of exactly one call. */
TEST_F(SlotTest, EachComesOutOnce)
{
	constexpr size_t kThings = 20000;
	std::vector<Thing> things(2 * kThings);
	auto out = [](Thing *t) {
		if (t)
			t->out++;
	};
	auto put = [&](size_t first) {
		for (size_t i = 0; i < kThings; i++)
			out(slot.put(&things[first + i]));
	};
	std::thread one(put, 0), other(put, kThings);

	for (size_t i = 0; i < kThings / 2; i++)
		out(slot.take());
	out(slot.close());
	one.join();
	other.join();
	for (const Thing &t : things)
		ASSERT_EQ(t.out.load(), 1u);
	EXPECT_TRUE(slot.empty());
}

} // namespace
