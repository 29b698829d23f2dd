// SPDX-License-Identifier: GPL-2.0
/* Each fault that rdsctl doctor knows is made below a root of files, and found; without it not. */
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "../ctl/doctor.h"
#include "../ctl/doctor_checks.h"

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
		return {{"remote", "10.9.0.2"},	 {"transport", "tcp"}, {"state", state},
			{"state-ms", 60000},	 {"unacked", unacked}, {"attempts", 1},
			{"last-reason", reason}, {"heard-ms", 5}};
	}
	/* A rule of nft's JSON in the chain "input", which has no policy. */
	void rule(const std::string &expressions)
	{
		e.rules = Json::parse(R"({"nftables": [{"metainfo": {"version": "1.0.6"}},
			{"set": {"family": "inet", "table": "f", "name": "ports",
				"elem": [22, {"range": [16000, 17000]}]}},
			{"rule": {"family": "inet", "table": "f", "chain": "input", "expr": )" +
				      expressions + "}}]}");
	}
	void port(const std::string &device, const char *state, const char *netdev)
	{
		const std::string files = "sys/class/infiniband/" + device + "/ports/1/";

		put(files + "state", state);
		put(files + "gid_attrs/ndevs/0", netdev);
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

TEST_F(Doctor, what_modinfo_says_of_a_file)
{
	using namespace std::string_literals;
	const ModuleFile file =
		module_file("filename:       /lib/modules/6.1.0/updates/rds.ko.xz\0version=5.1\0"
			    "license=GPL\0srcversion=F167\0depends=\0parm=a:b=c\0"s);

	EXPECT_EQ(file.name, "/lib/modules/6.1.0/updates/rds.ko.xz");
	EXPECT_EQ(file.version, "5.1");
	EXPECT_EQ(file.build, "F167");
	EXPECT_TRUE(module_file("").name.empty());
}

TEST_F(Doctor, an_upgrade_that_is_not_loaded)
{
	const std::string dkms = "/lib/modules/6.1.0/updates/dkms/";

	put("sys/module/rds/srcversion", "AAAA");
	e.files = {{"rds", {dkms + "rds.ko", "5.0", "AAAA"}}, {"rds_tcp", {"", "5.0", "BBBB"}}};
	EXPECT_TRUE(examine(e).empty()) << "of rds_tcp it is not known which build is loaded";
	e.files["rds_loop"] = {dkms + "rds_loop.ko", "5.1", ""};
	EXPECT_TRUE(examine(e).empty()) << "it is not loaded";
	e.files["rds"].version = "5.1";
	expect("modules", false,
	       "rds 5.0 is loaded, and modprobe would take 5.1: updates/dkms/rds.ko",
	       "modprobe -r rds_tcp rds && modprobe -a rds_tcp");
	put("sys/module/rds_loop/version", "5.0");
	EXPECT_EQ(only().command,
		  "modprobe -r rds_tcp rds_loop rds && modprobe -a rds_tcp rds_loop");
	e.files["rds"] = {dkms + "rds.ko", "5.0", "CCCC"};
	expect("modules", false, "would take another build of it: updates/dkms", "modprobe -r");
	e.files.at("rds").build = "AAAA";
	e.files["rds_tcp"] = {dkms + "rds_tcp.ko.zst", "", ""};
	expect("modules", false, "rds_tcp 5.0 is loaded, and modprobe would take ?: ", "rds_tcp");
}

TEST_F(Doctor, modprobe_would_take_the_kernels_own)
{
	put("proc/sys/kernel/osrelease", "6.1.0");
	put("lib/modules/6.1.0/kernel/net/rds/rds.ko.xz", "");
	e.files = {{"rds", {"/usr/lib/modules/6.1.0/kernel/net/rds/rds.ko.xz", "4.0", "F"}}};
	expect("modules", false, "take the kernel's own rds: kernel/net/rds/rds.ko.xz",
	       "make install");
	put("lib/modules/6.1.0/updates/rds.ko", "");
	EXPECT_EQ(only().command, "depmod") << "it is installed, and not listed";
}

TEST_F(Doctor, two_sets_of_modules)
{
	put("proc/sys/kernel/osrelease", "6.1.0");
	put("lib/modules/6.1.0/kernel/net/rds/rds.ko", "");
	put("lib/modules/6.1.0/updates/dkms/rds.ko.xz", "");
	put("lib/modules/6.1.0/updates/dkms/rds_tcp.ko.xz", "");
	put("lib/modules/5.10.0/extra/rds.ko", "");
	put("lib/modules/6.1.0/extra/rds.ko.old", "");
	EXPECT_TRUE(examine(e).empty()) << "one beside the kernel's own, one of another kernel";
	put("lib/modules/6.1.0/extra/rds.ko.zst", "");
	expect("modules", false, "2 sets of modules are installed: extra, updates/dkms",
	       "modinfo -n rds");
	take_away("lib/modules/6.1.0/extra");
	put("lib/modules/6.1.0/updates/rds.ko", "");
	expect("modules", false, "installed: updates, updates/dkms", "make uninstall");
	take_away("sys/module");
	EXPECT_EQ(examine(e).size(), 2u) << "also where none is loaded";
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
	ASSERT_GT(drops().size(), 40u);
	for (const Drop &d : drops()) {
		e.counters = Json::array({{{"name", d.name}, {"value", 2}}});
		expect("counters", d.fault, d.name, d.command);
		EXPECT_EQ(only().what, std::string(d.name) + " is 2");
		EXPECT_FALSE(only().command.empty()) << d.name;
		e.counters = Json::array({{{"name", d.name}, {"value", 0}}});
		EXPECT_TRUE(examine(e).empty()) << d.name;
	}
	std::set<std::string> names;

	for (const Drop &d : drops())
		EXPECT_TRUE(names.insert(d.name).second) << d.name << " is there twice";
}

TEST_F(Doctor, what_is_a_fault_and_what_may_be_meant_so)
{
	for (const auto &[name, fault] :
	     {std::pair("recv_drop_bad_length", true), std::pair("recv_sock_full", false),
	      std::pair("user_refused", true), std::pair("conn_takeover_refused", true),
	      std::pair("send_refused", false), std::pair("tcp_key_refused", true),
	      std::pair("ib_listen_failed", false), std::pair("recv_bad_ack", true),
	      std::pair("send_queue_full", false), std::pair("ib_key_refused", true),
	      std::pair("ib_version_refused", false), std::pair("conn_evicted", false)}) {
		e.counters = Json::array({{{"name", name}, {"value", 2}}});
		expect("counters", fault, name, " ");
	}
}

TEST_F(Doctor, connections_that_only_peers_want_are_too_many)
{
	Json one = path("up", 0), loop = one;

	one["index"] = 0;
	loop.update(Json{{"index", 0}, {"transport", "loopback"}});
	e.paths = Json::array({one, one, one, loop, path("up", 0)});
	e.counters = Json::array({{{"name", "conn_evicted"}, {"value", 5}}});
	put("proc/sys/net/rds/max_passive_connections", "3");

	const std::vector<Finding> found = examine(e);

	ASSERT_EQ(found.size(), 2u);
	EXPECT_EQ(found[0].check, "settings");
	EXPECT_FALSE(found[0].fault);
	EXPECT_EQ(found[0].what,
		  "net.rds.max_passive_connections is 3, and there are 3 connections");
	EXPECT_NE(found[0].why.find("0 calls of peers were refused, and 5 "), std::string::npos);
	EXPECT_EQ(found[0].command, "sysctl -w net.rds.max_passive_connections=6");
	put("proc/sys/net/rds/max_passive_connections", "4");
	EXPECT_EQ(examine(e).size(), 1u) << "the counter alone: there is room now";
	put("proc/sys/net/rds/max_passive_connections", "3");
	e.counters = Json::array();
	EXPECT_TRUE(examine(e).empty()) << "none was refused or had to go";
}

TEST_F(Doctor, a_user_has_nearly_as_many_sockets_as_it_may)
{
	e.sockets = Json::array();
	for (unsigned n = 0; n < 9; n++)
		for (const unsigned uid : {0u, 1000u})
			e.sockets->push_back({{"uid", uid}, {"unread", 0}});
	e.sockets->push_back({{"uid", 1001}, {"unread", 0}});
	EXPECT_TRUE(examine(e).empty()) << "there is no such setting";
	put("proc/sys/net/rds/max_user_sockets", "10");
	expect("settings", false, "user 1000 has 9 sockets, and net.rds.max_user_sockets is 10",
	       "sysctl -w net.rds.max_user_sockets=20");
	put("proc/sys/net/rds/max_user_sockets", "11");
	EXPECT_TRUE(examine(e).empty());
}

TEST_F(Doctor, buffers_are_full_and_as_large_as_they_may_be)
{
	for (const auto &[setting, size, fill, option] :
	     {std::tuple("wmem_max", "sndbuf", "unacked", "SO_SNDBUF"),
	      std::tuple("rmem_max", "rcvbuf", "unread", "SO_RCVBUF")}) {
		const std::string file = std::string("proc/sys/net/core/") + setting;

		e.sockets = Json::array();
		put(file, "4000");
		for (unsigned n = 0; n < 8; n++)
			e.sockets->push_back({{size, 4000}, {fill, 3000}});
		expect("settings", false, "8 sockets have a full buffer",
		       (std::string("sysctl -w net.core.") + setting + "=16000").c_str());
		EXPECT_NE(only().what.find(option), std::string::npos) << only().what;
		put(file, "8000");
		EXPECT_TRUE(examine(e).empty()) << "programs have not asked for more";
		put(file, "4000");
		(*e.sockets)[0][fill] = 2999;
		EXPECT_TRUE(examine(e).empty()) << "it has room, and seven are not many";
		take_away(file);
		(*e.sockets)[0][fill] = 3000;
		EXPECT_TRUE(examine(e).empty()) << "the setting is not known";
	}
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

TEST_F(Doctor, a_message_that_waits_on_a_connection_that_is_well)
{
	Json &path = (*e.paths)[0];

	path.update({{"waits-ms", 9000}, {"holds", false}, {"congested-ports", {4001, 4002}}});
	EXPECT_TRUE(examine(e).empty());
	path["waits-ms"] = 25000;
	expect("paths", true, "waited for 25.0s to get to 10.9.0.2", "rdsctl path show remote");
	EXPECT_NE(only().why.find("its RDS"), std::string::npos);
	path["holds"] = true;
	EXPECT_NE(only().why.find("port 4001 is full"), std::string::npos);
	path["congested-ports"] = nullptr;
	EXPECT_NE(only().why.find("refuses"), std::string::npos);
	path["waits-ms"] = nullptr;
	EXPECT_TRUE(examine(e).empty()) << "none waits, or it is not known";
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

TEST_F(Doctor, what_the_port_of_a_host_that_is_not_reached_answers)
{
	for (const auto &[transport, port, mend] :
	     {std::tuple("tcp", "TCP port 16385", "ssh 10.9.0.2 'modprobe rds_tcp"),
	      std::tuple("infiniband", "RDMA port 18634", "ssh 10.9.0.2 'modprobe rds_rdma")}) {
		Json one = path("connecting", 4, "connect failed");

		one["transport"] = transport;
		e.paths = Json::array({one});
		expect("paths", true, "10.9.0.2 has not been reached", "10.9.0.2");
		EXPECT_NE(only().why.find(std::string("on ") + port), std::string::npos)
			<< only().why;
		for (const auto &[called, why, command] :
		     {std::tuple(Called::refused, std::string("refuses ") + port, mend),
		      std::tuple(Called::silent, port + std::string(" is not answered"),
				 "ping -c 3 10.9.0.2"),
		      std::tuple(Called::unreachable, std::string("no way to it"),
				 "ip route get 10.9.0.2"),
		      std::tuple(Called::answered, port + std::string(" is open"),
				 "rdsctl peer list")}) {
			e.calls[{"10.9.0.2", transport}] = called;
			expect("paths", true, "10.9.0.2 has not been reached", command);
			EXPECT_NE(only().why.find(why), std::string::npos) << only().why;
		}
	}
}

TEST(Call, is_answered_also_if_it_is_ended_at_once)
{
	EXPECT_EQ(called_of(0), Called::answered);
	EXPECT_EQ(called_of(ECONNRESET), Called::answered);
	EXPECT_EQ(called_of(ECONNREFUSED), Called::refused);
	EXPECT_EQ(called_of(EHOSTUNREACH), Called::unreachable);
	EXPECT_EQ(called_of(ENETUNREACH), Called::unreachable);
	EXPECT_EQ(called_of(ETIMEDOUT), Called::silent);
}

TEST_F(Doctor, calls_over_another_transport_do_not_count)
{
	e.paths = Json::array({path("connecting", 4, "connect failed")});
	e.calls[{"10.9.0.2", "infiniband"}] = Called::answered;
	EXPECT_NE(only().why.find("nobody answers on TCP port 16385"), std::string::npos)
		<< only().why;
	(*e.paths)[0].update(Json{{"transport", "infiniband"}, {"remote", "fd00::2"}});
	for (const char *why : {"nobody answers on RDMA port 16385", "its table of peers refuses"})
		EXPECT_NE(only().why.find(why), std::string::npos) << only().why;
}

TEST_F(Doctor, nothing_ever_comes_back)
{
	Json &one = (*e.paths)[0];

	one.update(Json{{"unacked", 0}, {"tx-bytes", 5000}, {"rx-bytes", 0}});
	expect("paths", true, "nothing has ever come back from 10.9.0.2", "rds-ping -c 3 10.9.0.2");
	one["state-ms"] = 500;
	EXPECT_TRUE(examine(e).empty()) << "it is up just now";
	one.update(Json{{"state-ms", 60000}, {"rx-bytes", 48}});
	EXPECT_TRUE(examine(e).empty());
	one["rx-bytes"] = nullptr;
	EXPECT_TRUE(examine(e).empty()) << "its transport does not tell";
}

TEST_F(Doctor, a_kernel_for_tests)
{
	for (const char *option :
	     {"CONFIG_KASAN", "CONFIG_KMSAN", "CONFIG_KCSAN", "CONFIG_PROVE_LOCKING",
	      "CONFIG_DEBUG_KMEMLEAK", "CONFIG_SLUB_DEBUG_ON",
	      "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT"}) {
		e.config = std::string("CONFIG_TCP_MD5SIG=y\n") + option + "=y\n";
		expect("kernel", false, option, "linux-image-amd64");
		e.config = std::string("CONFIG_TCP_MD5SIG=y\n# ") + option + " is not set\n" +
			   option + "_X=y\n";
		EXPECT_TRUE(examine(e).empty()) << option;
	}
}

TEST_F(Doctor, a_kernel_without_what_rds_needs)
{
	put("proc/sys/kernel/osrelease", "6.1.0-x");
	put("boot/config-6.1.0-x", "CONFIG_NET=y\n# CONFIG_TCP_MD5SIG is not set");
	expect("kernel", false, "no CONFIG_TCP_MD5SIG", "rdsctl peer list");
	e.config = "CONFIG_TCP_MD5SIG=y\n";
	EXPECT_TRUE(examine(e).empty()) << "the kernel's own word is before that of a file";
	fs::create_directories(e.root / "sys/class/infiniband");
	EXPECT_TRUE(examine(e).empty()) << "there is no device";
	port("mlx5_0", "1: DOWN", "eth0");
	expect("kernel", false, "no CONFIG_INFINIBAND_ADDR_TRANS", "infiniband");
}

TEST_F(Doctor, modules_that_cannot_be_loaded)
{
	take_away("sys/module");
	take_away("proc/net/rds");
	auto second = [&](const char *what, bool fault) {
		const std::vector<Finding> found = examine(e);

		ASSERT_EQ(found.size(), 2u);
		EXPECT_EQ(found[1].check, "kernel");
		EXPECT_EQ(found[1].fault, fault);
		EXPECT_NE(found[1].what.find(what), std::string::npos) << found[1].what;
	};

	e.config = "CONFIG_TCP_MD5SIG=y\nCONFIG_RDS=y\n";
	second("built in", true);
	e.config = "CONFIG_TCP_MD5SIG=y\nCONFIG_RDS=m\nCONFIG_MODULE_SIG_FORCE=y\n";
	second("signed modules only", false);
	e.config.reset();
	put("proc/sys/kernel/modules_disabled", "1");
	second("modules_disabled", true);
}

TEST_F(Doctor, a_rule_that_keeps_peers_away)
{
	const std::string tcp = R"({"match": {"op": "==", "left": {"payload": {"protocol": "tcp",
		"field": "dport"}}, "right": )";

	for (const char *ports :
	     {"16385", R"({"set": [22, 16385]})", R"({"range": [16000, 17000]})", R"("@ports")"}) {
		rule("[" + tcp + ports + R"(}}, {"counter": {"packets": 1}}, {"drop": null}])");
		expect("firewall", true, "inet f input drops port 16385",
		       "nft -a list chain inet f input");
	}
	rule("[" + tcp + R"(18634}}, {"reject": {"type": "tcp reset"}}])");
	expect("firewall", true, "rejects port 18634", "nft");
	rule("[" + tcp + R"(16385}}, {"match": {"op": "==", "left": {"payload": {"protocol": "ip",
		"field": "saddr"}}, "right": "10.0.0.1"}}, {"drop": null}])");
	expect("firewall", false, "for some packets", "nft");
}

