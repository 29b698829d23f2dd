// SPDX-License-Identifier: GPL-2.0
#include <sstream>

#include <gtest/gtest.h>

#include "../lib/table.h"

using namespace rdstools;

namespace
{

Table sample()
{
	Table table;

	table.columns = {{"Name", "name", 6}, {"Value", "value", 3}, {"R", "r", 1, 2}};
	table.add_row(std::string("a"), std::uint64_t{7}, 1.234);
	table.add_row(std::string("longer-name"), std::uint64_t{1234567}, std::monostate());
	return table;
}

} // namespace

TEST(Table, aligns_right_and_grows_with_the_content)
{
	std::ostringstream out;

	sample().print(out);
	EXPECT_EQ(out.str(), "       Name   Value    R\n"
			     "          a       7 1.23\n"
			     "longer-name 1234567    -\n");
}

TEST(Table, keeps_the_least_width_when_empty)
{
	std::ostringstream out;
	Table table;

	table.columns = {{"A", "a", 4}, {"B", "b", 2}};
	table.print(out);
	EXPECT_EQ(out.str(), "   A  B\n");
	EXPECT_EQ(table.json().dump(), "[]");
}

TEST(Table, becomes_json_with_unknown_as_null)
{
	EXPECT_EQ(sample().json().dump(),
		  "[{\"name\":\"a\",\"value\":7,\"r\":1.234},"
		  "{\"name\":\"longer-name\",\"value\":1234567,\"r\":null}]");
}

TEST(Table, reads_rows_by_their_headings)
{
	std::istringstream in("Local    Extra Count Reason\n"
			      "10.0.0.1 x     7     peer closed\n"
			      "fe80::1  y     -     -\n"
			      "short\n");
	Table table;

	table.columns = {{"Reason", "reason", 4},
			 {"Count", "count", 4},
			 {"Newer", "newer", 4},
			 {"Local", "local", 4}};
	read_rows(in, table);
	EXPECT_EQ(table.json().dump(),
		  "[{\"reason\":\"peer closed\",\"count\":7,\"newer\":null,\"local\":\"10.0.0.1\"},"
		  "{\"reason\":null,\"count\":null,\"newer\":null,\"local\":\"fe80::1\"},"
		  "{\"reason\":null,\"count\":null,\"newer\":null,\"local\":\"short\"}]");
}

TEST(Table, reads_nothing_from_nothing)
{
	std::istringstream in("");
	Table table = sample();

	read_rows(in, table);
	EXPECT_EQ(table.rows.size(), sample().rows.size());
}

TEST(Rates, are_growth_per_second_of_the_same_row)
{
	Table before = sample();
	Table now = sample();

	now.rows[0][1] = std::uint64_t{27};
	now.rows[1][0] = std::string("new");
	add_rates(now, before, 2.0, {0}, {{1, {"Rate", "rate", 4}}});
	ASSERT_EQ(now.columns.size(), 4u);
	EXPECT_EQ(std::get<double>(now.rows[0][3]), 10.0);
	/* A row that was not there before has no rate. */
	EXPECT_TRUE(std::holds_alternative<std::monostate>(now.rows[1][3]));
}

TEST(Rates, are_unknown_after_a_counter_went_back)
{
	Table before = sample();
	Table now = sample();

	now.rows[0][1] = std::uint64_t{3};
	add_rates(now, before, 1.0, {0}, {{1, {"Rate", "rate", 4}}});
	EXPECT_TRUE(std::holds_alternative<std::monostate>(now.rows[0][3]));
	EXPECT_EQ(std::get<double>(now.rows[1][3]), 0.0);
}
