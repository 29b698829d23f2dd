// SPDX-License-Identifier: GPL-2.0
#include "map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "../lib/text.h"

namespace rdstools
{

namespace
{

/* Backgrounds of the 256 colours, red to green; text on them is black. */
constexpr std::array<unsigned, 5> colours_of_heat = {203, 215, 227, 156, 83};
constexpr int least_width = 8;

/* One of the maps. */
struct Map {
	const char *title;
	std::optional<double> Pair::*value;
	bool more_is_better;
};

constexpr Map throughput = {"throughput, MB/s", &Pair::mbytes, true};
constexpr Map tail = {"99 % of the round trips within, usec", &Pair::p99_usec, false};

/* The largest or the smallest; 0: nothing was measured. */
double best_of(const Matrix &matrix, const Map &map)
{
	double best = 0;

	for (const Pair &pair : matrix.pairs()) {
		const double value = (pair.*map.value).value_or(0);

		if (value > 0 && (best == 0 || (value > best) == map.more_is_better))
			best = value;
	}
	return best;
}

/* Four digits or so, for columns that are not wide. */
std::string short_number(double value)
{
	return format("%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

std::string cell(const Matrix &matrix, const Map &map, std::size_t from, std::size_t to)
{
	if (from == to)
		return "-";

	const Pair &pair = matrix.pair(from, to);

	if (pair.state == Pair::State::failed)
		return "FAILED";
	return pair.*map.value ? short_number(*(pair.*map.value)) : "?";
}

std::string painted(const std::string &text, unsigned colour)
{
	return format("\033[30;48;5;%um%s\033[0m", colour, text.c_str());
}

/* The background that a cell has: none for what was not measured. */
std::string with_heat(const std::string &text, const Pair &pair, const Map &map, double best)
{
	const auto &value = pair.*map.value;

	if (pair.state == Pair::State::failed)
		return "\033[1;31m" + text + "\033[0m";
	if (!value)
		return text;

	const double share = map.more_is_better ? *value / best : best / *value;

	return painted(text, colours_of_heat[heat(share)]);
}

int row_heading_width(const Matrix &matrix)
{
	std::size_t longest = 0;

	for (const Host &host : matrix.hosts())
		longest = std::max(longest, host.name.size());
	return static_cast<int>(longest);
}

void print_map(std::ostream &out, const Matrix &matrix, const Map &map, bool colours)
{
	const std::size_t count = matrix.hosts().size();
	const int heading = row_heading_width(matrix);
	const double best = best_of(matrix, map);

	out << map.title << '\n' << format("   %*s", heading, "");
	for (std::size_t to = 0; to < count; to++)
		out << format(" %*zu", least_width, to + 1);
	out << '\n';
	for (std::size_t from = 0; from < count; from++) {
		out << format("%2zu %-*s", from + 1, heading, matrix.hosts()[from].name.c_str());
		for (std::size_t to = 0; to < count; to++) {
			const std::string text =
				format(" %*s", least_width, cell(matrix, map, from, to).c_str());

			out << (colours && from != to
					? with_heat(text, matrix.pair(from, to), map, best)
					: text);
		}
		out << '\n';
	}
	out << '\n';
}

void print_legend(std::ostream &out)
{
	static constexpr const char *names[] = {" under 20 ", " to 40 ", " to 60 ", " to 80 ",
						" to 100 "};

	out << "percent of the best: ";
	for (std::size_t i = 0; i < std::size(names); i++)
		out << painted(names[i], colours_of_heat[i]);
	out << "\n\n";
}

/* A host that does not answer has many pairs, and one reason. */
void print_failures(std::ostream &out, const Matrix &matrix)
{
	for (std::size_t i = 0; i < matrix.hosts().size(); i++) {
		const Host &host = matrix.hosts()[i];

		if (!host.gone.empty())
			out << format("%zu %s: %s\n", i + 1, host.name.c_str(), host.gone.c_str());
	}
	for (const Pair &pair : matrix.pairs())
		if (pair.state == Pair::State::failed && pair.asked)
			out << format("%zu -> %zu: %s\n", pair.from + 1, pair.to + 1,
				      pair.reason.c_str());
}

} // namespace

unsigned heat(double share)
{
	constexpr unsigned steps = colours_of_heat.size();

	if (!(share > 0))
		return 0;
	return std::min(steps - 1,
			static_cast<unsigned>(std::ceil(std::min(share, 1.0) * steps)) - 1);
}

void print_matrix(std::ostream &out, const Matrix &matrix, bool colours)
{
	const Plan &plan = matrix.plan();

	out << format("%zu hosts, %g s a pair, %u task%s, depth %u, requests %llu bytes, ",
		      matrix.hosts().size(), matrix.seconds(), plan.tasks,
		      plan.tasks == 1 ? "" : "s", plan.depth,
		      static_cast<unsigned long long>(plan.request_bytes))
	    << (plan.oneway ? std::string("no acks")
			    : format("acks %llu bytes",
				     static_cast<unsigned long long>(plan.ack_bytes)))
	    << "; rows send requests to columns\n\n";
	print_map(out, matrix, throughput, colours);
	if (!plan.oneway)
		print_map(out, matrix, tail, colours);
	if (colours)
		print_legend(out);
	print_failures(out, matrix);
	out << format("%zu pairs: %zu measured, %zu failed, %zu left\n", matrix.pairs().size(),
		      matrix.count(Pair::State::measured), matrix.count(Pair::State::failed),
		      matrix.count(Pair::State::open))
	    << std::flush;
}

} // namespace rdstools
