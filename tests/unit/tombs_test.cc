// SPDX-License-Identifier: GPL-2.0
#include <map>
#include <unordered_map>

#include "fixture.h"
#include "net/rds/conn/tombs.h"
#include "rng.h"

namespace
{

using rds::TombCount;
using rds::TombKey;
using rds::TombPorts;
using rds::Tombs;
using rds::TombsFull;

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

		counts[index] = {{seq, gen}, 0, {}};
		return tombs.remember(k, 1u << index, counts, {}, TombsFull::kFails, kSecret).ok();
	}
	/* 0: nothing is known. */
	uint64_t recall(const TombKey &k, unsigned int index = 0)
	{
		TombCount c = {};

		return tombs.recall(k, index, c, nullptr, kSecret) ? c.now.next : 0;
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
	EXPECT_EQ(c.now.next, 17u);
	EXPECT_EQ(c.now.gen, 77u);
	ASSERT_TRUE(tombs.recall(key(9), 3, c, nullptr, kSecret));
	EXPECT_EQ(c.now.next, 4u);
	EXPECT_EQ(c.now.gen, 78u);
	EXPECT_FALSE(tombs.recall(key(9), 1, c, nullptr, kSecret));
	ASSERT_TRUE(remember(key(9), 0, 20, 79));
	EXPECT_EQ(recall(key(9)), 20u) << "the last word counts";
}

/* Ports of each path, with the first number that was refused. */
using Ports = std::map<uint16_t, uint64_t>;
using PortsOf = std::map<unsigned int, Ports>;

/* The paths go on behind this number. */
constexpr uint64_t kNext = 100000;

class TombPortsTest : public TombsTest
{
protected:
	/* Said by the paths that have ports now, or are in @which. */
	rds::Status bury(const TombKey &k, const PortsOf &of, uint32_t which = 0,
			 TombsFull full = TombsFull::kFails)
	{
		TombCount counts[rds::kMaxPaths] = {};
		TombPorts ports;
		uint32_t n = 0;

		for (const auto &[path, all] : of) {
			which |= 1u << path;
			n += static_cast<uint32_t>(all.size());
		}
		EXPECT_TRUE(ports.make_room(n));
		for (const auto &[path, all] : of)
			for (auto [port, first] : all)
				ports.add(path, 0, port, kNext - first);
		for (TombCount &c : counts)
			c = {{kNext, 7}, 0, past_};
		return tombs.remember(k, which, counts, ports, full, kSecret);
	}
	Ports dig_up(const TombKey &k, unsigned int path)
	{
		TombPorts at;
		TombCount c = {};
		Ports found;

		EXPECT_TRUE(tombs.recall(k, path, c, nullptr, kSecret));
		EXPECT_TRUE(at.make_room(c.refused));
		EXPECT_TRUE(tombs.recall(k, path, c, &at, kSecret));
		EXPECT_EQ(at.size(), c.refused);
		EXPECT_TRUE(at.each_of(path, [&](unsigned int, uint16_t port, uint64_t below) {
			found[port] = c.now.next - below;
			return true;
		}));
		EXPECT_EQ(c.refused, found.size());
		return found;
	}
	rds::GenCounts past_; /* of each path, of generations before */
	/* So many of each path in @paths. */
	static PortsOf many(unsigned int paths, unsigned int n, unsigned int from = 1000)
	{
		PortsOf of;

		for (unsigned int path = 0; path < paths; path++)
			for (unsigned int i = 0; i < n; i++)
				of[path][static_cast<uint16_t>(from + i)] = 1 + 10 * path + i;
		return of;
	}
	static const PortsOf &all()
	{
		static const PortsOf of = many(rds::kMaxPaths, rds::kMaxRefusedPorts);

		return of;
	}
	/* Tombstones 1000 and on that have all of that, until there is no spare memory. */
	unsigned int fill()
	{
		unsigned int n = 0;

		while (n < 5000 && bury(key(1000 + n), all()).ok())
			n++;
		return n;
	}
};

