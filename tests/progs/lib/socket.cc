// SPDX-License-Identifier: GPL-2.0
#include "socket.h"

#include <linux/rds.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <thread>
#include <utility>

namespace rdstest
{

Fd &Fd::operator=(Fd &&other) noexcept
{
	if (this != &other) {
		close();
		fd_ = other.release();
	}
	return *this;
}

int Fd::release()
{
	return std::exchange(fd_, -1);
}

void Fd::close()
{
	if (fd_ >= 0)
		::close(std::exchange(fd_, -1));
}

Fd openRds(int flags)
{
	Fd fd(socket(PF_RDS, SOCK_SEQPACKET | flags, 0));

	if (fd < 0)
		fail("socket(PF_RDS)", sys(-1));
	return fd;
}

Fd bindRds(const Address &address, int flags)
{
	std::vector<Fd> low; /* open until the end, so that none is picked twice */

	for (;;) {
		Fd fd = openRds(flags);

		if (bind(fd, address.get(), address.length()) < 0)
			fail("bind to " + address.text(), sys(-1));
		if (address.port() || localAddress(fd).port() >= kFirstPickedPort)
			return fd;
		low.push_back(std::move(fd));
	}
}

Address localAddress(int fd)
{
	Address address;

	if (getsockname(fd, address.get(), address.lengthPtr()) < 0)
		fail("getsockname", sys(-1));
	return address;
}

long setOption(int fd, int level, int option, int value)
{
	return sys(setsockopt(fd, level, option, &value, sizeof(value)));
}

long getOption(int fd, int level, int option)
{
	int value = 0;
	socklen_t length = sizeof(value);

	if (getsockopt(fd, level, option, &value, &length) < 0)
		return -errno;
	return value;
}

long setTimeout(int fd, int option, std::chrono::milliseconds timeout)
{
	const timeval time = {timeout.count() / 1000, timeout.count() % 1000 * 1000};

	return sys(setsockopt(fd, SOL_SOCKET, option, &time, sizeof(time)));
}

std::string transportName(int fd)
{
	int value = 0;
	socklen_t length = sizeof(value);

	if (getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &value, &length) < 0)
		return describe(-errno);
	switch (value) {
	case RDS_TRANS_IB:
		return "ib";
	case RDS_TRANS_TCP:
		return "tcp";
	case RDS_TRANS_LOOP:
		return "loop";
	case RDS_TRANS_NONE:
		return "none";
	}
	return "transport " + std::to_string(value);
}

long sendBytes(int fd, const void *data, size_t length, const Send &how)
{
	iovec vector = {const_cast<void *>(data), length};
	msghdr message{};

	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	if (how.to) {
		message.msg_name = const_cast<sockaddr *>(how.to->get());
		message.msg_namelen = how.to->length();
	}
	if (how.control) {
		message.msg_control = const_cast<void *>(how.control->data());
		message.msg_controllen = how.control->size();
	}
	return sys(sendmsg(fd, &message, how.flags));
}

long sendText(int fd, const std::string &text, const Address &to, int flags)
{
	return sendBytes(fd, text.data(), text.size(), {.flags = flags, .to = &to});
}

const ControlMessage *Received::find(int level, int type) const
{
	for (const ControlMessage &message : control) {
		if (message.level == level && message.type == type)
			return &message;
	}
	return nullptr;
}

Received receive(int fd, size_t room, int flags, size_t controlRoom)
{
	Received got;
	std::vector<uint64_t> control(controlRoom / sizeof(uint64_t));
	iovec vector;
	msghdr message{};

	got.data.resize(room);
	vector = {got.data.data(), room};
	message.msg_iov = &vector;
	message.msg_iovlen = 1;
	message.msg_name = got.from.get();
	message.msg_namelen = got.from.length();
	message.msg_control = controlRoom ? control.data() : nullptr;
	message.msg_controllen = control.size() * sizeof(uint64_t);
	got.result = sys(recvmsg(fd, &message, flags));
	got.flags = message.msg_flags;
	got.data.resize(got.result < 0 ? 0 : std::min<size_t>(room, got.result));
	if (got.result >= 0) {
		got.from = got.from.length(message.msg_namelen);
		got.control = parseControl(message);
	}
	return got;
}

Received receiveSoon(int fd, size_t room, std::chrono::milliseconds timeout)
{
	const auto end = std::chrono::steady_clock::now() + timeout;

	for (;;) {
		Received got = receive(fd, room);
		const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
			end - std::chrono::steady_clock::now());

		if (got.result != -EAGAIN || left.count() <= 0)
			return got;
		waitFor(fd, POLLIN, left);
	}
}

std::string pollEvents(int fd)
{
	static const std::pair<int, const char *> names[] = {
		{POLLIN, "IN"},		{POLLOUT, "OUT"},	{POLLRDNORM, "RDNORM"},
		{POLLRDBAND, "RDBAND"}, {POLLWRNORM, "WRNORM"}, {POLLWRBAND, "WRBAND"},
		{POLLPRI, "PRI"},	{POLLERR, "ERR"},	{POLLHUP, "HUP"},
		{POLLRDHUP, "RDHUP"},	{POLLNVAL, "NVAL"},
	};
	pollfd entry = {fd, 0, 0};
	std::string text;

	for (const auto &[bit, name] : names)
		entry.events = static_cast<short>(entry.events | bit);
	if (poll(&entry, 1, 0) < 0)
		return describe(-errno);
	for (const auto &[bit, name] : names) {
		if (entry.revents & bit)
			text += (text.empty() ? "" : "+") + std::string(name);
	}
	return text.empty() ? "nothing" : text;
}

bool waitFor(int fd, short events, std::chrono::milliseconds timeout)
{
	pollfd entry = {fd, events, 0};

	return poll(&entry, 1, static_cast<int>(timeout.count())) == 1 && (entry.revents & events);
}

bool eventually(const std::function<bool()> &condition, std::chrono::milliseconds timeout)
{
	const auto end = std::chrono::steady_clock::now() + timeout;

	while (!condition()) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(std::chrono::milliseconds(5));
	}
	return true;
}

long interrupted(std::chrono::milliseconds timeout, const std::function<long()> &call)
{
	const suseconds_t micros = timeout.count() % 1000 * 1000;
	/* Fires again and again: the first shot may come before the call has begun to wait. */
	const itimerval on = {{0, 50000}, {timeout.count() / 1000, micros}};
	const itimerval off{};
	struct sigaction action {
	}, old{};
	long result;

	action.sa_handler = [](int) {};
	sigaction(SIGALRM, &action, &old);
	setitimer(ITIMER_REAL, &on, nullptr);
	result = call();
	setitimer(ITIMER_REAL, &off, nullptr);
	sigaction(SIGALRM, &old, nullptr);
	return result;
}

} // namespace rdstest
