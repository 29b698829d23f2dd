// SPDX-License-Identifier: GPL-2.0
#include "call.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "../lib/socket.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr std::uint16_t tcp_port = 16385;
constexpr std::size_t most_calls = 16;

struct TcpCall {
	Callee callee;
	UniqueFd fd;
};

/* Waits for all of them at a time, until the limit at most. */
void finish(std::vector<TcpCall> &calls, std::map<Callee, Called> &found)
{
	const std::uint64_t end = now_ns() + call_limit_ns;

	while (!calls.empty() && now_ns() < end) {
		std::vector<pollfd> fds;

		for (const TcpCall &c : calls)
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
			found[calls[at].callee] = called_of(error);
			calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(at));
		}
	}
}

void call_over_tcp(const std::vector<Call> &calls, std::map<Callee, Called> &found)
{
	std::vector<TcpCall> under_way;

	for (const auto &[callee, ends] : calls) {
		Address remote = ends.remote;
		UniqueFd fd(socket(remote.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

		if (!fd || bind(fd.get(), ends.local.sa(), ends.local.size()))
			continue;
		remote.set_port(tcp_port);
		found[callee] = Called::silent;
		if (!connect(fd.get(), remote.sa(), remote.size()) || errno == EINPROGRESS)
			under_way.push_back({callee, std::move(fd)});
		else
			found[callee] = called_of(errno);
	}
	finish(under_way, found);
}

} // namespace

Ends ends_of(const Json &path)
{
	Ends ends = {numeric_address(path["local"].get<std::string>()),
		     numeric_address(path["remote"].get<std::string>())};

	if (path["scope"].is_number()) {
		ends.local.set_scope(path["scope"].get<std::uint32_t>());
		ends.remote.set_scope(path["scope"].get<std::uint32_t>());
	}
	return ends;
}

std::map<Callee, Called> call_hosts(const Json &paths)
{
	std::map<Callee, Called> found;
	std::map<std::string, std::vector<Call>> calls;
	std::set<Callee> seen;

	for (const Json &path : paths) {
		const Callee callee = {path["remote"].get<std::string>(),
				       path["transport"].get<std::string>()};

		if (is_not_reached(path) && path["last-reason"] != "refused here" &&
		    seen.size() < most_calls && seen.insert(callee).second)
			calls[callee.second].push_back({callee, ends_of(path)});
	}
	call_over_tcp(calls["tcp"], found);
	call_over_rdma(calls["infiniband"], found);
	return found;
}

} // namespace rdstools