TEST_F(Doctor, a_rule_of_packets_that_pass_through)
{
	const std::string drop = R"([{"match": {"op": "==", "left": {"payload": {"protocol": "tcp",
		"field": "dport"}}, "right": 16385}}, {"drop": null}])";
	auto add = [&](const std::string &row) {
		e.rules->at("nftables").push_back(Json::parse(row));
	};
	auto leads = [&](const std::string &from, const std::string &verdict) {
		add(R"({"rule": {"family": "inet", "table": "f", "chain": ")" + from +
		    R"(", "expr": [)" + verdict + "]}}");
	};
	auto chain = [&](const std::string &name, const std::string &hook) {
		add(R"({"chain": {"family": "inet", "table": "f", "name": ")" + name +
		    R"(", "hook": ")" + hook + R"(", "policy": "accept"}})");
	};

	rule(drop);
	chain("input", "forward");
	EXPECT_TRUE(examine(e).empty()) << "the chain's name says nothing";
	rule(drop);
	chain("passes", "forward");
	leads("passes", R"({"jump": {"target": "some"}})");
	leads("some", R"({"vmap": {"key": {"meta": {"key": "iifname"}}, "data": {"set":
		[["eth0", {"goto": {"target": "input"}}]]}}})");
	EXPECT_TRUE(examine(e).empty()) << "by way of another chain";
	chain("comes", "input");
	leads("comes", R"({"jump": {"target": "some"}})");
	expect("firewall", true, "inet f input drops port 16385", "nft");
	rule(drop);
	chain("passes", "forward");
	leads("passes", R"({"jump": {"target": "input"}})");
	add(R"({"map": {"family": "inet", "table": "f", "name": "m", "elem":
		[["eth0", {"jump": {"target": "input"}}]]}})");
	expect("firewall", true, "inet f input drops port 16385", "nft");
}

