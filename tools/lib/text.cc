// SPDX-License-Identifier: GPL-2.0
#include "text.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "error.h"

namespace rdstools
{

std::string format(const char *fmt, ...)
{
	va_list args;
	va_list again;

	va_start(args, fmt);
	va_copy(again, args);
	int size = std::vsnprintf(nullptr, 0, fmt, args);
	va_end(args);
	std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
	std::vsnprintf(text.data(), text.size() + 1, fmt, again);
	va_end(again);
	return text;
}

namespace
{

/* Splits "12.5ms" into 12.5 and "ms". */
double number_and_unit(std::string_view text, std::string &unit)
{
	std::string copy(text);
	char *end = nullptr;
	double value = std::strtod(copy.c_str(), &end);

	if (end == copy.c_str() || !std::isfinite(value) || value < 0)
		throw Error(format("'%s' is not a number", copy.c_str()));
	unit = end;
	return value;
}

} // namespace

std::uint64_t parse_duration(std::string_view text)
{
	static constexpr struct {
		const char *name;
		double ns;
	} units[] = {
		{"", 1e9},     {"s", 1e9},  {"sec", 1e9},  {"ms", 1e6},
		{"msec", 1e6}, {"us", 1e3}, {"usec", 1e3},
	};
	/* A year: beyond it a typing error is likelier than a wish. */
	constexpr double limit = 366.0 * 86400 * 1e9;
	std::string unit;
	double value = number_and_unit(text, unit);

	for (const auto &known : units) {
		if (unit != known.name)
			continue;
		if (value * known.ns > limit)
			break;
		return static_cast<std::uint64_t>(std::llround(value * known.ns));
	}
	throw Error(format("'%.*s' is not a duration: use seconds, or append ms or us",
			   static_cast<int>(text.size()), text.data()));
}

std::uint64_t parse_size(std::string_view text)
{
	std::string unit;
	double value = number_and_unit(text, unit);
	double scale = 0;

	if (unit.empty())
		scale = 1;
	else if (unit == "k" || unit == "K")
		scale = 1024;
	else if (unit == "m" || unit == "M")
		scale = 1024 * 1024;
	/* Also refuses "1.5": a size is a whole number of bytes. */
	if (scale == 0 || value * scale > 1e15 || std::floor(value * scale) != value * scale)
		throw Error(format("'%.*s' is not a size: use bytes, or append k or m",
				   static_cast<int>(text.size()), text.data()));
	return static_cast<std::uint64_t>(value * scale);
}

std::uint64_t now_ns()
{
	timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return static_cast<std::uint64_t>(ts.tv_sec) * 1000000000u +
	       static_cast<std::uint64_t>(ts.tv_nsec);
}

} // namespace rdstools