/* Ports go with the numbers of their path, and what is known of other paths stays. */
TEST_F(TombPortsTest, KeepsWhatWasRefused)
{
	ASSERT_TRUE(bury(key(9), {{0, {{4000, 17}, {4001, 20}}}}).ok());
	EXPECT_EQ(dig_up(key(9), 0), (Ports{{4000, 17}, {4001, 20}}));
	ASSERT_TRUE(bury(key(9), {{3, {{4000, 5}}}}).ok());
	EXPECT_EQ(dig_up(key(9), 0), (Ports{{4000, 17}, {4001, 20}}));
	EXPECT_EQ(dig_up(key(9), 3), (Ports{{4000, 5}}));
	ASSERT_TRUE(bury(key(9), {{0, {{4002, 30}}}}).ok());
	EXPECT_EQ(dig_up(key(9), 0), (Ports{{4002, 30}})) << "the newer word";
	ASSERT_TRUE(bury(key(9), {}, 1).ok());
	EXPECT_EQ(dig_up(key(9), 0), Ports());
	EXPECT_EQ(dig_up(key(9), 3), (Ports{{4000, 5}}));
	ASSERT_TRUE(bury(key(9), {}, 1u << 3).ok());
	EXPECT_EQ(dig_up(key(9), 3), Ports());
	ASSERT_TRUE(bury(key(9), {{3, {{4000, 5}}}}).ok());
	tombs.forget(key(9), 1u << 3, kSecret);
	EXPECT_EQ(dig_up(key(9), 0), Ports());
	EXPECT_EQ(recall(key(9), 3), 0u);
	tombs.forget(key(9), 1u << 0, kSecret);
	EXPECT_EQ(tombs.count(), 0u);
}

/* Every port and number that there may be comes back; a number that lies further back than any
 * peer's queue is long counts as the oldest of it. */
TEST_F(TombPortsTest, EachPortComesBackAsItWas)
{
	const uint64_t most = (1ull << 43) - 1;
	TombPorts ports;

	ASSERT_TRUE(ports.make_room(5));
	ports.add(0, 3, 0xffff, 1);
	ports.add(7, 0, 2, most);
	ports.add(7, 3, 0xffff, most + 1);
	ports.add(1, 0, 0x8001, ~0ull);
	ports.add(7, 1, 0x8000, most - 1);
	for (auto [path, n] : {std::pair{0u, 1u}, {1u, 1u}, {2u, 0u}, {7u, 3u}})
		EXPECT_EQ(ports.count(path), n) << path;
	std::map<uint16_t, std::pair<unsigned int, uint64_t>> of7;

	EXPECT_TRUE(ports.each_of(7, [&](unsigned int ago, uint16_t port, uint64_t below) {
		of7[port] = {ago, below};
		return true;
	}));
	EXPECT_EQ(of7, (std::map<uint16_t, std::pair<unsigned int, uint64_t>>{
			       {2, {0, most}}, {0xffff, {3, most}}, {0x8000, {1, most - 1}}}));
	EXPECT_FALSE(ports.each_of(
		7, [](unsigned int, uint16_t port, uint64_t) { return port != 0xffff; }));
	EXPECT_EQ(ports.count_others(1u << 7), 2u);
	ports.remove(1u << 7);
	EXPECT_EQ(ports.size(), 2u);
}

TEST_F(TombPortsTest, AllPortsOfAllPathsAreKept)
{
	ASSERT_TRUE(bury(key(9), all()).ok());
	for (unsigned int path = 0; path < rds::kMaxPaths; path++)
		EXPECT_EQ(dig_up(key(9), path), all().at(path)) << path;
	EXPECT_EQ(tombs.spare(), 4096u - 512u);
	ASSERT_TRUE(bury(key(9), all()).ok()) << "in place of the old ones";
	EXPECT_EQ(tombs.spare(), 4096u - 512u);
	/* One path's are left. */
	tombs.forget(key(9), 0xff & ~(1u << 5), kSecret);
	EXPECT_EQ(dig_up(key(9), 5), all().at(5));
	ASSERT_TRUE(bury(key(9), {{0, {{4000, 17}}}}).ok());
	EXPECT_EQ(tombs.spare(), 1024u - 512u) << "65 of them";
	tombs.forget(key(9), 1u << 5, kSecret);
	ASSERT_TRUE(bury(key(9), {{0, {{4000, 17}}}}).ok());
	EXPECT_EQ(tombs.spare(), 0u);
	tombs.forget(key(9), 1, kSecret);
	EXPECT_EQ(tombs.count(), 0u);
}

