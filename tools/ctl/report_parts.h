/* SPDX-License-Identifier: GPL-2.0 */
/* The report's tables and charts, without a word about what is in them. */
#ifndef RDSCTL_REPORT_PARTS_H
#define RDSCTL_REPORT_PARTS_H

#include <cstddef>
#include <string>
#include <vector>

#include "host.h"
#include "html.h"

namespace rdstools
{

/* So many rows of a table are seen at once, the rest when they are asked for. */
inline constexpr std::size_t rows_shown = 12;

struct Head {
	const char *name;
	const char *kind; /* "number", "address" or "" */
};

struct TextCell {
	std::string text;
	const char *tag = nullptr; /* health, for a state */
};

using Row = std::vector<TextCell>;

/* @nothing is said where there are no rows. */
void write_table(Html &html, const std::vector<Head> &heads, const std::vector<Row> &rows,
		 const char *nothing, std::size_t shown = rows_shown);
/* Keys under @name, and their values. */
void write_facts(Html &html, const Facts &facts, const char *name, std::size_t shown);

struct Bar {
	std::string name;
	double value;
	std::string text;
};

/* Bars as long as their values are, beside the longest; @nothing is said where there are none. */
void write_chart(Html &html, const char *title, const std::vector<Bar> &bars, const char *nothing);

} // namespace rdstools

#endif
