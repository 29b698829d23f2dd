// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <map>

#include "fixture.h"
#include "net/rds/conn/shares.h"
#include "rng.h"

namespace
{

using rds::Rank;
using rds::Shares;

constexpr rds::HashKey kKey = {{5, 6}};

/* Address @host of prefix @n: an IPv4 one, or with @wide one of IPv6. */
struct rds_addr at(unsigned int n, unsigned int host, bool wide = false)
{
	const uint64_t mapped = uint64_t{0xffff} << 32 | 10u << 24 | n << 8 | (host & 0xff);

	if (!wide)
		return {{0, __builtin_bswap64(mapped)}};
	return {{__builtin_bswap64(uint64_t{0xfd} << 56 | n), __builtin_bswap64(host)}};
}

TEST(Prefix, IsWhatOneStrangerHas)
{
	auto of = [](const struct rds_addr &a, uint32_t scope = 0) {
		return rds::hash_prefix(a, scope, kKey);
	};

	EXPECT_EQ(of(at(1, 1)), of(at(1, 254)));
	EXPECT_NE(of(at(1, 1)), of(at(2, 1)));
	EXPECT_EQ(of(at(1, 1, true)), of(at(1, ~0u, true)));
	EXPECT_NE(of(at(1, 1, true)), of(at(2, 1, true)));
	/* Not of ::/64, all of IPv4 would be one. */
	EXPECT_NE(of(at(1, 1)), of(at(0x100, 1)));
	/* A host that looks like an IPv4 one chooses what follows as any other. */
	for (unsigned int host : {1u, 0x01020304u, 0xfffefdfcu})
		EXPECT_EQ(of({{at(1, 0, true).w[0], at(1, host).w[1]}}), of(at(1, 1, true)))
			<< host;
	EXPECT_EQ(of({{0, __builtin_bswap64(1)}}), of({{0, __builtin_bswap64(2)}}));
	/* Of two links, two. */
	EXPECT_NE(of(at(1, 1, true), 1), of(at(1, 1, true), 2));
	EXPECT_NE(of(at(1, 1)), rds::hash_prefix(at(1, 1), 0, rds::HashKey{{5, 7}}));
}

class SharesTest : public ::testing::Test
{
protected:
	void add(const struct rds_addr &a, Rank r, unsigned int n = 1)
	{
		for (; n; n--) {
			shares->count(a, 0, r);
			all[static_cast<uint8_t>(r)]++;
		}
	}
	unsigned int taken(const struct rds_addr &a, Rank r)
	{
		unsigned int n = 0;

		while (shares->take(a, 0, r))
			n++;
		return n;
	}
	uint32_t plan(uint32_t needed, uint32_t share = 1000)
	{
		return shares->plan(needed, share, all);
	}
	uint32_t left(Rank r) const
	{
		return all[static_cast<uint8_t>(r)];
	}

