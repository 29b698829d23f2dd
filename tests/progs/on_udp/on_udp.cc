// SPDX-License-Identifier: GPL-2.0
/*
 * on_udp: preloaded, it gives a program UDP sockets where it asks for RDS, so that rds_flows
 * runs on a machine without RDS, over loopback, and its account can be judged
 * (tests/kernel/flows_test.py).
 *
 *	ON_UDP_FAULT=lose:N	the N-th message is accepted and not sent
 *	ON_UDP_FAULT=twice:N	it is sent twice; twice_late: the second time 2 s later
 *	ON_UDP_FAULT=late:N	it is sent 2 s later
 *	ON_UDP_FAULT=damage:N	its last byte is another one
 *	ON_UDP_FAULT=pause:N	the sender sleeps for 2 s before it
 *	ON_UDP_FAULT=full:N	there is no room for it at first
 *	ON_UDP_FAULT=deaf:F	epoll never tells of the receiver's flow F
 */
#include <dlfcn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace
{

constexpr int pfRds = 21, solRds = 276;

template <typename F>
F *real(const char *name)
{
	return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}

/* The number behind this fault, if it is wanted, or 0. */
unsigned long faultAt(const std::string &what)
{
	const char *wanted = std::getenv("ON_UDP_FAULT");
	const std::string text = wanted ? wanted : "";

	return text.rfind(what + ":", 0) == 0 ? std::stoul(text.substr(what.size() + 1)) : 0;
}

std::string bytesOf(const msghdr *message)
{
	const iovec &only = message->msg_iov[0];

	return {static_cast<const char *>(only.iov_base), only.iov_len};
}

ssize_t pass(int fd, const msghdr *message, std::string bytes)
{
	iovec vector = {bytes.data(), bytes.size()};
	msghdr copy = *message;

	copy.msg_iov = &vector;
	return real<ssize_t(int, const msghdr *, int)>("sendmsg")(fd, &copy, 0);
}

/* From a process of its own. */
void passLater(int fd, const msghdr *message)
{
	if (fork() == 0) {
		sleep(2);
		pass(fd, message, bytesOf(message));
		_exit(0);
	}
}

} // namespace

extern "C" {

int socket(int family, int type, int protocol) noexcept
{
	auto *call = real<int(int, int, int)>("socket");

	if (family != pfRds)
		return call(family, type, protocol);
	return call(AF_INET, SOCK_DGRAM | (type & (SOCK_NONBLOCK | SOCK_CLOEXEC)), 0);
}

/* Nothing is ever queued. */
int getsockopt(int fd, int level, int option, void *value, socklen_t *length) noexcept
{
	auto *call = real<int(int, int, int, void *, socklen_t *)>("getsockopt");

	if (level != solRds)
		return call(fd, level, option, value, length);
	*length = 0;
	return 64;
}

int epoll_ctl(int epoll, int op, int fd, epoll_event *event) noexcept
{
	const unsigned long deaf = faultAt("deaf");

	if (deaf && op == EPOLL_CTL_ADD && event->data.u64 == deaf)
		return 0;
	return real<int(int, int, int, epoll_event *)>("epoll_ctl")(epoll, op, fd, event);
}

ssize_t sendmsg(int fd, const msghdr *message, int)
{
	static std::atomic<unsigned long> count;
	const unsigned long number = ++count;
	std::string bytes = bytesOf(message);
	const auto size = static_cast<ssize_t>(bytes.size());

	if (number == faultAt("lose"))
		return size;
	if (number == faultAt("late") || number == faultAt("twice_late"))
		passLater(fd, message);
	if (number == faultAt("late"))
		return size;
	if (number == faultAt("twice"))
		pass(fd, message, bytes);
	if (number == faultAt("damage"))
		bytes.back() = static_cast<char>(bytes.back() + 1);
	if (number == faultAt("pause"))
		sleep(2);
	if (number == faultAt("full")) {
		errno = EAGAIN;
		return -1;
	}
	return pass(fd, message, bytes);
}

} /* extern "C" */
