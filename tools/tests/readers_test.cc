// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../ctl/readers.h"
#include "made_up.h"

using namespace rdstools;

namespace
{

Json socket(const char *local, unsigned port, const Json &unread_ms)
{
	Json row = made_up::socket(0, 0);

	row.update(Json{{"local", local}, {"local-port", port}, {"unread-ms", unread_ms}});
	return row;
}

TEST(Readers, the_slowest_of_an_address_and_of_all)
{
	Owners nobody("/nonexistent");
	const Readers readers(Json::array({socket("10.9.0.1", 1, 20u), socket("10.9.0.1", 2, 30u),
					   socket("10.9.0.1", 3, 10u), socket("10.9.0.2", 4, 25u),
					   socket("10.9.0.3", 5, nullptr)}),
			      nobody);

	EXPECT_EQ(readers.of("10.9.0.1")["local-port"], 2u);
	EXPECT_EQ(readers.of("10.9.0.1")["unread-ms"], 30u);
	EXPECT_EQ(readers.of("10.9.0.1")["program"], nullptr);
	EXPECT_EQ(readers.of("10.9.0.2")["local-port"], 4u);
	EXPECT_EQ(readers.of("10.9.0.3"), nullptr) << "all is read";
	EXPECT_EQ(readers.of(nullptr), nullptr);
	EXPECT_EQ(readers.slowest()["local-port"], 2u);
}

TEST(Readers, nobody_is_slow)
{
	Owners nobody("/nonexistent");
	Json unbound = socket("", 0, nullptr);

	unbound["local"] = nullptr;
	EXPECT_EQ(Readers(Json::array({unbound}), nobody).slowest(), nullptr);
	EXPECT_EQ(Readers(Json::array(), nobody).slowest(), nullptr);
}

TEST(Readers, a_path_has_the_one_of_its_own_end)
{
	Owners nobody("/nonexistent");
	const Readers readers(Json::array({socket("10.9.0.1", 7, 0u)}), nobody);
	const Json rows = readers.with(Json::array(
		{made_up::path("10.9.0.2"), made_up::path("10.9.0.2", {{"local", "10.9.0.9"}})}));

	EXPECT_EQ(rows[0]["slowest-reader"]["local-port"], 7u);
	EXPECT_EQ(rows[0]["remote"], "10.9.0.2");
	EXPECT_EQ(rows[1]["slowest-reader"], nullptr);
}

} // namespace
