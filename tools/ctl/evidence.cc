// SPDX-License-Identifier: GPL-2.0
#include "evidence.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "../lib/error.h"
#include "../lib/socket.h"
#include "../lib/text.h"
#include "call.h"
#include "host.h"
#include "state.h"

namespace rdstools
{

namespace
{

constexpr std::uint16_t rds_port = 16385;
/* Hosts that are asked for: no more, so that a look takes no time to speak of. */
constexpr std::size_t most_routes = 256;
constexpr std::size_t most_output = 16 << 20;

/* Output of a program; nothing: it is not there, or has failed. */
std::optional<std::string> output_of(const std::vector<const char *> &command)
{
	int ends[2];
	pid_t pid = 0;
	int status = 0;
	std::string text;
	char room[4096];
	ssize_t n;
	const char *environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", nullptr};
	std::vector<char *> arguments;
	posix_spawn_file_actions_t files;

	if (pipe2(ends, O_CLOEXEC))
		return {};
	UniqueFd in(ends[0]), out(ends[1]);
	for (const char *word : command)
		arguments.push_back(const_cast<char *>(word));
	arguments.push_back(nullptr);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out.get(), STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	/* posix_spawnp() would look along the caller's PATH, and a user's may lack sbin. */
	int error = ENOENT;
	for (const std::string directory : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"})
		if (error)
			error = posix_spawn(&pid, (directory + command[0]).c_str(), &files, nullptr,
					    arguments.data(), const_cast<char **>(environment));
	posix_spawn_file_actions_destroy(&files);
	if (error)
		return {};
	out.reset();
	while ((n = read(in.get(), room, sizeof(room))) > 0)
		if (text.size() < most_output)
			text.append(room, static_cast<std::size_t>(n));
	if (waitpid(pid, &status, 0) != pid || status || text.size() >= most_output)
		return {};
	return text;
}

std::optional<Json> firewall_rules()
{
	/* Where it is not loaded there is no rule, and to ask would load it. */
	if (access("/sys/module/nf_tables", F_OK))
		return {};
	const auto text = output_of({"nft", "-j", "list", "ruleset"});
	Json rules = text ? Json::parse(*text, nullptr, false) : Json();

	return rules.is_object() ? std::optional(rules) : std::nullopt;
}

/* Names of devices by their addresses. */
std::map<std::string, std::string> device_addresses()
{
	std::map<std::string, std::string> names;
	ifaddrs *all = nullptr;

	if (getifaddrs(&all))
		return names;
	for (const ifaddrs *i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr)
			continue;
		const Address address = Address::from_sockaddr(
			i->ifa_addr, i->ifa_addr->sa_family == AF_INET ? sizeof(sockaddr_in)
								       : sizeof(sockaddr_in6));

		if (address.specified())
			names.emplace(address.host(), i->ifa_name);
	}
	freeifaddrs(all);
	return names;
}

/* By a socket of UDP, which sends nothing when it is connected. */
std::optional<Route> route_to(const Json &path, const std::map<std::string, std::string> &devices)
{
	auto [own, remote] = ends_of(path);
	int mtu = 0;
	socklen_t size = sizeof(mtu);
	UniqueFd fd(socket(remote.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	const bool v4 = remote.family() == AF_INET;

	remote.set_port(rds_port);
	if (!fd || bind(fd.get(), own.sa(), own.size()) ||
	    connect(fd.get(), remote.sa(), remote.size()) ||
	    getsockopt(fd.get(), v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu,
		       &size))
		return {};
	Address local = local_address(fd.get());
	local.set_port(0);
	auto device = devices.find(local.host());

	if (device == devices.end() || mtu <= 0)
		return {};
	return Route{device->second, static_cast<std::uint64_t>(mtu)};
}

/* By modinfo, which finds and unpacks them as modprobe does; nothing of those that it cannot find.
 */
std::map<std::string, ModuleFile> module_files()
{
	std::map<std::string, ModuleFile> files;

	for (const std::string name : rds_modules) {
		if (access(("/sys/module/" + name).c_str(), F_OK))
			continue;
		if (const auto text = output_of({"modinfo", "-0", name.c_str()}))
			files[name] = module_file(*text);
	}
	return files;
}

/* A rule that refuses the port to programs of this host refuses it to this one. */
bool is_kept_from_programs(const std::optional<Json> &rules)
{
	return rules && rules->dump().find("\"skuid\"") != std::string::npos;
}

} // namespace

Evidence gather()
{
	Evidence evidence;
	const std::map<std::string, std::string> devices = device_addresses();

	/* Without them there is something to find all the more. */
	try {
		State state;

		evidence.counters = state.counters();
		evidence.sockets = state.sockets();
		evidence.paths = state.paths();
	} catch (const Error &) {
	}
	for (const auto &[address, name] : devices)
		evidence.addressed.insert(name);
	evidence.rules = firewall_rules();
	evidence.files = module_files();
	if (!access("/proc/config.gz", R_OK))
		evidence.config = output_of({"gzip", "-dc", "/proc/config.gz"});
	if (!evidence.paths)
		return evidence;
	for (const Json &path : *evidence.paths)
		if (const std::string remote = path["remote"].get<std::string>();
		    !evidence.routes.contains(remote) && evidence.routes.size() < most_routes)
			if (auto route = route_to(path, devices))
				evidence.routes[remote] = *route;
	if (!is_kept_from_programs(evidence.rules))
		evidence.calls = call_hosts(*evidence.paths);
	return evidence;
}

} // namespace rdstools
