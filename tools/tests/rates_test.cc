// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../ctl/rates.h"
#include "../ctl/state.h"

using namespace rdstools;

namespace
{

constexpr std::uint64_t second = 1000000000;

Json path(const Json &known = Json::object())
{
	Json row = Json::object();

	for (const Field &field : path_fields())
		row[field.name] = field.kind == Kind::flag ? Json(false) : Json(nullptr);
	row.update(Json{{"remote", "10.9.0.2"},
			{"state", "up"},
			{"attempts", 1u},
			{"resets", 0u},
			{"next-tx", 10u},
			{"next-rx", 5u},
			{"unacked", 0u},
			{"tx-bytes", 1000u},
			{"rx-bytes", 500u}});
	row.update(known);
	return row;
}

/* A path as it is told after the second of two dumps, two seconds later. */
Json grown(const Json &before, const Json &after)
{
	PathRates rates;

	rates.of(Json::array({before}), second);
	return rates.of(Json::array({after}), 3 * second)[0];
}

} // namespace

TEST(PathRates, growth_a_second_of_each_way)
{
	const Json row = grown(
		path(),
		path({{"next-tx", 30u}, {"next-rx", 6u}, {"tx-bytes", 5000u}, {"rx-bytes", 500u}}));

	EXPECT_EQ(row["tx-messages-rate"], 10.0);
	EXPECT_EQ(row["rx-messages-rate"], 0.5);
	EXPECT_EQ(row["tx-bytes-rate"], 2000.0);
	EXPECT_EQ(row["rx-bytes-rate"], 0.0);
	EXPECT_EQ(row["remote"], "10.9.0.2") << "what was known is kept";
}

TEST(PathRates, a_path_that_is_new_has_none)
{
	PathRates rates;

	EXPECT_TRUE(rates.of(Json::array({path()}), second)[0]["tx-messages-rate"].is_null());

	const Json rows = rates.of(Json::array({path({{"index", 1u}}), path()}), 2 * second);

	EXPECT_TRUE(rows[0]["tx-messages-rate"].is_null());
	EXPECT_EQ(rows[1]["tx-messages-rate"], 0.0) << "the other one is the same still";
}

TEST(PathRates, another_connection_counts_its_bytes_anew)
{
	const Json row =
		grown(path(), path({{"resets", 1u}, {"next-tx", 12u}, {"tx-bytes", 9000u}}));

	EXPECT_TRUE(row["tx-bytes-rate"].is_null());
	EXPECT_EQ(row["tx-messages-rate"], 1.0) << "numbers of messages go on";
	EXPECT_TRUE(grown(path({{"state", "connecting"}, {"tx-bytes", nullptr}}),
			  path())["tx-bytes-rate"]
			    .is_null());
}

TEST(PathRates, a_path_that_was_collected_and_is_back_is_another)
{
	EXPECT_TRUE(grown(path({{"attempts", 3u}}),
			  path({{"next-tx", 99u}, {"unacked", 1u}}))["tx-messages-rate"]
			    .is_null());
	EXPECT_TRUE(grown(path(), path({{"next-tx", 2u}}))["rx-messages-rate"].is_null());
}

TEST(PathRates, the_oldest_message_waits_as_long_as_it_was_seen)
{
	PathRates rates;
	auto waits = [&](unsigned next, unsigned unacked, std::uint64_t at) {
		return rates.of(Json::array({path({{"next-tx", next}, {"unacked", unacked}})}),
				at * second)[0]["waits-ms"];
	};

	EXPECT_TRUE(waits(10, 0, 1).is_null()) << "none waits";
	EXPECT_EQ(waits(11, 1, 2), 0) << "it may have come just now";
	EXPECT_EQ(waits(15, 5, 4), 2000) << "more behind it change nothing";
	EXPECT_EQ(waits(15, 4, 5), 0) << "it was acknowledged, and the next one waits";
	EXPECT_EQ(waits(15, 4, 8), 3000);
	EXPECT_TRUE(waits(15, 0, 9).is_null());
	EXPECT_EQ(waits(16, 1, 10), 0) << "not since the time before the last";
}

TEST(PathRates, a_path_knows_better_for_how_long_its_message_waits)
{
	PathRates rates;
	const Json rows = Json::array({path({{"unacked", 1u}, {"waits-ms", 7000u}})});

	EXPECT_EQ(rates.of(rows, second)[0]["waits-ms"], 7000);
	EXPECT_EQ(rates.of(rows, 2 * second)[0]["waits-ms"], 7000);
}

TEST(PathRates, sorted_by_what_was_asked_for)
{
	auto row = [](const char *name, Json tx, unsigned sent, Json waits, unsigned unacked) {
		return Json{{"remote", name},		{"tx-bytes-rate", tx},
			    {"rx-bytes-rate", nullptr}, {"tx-messages-rate", sent},
			    {"rx-messages-rate", 0},	{"waits-ms", waits},
			    {"unacked", unacked}};
	};
	auto order = [&](const char *by) {
		Json rows = Json::array({row("a", 10, 9, nullptr, 0), row("b", 300, 1, 5, 8),
					 row("loop", nullptr, 50, 7000, 2)});
		std::string names;

		sort_paths(rows, by);
		for (const Json &r : rows)
			names += r["remote"].get<std::string>() + ' ';
		return names;
	};

	EXPECT_EQ(order("tx"), "b a loop ") << "what is not known comes last";
	EXPECT_EQ(order("messages"), "loop a b ");
	EXPECT_EQ(order("waits"), "loop b a ");
	EXPECT_EQ(order("unacked"), "b loop a ");
	EXPECT_EQ(order("rx"), "a b loop ") << "equal ones as they were";
}

TEST(PathRates, counters)
{
	const Json before = Json::array({{{"name", "sent"}, {"value", 5u}}});
	const Json now =
		Json::array({{{"name", "sent"}, {"value", 25u}}, {{"name", "new"}, {"value", 1u}}});
	const Json rows = counter_rates(before, now, 4);

	EXPECT_EQ(rows[0]["rate"], 5.0);
	EXPECT_EQ(rows[0]["value"], 25);
	EXPECT_TRUE(rows[1]["rate"].is_null());
	EXPECT_TRUE(counter_rates(now, before, 4)[0]["rate"].is_null()) << "it went backwards";
}

TEST(CountersTable, a_counter_that_was_0_has_a_rate)
{
	const Json before =
		Json::array({{{"name", "sent"}, {"value", 0u}}, {{"name", "recv"}, {"value", 0u}}});
	Json now = before;

	EXPECT_TRUE(counters_table(before, {}, false).rows.empty());
	EXPECT_EQ(counters_table(before, {}, true).json()[0].dump(),
		  R"({"name":"sent","value":0})");
	now[0]["value"] = 10u;

	const Json rated = counter_rates(before, now, 4);

	EXPECT_EQ(counters_table(rated, {}, false).json().dump(),
		  R"([{"name":"sent","value":10,"rate":2.5}])");
	EXPECT_EQ(counters_table(rated, {"x", "r*"}, true).json().dump(),
		  R"([{"name":"recv","value":0,"rate":0.0}])");
	EXPECT_EQ(counters_table(counter_rates(Json::array(), now, 4), {}, false).json().dump(),
		  R"([{"name":"sent","value":10,"rate":null}])");
}
