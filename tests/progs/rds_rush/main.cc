// SPDX-License-Identifier: GPL-2.0
/*
 * rds_rush: hosts that nobody has heard of connect to a host's RDS over TCP as fast as they can.
 *
 * They are the first addresses of 10.8.0.0/24, 10.8.1.0/24 and so on, in turn. A hundred are under
 * way at a time; each resets its connection as soon as it is in, which may be before RDS has taken
 * it, or never will for a full backlog. With --heard there are fewer than that has room for, and
 * each waits for its answer, RDS's first bytes or a reset: every one of them has been judged.
 * Prints when the first began and when the last was through, in seconds of CLOCK_MONOTONIC.
 */
#include "../lib/command_line.h"
#include "../lib/socket.h"
#include "../lib/tcp.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>

using namespace rdstest;

namespace
{

constexpr uint16_t kPort = 16385;
constexpr unsigned int kTogether = 100, kHeardTogether = 50, kHosts = 250;
constexpr in_addr_t kFirst = 0x0a080001; /* 10.8.0.1 */

struct Options {
	std::string to;
	uint32_t count = 1000, prefixes = 1;
	bool heard = false;
};

double seconds()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

sockaddr_in stranger(uint32_t nth, uint32_t prefixes)
{
	sockaddr_in me = {};

	me.sin_family = AF_INET;
	me.sin_addr.s_addr = htonl(kFirst + ((nth % prefixes) << 8) + nth / prefixes % kHosts);
	return me;
}

class Rush
{
public:
	Rush(const Address &to, bool heard)
		: to_(to), until_(heard ? EPOLLIN : EPOLLOUT), poll_(epoll_create1(EPOLL_CLOEXEC))
	{
		if (poll_ < 0)
			fail("epoll_create1", -errno);
	}
	unsigned int underWay() const
	{
		return under_way_;
	}
	void begin(const sockaddr_in &from)
	{
		const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		epoll_event wanted = {.events = until_, .data = {.fd = fd}};

		if (fd < 0)
			fail("socket", -errno);
		resetOnClose(fd);
		if (bind(fd, reinterpret_cast<const sockaddr *>(&from), sizeof(from)))
			fail("bind", -errno);
		if (connect(fd, to_.get(), to_.length()) && errno != EINPROGRESS)
			fail("connect", -errno);
		if (epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &wanted))
			fail("epoll_ctl", -errno);
		under_way_++;
	}
	/* Some are in, or were refused, which is a reset as well. */
	void end()
	{
		std::array<epoll_event, kTogether> ready;
		const int n = epoll_wait(poll_, ready.data(), kTogether, -1);

		for (int i = 0; i < n; i++) {
			const int fd = ready[static_cast<size_t>(i)].data.fd;
			int error = 0;
			socklen_t length = sizeof(error);

			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
			if (error && error != ECONNRESET && error != EPIPE)
				fail("a connection", -error);
			close(fd);
			under_way_--;
		}
	}

private:
	const Address to_;
	const uint32_t until_;
	const Fd poll_;
	unsigned int under_way_ = 0;
};

int rush(const Options &options)
{
	Rush rush(Address::parse(options.to, kPort), options.heard);
	const unsigned int together = options.heard ? kHeardTogether : kTogether;
	const double begun = seconds();

	for (uint32_t at = 0; at < options.count || rush.underWay();) {
		while (at < options.count && rush.underWay() < together)
			rush.begin(stranger(at++, options.prefixes));
		rush.end();
	}
	printf("%.6f %.6f\n", begun, seconds());
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	Options options;
	CommandLine line("Strangers that connect to RDS over TCP as fast as they can");

	line.required("--to", options.to, "address that they call");
	line.option("--count", options.count, "how many");
	line.option("--prefixes", options.prefixes, "/24 networks that they are of, 1 to 256");
	line.flag("--heard", options.heard, "each waits for RDS's first bytes or its reset");
	return line.run(argc, argv, [&] { return rush(options); });
}
