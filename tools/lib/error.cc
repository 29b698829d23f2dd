// SPDX-License-Identifier: GPL-2.0
#include "error.h"

#include <cerrno>
#include <cstring>

namespace rdstools
{

namespace
{

struct Advice {
	Step step;
	int err;
	/* '@' stands for the subject. */
	const char *text;
};

constexpr Advice advices[] = {
	{Step::socket, EAFNOSUPPORT, "rds is not loaded: modprobe rds_tcp"},
	{Step::socket, ESOCKTNOSUPPORT, "this kernel's address family 21 is not RDS"},
	{Step::bind, EADDRNOTAVAIL,
	 "no such local address: @ (or no loaded RDS transport serves it: modprobe rds_tcp)"},
	{Step::bind, EADDRINUSE, "@ is taken by another RDS socket"},
	{Step::bind, EINVAL, "@ cannot be bound: a unicast address of this host is needed"},
	{Step::bind, ENOPROTOOPT, "@ does not belong to the transport that was asked for"},
	{Step::send, EMSGSIZE,
	 "message to @ is too long for the send buffer (half of SO_SNDBUF, at most 1 MiB): "
	 "raise net.core.wmem_max"},
	{Step::send, ENETDOWN, "cannot send to @: the RDS module or the namespace is going away"},
	{Step::send, ENETUNREACH, "cannot send to @: the connection is being taken down"},
	{Step::send, EOPNOTSUPP, "cannot send to @: IPv4 and IPv6 cannot be mixed"},
	{Step::rdma, EOPNOTSUPP,
	 "no RDMA on this transport (@): it takes InfiniBand or RoCE (modprobe rds_rdma), and an "
	 "address of another host"},
	{Step::rdma, EPERM, "no memory of this process may be pinned: raise ulimit -l"},
	{Step::rdma, ENOMEM,
	 "no memory to register on @, or more than may be pinned: raise ulimit -l"},
	{Step::rdma, EAGAIN,
	 "no memory could be registered on @: no connection, or the pools of rds_rdma are empty"},
	{Step::tos, ENOTTY, "a type of service cannot be set on the transport of @"},
	{Step::tos, EINVAL, "the type of service of @ can be set only once, before traffic"},
	{Step::info, ENOPROTOOPT, "@: not offered by the loaded RDS modules"},
	{Step::route, ENETUNREACH, "no route to @"},
	{Step::route, EHOSTUNREACH, "no route to @"},
	{Step::route, EADDRNOTAVAIL, "no local address to reach @ from"},
};

const char *verb(Step step)
{
	switch (step) {
	case Step::socket:
		return "cannot open an RDS socket";
	case Step::bind:
		return "cannot bind to @";
	case Step::send:
		return "cannot send to @";
	case Step::receive:
		return "cannot receive on @";
	case Step::option:
		return "cannot set @";
	case Step::tos:
		return "cannot set the type of service of @";
	case Step::info:
		return "cannot read @";
	case Step::route:
		return "no route to @";
	case Step::rdma:
		return "cannot use RDMA on @";
	}
	return "failed";
}

std::string fill(std::string text, std::string_view subject)
{
	std::size_t at = text.find('@');

	if (at != std::string::npos)
		text.replace(at, 1, subject.empty() ? std::string_view("the socket") : subject);
	return text;
}

} // namespace

std::string explain(Step step, int err, std::string_view subject)
{
	for (const Advice &advice : advices)
		if (advice.step == step && advice.err == err)
			return fill(advice.text, subject);
	return fill(verb(step), subject) + ": " + std::strerror(err);
}

void fail(Step step, int err, std::string_view subject)
{
	throw Error(explain(step, err, subject), err);
}

} // namespace rdstools
