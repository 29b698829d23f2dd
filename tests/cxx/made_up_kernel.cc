// SPDX-License-Identifier: GPL-2.0
#include "made_up_kernel.h"

#include <sys/syscall.h>

#include <cstdarg>

namespace made_up
{

Kernel kernel;

/* Numbers that no process has. */
constexpr int first_fd = 1 << 24;

static bool ours(int fd)
{
	return fd >= first_fd;
}

static int fails(int error)
{
	errno = error;
	return -1;
}

static bool knows(int name)
{
	return std::ranges::find(kernel.refused, name) == kernel.refused.end();
}

/* The name that a system call was given, as text. */
static std::string name_of(const void *name, socklen_t size)
{
	sockaddr_storage copy = {};
	if (name)
		std::memcpy(&copy, name, size);
	return name ? rds::Endpoint::from_sockaddr(copy, size).to_string() : "";
}

static ssize_t receive(msghdr &call, int flags)
{
	if (kernel.answers.empty())
		return fails(EAGAIN);
	const Answer now = kernel.answers.front();
	if (now.error || !(flags & MSG_PEEK))
		kernel.answers.pop_front();
	if (now.error)
		return fails(now.error);
	call.msg_flags = 0;
	call.msg_namelen = 0;
	if (!now.sender.empty()) {
		sockaddr_storage name;
		call.msg_namelen = rds::Endpoint::parse(now.sender)->to_sockaddr(name);
		std::memcpy(call.msg_name, &name, call.msg_namelen);
	}
	const std::size_t fits = std::min(now.data.size(), call.msg_iov->iov_len);
	now.data.copy(static_cast<char *>(call.msg_iov->iov_base), fits);
	if (fits < now.data.size())
		call.msg_flags |= MSG_TRUNC;
	const std::size_t told = std::min(now.control.size(), call.msg_controllen);
	now.control.copy(static_cast<char *>(call.msg_control), told);
	call.msg_controllen = told;
	if (told < now.control.size())
		call.msg_flags |= MSG_CTRUNC;
	return static_cast<ssize_t>(flags & MSG_TRUNC ? now.data.size() : fits);
}

static ssize_t send(const msghdr &call, int flags)
{
	Sent now = {"", name_of(call.msg_name, call.msg_namelen), "", flags};
	for (std::size_t i = 0; i < call.msg_iovlen; i++)
		now.data.append(static_cast<const char *>(call.msg_iov[i].iov_base),
				call.msg_iov[i].iov_len);
	now.control.assign(static_cast<const char *>(call.msg_control), call.msg_controllen);
	long takes = static_cast<long>(now.data.size());
	if (!kernel.takes.empty()) {
		takes = kernel.takes.front();
		kernel.takes.pop_front();
	}
	kernel.sent.push_back(now);
	return takes < 0 ? fails(static_cast<int>(-takes)) : takes;
}

} // namespace made_up

using namespace made_up;

extern "C" {

int socket(int domain, int type, int protocol) noexcept
{
	if (domain != PF_RDS)
		return static_cast<int>(syscall(SYS_socket, domain, type, protocol));
	if (kernel.open_error)
		return fails(kernel.open_error);
	if (type != (SOCK_SEQPACKET | SOCK_CLOEXEC))
		return fails(ESOCKTNOSUPPORT);
	kernel.opened.push_back(first_fd + static_cast<int>(kernel.opened.size()));
	return kernel.opened.back();
}

int close(int fd)
{
	if (!ours(fd))
		return static_cast<int>(syscall(SYS_close, fd));
	kernel.closed.push_back(fd);
	return 0;
}

int fcntl(int fd, int command, ...)
{
	va_list rest;
	va_start(rest, command);
	void *const value = va_arg(rest, void *);
	va_end(rest);
	if (!ours(fd))
		return static_cast<int>(syscall(SYS_fcntl, fd, command, value));
	if (command != F_DUPFD_CLOEXEC)
		return fails(EINVAL);
	/* Settings are those of all descriptors. */
	kernel.opened.push_back(first_fd + static_cast<int>(kernel.opened.size()));
	return kernel.opened.back();
}

int bind(int fd, const sockaddr *name, socklen_t size) noexcept
{
	if (!ours(fd))
		return static_cast<int>(syscall(SYS_bind, fd, name, size));
	if (kernel.bind_error)
		return fails(kernel.bind_error);
	kernel.bound = name_of(name, size);
	return 0;
}

ssize_t sendmsg(int fd, const msghdr *call, int flags)
{
	return ours(fd) ? send(*call, flags) : syscall(SYS_sendmsg, fd, call, flags);
}

ssize_t recvmsg(int fd, msghdr *call, int flags)
{
	if (!ours(fd))
		return syscall(SYS_recvmsg, fd, call, flags);
	kernel.receive_flags.push_back(flags);
	return receive(*call, flags);
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) noexcept
{
	if (!ours(fd))
		return static_cast<int>(syscall(SYS_setsockopt, fd, level, name, value, size));
	if (level != SOL_RDS || !knows(name))
		return fails(ENOPROTOOPT);
	if (const int error = std::exchange(kernel.set_error, 0))
		return fails(error);
	kernel.set.push_back(name);
	kernel.options[name].assign(static_cast<const char *>(value), size);
	return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size) noexcept
{
	if (!ours(fd))
		return static_cast<int>(syscall(SYS_getsockopt, fd, level, name, value, size));
	if (level != SOL_RDS || !knows(name))
		return fails(ENOPROTOOPT);
	if (const int error = std::exchange(kernel.ask_error, 0))
		return fails(error);
	kernel.asked.assign(static_cast<const char *>(value), *size);
	const std::string told = kernel.options[name];
	told.copy(static_cast<char *>(value), *size);
	return 0;
}

int ioctl(int fd, unsigned long request, ...) noexcept
{
	va_list rest;
	va_start(rest, request);
	char *const value = va_arg(rest, char *);
	va_end(rest);
	if (!ours(fd))
		return static_cast<int>(syscall(SYS_ioctl, fd, request, value));
	/* They are kept beside the options, by their own number. */
	std::string &service = kernel.options[static_cast<int>(SIOCRDSSETTOS)];
	if (request == SIOCRDSSETTOS)
		service = *value;
	else
		*value = service.empty() ? '\0' : service[0];
	return 0;
}
}
