// SPDX-License-Identifier: GPL-2.0
#include "doctor_checks.h"

#include <cerrno>

#include "../lib/text.h"
#include "view.h"

namespace rdstools
{

namespace
{

/* How hosts are called, by the transport of their paths. */
struct Way {
	const char *transport, *protocol, *module;
	std::uint16_t port_v4, port_v6;
	const char *try_it, *mend;
	/* A table of peers there that refuses this host, where that fails a call. */
	const char *refusal;
};

constexpr Way ways[] = {
	{"tcp", "TCP", "rds_tcp", 16385, 16385, "nc -vz -w 3 %s 16385",
	 "ssh %s 'modprobe rds_tcp; sysctl -w net.rds.tcp.listen=1'", ""},
	{"infiniband", "RDMA", "rds_rdma", 18634, 16385, "ping -c 3 %s",
	 "ssh %s 'modprobe rds_rdma; rdma link show'", ", its table of peers refuses this host"},
};

const Way &way_of(const Json &path)
{
	for (const Way &way : ways)
		if (path["transport"] == way.transport)
			return way;
	return ways[0];
}

/* "TCP port 16385" */
std::string port_of(const Json &path)
{
	const Way &way = way_of(path);
	const bool v6 = path["remote"].get<std::string>().find(':') != std::string::npos;

	return std::string(way.protocol) + " port " +
	       std::to_string(v6 ? way.port_v6 : way.port_v4);
}

struct Reason {
	std::string why, command;
};

/* Why a peer is not reached, by the last reason (transport.h of the modules). */
Reason last_reason(const Json &path)
{
	const Way &way = way_of(path);
	const Json last = path["last-reason"];

	if (last == "refused here")
		return {"the table of peers of this host refuses it", "rdsctl peer list"};
	if (last == "no answer; key?")
		return {"the call was signed, and nobody answered: another key, none, or it is "
			"down",
			"rdsctl peer list"};
	if (last == "connect failed")
		return {"nobody answers on " + port_of(path) + " there: the host is down, has no " +
				way.module + way.refusal + ", or a filter is between",
			way.try_it};
	if (last == "protocol")
		return {"what answers on " + port_of(path) + " there is no RDS", way.try_it};
	return {"its connection is not there, and messages wait for it", "ping -c 3 %s"};
}

/* The same by what a call of the port has shown just now. */
Reason reason_of_call(const Json &path, Called called)
{
	const std::string port = port_of(path);
	const Way &way = way_of(path);

	switch (called) {
	case Called::answered:
		return {"its " + port +
				" is open, so it is not the network: its table of peers refuses "
				"this host, the keys are not the same, or it is no RDS",
			"rdsctl peer list"};
	case Called::refused:
		return {"the host is up, and refuses " + port + ": " + way.module +
				" is not loaded there, does not listen, or a filter rejects calls",
			way.mend};
	case Called::silent:
		return {"a call of " + port +
				" is not answered: the host is down, or a filter between drops "
				"calls",
			"ping -c 3 %s"};
	case Called::unreachable:
		return {"there is no way to it: no route, or nobody on the link has its address",
			"ip route get %s"};
	}
	return {};
}

void look_at_path(const Evidence &e, const Json &path, Findings &found)
{
	const std::string remote = path["remote"].get<std::string>();
	const Json last = path["last-reason"];
	auto call = e.calls.find({remote, path["transport"].get<std::string>()});
	const Reason said =
		call == e.calls.end() ? last_reason(path) : reason_of_call(path, call->second);

	found.push_back({"paths", true,
			 remote + " has not been reached for " + duration_text(path["state-ms"]) +
				 " (" + path["state"].get<std::string>() + ", last: " +
				 (last.is_string() ? last.get<std::string>() : "-") + ")",
			 said.why, format(said.command.c_str(), remote.c_str())});
}

/* Its connection is well, and yet a message for it waits. */
std::string why_it_waits(const Json &path)
{
	const Json ports = path["congested-ports"];

	if (path["holds"] != true)
		return "the host takes what is sent, and its RDS does not come to handle it";
	if (ports.is_array() && !ports.empty())
		return "a program there does not read: its port " + ports[0].dump() + " is full";
	return "a program there does not read, and its host refuses what comes for it";
}

/* It takes what is sent, or it seems so, and nothing comes back. */
void look_at_one_way(const Json &path, Findings &found)
{
	const std::string remote = path["remote"].get<std::string>();
	auto more_than = [&](const char *field, std::uint64_t least) {
		return path.contains(field) && path[field].is_number() && path[field] >= least;
	};

	if (more_than("unacked", 1) && more_than("heard-ms", patience_ms))
		found.push_back({"paths", true,
				 remote + " has acknowledged nothing for " +
					 duration_text(path["heard-ms"]),
				 "messages wait: the host hangs, or the network is cut one way",
				 "ping -c 3 " + remote});
	else if (more_than("state-ms", patience_ms) && more_than("tx-bytes", 1) &&
		 more_than("rx-bytes", 0) && path["rx-bytes"] == 0)
		found.push_back({"paths", true,
				 "nothing has ever come back from " + remote + " in " +
					 duration_text(path["state-ms"]),
				 "what is sent is taken, and an RDS would have answered: what "
				 "listens on " +
					 port_of(path) + " there is none, or hangs",
				 "rds-ping -c 3 " + remote});
	else if (more_than("waits-ms", patience_ms))
		found.push_back({"paths", true,
				 "a message has waited for " + duration_text(path["waits-ms"]) +
					 " to get to " + remote,
				 why_it_waits(path), "rdsctl path show remote " + remote});
}

} // namespace

Called called_of(int error)
{
	switch (error) {
	case 0:
	case ECONNRESET:
		return Called::answered;
	case ECONNREFUSED:
		return Called::refused;
	case ENETUNREACH:
	case EHOSTUNREACH:
		return Called::unreachable;
	default:
		return Called::silent;
	}
}

bool is_not_reached(const Json &path)
{
	const bool waits = path["unacked"].is_number() && path["unacked"] > 0;
	const bool late = path["state-ms"].is_number() && path["state-ms"] >= patience_ms;
	/* One that calls again and again is never in one state for long. */
	const bool called = path["attempts"].is_number() && path["attempts"] > 3;

	return path["state"] != "up" && waits && (late || called);
}

void look_at_paths(const Evidence &e, Findings &found)
{
	std::set<std::string> told;

	if (!e.paths)
		return;
	for (const Json &path : *e.paths)
		if (path["state"] == "up")
			look_at_one_way(path, found);
		else if (is_not_reached(path) &&
			 told.insert(path["remote"].get<std::string>()).second)
			look_at_path(e, path, found);
}

} // namespace rdstools
