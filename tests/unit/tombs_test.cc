// SPDX-License-Identifier: GPL-2.0
#include <map>
#include <unordered_map>

#include "fixture.h"
#include "net/rds/conn/tombs.h"

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

		counts[index] = {seq, gen, 0};
		return tombs.remember(k, 1u << index, counts, nullptr, kSecret).ok();
	}
	/* 0: nothing is known. */
	uint64_t recall(const TombKey &k, unsigned int index = 0)
	{
		TombCount c = {};

		return tombs.recall(k, index, c, nullptr, kSecret) ? c.next_rx_seq : 0;
	}

	static constexpr rds::HashKey kSecret = {{5, 6}};
	static uint32_t hash(const TombKey &k)
	{
		const uint64_t words[] = {k.faddr.w[0], k.faddr.w[1], k.laddr.w[0], k.laddr.w[1]};

		return rds::hash_words(words, 4, kSecret);
	}
	std::unique_ptr<Tombs> own_ = std::make_unique<Tombs>();
	Tombs &tombs = *own_;
};

TEST_F(TombsTest, KeepsTheNumbersOfEachPath)
{
	TombCount c = {};

	EXPECT_FALSE(tombs.recall(key(9), 0, c, nullptr, kSecret));
	ASSERT_TRUE(remember(key(9), 0, 17, 77));
	ASSERT_TRUE(remember(key(9), 3, 4, 78));
	EXPECT_EQ(tombs.count(), 1u);
	ASSERT_TRUE(tombs.recall(key(9), 0, c, nullptr, kSecret))
		<< "of a path that is not told of now";
	EXPECT_EQ(c.next_rx_seq, 17u);
	EXPECT_EQ(c.gen, 77u);
	ASSERT_TRUE(tombs.recall(key(9), 3, c, nullptr, kSecret));
	EXPECT_EQ(c.next_rx_seq, 4u);
	EXPECT_EQ(c.gen, 78u);
	EXPECT_FALSE(tombs.recall(key(9), 1, c, nullptr, kSecret));
	ASSERT_TRUE(remember(key(9), 0, 20, 79));
	EXPECT_EQ(recall(key(9)), 20u) << "the last word counts";
}

/* A path that drains says nothing of one that its connection never had. */
using Ports = std::map<uint16_t, uint64_t>;

/* Ports that path @index had refused. */
Ports refused(Tombs &tombs, const TombKey &k, unsigned int index, const rds::HashKey &secret)
{
	auto at = std::make_unique<rds::TombPorts>();
	TombCount c = {};
	Ports found;

	EXPECT_TRUE(tombs.recall(k, index, c, at.get(), secret));
	EXPECT_TRUE(at->each_of(index, [&](uint16_t port, uint64_t first) {
		found[port] = first;
		return true;
	}));
	EXPECT_EQ(c.refused, found.size());
	return found;
}

/* Ports go with the numbers of their path, and what is known of other paths stays. */
TEST_F(TombsTest, KeepsWhatWasRefused)
{
	auto remember_ports = [&](unsigned int index, const Ports &of) {
		TombCount counts[rds::kMaxPaths] = {};
		rds::TombPorts *ports = nullptr;

		for (auto [port, first] : of) {
			if (!ports)
				ports = rds::create<rds::TombPorts>(RDS_ATOMIC);
			ports->add(index, port, first);
		}
		counts[index] = {100, 7, 0};
		return tombs.remember(key(9), 1u << index, counts, ports, kSecret).ok();
	};

	ASSERT_TRUE(remember_ports(0, {{4000, 17}, {4001, 20}}));
	EXPECT_EQ(refused(tombs, key(9), 0, kSecret), (Ports{{4000, 17}, {4001, 20}}));
	ASSERT_TRUE(remember_ports(3, {{4000, 5}}));
	EXPECT_EQ(refused(tombs, key(9), 0, kSecret), (Ports{{4000, 17}, {4001, 20}}));
	EXPECT_EQ(refused(tombs, key(9), 3, kSecret), (Ports{{4000, 5}}));
	ASSERT_TRUE(remember_ports(0, {{4002, 30}}));
	EXPECT_EQ(refused(tombs, key(9), 0, kSecret), (Ports{{4002, 30}})) << "the newer word";
	ASSERT_TRUE(remember_ports(0, {}));
	EXPECT_EQ(refused(tombs, key(9), 0, kSecret), Ports());
	EXPECT_EQ(refused(tombs, key(9), 3, kSecret), (Ports{{4000, 5}}));
	ASSERT_TRUE(remember_ports(3, {}));
	EXPECT_EQ(refused(tombs, key(9), 3, kSecret), Ports());
	ASSERT_TRUE(remember_ports(3, {{4000, 5}}));
	tombs.forget(key(9), 1u << 3, kSecret);
	EXPECT_EQ(refused(tombs, key(9), 0, kSecret), Ports());
	EXPECT_EQ(recall(key(9), 3), 0u);
	tombs.forget(key(9), 1u << 0, kSecret);
}

