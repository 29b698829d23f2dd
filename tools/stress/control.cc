// SPDX-License-Identifier: GPL-2.0
#include "control.h"

#include <endian.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "../lib/cli.h"
#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr char frame_magic[4] = {'R', 'D', 'S', 'S'};
constexpr std::size_t frame_head = 8;
/* The largest frame is a matrix of most_tasks * most_tasks counters. */
constexpr std::size_t largest_frame = 8 * 1024 * 1024;
constexpr std::uint64_t send_timeout_ns = 10000000000;

[[noreturn]] void lost(int err)
{
	throw PeerError(err ? format("lost the other side: %s", std::strerror(err))
			    : std::string("the other side closed the connection"));
}

/* True when ready, false at the deadline or when a signal asked us to stop. */
bool wait_for(int fd, short events, std::uint64_t deadline)
{
	for (;;) {
		std::uint64_t now = now_ns();
		if (now >= deadline || stopped())
			return false;
		pollfd pfd = {fd, events, 0};
		/* Rounded up, so that the last round does not spin. */
		std::uint64_t ms =
			std::min<std::uint64_t>((deadline - now + 999999) / 1000000, 1000);
		if (::poll(&pfd, 1, static_cast<int>(ms)) > 0)
			return true;
	}
}

UniqueFd stream_socket(int family)
{
	UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (!fd)
		throw Error(format("cannot open a TCP socket: %s", std::strerror(errno)), errno);
	return fd;
}

void set_int(int fd, int level, int option, int value)
{
	::setsockopt(fd, level, option, &value, sizeof(value));
}

} // namespace

Control::Control(UniqueFd fd) : fd_(std::move(fd)), heard_(now_ns())
{
	int flags = ::fcntl(fd_.get(), F_GETFL);

	::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK);
	/* Best effort: on a Unix socket (tests) there is no TCP. */
	set_int(fd_.get(), IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd_.get(), SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

void Control::send(const Json &message)
{
	std::string body = message.dump();
	std::uint32_t size = htobe32(static_cast<std::uint32_t>(body.size()));
	std::string frame(frame_magic, sizeof(frame_magic));
	std::uint64_t deadline = now_ns() + send_timeout_ns;
	std::size_t done = 0;

	frame.append(reinterpret_cast<const char *>(&size), sizeof(size));
	frame += body;
	while (done < frame.size()) {
		ssize_t sent = ::send(fd(), frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
		if (sent > 0) {
			done += static_cast<std::size_t>(sent);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			lost(errno);
		pollfd pfd = {fd(), POLLOUT, 0};
		if (now_ns() >= deadline)
			throw PeerError("the other side takes nothing any more");
		::poll(&pfd, 1, 100);
	}
}

bool Control::read_some()
{
	char chunk[65536];

	for (;;) {
		ssize_t size = ::recv(fd(), chunk, sizeof(chunk), 0);
		if (size > 0) {
			buffer_.append(chunk, static_cast<std::size_t>(size));
			heard_ = now_ns();
			return true;
		}
		if (size == 0)
			lost(0);
		if (errno == EAGAIN)
			return false;
		if (errno != EINTR)
			lost(errno);
	}
}

std::optional<Json> Control::take_frame()
{
	std::uint32_t size;
	std::size_t have = std::min(buffer_.size(), sizeof(frame_magic));

	/* A stranger is told from the first bytes, not after waiting for a frame of his. */
	if (std::memcmp(buffer_.data(), frame_magic, have) != 0)
		throw PeerError("the other side is not this rds-stress");
	if (buffer_.size() < frame_head)
		return std::nullopt;
	std::memcpy(&size, buffer_.data() + sizeof(frame_magic), sizeof(size));
	size = be32toh(size);
	if (size > largest_frame)
		throw PeerError("the other side sends nonsense");
	if (buffer_.size() < frame_head + size)
		return std::nullopt;
	Json message =
		Json::parse(buffer_.begin() + frame_head,
			    buffer_.begin() + static_cast<long>(frame_head + size), nullptr, false);
	buffer_.erase(0, frame_head + size);
	if (!message.is_object())
		throw PeerError("the other side sends nonsense");
	return message;
}

std::optional<Json> Control::try_receive()
{
	for (;;) {
		if (auto message = take_frame())
			return message;
		if (!read_some())
			return std::nullopt;
	}
}

Json Control::receive(std::uint64_t timeout_ns)
{
	std::uint64_t deadline = now_ns() + timeout_ns;

	for (;;) {
		if (auto message = try_receive())
			return *message;
		if (!wait_for(fd(), POLLIN, deadline))
			throw PeerError(stopped() ? "interrupted"
						  : "the other side does not answer");
	}
}

std::uint64_t Control::silence() const
{
	return now_ns() - heard_;
}

UniqueFd connect_control(const Address &server, const Address &local, std::uint64_t timeout_ns)
{
	UniqueFd fd = stream_socket(server.family());
	int err = 0;
	socklen_t size = sizeof(err);

	if (local.specified()) {
		Address any_port = local;
		any_port.set_port(0);
		if (::bind(fd.get(), any_port.sa(), any_port.size()) != 0)
			fail(Step::bind, errno, local.host());
	}
	if (::connect(fd.get(), server.sa(), server.size()) != 0 && errno != EINPROGRESS)
		err = errno;
	else if (!wait_for(fd.get(), POLLOUT, now_ns() + timeout_ns))
		err = ETIMEDOUT;
	else
		::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &err, &size);
	if (err)
		throw PeerError(
			format("cannot reach rds-stress at %s: %s%s", server.text().c_str(),
			       std::strerror(err),
			       err == ECONNREFUSED ? " (start the passive side first)" : ""),
			err);
	return fd;
}

Listener::Listener(const Address &local, std::uint16_t port)
{
	Address address = local;

	if (!local.specified()) {
		/* Dual stack where there is IPv6. */
		address = Address::v6(in6addr_any);
		UniqueFd probe(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
		if (!probe)
			address = Address::v4(in_addr{htonl(INADDR_ANY)});
	}
	address.set_port(port);
	fd_ = stream_socket(address.family());
	set_int(fd_.get(), SOL_SOCKET, SO_REUSEADDR, 1);
	if (!local.specified() && address.family() == AF_INET6)
		set_int(fd_.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
	if (::bind(fd_.get(), address.sa(), address.size()) != 0 || ::listen(fd_.get(), 4) != 0)
		throw Error(errno == EADDRNOTAVAIL
				    ? explain(Step::bind, errno, address.host())
				    : format("cannot listen on TCP %s: %s", address.text().c_str(),
					     std::strerror(errno)),
			    errno);
}

std::optional<UniqueFd> Listener::accept()
{
	while (!stopped()) {
		if (!wait_for(fd_.get(), POLLIN, UINT64_MAX))
			continue;
		UniqueFd fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
		if (fd)
			return fd;
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			throw Error(format("cannot accept: %s", std::strerror(errno)), errno);
	}
	return std::nullopt;
}

} // namespace rdstools