TEST_F(Doctor, a_rule_that_accepts_before_one_that_drops)
{
	const std::string saddr = R"({"match": {"op": "==", "left": {"payload": {"protocol": "ip",
		"field": "saddr"}}, "right": "10.9.0.0"}})";
	auto port = [](const std::string &number) {
		return R"({"match": {"op": "==", "left": {"payload": {"protocol": "tcp",
			"field": "dport"}}, "right": )" +
		       number + "}}, ";
	};
	auto then = [&](const char *chain, const std::string &expressions) {
		e.rules->at("nftables")
			.push_back(Json::parse(R"({"rule": {"family": "inet", "table": "f",
				"chain": ")" + std::string(chain) +
					       R"(", "expr": [)" + expressions + "]}}"));
	};
	const std::string both = R"({"set": [16385, 18634]})", drop = R"({"drop": null})";

	rule("[" + port(both) + saddr + R"(, {"accept": null}])");
	then("input", port("16385") + drop);
	expect("firewall", false, "drops port 16385, but one before it accepts some", "nft");
	e.rules->at("nftables").erase(3);
	then("input", port("18634") + drop);
	expect("firewall", false, "drops port 18634, but", "nft");
	e.rules->at("nftables").erase(3);
	then("other", port("16385") + drop);
	expect("firewall", true, "inet f other drops port 16385", "nft");

	rule("[" + port("16385") + saddr + R"(, {"accept": null}])");
	then("input", port(both) + drop);
	expect("firewall", true, "drops port 18634", "nft");
	rule("[" + port("16385") + drop + "]");
	then("input", port("16385") + R"({"accept": null})");
	expect("firewall", true, "drops port 16385", "nft");
}