/* As many as there is room for, and no byte more; all of it comes back, without memory too. */
TEST_F(TombsTest, RefusedPortsHaveABound)
{
	TombCount counts[rds::kMaxPaths] = {};
	auto *ports = rds::create<rds::TombPorts>(RDS_ATOMIC);

	for (unsigned int n = 0; n < 2 * rds::kTombPorts; n++)
		ports->add(n % 2, static_cast<uint16_t>(1000 + n), n + 1);
	EXPECT_EQ(ports->count(0) + ports->count(1), rds::kTombPorts);
	EXPECT_LE(sizeof(*ports), 1024u);
	ASSERT_TRUE(tombs.remember(key(9), 3, counts, ports, kSecret).ok());
	EXPECT_EQ(refused(tombs, key(9), 0, kSecret).size(), rds::kTombPorts / 2);
	ports = rds::create<rds::TombPorts>(RDS_ATOMIC);
	ports->add(0, 5, 5);
	sim::options().fail_per_1000 = 1000;
	EXPECT_FALSE(tombs.remember(key(9), 3, counts, ports, kSecret).ok());
	sim::options().fail_per_1000 = 0;
	EXPECT_EQ(refused(tombs, key(9), 0, kSecret).size(), rds::kTombPorts / 2);
}

TEST_F(TombsTest, ForgetsPathByPath)
{
	ASSERT_TRUE(remember(key(9), 0, 17, 77));
	ASSERT_TRUE(remember(key(9), 1, 4, 77));
	tombs.forget(key(9), 1u << 0 | 1u << 2, kSecret);
	EXPECT_EQ(recall(key(9), 0), 0u);
	EXPECT_EQ(recall(key(9), 1), 4u);
	tombs.forget(key(9), 1u << 1, kSecret);
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
		EXPECT_FALSE(tombs.knows(other, kSecret)) << field;
		EXPECT_EQ(recall(other), 0u) << field;
		tombs.forget(other, ~0u, kSecret);
	}
	EXPECT_TRUE(tombs.knows(k, kSecret));
	tombs.forget(k, ~0u, kSecret);
	EXPECT_FALSE(tombs.knows(k, kSecret));
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
		tombs.forget(key(n), ~0u, kSecret);
	EXPECT_EQ(tombs.count(), 0u);
}

TEST_F(TombsTest, EveryWordOfAKeyCounts)
{
	const TombKey k = key(9);

	EXPECT_TRUE(k == key(9));
	for (int word = 0; word < 7; word++) {
		TombKey other = k;
		uint64_t *const words[] = {&other.faddr.w[0], &other.faddr.w[1], &other.laddr.w[0],
					   &other.laddr.w[1]};

		if (word < 4)
			*words[word] ^= 1;
		other.scope += word == 4;
		other.tos ^= word == 5;
		other.transport ^= word == 6;
		EXPECT_FALSE(k == other) << word;
		EXPECT_FALSE(other == k) << word;
	}
}

