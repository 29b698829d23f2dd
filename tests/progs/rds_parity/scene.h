/* SPDX-License-Identifier: GPL-2.0 */
/* Parts that items share: sockets at a place, full queues, waiting in several ways. */
#pragma once

#include "facts.h"

#include "../lib/payload.h"
#include "../lib/sleeper.h"

#include <poll.h>

#include <string>

namespace rdstest
{

/* A socket in the namespace of the far address, bound there. */
Fd bindFar(const Place &place, int flags = 0);

/* A sender and a receiver at a place. */
struct Pair {
	explicit Pair(const Place &place, int flags = 0);

	long send(size_t length = 5, int flags = MSG_DONTWAIT);
	/* The same the other way round. */
	long reply(size_t length = 5, int flags = MSG_DONTWAIT);
	/* Sends one message and reads it: the connection is up, and agreed upon. */
	void warm();

	Fd from, to;
	Address source, target;
};

/* A socket with a small send buffer that is full of messages to an address without a host. */
struct Full {
	explicit Full(const Place &place, int flags = 0);

	/* Takes all messages back. */
	long cancel();

	Fd fd;
	Address silent;
	int accepted = 0; /* messages of 1000 bytes, until the first error */
	long error = 0;
};

/* A pair whose receiver is full (a small receive buffer): what the send says that finds that out.
 */
struct Congested {
	explicit Congested(const Place &place, bool monitor = false, int flags = 0);

	/* Reads everything. */
	void drain();

	Pair pair;
	int accepted = 0;
	long error = 0;
};

/* Sends until something is refused (@error), at most some hundred; how many were not. */
int sendUntil(int fd, const Address &to, long &error);

/* Messages that can be read at once. */
int readAll(int fd);

/* "IN+RDNORM", "nothing" */
std::string eventNames(unsigned int events);

/* The answer of poll with these events within the time; "never", or the events. */
std::string polled(int fd, short events, std::chrono::milliseconds timeout = soon);

/* A thread in a call that should block: how it ends after something was done. */
class Blocked
{
public:
	explicit Blocked(const std::function<long()> &call);
	~Blocked();

	/* It has ended, now or soon: what it returned; else "never". */
	std::string end(std::chrono::milliseconds timeout = soon);
	bool done() const
	{
		return !sleeper_ || sleeper_->done();
	}
	void signal()
	{
		if (sleeper_)
			sleeper_->signal();
	}

private:
	std::unique_ptr<Sleeper> sleeper_;
	std::string failure_;
};

} // namespace rdstest
