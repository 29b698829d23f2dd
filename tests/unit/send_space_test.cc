// SPDX-License-Identifier: GPL-2.0
#include <atomic>
#include <thread>

#include "fixture.h"
#include "net/rds/net.h"
#include "net/rds/socket/socket.h"

namespace
{

using host::Socket;

class SendSpace : public CoreTest
{
protected:
	void SetUp() override
	{
		CoreTest::SetUp();
		s = std::make_unique<Socket>(*net);
		s->sock().sndbuf = 1000;
	}
	void TearDown() override
	{
		s.reset();
		CoreTest::TearDown();
	}
	bool take(uint32_t bytes, uint32_t mem)
	{
		return space.take(s->core(), bytes, mem);
	}
	void give(uint32_t bytes, uint32_t mem, unsigned int wake = 0)
	{
		rds::RcuReader rcu;

		space.give(s->core(), bytes, mem, wake);
	}
	uint32_t woken()
	{
		return s->sock().woken_write.load();
	}
	std::unique_ptr<Socket> s;
	rds::SendSpace space;
};

TEST_F(SendSpace, TheLastMayOvershoot)
{
	EXPECT_TRUE(space.empty());
	EXPECT_TRUE(take(999, 1100));
	EXPECT_TRUE(take(5000, 5100));
	EXPECT_EQ(space.bytes(), 5999u);
	EXPECT_EQ(space.mem().used(), 6200u);
	EXPECT_FALSE(take(1, 1));
	EXPECT_FALSE(space.empty());
}

TEST_F(SendSpace, MemoryAloneFillsIt)
{
	EXPECT_TRUE(take(0, 1000 * rds::kMemFactor));
	EXPECT_FALSE(take(0, 1));
	EXPECT_FALSE(space.wait_for_room(s->core()));
	give(0, 1000 * rds::kMemFactor);
	EXPECT_EQ(woken(), 1u);
}

/* The limit is a number of 32 bits, and memory may be kMemFactor times as much. */
TEST_F(SendSpace, MemoryMayBeMoreThan32Bits)
{
	constexpr uint32_t kStep = 1u << 30;
	unsigned int n = 0;

	s->sock().sndbuf = 1u << 30;
	while (n < 20 && take(0, kStep))
		n++;
	EXPECT_EQ(n, rds::kMemFactor);
	while (n--)
		give(0, kStep);
	EXPECT_TRUE(space.empty());
}

TEST_F(SendSpace, NothingIsTakenByARefusal)
{
	ASSERT_TRUE(take(1000, 1100));
	EXPECT_FALSE(take(500, 600));
	EXPECT_EQ(space.bytes(), 1000u);
	EXPECT_EQ(space.mem().used(), 1100u);
}

/* Not even for a moment: another sender would see it full, and nobody would come to empty it. */
TEST_F(SendSpace, NothingIsTakenByARefusalForAMoment)
{
	std::atomic<bool> seen = false, done = false;
	uint32_t most = 0;

	ASSERT_TRUE(take(1000, 1100));

	std::thread refused([&] {
		while (!seen)
			std::this_thread::yield();
		for (int i = 0; i < 1000 * 1000; i++)
			(void)take(500, 600);
		done = true;
	});

	while (!done) {
		most = std::max(
			{most, space.bytes(), static_cast<uint32_t>(space.mem().used()) - 100});
		seen = true;
	}
	refused.join();
	EXPECT_EQ(most, 1000u);
}

TEST_F(SendSpace, RoomWakesOnceWhoWasRefused)
{
	ASSERT_TRUE(take(900, 900));
	ASSERT_TRUE(take(900, 900));
	give(0, 0);
	EXPECT_EQ(s->sock().woken.load(), 0u);
	EXPECT_FALSE(take(1, 1));
	give(100, 0);
	EXPECT_EQ(woken(), 0u); /* no room yet */
	give(800, 900);
	EXPECT_EQ(woken(), 1u);
	give(900, 900);
	EXPECT_EQ(woken(), 1u);
}

TEST_F(SendSpace, WhoOnlyAskedIsWokenToo)
{
	EXPECT_TRUE(space.wait_for_room(s->core()));
	ASSERT_TRUE(take(1000, 1000));
	EXPECT_FALSE(space.wait_for_room(s->core()));
	give(1000, 1000);
	EXPECT_EQ(woken(), 1u);
}

TEST_F(SendSpace, OtherNewsGoesWithTheRoom)
{
	ASSERT_TRUE(take(1000, 1000));
	EXPECT_FALSE(take(1, 1));
	give(1000, 1000, RDS_WAKE_READ);
	EXPECT_EQ(woken(), 1u);
	EXPECT_EQ(s->sock().woken_read.load(), 1u);
	EXPECT_EQ(s->sock().woken.load(), 1u);
}

TEST_F(SendSpace, HalfFullIsShort)
{
	EXPECT_FALSE(space.short_of_room(s->core()));
	ASSERT_TRUE(take(499, 0));
	EXPECT_FALSE(space.short_of_room(s->core()));
	ASSERT_TRUE(take(1, 0));
	EXPECT_TRUE(space.short_of_room(s->core()));
	give(500, 0);
	ASSERT_TRUE(take(0, 500 * rds::kMemFactor));
	EXPECT_TRUE(space.short_of_room(s->core()));
	give(0, 500 * rds::kMemFactor);
}

} // namespace
