// SPDX-License-Identifier: GPL-2.0
#include "net/rds/hash.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <unordered_map>

#include "fixture.h"

namespace
{

struct Entry {
	explicit Entry(uint32_t k) : key(k)
	{
	}
	const uint32_t key;
	rds::HashNode node;
};
using Table = rds::HashTable<Entry, &Entry::node>;

class Hash : public SimTest
{
protected:
	/* Poor on purpose: chains are long. */
	static uint32_t hash(uint32_t key)
	{
		return key & 0x3ff;
	}
	Entry *find(Table &t, uint32_t key)
	{
		rds::RcuReader rcu;

		return t.find(hash(key), [&](const Entry &e) { return e.key == key; });
	}
	Entry *insert(Table &t, Entry *e)
	{
		return t.insert(hash(e->key), e, [&](const Entry &o) { return o.key == e->key; });
	}
	/* It is destroyed with nothing in it. */
	void clear(Table &t, const std::vector<std::unique_ptr<Entry>> &all)
	{
		for (const auto &e : all)
			ASSERT_TRUE(t.remove(e.get()));
	}
};

TEST_F(Hash, FindsWhatWasInserted)
{
	Table t;
	Entry a(1), b(2), again(1);

	ASSERT_TRUE(t.init().ok());
	EXPECT_EQ(find(t, 1), nullptr);
	EXPECT_EQ(insert(t, &a), nullptr);
	EXPECT_EQ(insert(t, &b), nullptr);
	EXPECT_EQ(insert(t, &again), &a);
	EXPECT_EQ(find(t, 1), &a);
	EXPECT_EQ(t.count(), 2u);
	EXPECT_TRUE(t.remove(&a));
	EXPECT_FALSE(t.remove(&a));
	EXPECT_EQ(find(t, 1), nullptr);
	EXPECT_TRUE(t.remove(&b));
}

TEST_F(Hash, SaysSoWithoutMemory)
{
	Table t;

	sim::fail_nth(1);
	EXPECT_TRUE(t.init().is(rds::err::kEnomem));
}

TEST_F(Hash, GrowsAndKeepsEverything)
{
	Table t;
	std::vector<std::unique_ptr<Entry>> all;

	ASSERT_TRUE(t.init().ok());
	for (uint32_t k = 0; k < 2000; k++) {
		all.push_back(std::make_unique<Entry>(k));
		ASSERT_EQ(insert(t, all.back().get()), nullptr);
	}
	EXPECT_GE(t.buckets(), 1024u);
	for (auto &e : all)
		ASSERT_EQ(find(t, e->key), e.get());

	size_t seen = 0;

	t.for_each([&](Entry &) { seen++; });
	EXPECT_EQ(seen, 2000u);
	clear(t, all);
	EXPECT_EQ(t.count(), 0u);
}

TEST_F(Hash, StaysUsableWhenItCannotGrow)
{
	Table t;
	std::vector<std::unique_ptr<Entry>> all;

	ASSERT_TRUE(t.init().ok());
	sim::options().fail_per_1000 = 1000;
	for (uint32_t k = 0; k < 300; k++) {
		all.push_back(std::make_unique<Entry>(k));
		ASSERT_EQ(insert(t, all.back().get()), nullptr);
	}
	EXPECT_EQ(t.buckets(), rds::kHashMinBuckets);
	for (auto &e : all)
		ASSERT_EQ(find(t, e->key), e.get());
	clear(t, all);
}

TEST_F(Hash, BehavesLikeAMap)
{
	Table t;
	std::mt19937 rng(4);
	std::map<uint32_t, std::unique_ptr<Entry>> model;

	ASSERT_TRUE(t.init().ok());
	for (int i = 0; i < 20000; i++) {
		uint32_t key = rng() % 4096;
		auto it = model.find(key);

		if (it == model.end()) {
			auto e = std::make_unique<Entry>(key);

			ASSERT_EQ(insert(t, e.get()), nullptr);
			model[key] = std::move(e);
		} else if (rng() % 2) {
			ASSERT_TRUE(t.remove(it->second.get()));
			model.erase(it);
		} else {
			ASSERT_EQ(find(t, key), it->second.get());
		}
		ASSERT_EQ(t.count(), model.size());
	}
	for (auto &[key, e] : model)
		ASSERT_TRUE(t.remove(e.get()));
}

/* Readers that lose the processor in the middle of a chain while the table grows under them. */
TEST_F(Hash, ReadersMissNothingWhileItGrows)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		sim::reset(sim::Options{.seed = seed, .preempt_per_1000 = 300});

