// SPDX-License-Identifier: GPL-2.0
#include "scene.h"

#include <linux/rds.h>
#include <sched.h>
#include <unistd.h>

namespace rdstest
{

namespace
{

constexpr size_t chunk = 1000;
constexpr int enough = 3000; /* mainline's loopback takes as many as memory holds */

void enter(int netns)
{
	const uid_t user = geteuid();

	/* User nobody borrows root's rights for this. */
	if (netns < 0)
		return;
	if (seteuid(0) < 0 || setns(netns, CLONE_NEWNET) < 0 || seteuid(user) < 0)
		fail("setns", sys(-1));
}

} // namespace

int sendUntil(int fd, const Address &to, long &error)
{
	int sent = 0;

	while (sent < enough) {
		error = sendText(fd, makePayload(chunk, sent), to);
		if (error < 0)
			return sent;
		sent++;
	}
	return sent;
}

Fd bindFar(const Place &place, int flags)
{
	enter(place.netns);
	try {
		Fd fd = bindRds(place.far, flags);

		enter(place.home);
		return fd;
	} catch (...) {
		enter(place.home);
		throw;
	}
}

Pair::Pair(const Place &place, int flags)
	: from(bindRds(place.near, flags)), to(bindFar(place, flags)), source(localAddress(from)),
	  target(localAddress(to))
{
}

long Pair::send(size_t length, int flags)
{
	return sendText(from, std::string(length, 'x'), target, flags);
}

long Pair::reply(size_t length, int flags)
{
	return sendText(to, std::string(length, 'y'), source, flags);
}

void Pair::warm()
{
	same(send(1), 1, "first send");
	same(receiveSoon(to).result, 1, "first message");
	same(reply(1), 1, "first answer");
	same(receiveSoon(from).result, 1, "its message");
	/* Mainline tells every socket once of whatever map came, and a path more brings one. */
	for (int fd : {static_cast<int>(from), static_cast<int>(to)})
		eventually([&] { return pollEvents(fd) == "OUT+WRNORM"; }, soon);
}

Full::Full(const Place &place, int flags)
	: fd(bindRds(place.near, flags)), silent(place.silent.port(4000))
{
	setOption(fd, SOL_SOCKET, SO_SNDBUF, 20000);
	accepted = sendUntil(fd, silent, error);
	pollEvents(fd); /* mainline's tells once of what came before the socket */
}

long Full::cancel()
{
	return sys(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, silent.get(), silent.length()));
}

Congested::Congested(const Place &place, bool monitor, int flags) : pair(place, flags)
{
	setOption(pair.to, SOL_SOCKET, SO_RCVBUF, 20000);
	setOption(pair.from, SOL_SOCKET, SO_SNDBUF, 200000);
	if (monitor)
		setOption(pair.from, SOL_RDS, RDS_CONG_MONITOR, 1);
	pair.warm();
	/* A connection needs a moment to tell; the send queue may be full before. */
	eventually(
		[&] {
			accepted += sendUntil(pair.from, pair.target, error);
			return error == -ENOBUFS;
		},
		2 * soon);
}

void Congested::drain()
{
	/* Messages on their way come as well. */
	while (receiveSoon(pair.to, 4096, std::chrono::milliseconds(200)).result > 0)
		;
}

int readAll(int fd)
{
	int count = 0;

	while (receive(fd).result >= 0)
		count++;
	return count;
}

std::string eventNames(unsigned int events)
{
	static const std::pair<unsigned int, const char *> names[] = {
		{POLLIN, "IN"},		{POLLOUT, "OUT"},	{POLLRDNORM, "RDNORM"},
		{POLLRDBAND, "RDBAND"}, {POLLWRNORM, "WRNORM"}, {POLLWRBAND, "WRBAND"},
		{POLLPRI, "PRI"},	{POLLERR, "ERR"},	{POLLHUP, "HUP"},
		{POLLRDHUP, "RDHUP"},	{POLLNVAL, "NVAL"},
	};
	std::string text;

	for (const auto &[bit, name] : names) {
		if (events & bit)
			text += (text.empty() ? "" : "+") + std::string(name);
	}
	return text.empty() ? "nothing" : text;
}

std::string polled(int fd, short events, std::chrono::milliseconds timeout)
{
	pollfd entry = {fd, events, 0};
	const long got = sys(poll(&entry, 1, static_cast<int>(timeout.count())));

	if (got < 0)
		return describe(got);
	return got ? eventNames(static_cast<unsigned short>(entry.revents)) : "never";
}

Blocked::Blocked(const std::function<long()> &call)
{
	try {
		sleeper_ = std::make_unique<Sleeper>(call);
	} catch (const Failed &failure) {
		failure_ = failure.what();
	}
}

Blocked::~Blocked() = default;

std::string Blocked::end(std::chrono::milliseconds timeout)
{
	if (!sleeper_)
		return failure_;
	if (!eventually([&] { return sleeper_->done(); }, timeout))
		return "never";
	return describe(sleeper_->result());
}

} // namespace rdstest
