// SPDX-License-Identifier: GPL-2.0
/* The page of rdsctl report, and what it is made from. */
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "../ctl/html.h"
#include "../ctl/topology.h"
#include "made_up.h"

using namespace rdstools;
namespace fs = std::filesystem;

namespace
{

std::string page(const Report &report)
{
	std::ostringstream out;

	write_report(out, report);
	return out.str();
}

std::size_t count(const std::string &text, const std::string &part)
{
	std::size_t n = 0;

	for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
		n++;
	return n;
}

bool has(const std::string &text, const std::string &part)
{
	return count(text, part);
}

std::string drawing(const std::vector<Host> &hosts)
{
	std::ostringstream out;
	{
		Html html(out);

		draw_topology(html, hosts);
	}
	return out.str();
}

} // namespace

TEST(Html, markup_is_no_text)
{
	EXPECT_EQ(escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
	EXPECT_EQ(escape("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
		  "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
}

TEST(Html, no_utf8_and_no_control_character_gets_through)
{
	const std::string bad = "\xef\xbf\xbd";

	for (const char *text :
	     {"\xff", "\xc3", "\xc1\x81" /* too long for an A */, "\x01", "\x1b", "\x7f",
	      "\xc2\x85", "\xed\xa0\x80" /* half of a pair */, "\xef\xbf\xbe", "\xf4\x90\x80\x80",
	      "\xe0\x80\x80", "\xe2\x80\xae" /* right to left from here on */}) {
		const std::string safe = escape(text);

		EXPECT_EQ(safe.size() % 3, 0u);
		EXPECT_EQ(count(safe, bad), safe.size() / 3) << text;
		EXPECT_GE(safe.size(), 3u);
	}
	EXPECT_EQ(escape("a\xffz"), "a" + bad + "z");
	EXPECT_EQ(escape(std::string_view("a\0b", 3)), "a" + bad + "b");
}

TEST(Html, all_that_is_open_is_closed)
{
	std::ostringstream out;
	{
		Html html(out);
		Html::Inside p(html, "p", {{"title", "\"x\""}});

		html.element("br", {});
		html.element("b", {}, "<");
	}
	EXPECT_TRUE(has(out.str(), "<p title=\"&quot;x&quot;\"><br/><b>&lt;</b></p>")) << out.str();
	EXPECT_TRUE(has(out.str(), "</html>"));
}

TEST(Page, where_nothing_is_loaded_it_says_so)
{
	const std::string text = page(made_up::none());

	for (const char *part : {"RDS of db-none", "rds is not loaded", "modprobe rds_tcp",
				 "This host speaks to no other", "No module of RDS is loaded"})
		EXPECT_TRUE(has(text, part)) << part;
	EXPECT_FALSE(has(text, "<svg"));
}

TEST(Page, one_path_and_all_that_is_known)
{
	const std::string text = page(made_up::one());

	for (const char *part :
	     {"RDS of db-01", "nothing found", "10.9.0.2", "12.3MB/s", "0.180 ms", "tcp-md5",
	      "1h02m", "9.2 GiB", "dbwriter(4711)", "recv_drop_no_sock", "net.rds.ping_enable",
	      "max_paths=8", "MTU 9000", "up to 200 us"})
		EXPECT_TRUE(has(text, part)) << part;
	EXPECT_EQ(count(text, "<svg"), 1u);
}

/* Nothing of paths is told, least of all that there is none. */
TEST(Page, a_user_sees_what_is_his_and_why_not_the_rest)
{
	const std::string text = page(made_up::restricted());

	for (const char *part :
	     {"paths are not shown, and of sockets your own: net.rds.info_restrict is set",
	      "looked at all but paths", "sockets of your own", "dbwriter(4711)",
	      "recv_drop_no_sock", "max_paths=8"})
		EXPECT_TRUE(has(text, part)) << part;
	EXPECT_EQ(count(text, "Not shown: net.rds.info_restrict is set"), 3u);
	for (const char *part :
	     {"paths are up", "messages wait", "speaks to no other", "Nothing was sent"})
		EXPECT_FALSE(has(text, part)) << part;

	const Json json = report_json(made_up::restricted());

	EXPECT_TRUE(json["paths"].is_null());
	EXPECT_EQ(json["paths-refused"], "net.rds.info_restrict is set");
	EXPECT_EQ(json["sockets"].size(), 1u);
	EXPECT_TRUE(report_json(made_up::one())["paths-refused"].is_null());
	EXPECT_FALSE(has(page(made_up::one()), "not shown"));
}

TEST(Page, needs_no_network_and_no_script)
{
	for (const Report &r : {made_up::none(), made_up::one(), made_up::restricted(),
				made_up::many(200), made_up::hostile()}) {
		std::string text = page(r);

		/* Names of languages, which nobody fetches. */
		for (const char *space :
		     {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"})
			for (auto at = text.find(space); at != std::string::npos;
			     at = text.find(space))
				text.erase(at, strlen(space));
		for (const char *part : {"http:", "https:", "<script", "src=\"", "url(", "@import",
					 "<link", " onerror=\"", "javascript:"})
			EXPECT_FALSE(has(text, part)) << part;
	}
}

TEST(Page, two_hundred_paths_are_all_there)
{
	const Report report = made_up::many(200);
	const std::string text = page(report);
	std::size_t hidden = text.find("188 more");

	EXPECT_NE(hidden, std::string::npos) << "after the first twelve";
	for (const Json &p : report.paths)
		EXPECT_TRUE(has(text, p["remote"].get<std::string>())) << p["remote"];
	EXPECT_TRUE(has(text, "184 more hosts, a square each"));
	EXPECT_LT(text.find("connecting</span>"), hidden) << "trouble is seen first";
	EXPECT_LT(text.size(), 300000u);
}

TEST(Page, pings_of_hosts)
{
	const std::string text = page(made_up::many(10));

	for (const char *part :
	     {"Pings of RDS", "99 of 100", "0 of 100", "up to 200 us", "7.803 ms"})
		EXPECT_TRUE(has(text, part)) << part;
	EXPECT_FALSE(has(text, "Nobody has answered"));
	EXPECT_FALSE(has(page(made_up::one()), "Pings of RDS")) << "nobody has asked for them";

	const Json pings = report_json(made_up::many(10))["pings"];

	EXPECT_EQ(pings.size(), 6u);
	EXPECT_EQ(pings[0]["answered"], 99);
	EXPECT_GT(pings[0]["histogram"].size(), 20u);
	EXPECT_TRUE(pings[5]["histogram"].empty());
}

TEST(Page, hostile_names_are_text)
{
	const std::string text = page(made_up::hostile());

	EXPECT_GT(count(text, "&lt;script&gt;alert(1)&lt;/script&gt;"), 15u);
	EXPECT_FALSE(has(text, "<script"));
	EXPECT_FALSE(has(text, "<img"));
	EXPECT_FALSE(has(text, "\"'>"));
	EXPECT_FALSE(has(text, "\x01"));
	EXPECT_FALSE(has(text, "\xff"));
}

TEST(Page, as_json)
{
	const Json json = report_json(made_up::one());

	EXPECT_EQ(json["host"]["Host"], "db-01");
	EXPECT_EQ(json["paths"].size(), 1u);
	EXPECT_TRUE(json["unknown"].is_null());
	EXPECT_EQ(report_json(made_up::none())["findings"][0]["fault"], true);
}

TEST(Page, round_trips_by_steps)
{
	auto steps = [](std::initializer_list<Json> times) {
		Json paths = Json::array();
		std::string text;

		for (const Json &us : times)
			paths.push_back(made_up::path("x", {{"rtt-us", us}}));
		for (const RoundTrips &s : round_trips(paths))
			text += std::to_string(s.up_to_us) + ":" + std::to_string(s.paths) + " ";
		return text;
	};

	EXPECT_EQ(steps({}), "");
	EXPECT_EQ(steps({nullptr}), "");
	EXPECT_EQ(steps({1u}), "1:1 ");
	EXPECT_EQ(steps({90u, 100u, 101u, nullptr, 999u}), "100:2 200:1 500:0 1000:1 ");
	EXPECT_EQ(steps({40000u}), "50000:1 ");
}

TEST(Topology, a_host_is_as_well_as_its_worst_path)
{
	const auto hosts = hosts_of(
		Json::array({made_up::path("fine", {{"tx-bytes-rate", 5.0}}),
			     made_up::path("busy", {{"tx-bytes-rate", 900.0}}),
			     made_up::path("slow", {{"unacked", 1u}, {"waits-ms", 1000u}}),
			     made_up::path("slow"),
			     made_up::path("gone", {{"state", "connecting"}, {"unacked", 2u}}),
			     made_up::path("gone"), made_up::path("idle", {{"state", "down"}}),
			     made_up::path("full", {{"refused", 1u}})}));
	std::string order;

	for (const Host &h : hosts)
		order += h.address + " " + health_class(h.health) + ", ";
	EXPECT_EQ(order, "gone bad, full poor, slow poor, busy good, fine good, idle idle, ");
	EXPECT_EQ(hosts[0].paths, 2u);
	EXPECT_EQ(hosts[0].up, 1u);
}

TEST(Topology, more_hosts_than_boxes_are_squares)
{
	const auto few = hosts_of(made_up::many(topology_boxes).paths);
	const auto lots = hosts_of(made_up::many(topology_boxes + 7).paths);

	EXPECT_FALSE(has(drawing(few), "a square each"));
	EXPECT_TRUE(has(drawing(lots), "7 more hosts, a square each"));
	EXPECT_EQ(count(drawing(lots), "<rect") - count(drawing(few), "<rect"), 7u);
}

TEST(Topology, long_addresses_lose_their_middle)
{
	EXPECT_EQ(shortened("10.9.0.1", 8), "10.9.0.1");
	EXPECT_EQ(shortened("fd00:1234::abcd", 8), "fd0\xe2\x80\xa6"
						   "abcd");
}

TEST(HostFacts, are_read_below_the_root)
{
	char name[] = "/tmp/rds-host-XXXXXX";

	ASSERT_TRUE(mkdtemp(name));
	const fs::path root = name;
	auto put = [&](const std::string &file, const std::string &text) {
		fs::create_directories((root / file).parent_path());
		std::ofstream(root / file) << text << '\n';
	};

	put("proc/sys/kernel/hostname", "db-01");
	put("proc/sys/kernel/osrelease", "6.1.0");
	put("proc/sys/kernel/version", "#1 SMP");
	put("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian 12\"");
	put("proc/meminfo", "MemTotal:  2048 kB\nMemFree: 1 kB\nMemAvailable: 1024 kB");
	put("proc/uptime", "3725.33 1.0");
	put("proc/cpuinfo", "processor : 0\nmodel : x\nprocessor : 1");
	put("proc/sys/net/rds/ping_enable", "1");
	put("proc/sys/net/rds/tcp/listen", "1");
	put("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456");
	put("sys/module/rds/version", "5.0");
	put("sys/module/rds/parameters/autoload", "N");
	put("sys/class/net/eth0/mtu", "1500");
	put("sys/class/net/eth0/operstate", "up");
	put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
	put("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth1");

	const Facts facts = host_facts(root);

	EXPECT_EQ(facts[0].second, "db-01");
	EXPECT_EQ(facts[1].second, "Debian 12");
	EXPECT_EQ(facts[2].second, "6.1.0 #1 SMP");
	EXPECT_EQ(facts[3].second, "2");
	EXPECT_EQ(facts[4].second, "2.0 MiB, 1.0 MiB of it available");
	EXPECT_EQ(facts[5].second, "1h02m ago");
	EXPECT_EQ(settings(root)[0],
		  std::pair(std::string("net.rds.ping_enable"), std::string("1")));
	EXPECT_EQ(settings(root)[1].first, "net.rds.tcp.listen");
	EXPECT_EQ(settings(root)[2].second, "4096 131072 6291456");
	EXPECT_EQ(module_rows(root).size(), 1u);
	EXPECT_EQ(module_rows(root)[0]["parameters"], "autoload=N");
	EXPECT_EQ(device_rows(root)[0]["details"], "MTU 1500");
	EXPECT_EQ(device_rows(root)[1]["state"], "4: ACTIVE");
	EXPECT_TRUE(has(device_rows(root)[1]["details"].get<std::string>(), "of eth1"));
	fs::remove_all(root);
	EXPECT_EQ(host_facts(root)[0].second, "?") << "nothing can be read";
}