		auto *t = new Table;
		std::vector<std::unique_ptr<Entry>> all;

		ASSERT_TRUE(t->init().ok());
		for (uint32_t k = 0; k < 50; k++) {
			all.push_back(std::make_unique<Entry>(k));
			insert(*t, all.back().get());
		}
		for (int r = 0; r < 3; r++) {
			sim::spawn("reader", [&] {
				for (int i = 0; i < 30; i++) {
					rds::RcuReader rcu;
					size_t n = 0;

					t->for_each([&](Entry &e) {
						if (n++ % 16 == 0)
							sim::yield();
						EXPECT_LT(e.key, 1000u);
					});
					EXPECT_GE(n, 50u);
				}
			});
		}
		sim::spawn("writer", [&] {
			for (uint32_t k = 50; k < 400; k++) {
				all.push_back(std::make_unique<Entry>(k));
				insert(*t, all.back().get());
			}
		});
		sim::run_ready();
		EXPECT_EQ(t->count(), 400u);
		clear(*t, all);
		delete t;
	}
}

/* Objects come and go between two steps, and the table grows: those that are there from begin to
 * end are met once, the others once or never. */
TEST_F(Hash, AWalkMeetsEachOnce)
{
	for (unsigned int seed = 1; seed <= 40; seed++) {
		Table t;
		std::mt19937 rng(seed);
		std::vector<std::unique_ptr<Entry>> all;
		std::map<uint32_t, unsigned int> met;
		uint32_t stay = rng() % 300, gone = stay;

		ASSERT_TRUE(t.init().ok());
		while (all.size() < stay) {
			all.push_back(std::make_unique<Entry>(all.size()));
			insert(t, all.back().get());
		}

		uint64_t pos = 0, before = 0;

		while (pos < rds::kWalkEnd) {
			{
				rds::RcuReader rcu;

				pos = t.walk(pos, [&](Entry &e) { met[e.key]++; });
			}
			ASSERT_GT(pos, before);
			before = pos;
			for (uint32_t n = rng() % 40; n-- && all.size() < 2000;) {
				all.push_back(std::make_unique<Entry>(all.size()));
				insert(t, all.back().get());
			}
			if (gone < all.size() && rng() % 2) {
				ASSERT_TRUE(t.remove(all[gone++].get()));
			}
		}
		EXPECT_EQ(pos, rds::kWalkEnd);
		for (auto [key, times] : met)
			EXPECT_EQ(times, 1u) << key << ", seed " << seed;
		for (uint32_t key = 0; key < stay; key++)
			EXPECT_TRUE(met.contains(key)) << key << ", seed " << seed;
		t.drain([](Entry *) {});
	}
}

TEST_F(Hash, AWalkOfNothingEnds)
{
	Table none, empty;
	uint64_t pos = 0;
	unsigned int steps = 0;

	EXPECT_EQ(none.walk(0, [](Entry &) { FAIL(); }), rds::kWalkEnd);
	ASSERT_TRUE(empty.init().ok());
	for (; pos < rds::kWalkEnd; steps++)
		pos = empty.walk(pos, [](Entry &) { FAIL(); });
	EXPECT_EQ(steps, rds::kHashMinBuckets);
	EXPECT_EQ(empty.walk(pos, [](Entry &) { FAIL(); }), rds::kWalkEnd);
}

TEST_F(Hash, IsDrained)
{
	Table none, t;
	std::vector<std::unique_ptr<Entry>> all;
	std::map<Entry *, unsigned int> drained;

	none.drain([](Entry *) { FAIL(); });
	ASSERT_TRUE(t.init().ok());
	for (uint32_t k = 0; k < 1500; k++) {
		all.push_back(std::make_unique<Entry>(k));
		insert(t, all.back().get());
	}
	t.drain([&](Entry *e) { drained[e]++; });
	EXPECT_EQ(t.count(), 0u);
	EXPECT_EQ(drained.size(), all.size());
	for (auto [e, times] : drained)
		EXPECT_EQ(times, 1u) << e->key;
	for (const auto &e : all)
		EXPECT_EQ(find(t, e->key), nullptr);
}

TEST_F(Hash, BitsAreReversed)
{
	std::mt19937 rng(1);

	for (unsigned int bit = 0; bit < 32; bit++)
		EXPECT_EQ(rds::reverse_bits(1u << bit), 1u << (31 - bit));
	for (int i = 0; i < 1000; i++) {
		uint32_t x = rng(), y = rng();

		EXPECT_EQ(rds::reverse_bits(rds::reverse_bits(x)), x);
		EXPECT_EQ(rds::reverse_bits(x ^ y), rds::reverse_bits(x) ^ rds::reverse_bits(y));
	}
}

