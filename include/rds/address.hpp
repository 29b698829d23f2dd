/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Addresses of hosts and of sockets: part of <rds/socket.hpp>, which programs include.
 *
 * rds(7), Addresses and binding: IPv4 and IPv6 alike, ports of RDS's own, and a v4-mapped IPv6
 * address is the IPv4 address. Names are not looked up: an address is that to which a socket of
 * the other host is bound, and a name may stand for several.
 */
#ifndef RDS_ADDRESS_HPP
#define RDS_ADDRESS_HPP

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <rds/result.hpp>

namespace rds
{

namespace detail
{

/* The decimal number that is all of the text: no sign, no space. EINVAL. */
template <class Number>
[[nodiscard]] Result<Number> number(std::string_view text) noexcept
{
	Number found = 0;
	const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), found);
	if (why != std::errc() || end != text.data() + text.size())
		return system_error(EINVAL);
	return found;
}

} // namespace detail

/* A host's address, IPv4 or IPv6 with its scope; or none. Ordered, for containers. */
class Address
{
public:
	/* None: what a notice has for a sender. */
	constexpr Address() noexcept = default;

	[[nodiscard]] static Address v4(const in_addr &raw) noexcept
	{
		Address made;
		made.family_ = AF_INET;
		std::memcpy(made.bytes_.data(), &raw, sizeof(raw));
		return made;
	}

	/* `scope` is an interface's number, 0: none. A v4-mapped address becomes IPv4. */
	[[nodiscard]] static Address v6(const in6_addr &raw, std::uint32_t scope = 0) noexcept
	{
		Address made;
		if (IN6_IS_ADDR_V4MAPPED(&raw)) {
			in_addr inner;
			std::memcpy(&inner, raw.s6_addr + 12, sizeof(inner));
			return v4(inner);
		}
		made.family_ = AF_INET6;
		made.scope_ = scope;
		std::memcpy(made.bytes_.data(), &raw, sizeof(raw));
		return made;
	}

	/* "192.0.2.1", "2001:db8::1", "fe80::1%eth0", "fe80::1%2". Errors: EINVAL, the text is no
	 * address, or has a scope and is IPv4; ENODEV, no interface has that name. A link-local
	 * address without a scope is taken here, and refused by bind() and send(). */
	[[nodiscard]] static Result<Address> parse(std::string_view text) noexcept
	{
		const std::size_t percent = std::min(text.find('%'), text.size());
		Result<Address> host = numeric(text.substr(0, percent));
		if (!host || percent == text.size())
			return host;
		if (!host->is_v6())
			return system_error(EINVAL);
		const Result<std::uint32_t> scope = interface(text.substr(percent + 1));
		if (!scope)
			return scope.error();
		host->scope_ = *scope;
		return host;
	}

	[[nodiscard]] bool is_none() const noexcept
	{
		return family_ == AF_UNSPEC;
	}
	[[nodiscard]] bool is_v4() const noexcept
	{
		return family_ == AF_INET;
	}
	[[nodiscard]] bool is_v6() const noexcept
	{
		return family_ == AF_INET6;
	}
	/* The interface's number, 0: none. */
	[[nodiscard]] std::uint32_t scope() const noexcept
	{
		return scope_;
	}
	/* In network order: 4 bytes of IPv4 (the others are 0), 16 of IPv6. */
	[[nodiscard]] const std::array<std::uint8_t, 16> &bytes() const noexcept
	{
		return bytes_;
	}

	/* As parse() takes it; a scope by its name if there is one. None: "-". The string's memory
	 * is the standard library's, and so is the exception if there is none. */
	[[nodiscard]] std::string to_string() const
	{
		char text[INET6_ADDRSTRLEN] = "-", name[IF_NAMESIZE];

		if (!is_none())
			inet_ntop(family_, bytes_.data(), text, sizeof(text));
		if (!scope_)
			return text;
		if (if_indextoname(scope_, name))
			return std::string(text) + '%' + name;
		return std::string(text) + '%' + std::to_string(scope_);
	}

	friend bool operator==(const Address &, const Address &) noexcept = default;
	friend auto operator<=>(const Address &, const Address &) noexcept = default;

private:
	static Result<Address> numeric(std::string_view text) noexcept
	{
		char copy[INET6_ADDRSTRLEN];
		in_addr four;
		in6_addr six;

		if (text.size() >= sizeof(copy) || text.find('\0') != text.npos)
			return system_error(EINVAL);
		copy[text.copy(copy, sizeof(copy))] = '\0';
		if (inet_pton(AF_INET, copy, &four) == 1)
			return v4(four);
		if (inet_pton(AF_INET6, copy, &six) == 1)
			return v6(six);
		return system_error(EINVAL);
	}

