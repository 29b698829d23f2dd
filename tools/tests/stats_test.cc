// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "../lib/stats.h"

using namespace rdstools;

TEST(Histogram, is_empty_at_first)
{
	Histogram h;

	EXPECT_EQ(h.count(), 0u);
	EXPECT_EQ(h.percentile(50), 0u);
	EXPECT_EQ(h.mean(), 0);
	EXPECT_EQ(h.min(), 0u);
	EXPECT_EQ(h.max(), 0u);
}

TEST(Histogram, steps_cover_all_values_without_gap_or_overlap)
{
	for (std::size_t i = 0; i + 1 < Histogram::buckets; i++) {
		ASSERT_EQ(Histogram::index_of(Histogram::top_of(i)), i);
		ASSERT_EQ(Histogram::index_of(Histogram::top_of(i) + 1), i + 1);
	}
	EXPECT_EQ(Histogram::index_of(UINT64_MAX), Histogram::buckets - 1);
}

TEST(Histogram, gives_small_values_exactly)
{
	Histogram h;

	for (std::uint64_t value = 1; value <= 50; value++)
		h.add(value);
	EXPECT_EQ(h.percentile(0), 1u);
	EXPECT_EQ(h.percentile(50), 25u);
	EXPECT_EQ(h.percentile(90), 45u);
	EXPECT_EQ(h.percentile(100), 50u);
	EXPECT_DOUBLE_EQ(h.mean(), 25.5);
}

TEST(Histogram, is_within_its_step_of_the_truth)
{
	Histogram h;
	std::vector<std::uint64_t> values;
	std::uint64_t state = 42;

	for (int i = 0; i < 10000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		values.push_back((state >> 33) % 50000000);
		h.add(values.back());
	}
	std::sort(values.begin(), values.end());
	for (double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
		double truth =
			static_cast<double>(values[static_cast<std::size_t>(percent * 100) - 1]);
		EXPECT_GE(static_cast<double>(h.percentile(percent)), truth);
		EXPECT_LE(static_cast<double>(h.percentile(percent)), truth * 1.016 + 1);
	}
	EXPECT_EQ(h.min(), values.front());
	EXPECT_EQ(h.max(), values.back());
	EXPECT_EQ(h.percentile(100), values.back());
}

TEST(Histogram, merges)
{
	Histogram one;
	Histogram other;
	Histogram empty;

	one.add(10);
	other.add(2);
	other.add(30);
	one.merge(other);
	one.merge(empty);
	EXPECT_EQ(one.count(), 3u);
	EXPECT_EQ(one.min(), 2u);
	EXPECT_EQ(one.max(), 30u);
	EXPECT_EQ(one.percentile(50), 10u);
	empty.merge(one);
	EXPECT_EQ(empty.min(), 2u);
}

TEST(Histogram, caps_what_is_beyond_an_hour)
{
	Histogram h;

	h.add(UINT64_MAX);
	EXPECT_EQ(h.max(), (std::uint64_t{1} << Histogram::value_bits) - 1);
	EXPECT_EQ(h.percentile(50), h.max());
}