/* When there are more objects than buckets, and not before. */
TEST_F(Hash, GrowsWithTheFirstThatIsTooMany)
{
	Table t;
	std::vector<std::unique_ptr<Entry>> all;

	ASSERT_TRUE(t.init().ok());
	for (uint32_t buckets = rds::kHashMinBuckets; buckets <= 1024; buckets *= 2) {
		while (all.size() < buckets) {
			all.push_back(std::make_unique<Entry>(static_cast<uint32_t>(all.size())));
			ASSERT_EQ(insert(t, all.back().get()), nullptr);
			EXPECT_EQ(t.buckets(), buckets) << all.size();
		}
		all.push_back(std::make_unique<Entry>(static_cast<uint32_t>(all.size())));
		ASSERT_EQ(insert(t, all.back().get()), nullptr);
		EXPECT_EQ(t.buckets(), 2 * buckets);
	}
	clear(t, all);
}

/* Any bit of what is mixed turns about every second time, whichever went in. */
TEST_F(Hash, EveryBitGoesIntoEveryBit)
{
	constexpr int kTries = 2000;
	std::mt19937_64 rng(1);

	for (int in = 0; in < 64; in++) {
		int turned[32] = {};

		for (int i = 0; i < kTries; i++) {
			uint64_t x = rng();
			uint32_t both = rds::hash_mix(x) ^ rds::hash_mix(x ^ 1ull << in);

			for (int out = 0; out < 32; out++)
				turned[out] += both >> out & 1;
		}
		for (int out = 0; out < 32; out++) {
			EXPECT_GT(turned[out], kTries * 2 / 5) << in << " in " << out;
			EXPECT_LT(turned[out], kTries * 3 / 5) << in << " in " << out;
		}
	}
}

/* ---- keys ---- */

using Addresses = std::vector<struct rds_addr>;

constexpr rds::HashKey kKeys[] = {{{0x0123456789abcdef, 0xfedcba9876543210}},
				  {{0x0123456789abcdef, 0xfedcba9876543211}},
				  {{0x8000000000000000, 1}}};
constexpr unsigned int kMany = 100000;

uint32_t by_words(const struct rds_addr &a, const rds::HashKey &key)
{
	return rds::hash_words(a.w, 2, key);
}
uint32_t by_product(const struct rds_addr &a, const rds::HashKey &key)
{
	return rds::hash_addr(a, 0, key);
}
using Function = uint32_t (*)(const struct rds_addr &, const rds::HashKey &);

/* The longest chain of a table that has grown for them. */
unsigned int longest_chain(const Addresses &all, Function hash, const rds::HashKey &key)
{
	std::vector<unsigned int> chains(1u << 17);

	for (const auto &a : all)
		chains[hash(a, key) % chains.size()]++;
	return *std::max_element(chains.begin(), chains.end());
}

struct Set {
	const char *name;
	std::function<struct rds_addr(uint64_t n)> at;
};

/* Big-endian, as addresses are. */
std::vector<Set> sets(std::mt19937_64 &rng)
{
	const uint64_t mapped = uint64_t{0xffff} << 32 | 10u << 24;
	const uint64_t net = __builtin_bswap64(uint64_t{0xfd} << 56);

	return {
		{"random",
		 [&](uint64_t) {
			 return rds_addr{{rng(), rng()}};
		 }},
		{"IPv4, one after the other",
		 [=](uint64_t n) {
			 return rds_addr{{0, __builtin_bswap64(mapped + n)}};
		 }},
		{"IPv6, one after the other",
		 [=](uint64_t n) {
			 return rds_addr{{net, __builtin_bswap64(n)}};
		 }},
		{"networks, one after the other",
		 [=](uint64_t n) {
			 return rds_addr{{net | __builtin_bswap64(n), 0}};
		 }},
		{"high bits",
		 [=](uint64_t n) {
			 return rds_addr{{net, n << 46}};
		 }},
	};
}