	std::unique_ptr<Shares> shares = std::make_unique<Shares>(kKey);
	uint32_t all[Shares::kRanks] = {};
};

TEST_F(SharesTest, NobodyGoesForNothing)
{
	add(at(1, 1), Rank::kStrangerSilent, 100);
	EXPECT_EQ(plan(0), 0u);
	EXPECT_EQ(taken(at(1, 1), Rank::kStrangerSilent), 0u);
	EXPECT_EQ(left(Rank::kStrangerSilent), 100u);
}

TEST_F(SharesTest, TheLargerLosesFirst)
{
	add(at(1, 1), Rank::kStrangerBusy, 100);
	add(at(2, 1), Rank::kStrangerDown, 60);
	add(at(3, 1), Rank::kStrangerDown);
	ASSERT_EQ(plan(50), 50u);
	EXPECT_EQ(taken(at(1, 1), Rank::kStrangerBusy), 45u);
	EXPECT_EQ(taken(at(2, 1), Rank::kStrangerDown), 5u);
	EXPECT_EQ(taken(at(3, 1), Rank::kStrangerDown), 0u);
	EXPECT_EQ(left(Rank::kStrangerBusy), 55u);
	EXPECT_EQ(left(Rank::kStrangerDown), 56u);
}

/* The last of each prefix is left to the ranks. */
TEST_F(SharesTest, EachHasOne)
{
	add(at(1, 1), Rank::kStrangerSilent, 10);
	add(at(2, 1), Rank::kStrangerSilent);
	EXPECT_EQ(plan(50), 9u);
	EXPECT_EQ(left(Rank::kStrangerSilent), 2u);
}

/* Within a prefix by rank, those that have just come last. */
TEST_F(SharesTest, RanksHoldInside)
{
	add(at(1, 1), Rank::kStrangerNew, 5);
	add(at(1, 2), Rank::kStrangerBusy, 5);
	add(at(1, 3), Rank::kStrangerSilent, 5);
	add(at(1, 4), Rank::kStrangerDown, 5);
	ASSERT_EQ(plan(16), 16u);
	EXPECT_EQ(taken(at(1, 9), Rank::kStrangerDown), 5u);
	EXPECT_EQ(taken(at(1, 9), Rank::kStrangerSilent), 5u);
	EXPECT_EQ(taken(at(1, 9), Rank::kStrangerBusy), 5u);
	EXPECT_EQ(taken(at(1, 9), Rank::kStrangerNew), 1u);
}

/* Many strangers, each with a prefix of its own, do not push a cluster out. */
TEST_F(SharesTest, KnownHostsAreNotCounted)
{
	add(at(1, 1), Rank::kKnownSilent, 250);
	for (unsigned int n = 0; n < 500; n++)
		add(at(100 + n, 1), Rank::kStrangerBusy);
	(void)plan(100);
	EXPECT_EQ(taken(at(1, 1), Rank::kKnownSilent), 0u);
}

/* But a prefix that has more than its share loses its known hosts before others' strangers. */
TEST_F(SharesTest, MoreThanAShareGoesFirst)
{
	add(at(1, 1, true), Rank::kKnownSilent, 900);
	add(at(1, 2, true), Rank::kStrangerBusy, 300);
	add(at(2, 1, true), Rank::kStrangerDown, 50);
	ASSERT_EQ(plan(250, 1000), 250u);
	EXPECT_EQ(taken(at(1, 1, true), Rank::kKnownSilent), 200u);
	EXPECT_EQ(taken(at(1, 1, true), Rank::kStrangerBusy), 50u) << "as the larger one";
	EXPECT_EQ(taken(at(2, 1, true), Rank::kStrangerDown), 0u);
}

/* A count that grows too large stops at its end. */
TEST_F(SharesTest, CountsStop)
{
	add(at(1, 1), Rank::kStrangerDown, 70000);
	EXPECT_EQ(plan(80000), 65534u);
	EXPECT_EQ(left(Rank::kStrangerDown), 70000u - 65534u);
}

/* In any crowd a plan is as large as it says, takes nothing that is not there, and no prefix
 * loses a stranger while another has two more than it keeps. */
TEST(SharesPlay, TheLargestLoses)
{
	constexpr Rank kStrangers[] = {Rank::kStrangerDown, Rank::kStrangerSilent,
				       Rank::kStrangerBusy, Rank::kStrangerNew};

	for (uint64_t seed = 1; seed <= 200; seed++) {
		sim::Rng rng(seed);
		auto shares = std::make_unique<Shares>(rds::HashKey{{seed, ~seed}});
		const unsigned int prefixes = static_cast<unsigned int>(1 + rng.below(40));
		std::map<uint32_t, unsigned int> slot; /* those that count as one are left out */
		std::vector<struct rds_addr> one;
		uint32_t all[Shares::kRanks] = {}, total = 0;
		std::vector<uint32_t> had, lost;

		for (unsigned int n = 0; n < prefixes; n++) {
			const struct rds_addr a = at(n, 1, seed % 2);

			if (slot[rds::hash_prefix(a, 0, {{seed, ~seed}}) % rds::kShareSlots]++)
				continue;
			one.push_back(a);
			had.push_back(0);
			for (Rank r : kStrangers) {
				const auto k = static_cast<uint32_t>(rng.below(n % 7 ? 3 : 200));

				for (uint32_t i = 0; i < k; i++)
					shares->count(a, 0, r);
				all[static_cast<uint8_t>(r)] += k;
				had.back() += k;
			}
			total += had.back();
		}

		const auto needed = static_cast<uint32_t>(rng.below(total + 10));
		const uint32_t planned = shares->plan(needed, 1u << 20, all);
		uint32_t sum = 0, kept_most = 0;

		for (size_t i = 0; i < one.size(); i++) {
			uint32_t n = 0;

			for (Rank r : kStrangers)
				while (shares->take(one[i], 0, r))
					n++;
			lost.push_back(n);
			sum += n;
			ASSERT_LE(n, had[i]) << seed;
			kept_most = std::max(kept_most, had[i] - n);
		}
		ASSERT_EQ(sum, planned) << seed;
		ASSERT_LE(planned, needed) << seed;
		for (size_t i = 0; i < one.size(); i++)
			if (lost[i]) {
				ASSERT_GE(had[i] - lost[i] + 1, kept_most) << seed;
				ASSERT_GE(had[i] - lost[i], 1u) << seed;
			}
		if (planned < needed) {
			ASSERT_LE(kept_most, 1u) << seed;
		}
	}
}

} // namespace