TEST_F(Doctor, rules_that_are_well)
{
	const std::string tcp = R"({"match": {"op": "==", "left": {"payload": {"protocol": "tcp",
		"field": "dport"}}, "right": )";

	for (const std::string &well :
	     {tcp + R"(22}}, {"drop": null})", tcp + R"(16385}}, {"accept": null})",
	      tcp + R"({"range": [1, 16384]}}}, {"drop": null})",
	      tcp + R"(16385}}, {"match": {"op": "!=", "left": {"meta": {"key": "skuid"}},
		"right": 4294967295}}, {"reject": null})",
	      std::string(R"({"drop": null})")}) {
		rule("[" + well + "]");
		EXPECT_TRUE(examine(e).empty()) << well;
	}
	e.rules = Json::parse(R"({"nftables": [{"rule": 5}, {"chain": []}, {}, 7,
		{"rule": {"expr": [1, {"match": 3}, {"match": {"left": [], "right": {}}}]}}]})");
	EXPECT_TRUE(examine(e).empty()) << "what is not understood is passed over";
	e.rules = Json("text");
	EXPECT_TRUE(examine(e).empty());
}

TEST_F(Doctor, a_chain_that_lets_nobody_in)
{
	rule(R"([{"accept": null}])");
	e.rules->at("nftables").push_back(Json::parse(R"({"chain": {"family": "inet", "table": "f",
		"name": "input", "hook": "input", "prio": 0, "policy": "drop"}})"));
	expect("firewall", false, "none names port 16385",
	       "nft add rule inet f input tcp dport 16385");
	e.rules->at("nftables")[2]["rule"]["expr"] = Json::parse(R"([{"match": {"op": "==",
		"left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 16385}},
		{"accept": null}])");
	EXPECT_TRUE(examine(e).empty());
}

