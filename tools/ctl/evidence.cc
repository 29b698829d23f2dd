// SPDX-License-Identifier: GPL-2.0
#include "evidence.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "../lib/error.h"
#include "../lib/socket.h"
#include "../lib/text.h"
#include "state.h"

namespace rdstools
{

namespace
{

constexpr std::uint16_t rds_port = 16385;
/* Hosts that are asked for, and called: no more, so that a look takes no time to speak of. */
constexpr std::size_t most_routes = 256, most_calls = 16;
constexpr std::uint64_t call_limit_ns = 1500000000;
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
	const int error = posix_spawnp(&pid, command[0], &files, nullptr, arguments.data(),
				       const_cast<char **>(environment));
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

/* A socket that is bound to a path's own address, if that is one still. */
UniqueFd socket_of(const Json &path, int type, Address &remote)
{
	remote = numeric_address(path["remote"].get<std::string>());
	Address local = numeric_address(path["local"].get<std::string>());

	if (path["scope"].is_number()) {
		remote.set_scope(path["scope"].get<std::uint32_t>());
		local.set_scope(path["scope"].get<std::uint32_t>());
	}
	UniqueFd fd(socket(remote.family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (fd && bind(fd.get(), local.sa(), local.size()))
		fd.reset();
	return fd;
}

/* By a socket of UDP, which sends nothing when it is connected. */
std::optional<Route> route_to(const Json &path, const std::map<std::string, std::string> &devices)
{
	Address remote;
	int mtu = 0;
	socklen_t size = sizeof(mtu);
	UniqueFd fd = socket_of(path, SOCK_DGRAM, remote);
	const bool v4 = remote.family() == AF_INET;

	remote.set_port(rds_port);
	if (!fd || connect(fd.get(), remote.sa(), remote.size()) ||
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

Called called_of(int error)
{
	switch (error) {
	case 0:
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

struct Call {
	std::string remote;
	UniqueFd fd;
};

/* Waits for all of them at a time, until the limit at most. */
void finish(std::vector<Call> &calls, std::map<std::string, Called> &found)
{
	const std::uint64_t end = now_ns() + call_limit_ns;

	while (!calls.empty() && now_ns() < end) {
		std::vector<pollfd> fds;

		for (const Call &c : calls)
			fds.push_back({c.fd.get(), POLLOUT, 0});
		const std::uint64_t left = end - std::min(end, now_ns());
		if (poll(fds.data(), fds.size(), static_cast<int>(left / 1000000) + 1) < 0)
			return;
		for (std::size_t at = fds.size(); at-- > 0;) {
			int error = 0;
			socklen_t size = sizeof(error);

			if (!fds[at].revents)
				continue;
			getsockopt(fds[at].fd, SOL_SOCKET, SO_ERROR, &error, &size);
			found[calls[at].remote] = called_of(error);
			calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(at));
		}
	}
}

/* Hosts that are not reached: what their port 16385 answers. */
std::map<std::string, Called> call(const Json &paths)
{
	std::map<std::string, Called> found;
	std::vector<Call> calls;

	for (const Json &path : paths) {
		const std::string name = path["remote"].get<std::string>();
		Address remote;

		if (!is_not_reached(path) || path["transport"] != "tcp" || found.contains(name) ||
		    found.size() >= most_calls || path["last-reason"] == "refused here")
			continue;
		UniqueFd fd = socket_of(path, SOCK_STREAM, remote);
		if (!fd)
			continue;
		remote.set_port(rds_port);
		found[name] = Called::silent;
		if (!connect(fd.get(), remote.sa(), remote.size()) || errno == EINPROGRESS)
			calls.push_back({name, std::move(fd)});
		else
			found[name] = called_of(errno);
	}
	finish(calls, found);
	return found;
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
		evidence.paths = state.paths();
	} catch (const Error &) {
	}
	for (const auto &[address, name] : devices)
		evidence.addressed.insert(name);
	evidence.rules = firewall_rules();
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
		evidence.calls = call(*evidence.paths);
	return evidence;
}

} // namespace rdstools
