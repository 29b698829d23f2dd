// SPDX-License-Identifier: GPL-2.0
/* Each fault that rdsctl doctor knows is made below a root of files, and found; without it not. */
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "../ctl/doctor.h"

using namespace rdstools;
namespace fs = std::filesystem;

namespace
{

constexpr const char *head = "  sl  local_address rem_address   st tx_queue rx_queue\n";

/* A host on which all is well. */
class Doctor : public testing::Test
{
protected:
	void SetUp() override
	{
		char name[] = "/tmp/rds-doctor-XXXXXX";

		ASSERT_TRUE(mkdtemp(name));
		e.root = name;
		e.counters = Json::array({{{"name", "send_queued"}, {"value", 5}}});
		e.paths = Json::array({path("up", 4)});
		put("sys/module/rds/version", "5.0");
		put("sys/module/rds_tcp/version", "5.0");
		put("proc/net/rds/paths", "");
		put("proc/net/tcp", std::string(head) + "   0: 00000000:4001 00000000:0000 0A\n");
		put("proc/sys/net/rds/ping_enable", "1");
		put("proc/sys/net/rds/max_passive_connections", "4096");
		put("proc/sys/net/rds/reconnect_max_delay_ms", "1000");
		put("proc/sys/net/rds/idle_timeout_ms", "300000");
		put("sys/class/net/lo/mtu", "65536");
		put("sys/class/net/eth0/mtu", "1500");
		put("sys/class/net/eth0/operstate", "up");
		put("sys/class/net/eth0/speed", "1000");
	}
	void TearDown() override
	{
		fs::remove_all(e.root);
	}
	void put(const std::string &file, const std::string &text)
	{
		fs::create_directories((e.root / file).parent_path());
		std::ofstream(e.root / file) << text << '\n';
	}
	void take_away(const std::string &file)
	{
		fs::remove_all(e.root / file);
	}
	static Json path(const char *state, unsigned unacked, const char *reason = "-")
	{
		return {{"remote", "10.9.0.2"}, {"state", state}, {"state-ms", 60000},
			{"unacked", unacked},	{"attempts", 1},  {"last-reason", reason},
			{"heard-ms", 5}};
	}
	/* The one finding that there is. */
	Finding only()
	{
		const std::vector<Finding> found = examine(e);

		EXPECT_EQ(found.size(), 1u);
		return found.empty() ? Finding{"", false, "", "", ""} : found.front();
	}
	void expect(const char *check, bool fault, const char *what, const char *command)
	{
		const Finding f = only();

		EXPECT_EQ(f.check, check);
		EXPECT_EQ(f.fault, fault);
		EXPECT_NE(f.what.find(what), std::string::npos) << f.what;
		EXPECT_NE(f.command.find(command), std::string::npos) << f.command;
		EXPECT_FALSE(f.why.empty());
	}

	Evidence e;
};

} // namespace

TEST_F(Doctor, finds_nothing_where_all_is_well)
{
	EXPECT_TRUE(examine(e).empty()) << examine(e).front().what;
}

TEST_F(Doctor, rds_is_not_loaded)
{
	take_away("sys/module");
	take_away("proc/net/rds");
	expect("modules", true, "rds is not loaded", "modprobe rds_tcp");
}

TEST_F(Doctor, another_rds_is_loaded)
{
	take_away("proc/net/rds");
	expect("modules", true, "not this project's", "modprobe -r");
}

TEST_F(Doctor, modules_of_two_versions)
{
	put("sys/module/rds_tcp/version", "5.1");
	expect("modules", true, "rds_tcp is of another version than rds: 5.1, 5.0", "rds_tcp");
}

TEST_F(Doctor, no_transport)
{
	take_away("sys/module/rds_tcp");
	expect("modules", true, "no transport", "modprobe rds_tcp");
}

TEST_F(Doctor, nobody_listens)
{
	put("proc/net/tcp", std::string(head) + "   0: 00000000:4001 0100007F:1234 01\n" +
				    "   1: 00000000:4002 00000000:0000 0A\n");
	expect("listen", true, "16385", "net.rds.tcp.listen=1");
	put("proc/net/tcp6", std::string(head) + "   0: 00000000000000000000000000000000:4001 "
						 "00000000000000000000000000000000:0000 0A\n");
	EXPECT_TRUE(examine(e).empty()) << "a listener of IPv6 takes both";
}

