/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An IPv4 or IPv6 address with port and scope, the way RDS sees it: a v4-mapped IPv6 address
 * IS the IPv4 address, so it is turned into one at once and two Addresses compare as RDS would.
 */
#ifndef RDSTOOLS_ADDRESS_H
#define RDSTOOLS_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rdstools
{

class Address
{
public:
	/* Family AF_UNSPEC: no address at all. */
	Address();
	/* Ports are in host order here and in every function below. */
	static Address v4(in_addr addr, std::uint16_t port = 0);
	static Address v6(const in6_addr &addr, std::uint16_t port = 0, std::uint32_t scope = 0);
	/* Anything else than a complete INET or INET6 address gives an unspecified Address. */
	static Address from_sockaddr(const sockaddr *sa, socklen_t size);

	int family() const
	{
		return any_.sa.sa_family;
	}
	bool specified() const
	{
		return family() != AF_UNSPEC;
	}
	/* 0.0.0.0 or :: */
	bool wildcard() const;
	bool link_local() const;
	std::uint16_t port() const;
	void set_port(std::uint16_t port);
	std::uint32_t scope() const;
	void set_scope(std::uint32_t scope);

	const sockaddr *sa() const
	{
		return &any_.sa;
	}
	socklen_t size() const;
	/* The 16 bytes RDS stores: IPv4 is v4-mapped. */
	in6_addr bytes() const;

	/* "10.0.0.1", "fe80::1%eth0"; "-" when unspecified. */
	std::string host() const;
	/* "10.0.0.1:4001", "[fe80::1%eth0]:4001". */
	std::string text() const;

	/* Address bytes only: neither port nor scope. */
	bool same_host(const Address &other) const;
	bool operator==(const Address &other) const
	{
		return same_host(other) && port() == other.port();
	}

private:
	union {
		sockaddr sa;
		sockaddr_in in;
		sockaddr_in6 in6;
	} any_;
};

/* A numeric address (IPv6 with %scope) or a host name. Throws Error. */
Address parse_address(const std::string &text);

/* Digits only, no scope, no name lookup: for text that comes from a peer. */
Address numeric_address(const std::string &text);

/* The local address the routing table would use to reach dest, port 0. Throws Error. */
Address source_for(const Address &dest);

} // namespace rdstools

#endif
