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
#include <ostream>
#include <type_traits>
#include <vector>

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
	/*
	 * @first, @first - @step, and so on, @times values or those above 0: what others would have
	 * waited that were due each @step, and were not sent, because @first was waited for.
	 */
	void add_run(std::uint64_t first, std::uint64_t step, std::uint64_t times);
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
	 * Smallest recorded value that at least `percent` (in thousandths) of all values do not
	 * exceed (nearest rank), as the top of its step, never outside [min, max]; 0 if empty.
	 */
	std::uint64_t percentile(double percent) const;

	/*
	 * Corrected for coordinated omission: whoever sends the next one when the last is answered
	 * leaves out, of a pause, all that would have waited in it. As if one had been sent each
	 * @step, as HdrHistogram does it; 0: no correction.
	 */
	Histogram corrected(std::uint64_t step) const;

	struct Band {
		std::uint64_t up_to, count;
	};
	/* Steps with values, by their largest. */
	std::vector<Band> steps() const;
	/* The same by 1, 2, 5, 10, ..., from the first with values to the last. */
	std::vector<Band> bands() const;

	/* Exposed for the tests: the step a value falls into and the largest value of a step. */
	static std::size_t index_of(std::uint64_t value);
	static std::uint64_t top_of(std::size_t index);

private:
	std::uint64_t count_ = 0;
	double sum_ = 0;
	std::uint64_t min_ = 0;
	std::uint64_t max_ = 0;
	std::array<std::uint64_t, buckets> steps_ = {};
};

/* A line with a bar for each band of nanoseconds, and how many percent are no longer than it. */
void print_bands(std::ostream &out, const Histogram &histogram);

static_assert(std::is_trivially_copyable_v<Histogram>);

} // namespace rdstools

#endif
