// SPDX-License-Identifier: GPL-2.0
#include "fixture.h"
#include "net/rds/tombs.h"

namespace
{

using rds::TombCount;
using rds::TombKey;
using rds::Tombs;

class TombsTest : public SimTest
{
protected:
	void TearDown() override
	{
		own_.reset();
		SimTest::TearDown();
	}
	static TombKey key(unsigned int n)
	{
		return {host::addr4(1), host::addr4(n), 0, 0, 2};
	}
	bool remember(const TombKey &k, unsigned int index, uint64_t seq, uint32_t gen)
	{
		TombCount counts[rds::kMaxPaths] = {};

		counts[index] = {seq, gen};
		return tombs.remember(k, 1u << index, counts, kSeed).ok();
	}
	/* 0: nothing is known. */
	uint64_t recall(const TombKey &k, unsigned int index = 0)
	{
		TombCount c = {};

		return tombs.recall(k, index, c, kSeed) ? c.next_rx_seq : 0;
	}

	static constexpr uint32_t kSeed = 5;
	std::unique_ptr<Tombs> own_ = std::make_unique<Tombs>();
	Tombs &tombs = *own_;
};

TEST_F(TombsTest, KeepsTheNumbersOfEachPath)
{
	TombCount c = {};

	EXPECT_FALSE(tombs.recall(key(9), 0, c, kSeed));
	ASSERT_TRUE(remember(key(9), 0, 17, 77));
	ASSERT_TRUE(remember(key(9), 3, 4, 78));
	EXPECT_EQ(tombs.count(), 1u);
	ASSERT_TRUE(tombs.recall(key(9), 0, c, kSeed)) << "of a path that is not told of now";
	EXPECT_EQ(c.next_rx_seq, 17u);
	EXPECT_EQ(c.gen, 77u);
	ASSERT_TRUE(tombs.recall(key(9), 3, c, kSeed));
	EXPECT_EQ(c.next_rx_seq, 4u);
	EXPECT_EQ(c.gen, 78u);
	EXPECT_FALSE(tombs.recall(key(9), 1, c, kSeed));
	ASSERT_TRUE(remember(key(9), 0, 20, 79));
	EXPECT_EQ(recall(key(9)), 20u) << "the last word counts";
}

/* A path that parts says nothing of one that its connection never had. */
TEST_F(TombsTest, ForgetsPathByPath)
{
	ASSERT_TRUE(remember(key(9), 0, 17, 77));
	ASSERT_TRUE(remember(key(9), 1, 4, 77));
	tombs.forget(key(9), 1u << 0 | 1u << 2, kSeed);
	EXPECT_EQ(recall(key(9), 0), 0u);
	EXPECT_EQ(recall(key(9), 1), 4u);
	tombs.forget(key(9), 1u << 1, kSeed);
	EXPECT_EQ(tombs.count(), 0u);
}

TEST_F(TombsTest, IsOfOneConnection)
{
	TombKey k = key(9);

	ASSERT_TRUE(remember(k, 0, 17, 77));
	for (int field = 0; field < 5; field++) {
		TombKey other = k;

		switch (field) {
		case 0:
			other.laddr = host::addr4(2);
			break;
		case 1:
			other.faddr = host::addr4(8);
			break;
		case 2:
			other.scope = 1;
			break;
		case 3:
			other.tos = 1;
			break;
		default:
			other.transport = 0;
			break;
		}
		EXPECT_FALSE(tombs.knows(other, kSeed)) << field;
		EXPECT_EQ(recall(other), 0u) << field;
		tombs.forget(other, ~0u, kSeed);
	}
	EXPECT_TRUE(tombs.knows(k, kSeed));
	tombs.forget(k, ~0u, kSeed);
	EXPECT_FALSE(tombs.knows(k, kSeed));
	EXPECT_EQ(tombs.count(), 0u);
}

TEST_F(TombsTest, TheLeastRecentlyUsedMakesRoom)
{
	for (unsigned int n = 0; n < rds::kMaxTombstones; n++)
		ASSERT_TRUE(remember(key(n), 0, n + 1, 0));
	EXPECT_EQ(tombs.count(), rds::kMaxTombstones);
	EXPECT_EQ(recall(key(0)), 1u); /* and so it is the youngest */
	ASSERT_TRUE(remember(key(rds::kMaxTombstones), 0, 5, 0));
	EXPECT_EQ(tombs.count(), rds::kMaxTombstones);
	EXPECT_EQ(recall(key(0)), 1u);
	EXPECT_EQ(recall(key(1)), 0u);
	EXPECT_EQ(recall(key(2)), 3u);
	EXPECT_EQ(recall(key(rds::kMaxTombstones)), 5u);
	for (unsigned int n = 0; n <= rds::kMaxTombstones; n++)
		tombs.forget(key(n), ~0u, kSeed);
	EXPECT_EQ(tombs.count(), 0u);
}

TEST_F(TombsTest, WithoutMemoryNothingIsRemembered)
{
	for (unsigned int nth = 1; nth <= 2; nth++) {
		sim::fail_nth(1);
		EXPECT_FALSE(remember(key(nth), 0, 1, 0));
		sim::fail_nth(0);
		EXPECT_FALSE(tombs.knows(key(nth), kSeed));
		ASSERT_TRUE(remember(key(9), 0, 1, 0)) << "the next time with its table";
	}
}

} // namespace
