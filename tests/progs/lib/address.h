/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace rdstest
{

/*
 * A socket address with its length, as the socket calls want the two. Also holds addresses
 * that are wrong on purpose: the length can be set to anything.
 */
class Address
{
public:
	/* Room for an answer of the kernel; family AF_UNSPEC. */
	Address();

	/* "10.9.0.1", "fd00:9::1", "::ffff:10.9.0.1" or "fe80::1%eth0"; throws invalid_argument. */
	static Address parse(const std::string &text, uint16_t port = 0);

	/* The same address with another port, length, or scope (IPv6). */
	Address port(uint16_t port) const;
	Address length(socklen_t length) const;
	Address scope(uint32_t scope) const;
	Address family(sa_family_t family) const;

	sa_family_t family() const
	{
		return storage_.ss_family;
	}
	uint16_t port() const;
	socklen_t length() const
	{
		return length_;
	}
	const sockaddr *get() const
	{
		return reinterpret_cast<const sockaddr *>(&storage_);
	}

	/* For calls that write an address: pass both, the length is updated in place. */
	sockaddr *get()
	{
		return reinterpret_cast<sockaddr *>(&storage_);
	}
	socklen_t *lengthPtr()
	{
		return &length_;
	}

	/* "AF_INET 10.9.0.1:4000", "AF_INET6 [::1]:4000", "AF_UNSPEC" */
	std::string text() const;

	/* Same family, address and port. */
	bool operator==(const Address &other) const
	{
		return text() == other.text();
	}

private:
	sockaddr_storage storage_{};
	socklen_t length_ = sizeof(sockaddr_storage);
};

} // namespace rdstest
