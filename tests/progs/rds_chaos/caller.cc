// SPDX-License-Identifier: GPL-2.0
#include "chaos.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace chaos
{

const Caller::Kind Caller::kinds[] = {
	{"socket", 4, &Caller::open},
	{"close", 2, &Caller::close},
	{"bind, connect", 8, &Caller::bindOrConnect},
	{"names", 3, &Caller::names},
	{"sendmsg", 30, &Caller::sendMessage},
	{"sendmmsg", 4, &Caller::sendMany},
	{"recvmsg", 25, &Caller::receiveMessage},
	{"recvmmsg", 3, &Caller::receiveMany},
	{"setsockopt", 12, &Caller::setOption},
	{"setsockopt SOL_SOCKET", 4, &Caller::setSocketOption},
	{"getsockopt", 8, &Caller::getOption},
	{"ioctl", 3, &Caller::ioctls},
	{"poll", 4, &Caller::wait},
	{"others", 4, &Caller::others},
	{"RDS_RECV_QUERY", 4, &Caller::query},
};

void Caller::step()
{
	const Kind &kind = weighted(kinds);

	doing = kind.name;

	int fd = shared_.fds[below(slots)];
	long result = fd < 0 ? open(fd) : (this->*kind.make)(fd);
	Tally &tally = calls[fd < 0 ? "socket" : kind.name];

	++tally.made;
	tally.succeeded += result >= 0;
	++answers[result < 0 ? errno : 0];
	++count;
	if (!wrong.empty()) {
		fprintf(stderr, "%s: %s\n", kind.name, wrong.c_str());
		abort();
	}
}

/* A thread may be about to call on a number that another has closed since. Were that a new socket's
 * at once, the call could come before the socket has its time limits, and wait for ever. */
long Caller::open(int)
{
	const long raw = openSocket();
	const int fd = raw < 0 ? -1 : fcntl(static_cast<int>(raw), F_DUPFD, firstShared);
	const int error = errno;

	if (raw >= 0)
		::close(static_cast<int>(raw));
	errno = error;

	const int old = fd < 0 ? -1 : shared_.fds[below(slots)].exchange(fd);

	if (old >= 0)
		::close(old);
	return fd;
}

long Caller::close(int)
{
	const int fd = shared_.fds[below(slots)].exchange(-1);

	return fd < 0 ? 0 : ::close(fd);
}

} // namespace chaos
