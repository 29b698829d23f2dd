// SPDX-License-Identifier: GPL-2.0
#include <algorithm>
#include <sstream>
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

TEST(Histogram, one_of_a_thousand_is_beyond_the_999th)
{
	Histogram h;

	for (int i = 0; i < 999; i++)
		h.add(1000);
	h.add(1000000000);
	for (int doubled = 0; doubled < 40; doubled++) {
		const Histogram as_many = h;

		ASSERT_LT(h.percentile(99.9), 1100u) << "of " << h.count();
		ASSERT_EQ(h.percentile(99.91), 1000000000u) << "of " << h.count();
		h.merge(as_many);
	}
}

/* Each value is a step of its own, and its number is its rank. */
TEST(Histogram, the_rank_is_exact)
{
	constexpr unsigned hundredths[] = {100, 5000, 9000, 9500, 9900, 9990, 9999, 10000};

	for (unsigned count = 1; count < 64; count++) {
		Histogram h;

		for (unsigned value = 1; value <= count; value++)
			h.add(value);
		for (unsigned p : hundredths)
			EXPECT_EQ(h.percentile(p / 100.0), (count * p + 9999) / 10000)
				<< p << " of " << count;
	}
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

namespace
{

/* The same value by value. */
Histogram one_by_one(std::uint64_t first, std::uint64_t step, std::uint64_t times)
{
	Histogram h;

	for (std::uint64_t i = 0; i < times && first > i * step; i++)
		h.add(first - i * step);
	return h;
}

void expect_same(const Histogram &a, const Histogram &b)
{
	EXPECT_EQ(a.count(), b.count());
	EXPECT_EQ(a.min(), b.min());
	EXPECT_EQ(a.max(), b.max());
	EXPECT_NEAR(a.mean(), b.mean(), 1e-6 * b.mean());
	for (const double percent : {0.0, 10.0, 50.0, 90.0, 99.0, 99.99, 100.0})
		EXPECT_EQ(a.percentile(percent), b.percentile(percent)) << percent;
}

} // namespace

TEST(Histogram, a_run_is_what_its_values_are)
{
	for (const auto &[first, step, times] :
	     {std::tuple(10u, 3u, 2u), std::tuple(10u, 3u, 99u), std::tuple(1u, 1u, 5u),
	      std::tuple(100000u, 7u, 5000u), std::tuple(5000000u, 1000u, 100000u),
	      std::tuple(64u, 64u, 3u), std::tuple(77u, 100u, 4u),
	      std::tuple(12345u, 1u, 12345u)}) {
		Histogram run;

		run.add_run(first, step, times);
		expect_same(run, one_by_one(first, step, times));
	}
	Histogram none;

	none.add_run(0, 1, 5);
	none.add_run(5, 1, 0);
	EXPECT_EQ(none.count(), 0u);
	none.add_run(5, 0, 9);
	EXPECT_EQ(none.count(), 1u) << "without a step there is one";
	none.add_run(UINT64_MAX, 1, UINT64_MAX);
	EXPECT_EQ(none.count(), 2u) << "longer than any that is counted";
}

TEST(Histogram, a_run_of_an_hour_by_nanoseconds_takes_no_time)
{
	Histogram h;

	h.add_run(std::uint64_t{3600} * 1000000000, 1, UINT64_MAX);
	EXPECT_EQ(h.count(), std::uint64_t{3600} * 1000000000);
	EXPECT_NEAR(h.mean(), 1.8e12, 1e10);
}

TEST(Histogram, what_was_left_out_of_a_pause_is_put_back)
{
	Histogram h;

	/* 10000 of 10, and one of 100000 in which 9999 more would have begun. */
	for (int i = 0; i < 10000; i++)
		h.add(10);
	h.add(100000);
	EXPECT_EQ(h.percentile(99.99), 10u);

	const Histogram c = h.corrected(10);

	EXPECT_EQ(c.count(), 10000u + 10000u) << "100000, 99990, ..., 10";
	EXPECT_NEAR(static_cast<double>(c.percentile(75)), 50000, 1000);
	EXPECT_EQ(c.max(), 100000u);
	EXPECT_EQ(c.min(), 10u);
	expect_same(h.corrected(0), h);
	expect_same(h.corrected(50001), h);
	EXPECT_EQ(h.corrected(50000).count(), h.count() + 1);
	EXPECT_EQ(Histogram().corrected(5).count(), 0u);
}

TEST(Histogram, bands)
{
	Histogram h;
	auto text = [&] {
		std::string all;

		for (const Histogram::Band &b : h.bands())
			all += std::to_string(b.up_to) + ":" + std::to_string(b.count) + " ";
		return all;
	};

	EXPECT_EQ(text(), "");
	h.add(150);
	EXPECT_EQ(text(), "200:1 ");
	h.add(900);
	h.add(4000);
	h.add(4000);
	EXPECT_EQ(text(), "200:1 500:0 1000:1 2000:0 5000:2 ");
	EXPECT_EQ(h.steps().size(), 3u);
	EXPECT_EQ(h.steps()[2].count, 2u);

	std::ostringstream out;

	print_bands(out, h);
	EXPECT_NE(out.str().find("to   1 us          1  50.0000% ####################\n"),
		  std::string::npos)
		<< out.str();
	EXPECT_NE(out.str().find("to   5 us          2 100.0000%"), std::string::npos) << out.str();
}
