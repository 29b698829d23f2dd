/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults of this host's RDS: what, why it matters, and the command that mends it.
 *
 * It looks at files of /proc, /sys, /lib and /boot below a root that tests can make themselves, and
 * at what gather() (evidence.h) has asked before; it changes nothing.
 */
#ifndef RDSCTL_DOCTOR_H
#define RDSCTL_DOCTOR_H

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../lib/table.h"

namespace rdstools
{

/* The way to a host, by the kernel's table of routes and what its routers have said. */
struct Route {
	std::string device;
	std::uint64_t mtu = 0;
};

/* A host's address, and the transport that it is called by: "tcp" or "infiniband". */
using Callee = std::pair<std::string, std::string>;

/* How a host takes a call of the port on which its RDS listens. */
enum class Called { answered, refused, silent, unreachable };

/* Of the errno of a call over TCP, 0: none. ECONNRESET: it was answered, and ended before that was
 * looked at, as by a host whose table of peers refuses this one. */
Called called_of(int error);

/* The file that modprobe would take for a module. Empty: it does not say. */
struct ModuleFile {
	std::string name, version, build; /* srcversion */
};

/* Of the output of modinfo -0. */
ModuleFile module_file(const std::string &modinfo);

struct Evidence {
	std::filesystem::path root = "/";
	/* Rows of State; nothing: they cannot be read. */
	std::optional<Json> paths, sockets, counters;
	/* Of hosts that there are paths to, by address. */
	std::map<std::string, Route> routes;
	/* Of hosts only that messages wait for and that have no connection. */
	std::map<Callee, Called> calls;
	/* nft -j list ruleset; nothing: there is no nft, or this user may not. */
	std::optional<Json> rules;
	/* The kernel's configuration, if it is in the kernel; else /boot has it perhaps. */
	std::optional<std::string> config;
	/* Of modules of RDS that are loaded, by name. */
	std::map<std::string, ModuleFile> files;
	std::set<std::string> addressed; /* network devices that have an address */
};

struct Finding {
	/* The name of a group of checks: "modules", "kernel", "listen", "firewall", "paths",
	 * "settings", "counters", "mtu", "rdma". */
	std::string check;
	bool fault; /* or else something that may be meant so */
	std::string what, why, command;
};

/* A path that has messages, and no connection, for so long that it is told. */
bool is_not_reached(const Json &path);

/* Faults first; nothing: all is well as far as can be seen. */
std::vector<Finding> examine(const Evidence &evidence);

Json findings_json(const std::vector<Finding> &findings);

} // namespace rdstools

#endif
