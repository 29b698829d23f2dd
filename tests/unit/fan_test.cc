// SPDX-License-Identifier: GPL-2.0
/*
 * Over how many paths a connection sends, and which of them takes a message: class Fan alone.  What
 * paths make of it: path_fan_test.cc, fan_bounds_test.cc.
 */
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "net/rds/conn/fan.h"

/* The same class once more, with atomics that call somebody after each store. */
namespace rds
{

inline std::function<void()> on_store;

template <typename T>
class WatchedAtomic final
{
public:
	WatchedAtomic() = default;
	explicit WatchedAtomic(T v) : v_(v)
	{
	}
	T load() const
	{
		return v_;
	}
	T load_acquire() const
	{
		return v_;
	}
	void store(T v)
	{
		v_ = v;
		if (on_store)
			on_store();
	}
	void store_release(T v)
	{
		store(v);
	}

private:
	T v_{};
};

} // namespace rds

#undef RDS_FAN_H
#define Atomic WatchedAtomic
#define Fan WatchedFan
/* clang-format off */
#include "net/rds/conn/fan.h"
#include "net/rds/conn/fan.cc"
/* clang-format on */
#undef Atomic
#undef Fan

namespace
{

using rds::Fan;
using rds::kFanBlocks;

constexpr uint64_t kLast = 1000;

/* Has no room until more paths are used; how often that was. */
template <typename F>
uint32_t crowd(F &fan, uint64_t last = kLast)
{
	for (uint32_t n = 1; n <= 3 * kFanBlocks; n++)
		if (fan.no_room(last))
			return n;
	return 0;
}

template <typename F>
void spread(F &fan, uint32_t n)
{
	ASSERT_TRUE(fan.agree(n));
	ASSERT_EQ(crowd(fan), kFanBlocks);
	fan.open_gate();
}

TEST(Fan, BeginsWithOnePath)
{
	for (bool by_sport : {false, true}) {
		Fan fan(by_sport);

		EXPECT_EQ(fan.n_paths(), 1u);
		EXPECT_EQ(fan.agreed(), 1u);
		EXPECT_FALSE(fan.is_gated());
		EXPECT_FALSE(fan.is_folding());
		for (uint16_t port : {0, 1, 2, 5000, 65535})
			EXPECT_EQ(fan.index_for(port, port), 0u);
	}
}

/* The same at both ends, and for the acks of either. */
TEST(Fan, BothEndsTakeTheSamePath)
{
	for (uint32_t n : {1u, 2u, 4u, 8u}) {
		Fan here(true), there(false);

		if (n > 1) {
			spread(here, n);
			spread(there, n);
		}
		for (uint32_t sport = 0; sport < 65536; sport += 251)
			for (uint32_t dport = 7; dport < 65536; dport += 4099) {
				const auto s = static_cast<uint16_t>(sport);
				const auto d = static_cast<uint16_t>(dport);

				ASSERT_EQ(here.index_for(s, d), there.index_for(d, s));
				ASSERT_LT(here.index_for(s, d), n);
			}
	}
}

/* Of the pair one port alone counts, and it takes every path. */
TEST(Fan, OnePortChooses)
{
	Fan by_sport(true), by_dport(false);
	unsigned int seen = 0;

	spread(by_sport, 8);
	spread(by_dport, 8);
	for (uint16_t port = 4000; port < 4064; port++) {
		const unsigned int index = by_sport.index_for(port, 1);

		EXPECT_EQ(by_sport.index_for(port, 9), index);
		EXPECT_EQ(by_dport.index_for(9, port), index);
		seen |= 1u << index;
	}
	EXPECT_EQ(seen, 0xffu);
}

/* A message of a connection with fewer paths is on the same one or on a lower one: no port changes
 * between two that both have. */
TEST(Fan, FewerPathsAreAMaskAway)
{
	Fan eight(true), four(true), two(true);

	spread(eight, 8);
	spread(four, 4);
	spread(two, 2);
	for (uint16_t port = 1; port < 200; port++) {
		const unsigned int index = eight.index_for(port, 0);

		EXPECT_EQ(four.index_for(port, 0), index & 3);
		EXPECT_EQ(two.index_for(port, 0), index & 1);
	}
}

TEST(Fan, SpreadsWhenItWasFullOftenEnough)
{
	Fan fan(false);

	ASSERT_TRUE(fan.agree(8));
	for (uint32_t i = 1; i < kFanBlocks; i++) {
		EXPECT_FALSE(fan.no_room(i)) << i;
		EXPECT_EQ(fan.n_paths(), 1u);
		EXPECT_FALSE(fan.is_gated());
	}
	EXPECT_TRUE(fan.no_room(kLast));
	EXPECT_EQ(fan.n_paths(), 8u);
	EXPECT_EQ(fan.agreed(), 8u);
	EXPECT_TRUE(fan.is_gated());
	EXPECT_EQ(fan.gate_number(), kLast);
	EXPECT_FALSE(fan.is_folding());
}

/* Once spread it does so no further, and the gate stays what it was. */
TEST(Fan, SpreadsOnce)
{
	Fan fan(false);

	spread(fan, 4);
	EXPECT_EQ(crowd(fan, kLast + 1), 0u);
	EXPECT_EQ(fan.n_paths(), 4u);
	EXPECT_FALSE(fan.is_gated());
	EXPECT_EQ(fan.gate_number(), kLast);
}

/* With a peer that has one path there is nothing to count for. */
TEST(Fan, WithOnePathNothingIsCounted)
{
	Fan fan(false);

	EXPECT_EQ(crowd(fan), 0u);
	ASSERT_TRUE(fan.agree(1));
	EXPECT_EQ(crowd(fan), 0u);
	EXPECT_EQ(fan.n_paths(), 1u);
	EXPECT_FALSE(fan.is_gated());
	ASSERT_TRUE(fan.agree(2));
	EXPECT_EQ(crowd(fan), kFanBlocks);
}

TEST(Fan, TheGateOpensAndStaysOpen)
{
	Fan fan(false);

	ASSERT_TRUE(fan.agree(8));
	ASSERT_EQ(crowd(fan), kFanBlocks);
	fan.open_gate();
	EXPECT_FALSE(fan.is_gated());
	EXPECT_EQ(fan.n_paths(), 8u);
	EXPECT_TRUE(fan.agree(8));
	EXPECT_FALSE(fan.is_gated());
}

/* The same peer again: everything stays as it is. */
TEST(Fan, AgreesOnTheSame)
{
	Fan fan(false);

	ASSERT_TRUE(fan.agree(4));
	EXPECT_TRUE(fan.agree(4));
	EXPECT_EQ(fan.n_paths(), 1u);
	ASSERT_EQ(crowd(fan), kFanBlocks);
	EXPECT_TRUE(fan.agree(4));
	EXPECT_EQ(fan.agreed(), 4u);
	EXPECT_EQ(fan.n_paths(), 4u);
	EXPECT_TRUE(fan.is_gated()) << "what path 0 had is on its way again";
	EXPECT_FALSE(fan.is_folding());
}

/* From one to any number, though nothing may be spread yet. */
TEST(Fan, AgreesOnMoreThanOne)
{
	for (uint32_t n : {1u, 2u, 4u, 8u}) {
		Fan fan(false);

		EXPECT_TRUE(fan.agree(n));
		EXPECT_EQ(fan.agreed(), n);
		EXPECT_EQ(fan.n_paths(), 1u);
		EXPECT_FALSE(fan.is_folding());
	}
}

/* From several to another number, be it more: further paths of that one may have something already,
 * also when nothing of ours is spread. */
TEST(Fan, FoldsBeforeItAgreesOnAnother)
{
	for (uint32_t had : {2u, 4u, 8u}) {
		for (uint32_t has : {1u, 2u, 4u, 8u}) {
			for (bool spreads : {false, true}) {
				Fan fan(false);

				ASSERT_TRUE(fan.agree(had));
				if (spreads) {
					ASSERT_EQ(crowd(fan), kFanBlocks);
				}
				EXPECT_EQ(fan.agree(has), had == has) << had << " " << has;
				EXPECT_EQ(fan.is_folding(), had != has);
				EXPECT_EQ(fan.agreed(), had) << "until all are down";
				EXPECT_EQ(fan.n_paths(), spreads ? had : 1);
				EXPECT_EQ(fan.is_gated(), spreads);
			}
		}
	}
}

/* The peer of before is back before anything was folded. */
TEST(Fan, AFoldIsCalledOffByTheSamePeer)
{
	Fan fan(false);

	spread(fan, 8);
	EXPECT_FALSE(fan.agree(1));
	EXPECT_FALSE(fan.agree(2)) << "still another";
	EXPECT_TRUE(fan.is_folding());
	EXPECT_TRUE(fan.agree(8));
	EXPECT_FALSE(fan.is_folding());
	EXPECT_EQ(fan.n_paths(), 8u);
}

/* Path 0 takes everything from close() on; until folded() others hold back what they have. */
TEST(Fan, ComesBackToOne)
{
	for (bool gated : {false, true}) {
		Fan fan(false);

		ASSERT_TRUE(fan.agree(8));
		ASSERT_EQ(crowd(fan), kFanBlocks);
		if (!gated)
			fan.open_gate();
		ASSERT_FALSE(fan.agree(2));
		fan.close();
		EXPECT_TRUE(fan.is_folding());
		EXPECT_EQ(fan.n_paths(), 1u);
		EXPECT_EQ(fan.agreed(), 1u);
		EXPECT_FALSE(fan.is_gated()) << "there is nothing to wait for";
		for (uint16_t port = 1; port < 100; port++)
			EXPECT_EQ(fan.index_for(1, port), 0u);
		fan.folded();
		EXPECT_FALSE(fan.is_folding());
		EXPECT_TRUE(fan.agree(2));
		EXPECT_EQ(crowd(fan, kLast + 7), kFanBlocks) << "as many as the first time";
		EXPECT_EQ(fan.n_paths(), 2u);
		EXPECT_EQ(fan.gate_number(), kLast + 7);
	}
}

/* Refusals of before a fold were another peer's. */
TEST(Fan, OnlyAWholeCountSpreads)
{
	Fan fan(false);

	spread(fan, 8);
	ASSERT_EQ(crowd(fan), 0u); /* they are not counted while it is spread */
	ASSERT_FALSE(fan.agree(4));
	fan.close();
	ASSERT_EQ(crowd(fan), 0u); /* nor here */
	fan.folded();
	ASSERT_TRUE(fan.agree(4));
	EXPECT_EQ(crowd(fan), kFanBlocks);
}

/* ---- what a reader sees, which has no lock, between any two stores ---- */

class FanReader : public testing::Test
{
protected:
	void SetUp() override
	{
		ASSERT_TRUE(fan.agree(8));
		rds::on_store = [this] { look(); };
	}
	void TearDown() override
	{
		rds::on_store = nullptr;
	}
	void look()
	{
		seen++;
		EXPECT_LE(fan.n_paths(), fan.agreed()) << "a path that the peer has not";
		EXPECT_LT(fan.index_for(1, 5000), fan.n_paths());
		/* Nothing overtakes what path 0 has, before and while it takes the rest. */
		if (fan.n_paths() > 1) {
			EXPECT_TRUE(fan.is_gated() || opened || fan.is_folding());
		}
		if (fan.n_paths() < most) {
			EXPECT_TRUE(fan.is_folding()) << "it is one again, and nobody folds";
		}
	}
	rds::WatchedFan fan{false};
	uint32_t most = 1;
	bool opened = false;
	unsigned int seen = 0;
};

TEST_F(FanReader, TheGateIsShutBeforeAnythingIsSpread)
{
	ASSERT_EQ(crowd(fan), kFanBlocks);
	EXPECT_GE(seen, 2u);
	EXPECT_EQ(fan.gate_number(), kLast);
}

/* The number is there before anybody may ask whether it was reached. */
TEST_F(FanReader, TheGatesNumberIsThereWithTheGate)
{
	rds::on_store = [this] {
		seen++;
		if (fan.is_gated()) {
			EXPECT_EQ(fan.gate_number(), kLast);
		}
	};
	ASSERT_EQ(crowd(fan), kFanBlocks);
	EXPECT_GE(seen, 2u);
}

TEST_F(FanReader, AFoldIsSeenFromItsBeginningToItsEnd)
{
	for (bool gated : {false, true}) {
		rds::on_store = nullptr;
		ASSERT_TRUE(fan.agree(8));
		ASSERT_EQ(crowd(fan), kFanBlocks);
		if (!gated)
			fan.open_gate();
		opened = !gated;
		most = 8;
		rds::on_store = [this] { look(); };
		EXPECT_FALSE(fan.agree(4));
		fan.close();
		EXPECT_TRUE(fan.is_folding());
		most = 1;
		fan.folded();
	}
	EXPECT_GE(seen, 2 * 5u);
}

/* A path that meets the same peer again takes nobody back to one path for a moment. */
TEST_F(FanReader, TheSamePeerIsNoFold)
{
	ASSERT_EQ(crowd(fan), kFanBlocks);
	most = 8;
	rds::on_store = [this] {
		seen++;
		EXPECT_FALSE(fan.is_folding());
		EXPECT_EQ(fan.n_paths(), 8u);
		EXPECT_EQ(fan.agreed(), 8u);
		EXPECT_TRUE(fan.is_gated());
	};
	EXPECT_TRUE(fan.agree(8));
	EXPECT_GE(seen, 1u);
}

} // namespace
