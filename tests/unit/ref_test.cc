// SPDX-License-Identifier: GPL-2.0
#include <thread>

#include <gtest/gtest.h>

#include "net/rds/ref.h"

namespace
{

/* Of two who each say something and then look, one sees the other: every processor lets a load pass
 * an earlier store to another place. */
TEST(AnnounceThenLook, OneOfBothSeesTheOther)
{
	/* Without the fence dozens are blind; on a busy machine the two seldom meet. */
	constexpr uint32_t kRounds = 50000;
	rds::Atomic<uint32_t> said[2], round[2], saw[2];
	uint32_t blind = 0;

	auto side = [&](unsigned int me, auto between) {
		for (uint32_t i = 1; i <= kRounds; i++) {
			round[me].store_release(i);
			for (uint32_t n = 0; round[1 - me].load_acquire() < i; n++)
				if (n > 1000)
					std::this_thread::yield();
			saw[me].store(rds::announce_then_look([&] { said[me].store(i); },
							      [&] { return said[1 - me].load(); }));
			between(i);
		}
	};
	rds::Atomic<uint32_t> done;
	std::thread other([&] { side(1, [&](uint32_t i) { done.store_release(i); }); });

	side(0, [&](uint32_t i) {
		for (uint32_t n = 0; done.load_acquire() < i; n++)
			if (n > 1000)
				std::this_thread::yield();
		blind += saw[0].load() < i && saw[1].load() < i;
	});
	other.join();
	EXPECT_EQ(blind, 0u);
}

/* Two who take references at once: each gets one, and gives one back. */
TEST(RefCount, NoReferenceIsLost)
{
	constexpr uint32_t kEach = 1000000;
	rds::RefCount refs(1);
	rds::Atomic<uint32_t> there;
	uint32_t given = 0;

	auto take = [&] {
		there.fetch_add(1);
		while (there.load() < 2)
			std::this_thread::yield();
		for (uint32_t i = 0; i < kEach; i++)
			EXPECT_TRUE(refs.get_unless_zero());
	};
	std::thread other(take);

	take();
	other.join();
	while (given < 2 * kEach + 1 && !refs.put())
		given++;
	EXPECT_EQ(given, 2 * kEach);
	EXPECT_FALSE(refs.get_unless_zero()) << "the last one is gone";
}

} // namespace