TEST_F(Doctor, rules_of_iptables)
{
	put("proc/net/ip_tables_names", "filter");
	expect("firewall", false, "old tables of iptables", "iptables-save");
	e.rules = Json::parse(R"({"nftables": []})");
	expect("firewall", false, "iptables", "iptables-legacy-save");
	take_away("proc/net/ip_tables_names");
	put("proc/net/ip6_tables_names", "mangle");
	expect("firewall", false, "ip6tables", "ip6tables-legacy-save");
	take_away("proc/net/ip6_tables_names");
	EXPECT_TRUE(examine(e).empty());
}

TEST_F(Doctor, the_way_is_narrower_than_the_device)
{
	e.routes["10.9.0.2"] = {"eth0", 1400};
	expect("mtu", false, "the way to 10.9.0.2 has an MTU of 1400", "tracepath -n 10.9.0.2");
	e.routes["10.9.0.2"] = {"eth0", 600};
	expect("mtu", true, "600", "tracepath");
	e.routes["10.9.0.2"] = {"eth0", 1500};
	EXPECT_TRUE(examine(e).empty());
	e.routes["10.9.0.2"] = {"gone0", 1400};
	EXPECT_TRUE(examine(e).empty()) << "of no device that is there";
}

TEST_F(Doctor, large_packets_are_lost_on_the_way)
{
	e.routes["10.9.0.2"] = {"eth0", 9000};
	put("sys/class/net/eth0/mtu", "9000");
	EXPECT_TRUE(examine(e).empty());
	(*e.paths)[0]["heard-ms"] = 45000;

	const std::vector<Finding> found = examine(e);

	ASSERT_EQ(found.size(), 2u);
	EXPECT_EQ(found[1].check, "mtu");
	EXPECT_EQ(found[1].command, "ping -c 3 -M do -s 8972 10.9.0.2");
}

TEST_F(Doctor, rdma_devices)
{
	port("mlx5_0", "4: ACTIVE", "eth0");
	expect("rdma", false, "mlx5_0 port 1 is active, and rds_rdma is not loaded",
	       "modprobe rds_rdma");
	put("sys/module/rds_rdma/version", "5.0");
	expect("rdma", true, "eth0 of the RDMA device mlx5_0 port 1 has no address", "dev eth0");
	e.addressed = {"eth0"};
	EXPECT_TRUE(examine(e).empty());
	port("mlx5_0", "1: DOWN", "eth0");
	expect("rdma", true, "mlx5_0 port 1 is not active", "ip link set eth0 up");
	take_away("sys/class/infiniband");
	expect("rdma", false, "there is no RDMA device", "rdma link");
}