TEST_F(TombsTest, KeysOfOneHashAreTwo)
{
	std::unordered_map<uint32_t, struct rds_addr> known;
	TombKey one = key(9), other = key(9);

	for (uint64_t i = 0; i < 1000000; i++) {
		other.faddr.w[1] = i * 0x9e3779b97f4a7c15ull;

		auto met = known.emplace(hash(other), other.faddr);

		if (met.second)
			continue;
		one.faddr = met.first->second;
		break;
	}
	ASSERT_EQ(hash(one), hash(other));
	ASSERT_TRUE(remember(one, 0, 17, 77));
	EXPECT_EQ(recall(other), 0u);
	ASSERT_TRUE(remember(other, 0, 18, 77));
	EXPECT_EQ(recall(one), 17u);
	EXPECT_EQ(recall(other), 18u);
	tombs.forget(one, ~0u, kSecret);
	EXPECT_EQ(recall(one), 0u);
	EXPECT_EQ(recall(other), 18u);
}

/* Those that are not told of have no numbers, the last one as the first. */
TEST_F(TombsTest, EachPathHasItsBit)
{
	for (unsigned int told = 0; told < rds::kMaxPaths; told++) {
		ASSERT_TRUE(remember(key(9), told, 100 + told, 7));
		for (unsigned int i = 0; i < rds::kMaxPaths; i++)
			EXPECT_EQ(recall(key(9), i), i <= told ? 100 + i : 0) << told;
	}
	for (unsigned int gone = 0; gone < rds::kMaxPaths; gone++) {
		EXPECT_EQ(tombs.count(), 1u);
		tombs.forget(key(9), 1u << gone, kSecret);
		for (unsigned int i = 0; i < rds::kMaxPaths; i++)
			EXPECT_EQ(recall(key(9), i), i > gone ? 100 + i : 0) << gone;
	}
	EXPECT_EQ(tombs.count(), 0u);
}

/* It makes one the youngest to be written again, or asked for in any way. */
TEST_F(TombsTest, WhoeverIsAskedForIsYoung)
{
	for (unsigned int n = 0; n < rds::kMaxTombstones; n++)
		ASSERT_TRUE(remember(key(n), 0, n + 1, 0));
	EXPECT_TRUE(tombs.knows(key(0), kSecret));
	ASSERT_TRUE(remember(key(1), 3, 5, 0));
	tombs.forget(key(2), 1u << 3, kSecret);
	EXPECT_EQ(recall(key(3)), 4u);
	for (unsigned int n = 0; n < 2; n++)
		ASSERT_TRUE(remember(key(rds::kMaxTombstones + n), 0, 1, 0));
	EXPECT_EQ(tombs.count(), rds::kMaxTombstones);
	for (unsigned int n = 0; n < 7; n++)
		EXPECT_EQ(tombs.knows(key(n), kSecret), n != 4 && n != 5) << n;
}

/* Two connections end while there is no table yet: both find each other's. */
TEST_F(TombsTest, TheFirstTwoMakeOneTable)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		sim::reset(sim::Options{.seed = seed, .preempt_per_1000 = 500});

		auto made = std::make_unique<Tombs>();

		for (unsigned int n = 1; n <= 2; n++)
			sim::spawn("ends", [&made, n] {
				TombCount counts[rds::kMaxPaths] = {};

				counts[0] = {n, 0, 0};
				EXPECT_TRUE(
					made->remember(key(n), 1, counts, nullptr, kSecret).ok());
			});
		sim::run_ready();
		EXPECT_TRUE(made->knows(key(1), kSecret) && made->knows(key(2), kSecret)) << seed;
		made.reset();
		ASSERT_EQ(sim::leftovers(), "") << seed;
	}
}

TEST_F(TombsTest, WithoutMemoryNothingIsRemembered)
{
	for (unsigned int nth = 1; nth <= 2; nth++) {
		sim::fail_nth(1);
		EXPECT_FALSE(remember(key(nth), 0, 1, 0));
		sim::fail_nth(0);
		EXPECT_FALSE(tombs.knows(key(nth), kSecret));
		ASSERT_TRUE(remember(key(9), 0, 1, 0)) << "the next time with its table";
	}
}

} // namespace
