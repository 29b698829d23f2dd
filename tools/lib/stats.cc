// SPDX-License-Identifier: GPL-2.0
#include "stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "text.h"

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
	sum_ += static_cast<double>(value);
	count_++;
	steps_[index_of(value)]++;
}

/* Step by step of the histogram, not value by value: there may be millions. */
void Histogram::add_run(std::uint64_t first, std::uint64_t step, std::uint64_t times)
{
	if (!first || !times)
		return;
	if (first > largest || !step || times == 1) {
		add(first);
		return;
	}
	times = std::min(times, (first - 1) / step + 1);
	for (std::uint64_t done = 0; done < times;) {
		const std::uint64_t value = first - done * step;
		const std::size_t index = index_of(value);
		const std::uint64_t bottom = index ? top_of(index - 1) + 1 : 0;
		/* All that fall into the same step. */
		const std::uint64_t same = std::min((value - bottom) / step + 1, times - done);
		const std::uint64_t last = value - (same - 1) * step;

		min_ = count_ ? std::min(min_, last) : last;
		max_ = std::max(max_, value);
		sum_ += (static_cast<double>(value) + static_cast<double>(last)) / 2 *
			static_cast<double>(same);
		count_ += same;
		steps_[index] += same;
		done += same;
	}
}

Histogram Histogram::corrected(std::uint64_t step) const
{
	Histogram all = *this;

	for (std::size_t i = 0; step && i < buckets; i++) {
		const std::uint64_t value = std::clamp(top_of(i), min_, max_);

		if (!steps_[i] || value < 2 * step)
			continue;
		Histogram missing;

		/* None of them shorter than a step: that one was sent again in time. */
		missing.add_run(value - step, step, value / step - 1);
		for (std::size_t at = 0; at < buckets; at++)
			missing.steps_[at] *= steps_[i];
		missing.count_ *= steps_[i];
		missing.sum_ *= static_cast<double>(steps_[i]);
		all.merge(missing);
	}
	return all;
}

std::vector<Histogram::Band> Histogram::steps() const
{
	std::vector<Band> list;

	for (std::size_t i = 0; i < buckets; i++)
		if (steps_[i])
			list.push_back({std::clamp(top_of(i), min_, max_), steps_[i]});
	return list;
}

std::vector<Histogram::Band> Histogram::bands() const
{
	std::vector<Band> list;
	std::uint64_t up_to = 1;
	unsigned digit = 0;

	for (const Band &step : steps()) {
		for (; up_to < step.up_to; digit++)
			up_to = digit % 3 == 1 ? up_to / 2 * 5 : up_to * 2;
		while (!list.empty() && list.back().up_to < up_to) {
			const std::uint64_t last = list.back().up_to;
			const bool two = std::to_string(last)[0] == '2';

			list.push_back({two ? last / 2 * 5 : last * 2, 0});
		}
		if (list.empty())
			list.push_back({up_to, 0});
		list.back().count += step.count;
	}
	return list;
}

void print_bands(std::ostream &out, const Histogram &histogram)
{
	constexpr double bar = 40;
	std::uint64_t most = 1, seen = 0;
	auto name = [](std::uint64_t ns) {
		if (ns < 1000)
			return format("%u ns", static_cast<unsigned>(ns));
		if (ns < 1000000)
			return format("%u us", static_cast<unsigned>(ns / 1000));
		return ns < 1000000000 ? format("%u ms", static_cast<unsigned>(ns / 1000000))
				       : format("%u s", static_cast<unsigned>(ns / 1000000000));
	};

	for (const Histogram::Band &band : histogram.bands())
		most = std::max(most, band.count);
	for (const Histogram::Band &band : histogram.bands()) {
		const double share = static_cast<double>(band.count) / static_cast<double>(most);
		/* One among millions is seen, too. */
		const auto length = static_cast<std::size_t>(std::ceil(share * bar));

		seen += band.count;
		out << format("  to %6s %10llu %8.4f%% %s\n", name(band.up_to).c_str(),
			      static_cast<unsigned long long>(band.count),
			      100 * static_cast<double>(seen) /
				      static_cast<double>(histogram.count()),
			      std::string(length, '#').c_str());
	}
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
	return count_ ? sum_ / static_cast<double>(count_) : 0;
}

std::uint64_t Histogram::percentile(double percent) const
{
	if (!count_)
		return 0;
	/* In whole numbers: 99.9 % of 1000 are 999, and as doubles a little more. */
	constexpr std::uint64_t parts = 100000;
	const auto share = static_cast<std::uint64_t>(
		std::llround(std::clamp(percent, 0.0, 100.0) / 100 * parts));
	/* In two parts, so that no product is too large. */
	const std::uint64_t whole = count_ / parts * share;
	const std::uint64_t rest = (count_ % parts * share + parts - 1) / parts;
	const std::uint64_t rank = std::max<std::uint64_t>(1, whole + rest);
	std::uint64_t seen = 0;

	for (std::size_t i = 0; i < buckets; i++) {
		seen += steps_[i];
		if (seen >= rank)
			return std::clamp(top_of(i), min_, max_);
	}
	return max_;
}

} // namespace rdstools