	static Result<std::uint32_t> interface(std::string_view text) noexcept
	{
		char copy[IF_NAMESIZE];

		if (text.empty() || text.find('\0') != text.npos)
			return system_error(EINVAL);
		if (text.find_first_not_of("0123456789") == text.npos)
			return detail::number<std::uint32_t>(text);
		if (text.size() >= sizeof(copy))
			return system_error(ENODEV);
		copy[text.copy(copy, sizeof(copy))] = '\0';
		if (const std::uint32_t index = if_nametoindex(copy))
			return index;
		return system_error(ENODEV);
	}

	sa_family_t family_ = AF_UNSPEC;
	std::array<std::uint8_t, 16> bytes_ = {};
	std::uint32_t scope_ = 0;
};

/* A socket's name: its host's address, and a port, 0 to 65535 in the byte order of this machine. */
struct Endpoint {
	Address address;
	std::uint16_t port = 0;

	/* "192.0.2.1:4000", "[2001:db8::1]:4000", "[fe80::1%eth0]:4000". Errors: as of
	 * Address::parse(); EINVAL, no port, or brackets that are missing or one too many. */
	[[nodiscard]] static Result<Endpoint> parse(std::string_view text) noexcept
	{
		const std::size_t colon = text.rfind(':');
		if (colon == text.npos)
			return system_error(EINVAL);
		const Result<std::uint16_t> port =
			detail::number<std::uint16_t>(text.substr(colon + 1));
		std::string_view host = text.substr(0, colon);
		const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
		if (bracketed)
			host = host.substr(1, host.size() - 2);
		if (!port || bracketed != (host.find(':') != host.npos))
			return system_error(EINVAL);
		const Result<Address> address = Address::parse(host);
		if (!address)
			return address.error();
		return Endpoint{*address, *port};
	}

	/* The name that a system call has filled in; none where it has left it empty, or is of
	 * another family. */
	[[nodiscard]] static Endpoint from_sockaddr(const sockaddr_storage &name,
						    socklen_t size) noexcept
	{
		if (size >= sizeof(sockaddr_in) && name.ss_family == AF_INET) {
			sockaddr_in in;
			std::memcpy(&in, &name, sizeof(in));
			return {Address::v4(in.sin_addr), ntohs(in.sin_port)};
		}
		if (size >= sizeof(sockaddr_in6) && name.ss_family == AF_INET6) {
			sockaddr_in6 in6;
			std::memcpy(&in6, &name, sizeof(in6));
			return {Address::v6(in6.sin6_addr, in6.sin6_scope_id),
				ntohs(in6.sin6_port)};
		}
		return {};
	}

	/* Fills in `name` for a system call, and returns its size; 0 where there is no address. */
	[[nodiscard]] socklen_t to_sockaddr(sockaddr_storage &name) const noexcept
	{
		std::memset(&name, 0, sizeof(name));
		if (address.is_v4()) {
			sockaddr_in in = {};
			in.sin_family = AF_INET;
			in.sin_port = htons(port);
			std::memcpy(&in.sin_addr, address.bytes().data(), sizeof(in.sin_addr));
			std::memcpy(&name, &in, sizeof(in));
			return sizeof(in);
		}
		if (address.is_none())
			return 0;
		sockaddr_in6 in6 = {};
		in6.sin6_family = AF_INET6;
		in6.sin6_port = htons(port);
		in6.sin6_scope_id = address.scope();
		std::memcpy(&in6.sin6_addr, address.bytes().data(), sizeof(in6.sin6_addr));
		std::memcpy(&name, &in6, sizeof(in6));
		return sizeof(in6);
	}

	/* As parse() takes it, and "-" for none. */
	[[nodiscard]] std::string to_string() const
	{
		if (address.is_none())
			return "-";
		const std::string host = address.to_string();
		return (address.is_v6() ? '[' + host + ']' : host) + ':' + std::to_string(port);
	}

	friend bool operator==(const Endpoint &, const Endpoint &) noexcept = default;
	friend auto operator<=>(const Endpoint &, const Endpoint &) noexcept = default;
};

} // namespace rds

#endif