/* 64 are every tombstone's own; beyond that all have one budget, and whoever finds none left is not
 * remembered in part. */
TEST_F(TombPortsTest, SpareMemoryHasABound)
{
	const unsigned int n = fill();

	EXPECT_EQ(n, rds::kTombSpare / (4096 - 512));
	EXPECT_LE(tombs.spare(), rds::kTombSpare);
	EXPECT_TRUE(bury(key(9), all()).is(rds::err::kEnobufs));
	EXPECT_FALSE(tombs.knows(key(9), kSecret));
	EXPECT_EQ(tombs.count(), n);
	/* As before, where it was known. */
	ASSERT_TRUE(bury(key(9), many(1, rds::kTombPorts)).ok()) << "its own";
	EXPECT_TRUE(bury(key(9), all()).is(rds::err::kEnobufs));
	EXPECT_EQ(dig_up(key(9), 0), many(1, rds::kTombPorts).at(0));
	EXPECT_EQ(recall(key(9), 1), 0u);
	ASSERT_TRUE(bury(key(1000), all()).ok()) << "in the place of its own";
	tombs.forget(key(1003), ~0u, kSecret);
	EXPECT_TRUE(bury(key(9), all()).ok());
	EXPECT_EQ(dig_up(key(9), 7), all().at(7));
	for (unsigned int i = 0; i < n; i++)
		tombs.forget(key(1000 + i), ~0u, kSecret);
	tombs.forget(key(9), ~0u, kSecret);
	EXPECT_EQ(tombs.spare(), 0u);
	EXPECT_EQ(tombs.count(), 0u);
}

/* One that must go is remembered: of those with many ports the oldest makes room, and no other. */
TEST_F(TombPortsTest, WhoMustGoIsRemembered)
{
	ASSERT_TRUE(bury(key(5), many(1, rds::kTombPorts)).ok());

	const unsigned int n = fill();

	EXPECT_EQ(recall(key(1000)), kNext) << "it is young";
	ASSERT_TRUE(bury(key(9), all(), 0, TombsFull::kForgets).ok());
	EXPECT_EQ(dig_up(key(9), 7), all().at(7));
	EXPECT_EQ(tombs.count(), n + 1);
	EXPECT_LE(tombs.spare(), rds::kTombSpare);
	EXPECT_TRUE(tombs.knows(key(5), kSecret)) << "older, but it has nothing of that";
	EXPECT_TRUE(tombs.knows(key(1000), kSecret));
	EXPECT_FALSE(tombs.knows(key(1001), kSecret));
	EXPECT_TRUE(tombs.knows(key(1002), kSecret));
	/* Not itself, though it is the oldest now. */
	for (unsigned int i = 0; i < n; i++)
		(void)tombs.knows(key(1000 + i), kSecret);
	ASSERT_TRUE(bury(key(9), all(), 0, TombsFull::kForgets).ok());
	EXPECT_EQ(tombs.count(), n + 1);
}

/* Without memory nothing is remembered, and what was stays: whichever allocation it is. */
TEST_F(TombPortsTest, WithoutMemoryAllIsAsBefore)
{
	ASSERT_TRUE(bury(key(9), many(2, 40)).ok());
	for (unsigned int nth = 2; nth <= 3; nth++) { /* the first is the caller's list */
		sim::fail_nth(nth);
		EXPECT_TRUE(bury(key(9), {{0, {{5, 5}}}}).is(rds::err::kEnomem)) << nth;
		sim::fail_nth(0);
		EXPECT_EQ(dig_up(key(9), 0), many(2, 40).at(0));
		EXPECT_EQ(dig_up(key(9), 1), many(2, 40).at(1));
		EXPECT_EQ(tombs.spare(), 1024u - 512u);
	}
}

/* In any order of remembering, asking and forgetting each tombstone has all ports that it was told
 * of, or is not there; and the budget is what they have of it. */
