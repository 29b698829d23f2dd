/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table that prints as aligned text and converts to JSON, so that a tool describes its
 * columns once. Column widths grow with the content.
 */
#ifndef RDSTOOLS_TABLE_H
#define RDSTOOLS_TABLE_H

#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace rdstools
{

using Json = nlohmann::ordered_json;
/* monostate: not known; printed as '-', null in JSON. */
using Cell = std::variant<std::monostate, std::string, std::uint64_t, double>;

struct Column {
	std::string heading; /* text output */
	std::string key;     /* JSON member */
	std::size_t width;   /* at least this wide */
	int decimals = 1;    /* of a double in text output */
};

class Table
{
public:
	std::vector<Column> columns;
	std::vector<std::vector<Cell>> rows;

	/* A braced list of Cells would do, but gcc 12 warns falsely about its temporaries. */
	template <typename... Values>
	void add_row(Values &&...values)
	{
		std::vector<Cell> &row = rows.emplace_back();
		row.reserve(sizeof...(values));
		(row.emplace_back(std::forward<Values>(values)), ...);
	}
	/* The heading line and the rows, right aligned. */
	void print(std::ostream &out) const;
	/* An array of objects. */
	Json json() const;
};

/*
 * Rows from a text whose first line has headings, as files in /proc have. The table's columns are
 * found by their headings, in any order, and others are passed over; a column that is not there is
 * not known. Blanks separate; the last column of the text has the rest of its line.
 */
void read_rows(std::istream &in, Table &table);

std::string cell_text(const Cell &cell, int decimals);

/* Which column of a table counts up, and what its rate is called. */
struct RateColumn {
	std::size_t column;
	Column rate;
};

/*
 * Appends a rate column per entry of `rates`: growth since `before` divided by `seconds`.
 * Rows are the same if their `identity` columns are equal; a row that is new, or whose counter
 * went backwards, has no rate.
 */
void add_rates(Table &now, const Table &before, double seconds,
	       const std::vector<std::size_t> &identity, const std::vector<RateColumn> &rates);

} // namespace rdstools

#endif
