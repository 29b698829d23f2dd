/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Latency histogram of fixed size: 64 linear steps per power of two, so any percentile is within
 * 1.6 % of the true value whatever the run time. Plain data, so it can live in shared memory.
 */
#ifndef RDSTOOLS_STATS_H
#define RDSTOOLS_STATS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace rdstools
{

class Histogram
{
public:
	static constexpr unsigned step_bits = 6;
	/* Values are capped at 2^42 ns, more than an hour. */
	static constexpr unsigned value_bits = 42;
	static constexpr std::size_t buckets = ((value_bits - step_bits) + 1) << step_bits;

	void add(std::uint64_t value);
	void merge(const Histogram &other);
	std::uint64_t count() const
	{
		return count_;
	}
	std::uint64_t min() const
	{
		return count_ ? min_ : 0;
	}
	std::uint64_t max() const
	{
		return max_;
	}
	double mean() const;
	/*
	 * Smallest recorded value that at least `percent` of all values do not exceed
	 * (nearest rank), as the top of its step, never outside [min, max]; 0 if empty.
	 */
	std::uint64_t percentile(double percent) const;

	/* Exposed for the tests: the step a value falls into and the largest value of a step. */
	static std::size_t index_of(std::uint64_t value);
	static std::uint64_t top_of(std::size_t index);

private:
	std::uint64_t count_ = 0;
	std::uint64_t sum_ = 0;
	std::uint64_t min_ = 0;
	std::uint64_t max_ = 0;
	std::array<std::uint64_t, buckets> steps_ = {};
};

static_assert(std::is_trivially_copyable_v<Histogram>);

} // namespace rdstools

#endif