TEST_F(TombPortsTest, WhateverIsRemembered)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		sim::Rng r(seed);
		std::map<unsigned int, PortsOf> told;

		for (int i = 0; i < 3000; i++) {
			const auto who = static_cast<unsigned int>(r.below(40));
			const auto path = static_cast<unsigned int>(r.below(rds::kMaxPaths));
			const auto n = static_cast<unsigned int>(r.below(65));
			past_.of[0] = {1, static_cast<uint32_t>(r.below(2))};
			const PortsOf one = {{path, many(1, n, static_cast<unsigned int>(i))[0]}};

			if (r.chance(200)) {
				tombs.forget(key(who), 1u << path, kSecret);
				told[who].erase(path);
			} else if (bury(key(who), one).ok()) {
				told[who][path] = one.at(path);
			}
			ASSERT_LE(tombs.spare(), rds::kTombSpare);
			for (const auto &[p, ports] : told[who])
				ASSERT_EQ(dig_up(key(who), p), ports);
		}
		for (unsigned int who = 0; who < 40; who++)
			tombs.forget(key(who), ~0u, kSecret);
		ASSERT_EQ(tombs.spare(), 0u);
		ASSERT_EQ(tombs.count(), 0u);
	}
}

/* Counts of other generations come and go with their path, and are spare memory. */
TEST_F(TombPortsTest, OtherGenerationsAreRemembered)
{
	const uint32_t bytes = 512;
	TombCount c = {};
	auto past_of = [&](unsigned int path) {
		EXPECT_TRUE(tombs.recall(key(9), path, c, nullptr, kSecret)) << path;
		return c.past.of[0].next;
	};

	ASSERT_TRUE(bury(key(9), {}, 1u << 2).ok());
	EXPECT_EQ(tombs.spare(), 0u) << "there is none";
	past_.of[0] = {40, 8};
	past_.of[1] = {41, 9};
	ASSERT_TRUE(bury(key(9), {}, 1u << 3).ok());
	EXPECT_EQ(tombs.spare(), bytes);
	EXPECT_EQ(past_of(2), 0u);
	EXPECT_EQ(past_of(3), 40u);
	EXPECT_EQ(c.met(0).gen, 7u);
	EXPECT_EQ(c.met(2).next, 41u);
	c.drop_now();
	EXPECT_EQ(c.now.gen, 8u);
	EXPECT_EQ(c.met(1).gen, 9u);
	EXPECT_FALSE(c.met(2).gen);
	past_ = {};
	ASSERT_TRUE(bury(key(9), {}, 1u << 4).ok());
	EXPECT_EQ(past_of(3), 40u) << "what is told of another path";
	EXPECT_EQ(past_of(4), 0u);
	EXPECT_EQ(tombs.spare(), bytes);
	tombs.forget(key(9), 1u << 4, kSecret);
	EXPECT_EQ(past_of(3), 40u);
	tombs.forget(key(9), 1u << 3, kSecret);
	EXPECT_EQ(tombs.spare(), 0u);
	EXPECT_EQ(past_of(2), 0u);
	past_.of[0] = {40, 8};
	ASSERT_TRUE(bury(key(9), {}, 1u << 2).ok());
	past_ = {};
	ASSERT_TRUE(bury(key(9), {}, 1u << 2).ok());
	EXPECT_EQ(tombs.spare(), 0u) << "the last word counts";
}

TEST_F(TombPortsTest, WithoutMemoryForOtherGenerationsAllIsAsBefore)
{
	ASSERT_TRUE(bury(key(9), {{0, {{1000, 5}}}}).ok());
	past_.of[0] = {40, 8};
	for (unsigned int nth = 1; nth <= 2; nth++) {
		sim::fail_nth(nth);
		EXPECT_FALSE(bury(key(9), {}, 1).ok()) << nth;
		sim::fail_nth(0);
		EXPECT_EQ(dig_up(key(9), 0).size(), 1u);
		EXPECT_EQ(tombs.spare(), 0u);
	}
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

				counts[0] = {{n, 0}, 0, {}};
				EXPECT_TRUE(made->remember(key(n), 1, counts, {}, TombsFull::kFails,
							   kSecret)
						    .ok());
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
