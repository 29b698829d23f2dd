// SPDX-License-Identifier: GPL-2.0
#include "host.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "../lib/text.h"
#include "view.h"

namespace rdstools
{

namespace
{

namespace fs = std::filesystem;

/* Settings of others that a connection of RDS's over TCP, or a socket's size, depends on. */
constexpr const char *others[] = {
	"net/core/rmem_max",	       "net/core/wmem_max",	  "net/core/optmem_max",
	"net/core/netdev_max_backlog", "net/core/default_qdisc",  "net/ipv4/tcp_congestion_control",
	"net/ipv4/tcp_rmem",	       "net/ipv4/tcp_wmem",	  "net/ipv4/tcp_mem",
	"net/ipv4/tcp_mtu_probing",    "net/ipv4/tcp_timestamps", "net/ipv4/tcp_sack",
	"vm/min_free_kbytes",	       "kernel/modules_disabled"};

/* Names of a directory's entries, in order; none where there is no directory. */
std::vector<std::string> names_in(const fs::path &directory)
{
	std::vector<std::string> names;
	std::error_code none;

	for (fs::directory_iterator at(directory, none), end; !none && at != end;
	     at.increment(none))
		names.push_back(at->path().filename());
	std::ranges::sort(names);
	return names;
}

/* The value behind a key in a file of lines "key: value" or KEY="value". */
std::string value_of(const fs::path &file, const std::string &key, char separator)
{
	std::ifstream in(file);
	std::string line;

	while (std::getline(in, line)) {
		const auto at = line.find(separator);

		if (at == std::string::npos || !line.starts_with(key))
			continue;
		const auto begin = line.find_first_not_of(" \t\"", at + 1);
		const auto end = line.find_last_not_of(" \t\"");

		return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
	}
	return {};
}

std::string uptime_text(const fs::path &root)
{
	double seconds = 0;

	std::istringstream(first_line(root / "proc/uptime").value_or("0")) >> seconds;
	return duration_text(static_cast<std::uint64_t>(seconds * 1000));
}

std::string memory_text(const fs::path &root)
{
	std::uint64_t total = 0, free = 0;
	const fs::path file = root / "proc/meminfo";

	std::istringstream(value_of(file, "MemTotal", ':')) >> total;
	std::istringstream(value_of(file, "MemAvailable", ':')) >> free;
	return bytes_text(total * 1024) + ", " + bytes_text(free * 1024) + " of it available";
}

unsigned processors(const fs::path &root)
{
	std::ifstream in(root / "proc/cpuinfo");
	std::string line;
	unsigned n = 0;

	while (std::getline(in, line))
		n += line.starts_with("processor");
	return n;
}

void add_settings(Facts &found, const fs::path &root, const std::string &directory)
{
	for (const std::string &name : names_in(root / "proc/sys" / directory)) {
		const std::string below = directory + "/" + name;

		if (fs::is_directory(root / "proc/sys" / below)) {
			add_settings(found, root, below);
		} else if (auto value = first_line(root / "proc/sys" / below)) {
			std::string dotted = below;

			std::ranges::replace(dotted, '/', '.');
			std::ranges::replace(*value, '\t', ' ');
			found.emplace_back(dotted, *value);
		}
	}
}

Json network_device(const fs::path &directory)
{
	const auto speed = first_line(directory / "speed");
	std::string details = "MTU " + first_line(directory / "mtu").value_or("?");

	if (speed && *speed != "-1")
		details += ", " + *speed + " Mbit/s";
	return {{"name", directory.filename().string()},
		{"kind", "network"},
		{"state", first_line(directory / "operstate").value_or("?")},
		{"details", details}};
}

Json rdma_port(const fs::path &device, const std::string &port)
{
	const fs::path directory = device / "ports" / port;
	const auto netdev = first_line(directory / "gid_attrs/ndevs/0");

	return {{"name", device.filename().string() + " port " + port},
		{"kind", "RDMA"},
		{"state", first_line(directory / "state").value_or("?")},
		{"details", first_line(directory / "link_layer").value_or("?") + ", " +
				    first_line(directory / "rate").value_or("?") +
				    (netdev ? ", of " + *netdev : "")}};
}

} // namespace

std::optional<std::string> first_line(const fs::path &file)
{
	std::ifstream in(file);
	std::string line;

	if (!std::getline(in, line))
		return {};
	return line;
}

Facts host_facts(const fs::path &root)
{
	auto line = [&](const char *file) { return first_line(root / file).value_or("?"); };
	std::string system = value_of(root / "etc/os-release", "PRETTY_NAME=", '=');

	return {{"Host", line("proc/sys/kernel/hostname")},
		{"System", system.empty() ? "?" : system},
		{"Kernel",
		 line("proc/sys/kernel/osrelease") + " " + line("proc/sys/kernel/version")},
		{"Processors", std::to_string(processors(root))},
		{"Memory", memory_text(root)},
		{"Booted", uptime_text(root) + " ago"}};
}

Json module_rows(const fs::path &root)
{
	Json rows = Json::array();

	for (const char *name : rds_modules) {
		const fs::path directory = root / "sys/module" / name;
		std::string parameters;

		if (!fs::exists(directory))
			continue;
		for (const std::string &p : names_in(directory / "parameters"))
			if (auto value = first_line(directory / "parameters" / p))
				parameters += (parameters.empty() ? "" : ", ") + p + "=" + *value;
		rows.push_back({{"name", name},
				{"version", first_line(directory / "version").value_or("?")},
				{"parameters", parameters}});
	}
	return rows;
}

Facts settings(const fs::path &root)
{
	Facts found;

	add_settings(found, root, "net/rds");
	for (const char *name : others)
		if (auto value = first_line(root / "proc/sys" / name)) {
			std::string dotted = name;

			std::ranges::replace(dotted, '/', '.');
			std::ranges::replace(*value, '\t', ' ');
			found.emplace_back(dotted, *value);
		}
	return found;
}

Json device_rows(const fs::path &root)
{
	Json rows = Json::array();

	for (const std::string &name : names_in(root / "sys/class/net"))
		if (name != "lo")
			rows.push_back(network_device(root / "sys/class/net" / name));
	for (const std::string &name : names_in(root / "sys/class/infiniband")) {
		const fs::path device = root / "sys/class/infiniband" / name;

		for (const std::string &port : names_in(device / "ports"))
			rows.push_back(rdma_port(device, port));
	}
	return rows;
}

} // namespace rdstools
