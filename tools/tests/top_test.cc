// SPDX-License-Identifier: GPL-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "../ctl/owners.h"
#include "../ctl/rates.h"
#include "../ctl/state.h"
#include "../ctl/top.h"

using namespace rdstools;
namespace fs = std::filesystem;

namespace
{

Json path(const std::string &remote, const Json &known = Json::object())
{
	Json row = Json::object();

	for (const Field &field : path_fields())
		row[field.name] = field.kind == Kind::flag ? Json(false) : Json(nullptr);
	for (const char *rate :
	     {"tx-messages-rate", "rx-messages-rate", "tx-bytes-rate", "rx-bytes-rate", "waits-ms"})
		row[rate] = nullptr;
	row.update(
		Json{{"local", "10.9.0.1"}, {"remote", remote}, {"state", "up"}, {"unacked", 0u}});
	row.update(known);
	return row;
}

Json socket(unsigned unacked, unsigned unread)
{
	Json row = Json::object();

	for (const Field &field : socket_fields())
		row[field.name] = field.kind == Kind::flag ? Json(false) : Json(nullptr);
	row.update(Json{{"unacked", unacked}, {"unread", unread}, {"program", nullptr}});
	return row;
}

Top many(unsigned paths, unsigned sockets)
{
	Top top = {"now", Json::array(), Json::array()};

	for (unsigned n = 0; n < paths; n++)
		top.paths.push_back(path("10.9.1." + std::to_string(n)));
	for (unsigned n = 0; n < sockets; n++)
		top.sockets.push_back(socket(1, n));
	return top;
}

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(Top, rates_are_short)
{
	EXPECT_EQ(rate_text(nullptr), "-");
	EXPECT_EQ(rate_text(0), "0");
	EXPECT_EQ(rate_text(999.4), "999");
	EXPECT_EQ(rate_text(999.6), "1.0k");
	EXPECT_EQ(rate_text(12345), "12.3k");
	EXPECT_EQ(rate_text(999960), "1.0M");
	EXPECT_EQ(rate_text(2.5e9), "2.5G");
}

TEST(Top, a_summary_then_paths_in_the_order_given)
{
	Top top = {"now",
		   Json::array({path("10.9.0.7", {{"tx-bytes-rate", 2048},
						  {"tx-messages-rate", 7},
						  {"unacked", 3u},
						  {"waits-ms", 4000u}}),
				path("10.9.0.8", {{"state", "down"}, {"tx-bytes-rate", 1}})}),
		   Json::array()};
	const auto lines = top_lines(top, Paint(false), 0, 0);

	ASSERT_EQ(lines.size(), 5u);
	EXPECT_TRUE(
		has(lines[0],
		    "2 paths, 1 up, at most 3 not acknowledged, longest wait 4.0s for 10.9.0.7"))
		<< lines[0];
	EXPECT_TRUE(has(lines[1], "sent 2.0kB/s 7/s")) << lines[1];
	EXPECT_TRUE(has(lines[2], "TxB/s"));
	EXPECT_TRUE(has(lines[3], "10.9.0.7") && has(lines[3], "2.0k") && has(lines[3], "4.0s"))
		<< lines[3];
	EXPECT_TRUE(has(lines[4], "10.9.0.8"));
}

TEST(Top, one_is_no_plural)
{
	EXPECT_TRUE(has(top_lines(many(1, 0), Paint(false), 0, 0)[0], " 1 path, 1 up"));
}

TEST(Top, nothing_at_all_is_no_error)
{
	const auto lines = top_lines(many(0, 0), Paint(true), 80, 24);

	ASSERT_EQ(lines.size(), 3u);
	EXPECT_TRUE(has(lines[0], "0 paths, 0 up, 0 not acknowledged, nobody waits")) << lines[0];
}

TEST(Top, it_fits_the_screen)
{
	for (std::size_t height = 3; height < 40; height++)
		for (unsigned sockets : {0u, 1u, 30u}) {
			const auto lines = top_lines(many(30, sockets), Paint(false), 60, height);

			EXPECT_EQ(lines.size(),
				  std::min<std::size_t>(height, sockets == 0   ? 33
								: sockets == 1 ? 36
									       : height))
				<< height << ' ' << sockets;
			for (const std::string &line : lines)
				EXPECT_LE(line.size(), 60u);
		}
	const auto lines = top_lines(many(30, 30), Paint(false), 0, 23);

	EXPECT_TRUE(has(lines[22], "-")) << "the last of the sockets' lines";
	EXPECT_TRUE(has(lines[16], "Program")) << "a third of it is theirs";
}

TEST(Top, colours_are_of_those_that_wait)
{
	Top top = {"now",
		   Json::array({path("a", {{"waits-ms", 10u}}), path("b", {{"waits-ms", 1000u}}),
				path("c", {{"waits-ms", 0u}, {"state", "connecting"}}),
				path("d", {{"state", "down"}})}),
		   Json::array()};
	const auto lines = top_lines(top, Paint(true), 40, 0);

	EXPECT_FALSE(has(lines[3], "\033")) << "it has come just now";
	EXPECT_TRUE(lines[4].starts_with("\033[33m")) << lines[4];
	EXPECT_TRUE(lines[5].starts_with("\033[31m")) << lines[5];
	EXPECT_FALSE(has(lines[6], "\033")) << "nobody waits for it";
	for (const std::string &line : top_lines(top, Paint(false), 40, 0))
		EXPECT_FALSE(has(line, "\033"));
}

TEST(Top, sockets_are_those_in_which_something_waits)
{
	const Json busy = busy_sockets(
		Json::array({socket(0, 0), socket(5, 0), socket(0, 70), socket(60, 1)}));

	ASSERT_EQ(busy.size(), 3u);
	EXPECT_EQ(busy[0]["unread"], 70);
	EXPECT_EQ(busy[1]["unacked"], 60);
}

TEST(Top, paths_that_a_user_may_not_see)
{
	Top top = many(0, 1);

	top.paths = PathRates().of(nullptr, 1);
	top.refused = "info_restrict is set";
	for (const std::size_t height : {0u, 24u}) {
		const auto lines = top_lines(top, Paint(false), 0, height);

		ASSERT_EQ(lines.size(), 4u);
		EXPECT_EQ(lines[0], "now  paths are not shown, and of sockets your own: "
				    "info_restrict is set");
		EXPECT_TRUE(has(lines[2], "Program"));
	}
	const Json json = top_json(top, 1);

	EXPECT_TRUE(json["paths"].is_null());
	EXPECT_EQ(json["paths-refused"], "info_restrict is set");
	EXPECT_EQ(json["sockets"].size(), 1u);
}

TEST(Top, as_json)
{
	const Json json = top_json(many(2, 1), 1.5);

	EXPECT_EQ(json["seconds"], 1.5);
	EXPECT_EQ(json["paths"].size(), 2u);
	EXPECT_TRUE(json["paths-refused"].is_null());
	EXPECT_EQ(json["sockets"].size(), 1u);
}

TEST(Owners, a_program_has_the_socket_open)
{
	char name[] = "/tmp/rds-owners-XXXXXX";

	ASSERT_TRUE(mkdtemp(name));
	const fs::path proc = fs::path(name) / "proc";

	fs::create_directories(proc / "12/fd");
	fs::create_directories(proc / "self/fd");
	std::ofstream(proc / "12/comm") << "good\033[2J\n";
	fs::create_symlink("socket:[77]", proc / "12/fd/3");
	fs::create_symlink("/dev/null", proc / "12/fd/4");

	Json rows = Json::array({{{"inode", 77}}, {{"inode", 78}}, {{"inode", nullptr}}});

	rows = Owners(name).of(rows);
	EXPECT_EQ(rows[0]["program"], "good?[2J(12)") << "a terminal must not obey it";
	EXPECT_TRUE(rows[1]["program"].is_null());
	EXPECT_TRUE(rows[2]["program"].is_null());
	fs::remove_all(name);
}
