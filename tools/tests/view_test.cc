// SPDX-License-Identifier: GPL-2.0
#include <sstream>

#include <gtest/gtest.h>

#include "../ctl/state.h"
#include "../ctl/view.h"

using namespace rdstools;

namespace
{

/* A path of which nothing is known but this. */
Json path(const Json &known = Json::object())
{
	Json row = Json::object();

	for (const Field &field : path_fields())
		row[field.name] = field.kind == Kind::flag ? Json(false) : Json(nullptr);
	row["local"] = "10.9.0.1";
	row["remote"] = "10.9.0.2";
	row["state"] = "up";
	row["slowest-reader"] = nullptr;
	row.update(known);
	return row;
}

std::string printed(const Json &row, bool colours = false)
{
	std::ostringstream out;

	print_paths(out, Json::array({row}), Paint(colours));
	return out.str();
}

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(View, durations)
{
	EXPECT_EQ(duration_text(nullptr), "-");
	EXPECT_EQ(duration_text(0u), "0ms");
	EXPECT_EQ(duration_text(999u), "999ms");
	EXPECT_EQ(duration_text(12345u), "12.3s");
	EXPECT_EQ(duration_text(60000u), "1m00s");
	EXPECT_EQ(duration_text(3725000u), "1h02m");
	EXPECT_EQ(duration_text(90000000u), "1d01h");
}

TEST(View, bytes)
{
	EXPECT_EQ(bytes_text(nullptr), "-");
	EXPECT_EQ(bytes_text(1023u), "1023 B");
	EXPECT_EQ(bytes_text(1536u), "1.5 KiB");
	EXPECT_EQ(bytes_text(std::uint64_t{3} << 40), "3.0 TiB");
	EXPECT_EQ(bytes_text(~std::uint64_t{0}), "16.0 EiB");
}

TEST(View, a_path_says_what_is_known)
{
	const std::string text = printed(path({{"state-ms", 192000u},
					       {"unacked", 5u},
					       {"last-reason", "error"},
					       {"tx-bytes", 2048u},
					       {"rx-bytes", 10u},
					       {"rtt-us", 350u},
					       {"heard-ms", 20u},
					       {"signed", "tcp-md5"},
					       {"peer", "other"}}));

	for (const char *part :
	     {"10.9.0.1 > 10.9.0.2", "up 3m12s", "unacked 5", "last reason error", "tx 2.0 KiB",
	      "rtt 0.350ms", "heard 20ms ago", "signed tcp-md5", "peer other"})
		EXPECT_TRUE(has(text, part)) << part << " in " << text;
	EXPECT_FALSE(has(text, "ports"));
	EXPECT_FALSE(has(printed(path()), "rtt")) << "there is no connection";
}

TEST(View, a_path_says_who_is_full)
{
	const std::string text = printed(path({{"congested", 3u},
					       {"congested-ports", {4000, 4001}},
					       {"congested-ms", 61000u},
					       {"refused", 1u},
					       {"holds", true},
					       {"refuses", true}}));

	for (const char *part : {"full ports 3: 4000 4001 ..., for 1m01s",
				 "refuses messages for 1 ", "messages wait", "this host refuses"})
		EXPECT_TRUE(has(text, part)) << part << " in " << text;
}

TEST(View, a_path_says_who_refuses)
{
	Json known = {{"refused", 2u},
		      {"refused-ports",
		       {{{"port", 4000u}, {"refused-ms", 61000u}},
			{{"port", 4001u}, {"refused-ms", 900u}}}}};

	EXPECT_TRUE(has(printed(path(known)), "refuses messages for 2 of its ports: 4000 for "
					      "1m01s, 4001 for 900ms\n"));
	known["refused"] = 19u;
	EXPECT_TRUE(has(printed(path(known)), "for 19 of its ports: 4000 for 1m01s, 4001 for "
					      "900ms, and 17 more\n"));
	EXPECT_TRUE(has(printed(path({{"refused", 3u}})), "for 3 of its ports\n"))
		<< "rds is older than rdsctl";
}

TEST(View, a_path_says_who_does_not_read)
{
	Json reader = {{"local", "10.9.0.1"},
		       {"local-port", 4000u},
		       {"unread-ms", 12300u},
		       {"uid", 0u},
		       {"program", "ora(17)"}};

	EXPECT_TRUE(has(printed(path({{"slowest-reader", reader}})),
			"slowest reader of 10.9.0.1: port 4000, 12.3s, ora(17)"));
	reader["program"] = nullptr;
	EXPECT_TRUE(has(printed(path({{"slowest-reader", reader}})), "12.3s\n"));
	reader["unread-ms"] = 999u;
	EXPECT_FALSE(has(printed(path({{"slowest-reader", reader}})), "slowest"));
}

TEST(View, a_socket_says_for_how_long_it_is_full)
{
	EXPECT_EQ(full_text({{"congested", false}, {"congested-ms", nullptr}}), "no");
	EXPECT_EQ(full_text({{"congested", true}, {"congested-ms", 1500u}}), "1.5s");
	EXPECT_EQ(full_text({{"congested", true}, {"congested-ms", nullptr}}), "yes")
		<< "rds is older than rdsctl";
}

TEST(View, colours_are_those_of_states_and_only_if_wanted)
{
	EXPECT_FALSE(has(printed(path()), "\033"));
	EXPECT_TRUE(has(printed(path(), true), "\033[32mup\033[0m"));
	EXPECT_TRUE(has(printed(path({{"state", "down"}}), true), "\033[31mdown"));
	EXPECT_TRUE(wants_colour("always"));
	EXPECT_FALSE(wants_colour("never"));
}

TEST(View, news_has_its_reason)
{
	EXPECT_TRUE(
		has(event_text(path({{"event", "down"}, {"last-reason", "error"}}), Paint(false)),
		    "down (error)"));
	EXPECT_FALSE(has(event_text(path({{"event", "up"}}), Paint(false)), "("));
}

TEST(View, news_of_a_port_has_its_host)
{
	Json full = {{"local", nullptr}, {"remote", "192.0.2.2"},
		     {"index", nullptr}, {"congested-ports", {4000u}},
		     {"event", "full"},	 {"last-reason", nullptr}};

	EXPECT_EQ(event_text(full, Paint(false)), "192.0.2.2 port 4000  full");
	std::swap(full["local"], full["remote"]);
	EXPECT_EQ(event_text(full, Paint(false)), "192.0.2.2 port 4000  full");
}

TEST(View, a_summary_counts_and_names_the_worst)
{
	Summary s = {
		"5.0",
		{"rds_tcp"},
		Json::array({path({{"unacked", 2u}, {"peer", "other"}}),
			     path({{"state", "connecting"}, {"state-ms", 100u}, {"unacked", 1u}}),
			     path({{"state", "connecting"},
				   {"state-ms", 4000u},
				   {"unacked", 3u},
				   {"remote", "10.9.0.7"},
				   {"last-reason", "connect failed"}}),
			     path({{"state", "down"}, {"state-ms", 900000u}, {"unacked", 0u}})}),
		Json::array(),
		Json::array({{{"name", "recv_drop_bad_port"}, {"value", 4}},
			     {{"name", "send_queued"}, {"value", 17}}}),
		{{"local", "10.9.0.1"},
		 {"local-port", 4000u},
		 {"unread-ms", 2000u},
		 {"uid", 0u},
		 {"program", nullptr}}};
	std::ostringstream out;

	print_summary(out, s, Paint(false));
	for (const char *part :
	     {"rds 5.0 with rds_tcp", "2 connecting, 1 down, 1 up", "; at most 6 messages",
	      "10.9.0.7", "connect failed", "17 sent", "recv_drop_bad_port 4",
	      "another RDS than this: 1\n", "slowest reader 10.9.0.1: port 4000, 2.0s"})
		EXPECT_TRUE(has(out.str(), part)) << part << " in " << out.str();

	const Json json = summary_json(s);

	EXPECT_EQ(json["paths"]["up"], 1);
	EXPECT_TRUE(json["paths-refused"].is_null());
	EXPECT_EQ(json["paths-to-other"], 1);
	EXPECT_EQ(json["longest-without-connection"]["remote"], "10.9.0.7");
	EXPECT_EQ(json["slowest-reader"]["local-port"], 4000);
	EXPECT_EQ(json["troubles"], Json({{"recv_drop_bad_port", 4}}));

	for (Json &one : s.paths)
		one["unacked"] = 0u;
	s.paths[0]["peer"] = "pf-rds";
	out.str("");
	print_summary(out, s, Paint(false));
	EXPECT_FALSE(has(out.str(), "another RDS"));
	EXPECT_TRUE(has(out.str(), "; 0 messages not acknowledged")) << "that is exact";
}

TEST(View, a_summary_without_paths_says_why)
{
	const Summary s = {"5.0",
			   {"rds_tcp"},
			   nullptr,
			   Json::array(),
			   Json::array({{{"name", "send_queued"}, {"value", 17}}}),
			   nullptr,
			   "info_restrict is set"};
	std::ostringstream out;

	print_summary(out, s, Paint(false));
	EXPECT_TRUE(has(out.str(), "\npaths are not shown, and of sockets your own: "
				   "info_restrict is set\nsockets 0: "))
		<< out.str();
	EXPECT_FALSE(has(out.str(), "acknowledged")) << "how many is not known";
	EXPECT_TRUE(has(out.str(), "17 sent"));

	const Json json = summary_json(s);

	for (const char *unknown :
	     {"paths", "paths-to-other", "unacked", "longest-without-connection"})
		EXPECT_TRUE(json[unknown].is_null()) << unknown;
	EXPECT_EQ(json["paths-refused"], "info_restrict is set");
	EXPECT_EQ(json["sent"], 17);
}
