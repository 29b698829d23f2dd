// SPDX-License-Identifier: GPL-2.0
#include "address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <stdexcept>

namespace rdstest
{

namespace
{

sockaddr_in *in4(sockaddr_storage &storage)
{
	return reinterpret_cast<sockaddr_in *>(&storage);
}

sockaddr_in6 *in6(sockaddr_storage &storage)
{
	return reinterpret_cast<sockaddr_in6 *>(&storage);
}

uint32_t parseScope(const std::string &name)
{
	const uint32_t index = if_nametoindex(name.c_str());

	if (index)
		return index;
	return static_cast<uint32_t>(std::stoul(name));
}

} // namespace

Address::Address() = default;

Address Address::parse(const std::string &text, uint16_t port)
{
	const size_t percent = text.find('%');
	const std::string host = text.substr(0, percent);
	Address address;

	if (inet_pton(AF_INET, host.c_str(), &in4(address.storage_)->sin_addr) == 1) {
		address.storage_.ss_family = AF_INET;
		address.length_ = sizeof(sockaddr_in);
	} else if (inet_pton(AF_INET6, host.c_str(), &in6(address.storage_)->sin6_addr) == 1) {
		address.storage_.ss_family = AF_INET6;
		address.length_ = sizeof(sockaddr_in6);
		if (percent != std::string::npos)
			in6(address.storage_)->sin6_scope_id = parseScope(text.substr(percent + 1));
	} else {
		throw std::invalid_argument("not an address: " + text);
	}
	return address.port(port);
}

Address Address::port(uint16_t port) const
{
	Address changed = *this;

	in4(changed.storage_)->sin_port = htons(port); /* the same place in sockaddr_in6 */
	return changed;
}

Address Address::length(socklen_t length) const
{
	Address changed = *this;

	changed.length_ = length;
	return changed;
}

Address Address::scope(uint32_t scope) const
{
	Address changed = *this;

	in6(changed.storage_)->sin6_scope_id = scope;
	return changed;
}

Address Address::family(sa_family_t family) const
{
	Address changed = *this;

	changed.storage_.ss_family = family;
	return changed;
}

uint16_t Address::port() const
{
	return ntohs(reinterpret_cast<const sockaddr_in *>(&storage_)->sin_port);
}

std::string Address::text() const
{
	const void *bytes = &reinterpret_cast<const sockaddr_in *>(&storage_)->sin_addr;
	char host[INET6_ADDRSTRLEN];

	if (family() == AF_UNSPEC)
		return "AF_UNSPEC";
	if (family() == AF_INET6)
		bytes = &reinterpret_cast<const sockaddr_in6 *>(&storage_)->sin6_addr;
	else if (family() != AF_INET)
		return "family " + std::to_string(family());
	inet_ntop(family(), bytes, host, sizeof(host));
	if (family() == AF_INET)
		return std::string("AF_INET ") + host + ":" + std::to_string(port());
	return std::string("AF_INET6 [") + host + "]:" + std::to_string(port());
}

} // namespace rdstest
