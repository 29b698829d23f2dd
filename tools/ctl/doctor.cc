// SPDX-License-Identifier: GPL-2.0
#include "doctor.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "../lib/text.h"
#include "doctor_checks.h"
#include "host.h"
#include "view.h"

namespace rdstools
{

namespace
{

namespace fs = std::filesystem;

/* RDS's port, 16385, as /proc/net/tcp has it, and the state LISTEN. */
constexpr const char *port_suffix = ":4001", *listening = "0A";
constexpr std::uint64_t least_mtu = 1280, longest_pause_ms = 10000;

std::optional<std::string> line_of(const Evidence &e, const std::string &file)
{
	return first_line(e.root / file);
}

/* ---- the port ---- */

bool somebody_listens(const Evidence &e)
{
	for (const char *file : {"proc/net/tcp", "proc/net/tcp6"}) {
		std::ifstream in(e.root / file);
		std::string slot, local, remote, state, line;

		while (std::getline(in, line))
			if (std::istringstream(line) >> slot >> local >> remote >> state &&
			    local.ends_with(port_suffix) && state == listening)
				return true;
	}
	return false;
}

void look_at_port(const Evidence &e, Findings &found)
{
	if (!is_loaded(e, "rds_tcp"))
		return;
	if (!somebody_listens(e))
		found.push_back({"listen", true, "nobody listens on TCP port 16385",
				 "peers cannot call this host; it can call them, if they listen",
				 "sysctl -w net.rds.tcp.listen=1"});
	if (e.counters && counter(*e.counters, "tcp_listen_failed"))
		found.push_back(
			{"listen", false, "port 16385 was another program's (tcp_listen_failed)",
			 "as long as it is, peers that call this host reach that program; a "
			 "process in the answer of the command is the one",
			 "ss -ltnp 'sport = :16385'"});
}

/* ---- settings ---- */

struct Setting {
	const char *name;
	bool (*is_odd)(std::uint64_t value);
	bool fault;
	const char *what, *why, *command;
};

constexpr Setting settings[] = {
	{"ping_enable", [](std::uint64_t v) { return v == 0; }, false, "pings are not answered",
	 "rds-ping of other hosts takes this one for dead", "sysctl -w net.rds.ping_enable=1"},
	{"max_passive_connections", [](std::uint64_t v) { return v == 0; }, true,
	 "peers that no socket here has sent to are refused",
	 "a server gets no message from a client that speaks first",
	 "sysctl -w net.rds.max_passive_connections=4096"},
	{"reconnect_max_delay_ms", [](std::uint64_t v) { return v > longest_pause_ms; }, false,
	 "the pause between two calls may be longer than 10 s",
	 "a peer that is back is not reached before that is over",
	 "sysctl -w net.rds.reconnect_max_delay_ms=1000"},
	{"idle_timeout_ms", [](std::uint64_t v) { return v == 0; }, false,
	 "idle connections are never collected",
	 "each host that was ever spoken to keeps some 20 kB of this one",
	 "sysctl -w net.rds.idle_timeout_ms=300000"},
};

void look_at_settings(const Evidence &e, Findings &found)
{
	for (const Setting &s : settings) {
		auto value = number_of(e, std::string("proc/sys/net/rds/") + s.name);

		if (value && s.is_odd(*value))
			found.push_back({"settings", s.fault,
					 std::string("net.rds.") + s.name + " is " +
						 std::to_string(*value) + ": " + s.what,
					 s.why, s.command});
	}
}

/* ---- devices ---- */

void look_at_devices(const Evidence &e, Findings &found)
{
	std::error_code none;

	for (const auto &entry : fs::directory_iterator(e.root / "sys/class/net", none)) {
		const std::string name = entry.path().filename();
		const std::string files = "sys/class/net/" + name + "/";
		auto mtu = number_of(e, files + "mtu");

		if (name == "lo" || !mtu || line_of(e, files + "operstate") == "down")
			continue;
		if (*mtu < least_mtu)
			found.push_back(
				{"mtu", true, "the MTU of " + name + " is " + std::to_string(*mtu),
				 "IPv6 needs 1280, and each segment costs as much as a large "
				 "one",
				 "ip link set " + name + " mtu 1500"});
		else if (*mtu < 9000 && number_of(e, files + "speed").value_or(0) >= 10000)
			found.push_back(
				{"mtu", false,
				 "the MTU of " + name + " is " + std::to_string(*mtu) +
					 " at 10 Gbit/s or more",
				 "large messages need fewer segments with 9000, if all hosts and "
				 "switches have that",
				 "ip link set " + name + " mtu 9000"});
	}
}

} // namespace

bool is_loaded(const Evidence &e, const std::string &module)
{
	return fs::exists(e.root / "sys/module" / module);
}

std::optional<std::uint64_t> number_of(const Evidence &e, const std::string &file)
{
	auto line = line_of(e, file);
	std::uint64_t number = 0;

	if (!line || !(std::istringstream(*line) >> number))
		return {};
	return number;
}

std::vector<Finding> examine(const Evidence &evidence)
{
	Findings found;

	look_at_modules(evidence, found);
	look_at_kernel(evidence, found);
	look_at_port(evidence, found);
	look_at_firewall(evidence, found);
	look_at_paths(evidence, found);
	look_at_settings(evidence, found);
	look_at_load(evidence, found);
	look_at_counters(evidence, found);
	look_at_devices(evidence, found);
	look_at_routes(evidence, found);
	look_at_rdma(evidence, found);
	std::ranges::stable_partition(found, &Finding::fault);
	return found;
}

Json findings_json(const std::vector<Finding> &findings)
{
	Json list = Json::array();

	for (const Finding &f : findings)
		list.push_back({{"check", f.check},
				{"fault", f.fault},
				{"what", f.what},
				{"why", f.why},
				{"command", f.command}});
	return list;
}

} // namespace rdstools
