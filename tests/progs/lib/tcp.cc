// SPDX-License-Identifier: GPL-2.0
#include "tcp.h"

#include <poll.h>
#include <unistd.h>

namespace rdstest
{

Fd listenTcp(const Address &address)
{
	Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));

	setOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(fd, address.get(), address.length()) < 0 || listen(fd, 8) < 0)
		fail("listen on " + address.text(), sys(-1));
	return fd;
}

namespace
{

/* One try, that gives up after a second when nobody answers. */
long tryConnect(int fd, const Address &to)
{
	if (connect(fd, to.get(), to.length()) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	if (!waitFor(fd, POLLOUT, std::chrono::seconds(1)))
		return -ETIMEDOUT;
	return -getOption(fd, SOL_SOCKET, SO_ERROR);
}

} // namespace

Fd connectTcp(const Address &to, std::chrono::milliseconds patience, const Address *from)
{
	Fd connection;
	long result = 0;
	const bool done = eventually(
		[&] {
			Fd fd(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

			if (from && bind(fd, from->get(), from->length()) < 0)
				fail("bind to " + from->text(), sys(-1));
			result = tryConnect(fd, to);
			if (result == 0)
				connection = std::move(fd);
			return result == 0;
		},
		patience);

	if (!done)
		fail("connect to " + to.text(), result);
	return connection;
}

Fd acceptTcp(int listener, std::chrono::milliseconds patience)
{
	if (!waitFor(listener, POLLIN, patience))
		fail("nobody connects", -ETIMEDOUT);
	Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
	if (fd < 0)
		fail("accept", sys(-1));
	return fd;
}

void resetOnClose(int fd)
{
	const linger at_once = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

bool writeLine(int fd, const std::string &line)
{
	const std::string bytes = line + "\n";

	/* Some tell of thousands of operations, which does not fit into the socket's buffer at
	 * once. */
	for (size_t at = 0; at < bytes.size();) {
		const ssize_t sent = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);

		if (sent >= 0)
			at += static_cast<size_t>(sent);
		else if (errno != EAGAIN || !waitFor(fd, POLLOUT, std::chrono::seconds(60)))
			return false;
	}
	return true;
}

std::optional<std::string> readLine(int fd, std::chrono::milliseconds patience)
{
	const auto end = std::chrono::steady_clock::now() + patience;
	std::string line;
	char byte;

	for (;;) {
		const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
			end - std::chrono::steady_clock::now());

		if (left.count() <= 0 || !waitFor(fd, POLLIN, left))
			return std::nullopt;
		const ssize_t got = read(fd, &byte, 1);
		if (got < 0 && errno == EAGAIN)
			continue;
		if (got <= 0)
			return std::nullopt;
		if (byte == '\n')
			return line;
		line += byte;
	}
}

} // namespace rdstest
