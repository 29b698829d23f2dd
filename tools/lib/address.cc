// SPDX-License-Identifier: GPL-2.0
#include "address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>

#include <cerrno>
#include <cstring>

#include "error.h"
#include "socket.h"
#include "text.h"

namespace rdstools
{

Address::Address()
{
	std::memset(&any_, 0, sizeof(any_));
	any_.sa.sa_family = AF_UNSPEC;
}

Address Address::v4(in_addr addr, std::uint16_t port)
{
	Address made;

	made.any_.in.sin_family = AF_INET;
	made.any_.in.sin_addr = addr;
	made.any_.in.sin_port = htons(port);
	return made;
}

Address Address::v6(const in6_addr &addr, std::uint16_t port, std::uint32_t scope)
{
	if (IN6_IS_ADDR_V4MAPPED(&addr)) {
		in_addr inner;
		std::memcpy(&inner, addr.s6_addr + 12, sizeof(inner));
		return v4(inner, port);
	}
	Address made;
	made.any_.in6.sin6_family = AF_INET6;
	made.any_.in6.sin6_addr = addr;
	made.any_.in6.sin6_port = htons(port);
	made.any_.in6.sin6_scope_id = scope;
	return made;
}

Address Address::from_sockaddr(const sockaddr *sa, socklen_t size)
{
	if (size >= sizeof(sockaddr_in) && sa->sa_family == AF_INET) {
		sockaddr_in in;
		std::memcpy(&in, sa, sizeof(in));
		return v4(in.sin_addr, ntohs(in.sin_port));
	}
	if (size >= sizeof(sockaddr_in6) && sa->sa_family == AF_INET6) {
		sockaddr_in6 in6;
		std::memcpy(&in6, sa, sizeof(in6));
		return v6(in6.sin6_addr, ntohs(in6.sin6_port), in6.sin6_scope_id);
	}
	return Address();
}

bool Address::wildcard() const
{
	if (family() == AF_INET)
		return any_.in.sin_addr.s_addr == htonl(INADDR_ANY);
	return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&any_.in6.sin6_addr);
}

bool Address::link_local() const
{
	return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&any_.in6.sin6_addr);
}

std::uint16_t Address::port() const
{
	/* sin_port and sin6_port lie at the same place; unspecified is all zero. */
	return ntohs(any_.in.sin_port);
}

void Address::set_port(std::uint16_t port)
{
	any_.in.sin_port = htons(port);
}

std::uint32_t Address::scope() const
{
	return family() == AF_INET6 ? any_.in6.sin6_scope_id : 0;
}

void Address::set_scope(std::uint32_t scope)
{
	if (family() == AF_INET6)
		any_.in6.sin6_scope_id = scope;
}

socklen_t Address::size() const
{
	return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

in6_addr Address::bytes() const
{
	in6_addr out = {};

	if (family() == AF_INET6)
		return any_.in6.sin6_addr;
	if (family() == AF_INET) {
		out.s6_addr[10] = out.s6_addr[11] = 0xff;
		std::memcpy(out.s6_addr + 12, &any_.in.sin_addr, 4);
	}
	return out;
}

std::string Address::host() const
{
	char text[INET6_ADDRSTRLEN] = "-";
	char name[IF_NAMESIZE];

	if (family() == AF_INET)
		inet_ntop(AF_INET, &any_.in.sin_addr, text, sizeof(text));
	else if (family() == AF_INET6)
		inet_ntop(AF_INET6, &any_.in6.sin6_addr, text, sizeof(text));
	if (!scope())
		return text;
	/* An interface that is gone has no name: its number still tells more than nothing. */
	if (if_indextoname(scope(), name))
		return format("%s%%%s", text, name);
	return format("%s%%%u", text, scope());
}

std::string Address::text() const
{
	return format(family() == AF_INET6 ? "[%s]:%u" : "%s:%u", host().c_str(), port());
}

bool Address::same_host(const Address &other) const
{
	in6_addr mine = bytes();
	in6_addr theirs = other.bytes();

	return std::memcmp(&mine, &theirs, sizeof(mine)) == 0;
}

Address parse_address(const std::string &text)
{
	addrinfo hints = {};
	addrinfo *list = nullptr;

	/* One socket type, or every address would come three times. */
	hints.ai_socktype = SOCK_DGRAM;
	int rc = getaddrinfo(text.c_str(), nullptr, &hints, &list);
	if (rc != 0)
		throw Error(format("'%s' is not an address: %s", text.c_str(),
				   rc == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(rc)));
	Address found = Address::from_sockaddr(list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	if (!found.specified())
		throw Error(format("'%s' is neither IPv4 nor IPv6", text.c_str()));
	if (found.link_local() && !found.scope())
		throw Error(format("%s is link-local: name the interface, as in %s%%eth0",
				   text.c_str(), text.c_str()));
	return found;
}

Address numeric_address(const std::string &text)
{
	in_addr v4;
	in6_addr v6;

	if (inet_pton(AF_INET, text.c_str(), &v4) == 1)
		return Address::v4(v4);
	if (inet_pton(AF_INET6, text.c_str(), &v6) == 1)
		return Address::v6(v6);
	throw Error(format("'%.64s' is not an address", text.c_str()));
}

Address source_for(const Address &dest)
{
	/* connect() on a datagram socket asks the routing table and sends nothing. */
	Address target = dest;
	if (!target.port())
		target.set_port(9);
	UniqueFd fd(::socket(target.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
	if (!fd)
		fail(Step::route, errno, dest.host());
	if (::connect(fd.get(), target.sa(), target.size()) != 0)
		fail(Step::route, errno, dest.host());
	Address local = local_address(fd.get());
	local.set_port(0);
	return local;
}

} // namespace rdstools
