// SPDX-License-Identifier: GPL-2.0
#include "table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "text.h"

namespace rdstools
{

namespace
{

/* At most `count` words of a line, the last one with all that follows it. */
std::vector<std::string> split(const std::string &line, std::size_t count)
{
	std::istringstream in(line);
	std::vector<std::string> words;
	std::string word, rest;

	while (words.size() < count && in >> word)
		words.push_back(word);
	if (!words.empty() && std::getline(in, rest))
		words.back() += rest;
	return words;
}

Cell cell_of(const std::string &word)
{
	if (word == "-")
		return Cell();

	std::uint64_t number = 0;
	auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);

	if (error == std::errc() && end == word.data() + word.size())
		return number;
	return word;
}

} // namespace

void read_rows(std::istream &in, Table &table)
{
	std::string line;

	std::getline(in, line);
	const std::vector<std::string> headings = split(line, line.size());

	while (std::getline(in, line)) {
		const std::vector<std::string> words = split(line, headings.size());
		std::vector<Cell> &row = table.rows.emplace_back();

		for (const Column &column : table.columns) {
			auto at = static_cast<std::size_t>(
				std::ranges::find(headings, column.heading) - headings.begin());

			row.push_back(at < words.size() ? cell_of(words[at]) : Cell());
		}
	}
}

std::string cell_text(const Cell &cell, int decimals)
{
	if (const auto *text = std::get_if<std::string>(&cell))
		return *text;
	if (const auto *number = std::get_if<std::uint64_t>(&cell))
		return std::to_string(*number);
	if (const auto *real = std::get_if<double>(&cell))
		return format("%.*f", decimals, *real);
	return "-";
}

void Table::print(std::ostream &out) const
{
	std::vector<std::size_t> widths;
	std::vector<std::vector<std::string>> lines;

	lines.emplace_back();
	for (const Column &column : columns) {
		widths.push_back(std::max(column.width, column.heading.size()));
		lines.back().push_back(column.heading);
	}
	for (const auto &row : rows) {
		lines.emplace_back();
		for (std::size_t i = 0; i < columns.size(); i++) {
			lines.back().push_back(cell_text(row.at(i), columns[i].decimals));
			widths[i] = std::max(widths[i], lines.back().back().size());
		}
	}
	for (const auto &line : lines) {
		for (std::size_t i = 0; i < line.size(); i++) {
			if (i)
				out << ' ';
			out << std::string(widths[i] - line[i].size(), ' ') << line[i];
		}
		out << '\n';
	}
}

Json Table::json() const
{
	Json list = Json::array();

	for (const auto &row : rows) {
		Json entry = Json::object();
		for (std::size_t i = 0; i < columns.size(); i++)
			std::visit(
				[&](const auto &value) {
					using T = std::decay_t<decltype(value)>;
					if constexpr (std::is_same_v<T, std::monostate>)
						entry[columns[i].key] = nullptr;
					else
						entry[columns[i].key] = value;
				},
				row.at(i));
		list.push_back(std::move(entry));
	}
	return list;
}

namespace
{

std::string identity_of(const std::vector<Cell> &row, const std::vector<std::size_t> &identity)
{
	std::string key;

	for (std::size_t column : identity)
		key += cell_text(row.at(column), 3) + '\n';
	return key;
}

} // namespace

void add_rates(Table &now, const Table &before, double seconds,
	       const std::vector<std::size_t> &identity, const std::vector<RateColumn> &rates)
{
	std::map<std::string, const std::vector<Cell> *> old;

	for (const auto &row : before.rows)
		old[identity_of(row, identity)] = &row;
	for (auto &row : now.rows) {
		auto found = old.find(identity_of(row, identity));
		for (const RateColumn &rate : rates) {
			Cell cell;
			const auto *value = std::get_if<std::uint64_t>(&row.at(rate.column));
			if (value && found != old.end() && seconds > 0) {
				const auto *last =
					std::get_if<std::uint64_t>(&found->second->at(rate.column));
				if (last && *last <= *value)
					cell = static_cast<double>(*value - *last) / seconds;
			}
			row.push_back(cell);
		}
	}
	for (const RateColumn &rate : rates)
		now.columns.push_back(rate.rate);
}

} // namespace rdstools
