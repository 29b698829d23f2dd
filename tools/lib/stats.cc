// SPDX-License-Identifier: GPL-2.0
#include "stats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rdstools
{

namespace
{

constexpr std::uint64_t steps_per_octave = std::uint64_t{1} << Histogram::step_bits;
constexpr std::uint64_t largest = (std::uint64_t{1} << Histogram::value_bits) - 1;

} // namespace

std::size_t Histogram::index_of(std::uint64_t value)
{
	value = std::min(value, largest);
	if (value < steps_per_octave)
		return value;
	unsigned shift = static_cast<unsigned>(std::bit_width(value)) - step_bits - 1;
	/* The leading bit is implied by the octave; the next step_bits bits are the step. */
	return ((shift + 1) << step_bits) + ((value >> shift) - steps_per_octave);
}

std::uint64_t Histogram::top_of(std::size_t index)
{
	if (index < steps_per_octave)
		return index;
	unsigned shift = static_cast<unsigned>(index >> step_bits) - 1;
	std::uint64_t step = steps_per_octave + (index & (steps_per_octave - 1));
	return ((step + 1) << shift) - 1;
}

void Histogram::add(std::uint64_t value)
{
	value = std::min(value, largest);
	min_ = count_ ? std::min(min_, value) : value;
	max_ = std::max(max_, value);
	sum_ += value;
	count_++;
	steps_[index_of(value)]++;
}

void Histogram::merge(const Histogram &other)
{
	if (!other.count_)
		return;
	min_ = count_ ? std::min(min_, other.min_) : other.min_;
	max_ = std::max(max_, other.max_);
	sum_ += other.sum_;
	count_ += other.count_;
	for (std::size_t i = 0; i < buckets; i++)
		steps_[i] += other.steps_[i];
}

double Histogram::mean() const
{
	return count_ ? static_cast<double>(sum_) / static_cast<double>(count_) : 0;
}

std::uint64_t Histogram::percentile(double percent) const
{
	if (!count_)
		return 0;
	double share = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(count_);
	std::uint64_t rank =
		std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share)));
	std::uint64_t seen = 0;

	for (std::size_t i = 0; i < buckets; i++) {
		seen += steps_[i];
		if (seen >= rank)
			return std::clamp(top_of(i), min_, max_);
	}
	return max_;
}

} // namespace rdstools
