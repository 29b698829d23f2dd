/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cases of rds_sockets: each makes its own sockets at one place (loopback or a device,
 * IPv4 or IPv6), does something with them and throws Failed when it does not go as it should.
 */
#pragma once

#include "../lib/check.h"
#include "../lib/payload.h"
#include "../lib/socket.h"

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

namespace rdstest
{

struct Place {
	std::string name;  /* "v4 loop" */
	Address any;	   /* bind here, port 0 */
	Address absent;	   /* same family, no such host */
	Address remote;	   /* same family, a host with RDS; AF_UNSPEC when not given */
	bool tcp = false;  /* served by rds_tcp, not by loopback */
	bool ours = false; /* our modules, not mainline's */
};

/* Where a case makes sense. */
enum class Where {
	anywhere,
	tcp,	/* sockets bound to a device's address */
	remote, /* needs a second host as well */
};

struct Case {
	std::string name;
	Where where;
	bool oursOnly;
	std::function<void(const Place &)> run;
};

class Cases
{
public:
	void add(const std::string &name, Where where,
		 const std::function<void(const Place &)> &run)
	{
		cases_.push_back({name, where, false, run});
	}
	void addOurs(const std::string &name, Where where,
		     const std::function<void(const Place &)> &run)
	{
		cases_.push_back({name, where, true, run});
	}
	const std::vector<Case> &all() const
	{
		return cases_;
	}

private:
	std::vector<Case> cases_;
};

void addData(Cases &cases);    /* order, sizes, peek, truncation, vectors */
void addWaiting(Cases &cases); /* poll, epoll, select, timeouts, signals */
void addLife(Cases &cases);    /* close, fork, dup, many sockets, threads */
void addExtras(Cases &cases);  /* timestamps, latency, TOS, cancel, zerocopy */
void addCongestion(Cases &cases);
void allPorts(const Place &place); /* takes 200 MiB: only when asked for */

/* A sender and a receiver at the same place. */
struct Pair {
	explicit Pair(const Place &place, int flags = 0)
		: from(bindRds(place.any, flags)), to(bindRds(place.any, flags)),
		  target(localAddress(to))
	{
	}
	/* Sends to the receiver, which must work. */
	void send(const std::string &text)
	{
		same(sendText(from, text, target), text.size(), "send");
	}

	Fd from, to;
	Address target;
};

/* Receives one message, which must have come or come soon, and returns its bytes. */
inline std::string take(int fd, size_t room = 4096)
{
	Received got = receiveSoon(fd, room);
	want(got.result != -EAGAIN, "no message within 10 s");
	if (got.result < 0)
		throw Failed("recvmsg: " + describe(got.result));
	want(!(got.flags & MSG_TRUNC), "message was truncated");
	return got.data;
}

} // namespace rdstest
