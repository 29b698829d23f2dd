// SPDX-License-Identifier: GPL-2.0
#include "doctor_checks.h"

#include <algorithm>

#include "../lib/text.h"
#include "host.h"

namespace rdstools
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint64_t least_mtu = 1280, jumbo_mtu = 4000;
/* Bytes of an IPv4 packet that are not ping's. */
constexpr std::uint64_t ping_headers = 28;

bool is_ours_in(const Json &path, const char *field)
{
	return path.contains(field) && path[field].is_number() && path[field] > 0;
}

/* It has a connection, on which nothing is acknowledged any more. */
bool is_stuck(const Json &path)
{
	return path["state"] == "up" && is_ours_in(path, "unacked") &&
	       path["heard-ms"].is_number() && path["heard-ms"] >= patience_ms;
}

void look_at_route(const std::string &host, const Route &route, std::uint64_t device_mtu,
		   bool stuck, Findings &found)
{
	if (route.mtu < device_mtu)
		found.push_back(
			{"mtu", route.mtu < least_mtu,
			 "the way to " + host + " has an MTU of " + std::to_string(route.mtu) +
				 ", the device " + route.device + " one of " +
				 std::to_string(device_mtu),
			 "a tunnel or an older switch is between, or a route says so: large "
			 "messages need more segments, and are lost where nobody tells",
			 "tracepath -n " + host});
	else if (stuck && device_mtu >= jumbo_mtu)
		found.push_back({"mtu", false,
				 host + " acknowledges nothing, and the MTU of " + route.device +
					 " is " + std::to_string(device_mtu),
				 "a switch between may take small packets only, and tell nobody",
				 format("ping -c 3 -M do -s %llu %s",
					static_cast<unsigned long long>(device_mtu - ping_headers),
					host.c_str())});
}

struct Port {
	std::string name, netdev;
	bool active = false;
};

std::vector<Port> ports_of(const Evidence &e)
{
	std::vector<Port> ports;
	std::error_code none;

	for (const auto &device : fs::directory_iterator(e.root / "sys/class/infiniband", none))
		for (const auto &port : fs::directory_iterator(device.path() / "ports", none))
			ports.push_back(
				{device.path().filename().string() + " port " +
					 port.path().filename().string(),
				 first_line(port.path() / "gid_attrs/ndevs/0").value_or(""),
				 first_line(port.path() / "state").value_or("").find("ACTIVE") !=
					 std::string::npos});
	std::ranges::sort(ports, {}, &Port::name);
	return ports;
}

void look_at_port_of_device(const Evidence &e, const Port &port, Findings &found)
{
	if (!port.active)
		found.push_back(
			{"rdma", true, "the RDMA device " + port.name + " is not active",
			 "no connection goes over it: no cable, no link, or no subnet manager",
			 port.netdev.empty() ? "rdma link show"
					     : "ip link set " + port.netdev + " up"});
	else if (!port.netdev.empty() && !e.addressed.contains(port.netdev))
		found.push_back({"rdma", true,
				 "the network device " + port.netdev + " of the RDMA device " +
					 port.name + " has no address",
				 "RDS names hosts by addresses: none is reached over it",
				 "ip address add ADDRESS/LENGTH dev " + port.netdev});
}

} // namespace

void look_at_routes(const Evidence &e, Findings &found)
{
	for (const auto &[host, route] : e.routes) {
		const auto mtu = number_of(e, "sys/class/net/" + route.device + "/mtu");
		const bool stuck = e.paths && std::ranges::any_of(*e.paths, [&](const Json &path) {
					   return path["remote"] == host && is_stuck(path);
				   });

		if (mtu && route.mtu)
			look_at_route(host, route, *mtu, stuck, found);
	}
}

void look_at_rdma(const Evidence &e, Findings &found)
{
	const std::vector<Port> ports = ports_of(e);

	if (is_loaded(e, "rds_rdma")) {
		if (ports.empty())
			found.push_back({"rdma", false,
					 "rds_rdma is loaded, and there is no RDMA device",
					 "all goes over TCP: the device's driver is not loaded, "
					 "perhaps",
					 "rdma link show"});
		for (const Port &port : ports)
			look_at_port_of_device(e, port, found);
		return;
	}
	for (const Port &port : ports)
		if (port.active && is_loaded(e, "rds")) {
			found.push_back({"rdma", false,
					 "the RDMA device " + port.name +
						 " is active, and rds_rdma is not loaded",
					 "all goes over TCP, which costs more for each byte",
					 "modprobe rds_rdma"});
			return;
		}
}

} // namespace rdstools