TEST_F(Doctor, the_port_is_anothers)
{
	e.counters->push_back({{"name", "tcp_listen_failed"}, {"value", 3}});
	expect("listen", false, "another program's", "ss -ltnp");
}

TEST_F(Doctor, settings)
{
	for (const auto &[name, bad, good, fault] :
	     {std::tuple("ping_enable", "0", "1", false),
	      std::tuple("max_passive_connections", "0", "4096", true),
	      std::tuple("reconnect_max_delay_ms", "3600000", "10000", false),
	      std::tuple("idle_timeout_ms", "0", "1", false)}) {
		put(std::string("proc/sys/net/rds/") + name, bad);
		expect("settings", fault, name, name);
		put(std::string("proc/sys/net/rds/") + name, good);
	}
	EXPECT_TRUE(examine(e).empty());
}

TEST_F(Doctor, drops_by_name)
{
	for (const auto &[name, fault] :
	     {std::pair("recv_drop_bad_length", true), std::pair("recv_sock_full", false),
	      std::pair("user_refused", true), std::pair("conn_takeover_refused", true),
	      std::pair("send_refused", false), std::pair("tcp_key_refused", true)}) {
		e.counters = Json::array({{{"name", name}, {"value", 2}}});
		expect("counters", fault, name, " ");
	}
	e.counters = Json::array({{{"name", "recv_drop_bad_length"}, {"value", 0}}});
	EXPECT_TRUE(examine(e).empty());
}

TEST_F(Doctor, mtu)
{
	put("sys/class/net/eth0/mtu", "1000");
	expect("mtu", true, "eth0 is 1000", "ip link set eth0 mtu 1500");
	put("sys/class/net/eth0/operstate", "down");
	EXPECT_TRUE(examine(e).empty()) << "nothing goes over it";
	put("sys/class/net/eth0/operstate", "up");
	put("sys/class/net/eth0/mtu", "1500");
	put("sys/class/net/eth0/speed", "25000");
	expect("mtu", false, "eth0 is 1500", "mtu 9000");
}

TEST_F(Doctor, a_peer_that_is_not_reached)
{
	for (const auto &[reason, command] :
	     {std::pair("connect failed", "nc -vz -w 3 10.9.0.2 16385"),
	      std::pair("refused here", "rdsctl peer list"),
	      std::pair("no answer; key?", "rdsctl peer list"), std::pair("protocol", "nc -vz"),
	      std::pair("error", "ping -c 3 10.9.0.2")}) {
		e.paths = Json::array({path("connecting", 4, reason)});
		expect("paths", true, "10.9.0.2 has not been reached for 1m00s", command);
	}
	e.paths = Json::array({path("down", 4, "error"), path("down", 2, "error")});
	EXPECT_EQ(examine(e).size(), 1u) << "a host is told once, however many paths it has";
}

TEST_F(Doctor, nobody_waits_for_a_path_that_is_down)
{
	Json young = path("connecting", 4);

	young["state-ms"] = 50;
	e.paths = Json::array({path("down", 0), young});
	EXPECT_TRUE(examine(e).empty());
	young["attempts"] = 9;
	e.paths = Json::array({young});
	EXPECT_EQ(only().check, "paths") << "it was called again and again";
}

TEST_F(Doctor, a_peer_that_acknowledges_nothing)
{
	(*e.paths)[0]["heard-ms"] = 45000;
	expect("paths", true, "acknowledged nothing for 45.0s", "ping");
	(*e.paths)[0]["unacked"] = 0;
	EXPECT_TRUE(examine(e).empty()) << "it has nothing to acknowledge";
}

TEST_F(Doctor, faults_come_first)
{
	put("proc/sys/net/rds/ping_enable", "0");
	put("sys/class/net/eth0/mtu", "1000");

	const std::vector<Finding> found = examine(e);

	ASSERT_EQ(found.size(), 2u);
	EXPECT_EQ(found[0].check, "mtu");

	const Json json = findings_json(found);

	EXPECT_EQ(json[0]["fault"], true);
	EXPECT_EQ(json[1]["command"], "sysctl -w net.rds.ping_enable=1");
}