/* A good hash has a chain of eight in one table of six. */
TEST_F(Hash, ChainsAreShortWhateverTheAddresses)
{
	std::mt19937_64 rng(1);

	for (const Set &set : sets(rng)) {
		Addresses all;

		for (uint64_t n = 0; n < kMany; n++)
			all.push_back(set.at(n));
		for (Function hash : {by_words, by_product}) {
			unsigned int shortest = ~0u, longest = 0;

			for (const auto &key : kKeys) {
				unsigned int now = longest_chain(all, hash, key);

				shortest = std::min(shortest, now);
				longest = std::max(longest, now);
			}
			EXPECT_LT(shortest, 8u) << set.name;
			EXPECT_LT(longest, 10u) << set.name;
		}
	}
}

/* The order of objects in a table, by which an observer would tell the key. */
TEST_F(Hash, AnotherKeyIsAnotherOrder)
{
	std::mt19937_64 rng(2);

	for (Function hash : {by_words, by_product}) {
		for (const Set &set : sets(rng)) {
			unsigned int same = 0;

			for (uint64_t n = 0; n < 4096; n++) {
				const struct rds_addr a = set.at(n);

				same += (hash(a, kKeys[0]) ^ hash(a, kKeys[1])) % 1024 == 0;
			}
			EXPECT_LT(same, 20u) << set.name;
		}
	}
}

/* Addresses that collide under one key do so under another no more often than any two. */
TEST_F(Hash, CollisionsAreOfOneKey)
{
	std::mt19937_64 rng(3);

	for (Function hash : {by_words, by_product}) {
		std::unordered_map<uint32_t, struct rds_addr> known;
		unsigned int met = 0, again = 0, mirrored = 0;

		for (unsigned int n = 0; n < kMany; n++) {
			const struct rds_addr a = {{rng(), rng()}};
			const struct rds_addr b = {{a.w[0] ^ 1ull << 63, a.w[1] ^ 1ull << 63}};
			auto [at, fresh] = known.emplace(hash(a, kKeys[0]) % (1u << 17), a);

			mirrored += (hash(a, kKeys[0]) ^ hash(b, kKeys[0])) % (1u << 17) == 0;
			if (fresh)
				continue;
			met++;
			again += (hash(a, kKeys[1]) ^ hash(at->second, kKeys[1])) % 1024 == 0;
		}
		EXPECT_GT(met, 20000u);
		EXPECT_LT(again, met / 512);
		EXPECT_LT(mirrored, 10u) << "both highest bits turned";
	}
}

/* Ports of one address are told apart. */
TEST_F(Hash, PortsSpread)
{
	std::vector<unsigned int> chains(1u << 16);

	for (uint32_t port = 0; port < 1u << 16; port++)
		chains[rds::hash_addr(host::addr4(1), port, kKeys[0]) % chains.size()]++;
	EXPECT_LT(*std::max_element(chains.begin(), chains.end()), 10u);
}

/* Of its authors' paper: bytes 0, 1, 2, ... under the key 0, 1, ..., 15. */
TEST_F(Hash, SipHashIsWhatOthersCallSo)
{
	const uint64_t key[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

	EXPECT_EQ(rds_siphash(key, key, 0), 0x726fdb47dd0e0e31u);
	EXPECT_EQ(rds_siphash(key, key, 1), 0x93f5f5799a932462u);
	EXPECT_EQ(rds_siphash(key, key, 2), 0x3f2acc7f57c29bdbu);
}

/* Chains grow longer instead. */
TEST_F(Hash, IsOfNoMoreThanSoManyBuckets)
{
	Table t;
	std::vector<std::unique_ptr<Entry>> all;

	ASSERT_TRUE(t.init().ok());
	for (uint32_t k = 0; k < rds::kHashMaxBuckets + 2; k++) {
		all.push_back(std::make_unique<Entry>(k));
		ASSERT_EQ(t.insert(k, all.back().get(), [](const Entry &) { return false; }),
			  nullptr);
	}
	EXPECT_EQ(t.buckets(), rds::kHashMaxBuckets);
	EXPECT_EQ(t.count(), rds::kHashMaxBuckets + 2);
	clear(t, all);
}

/* fe80::/10 and no other has an interface in its name (RFC 4291, 2.4). */
TEST(Scope, IsLinkLocalAddresses)
{
	for (unsigned int first = 0; first < 0x10000; first++) {
		const uint8_t bytes[16] = {static_cast<uint8_t>(first >> 8),
					   static_cast<uint8_t>(first)};
		struct rds_addr a;

		memcpy(&a, bytes, sizeof(a));
		ASSERT_EQ(rds::scope_of(a, 7), (first & 0xffc0) == 0xfe80 ? 7u : 0u) << first;
		ASSERT_EQ(rds::scope_of(a, 0), 0u);
	}
}

} // namespace
