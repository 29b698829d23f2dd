// SPDX-License-Identifier: GPL-2.0
#include "offer.h"

#include <arpa/inet.h>

#include <stdexcept>

namespace rdstest
{

namespace
{

uint64_t number(const std::string &data, size_t at, size_t bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | static_cast<unsigned char>(data[at++]);
	return value;
}

std::string addressText(const std::string &raw)
{
	char text[INET6_ADDRSTRLEN];

	return inet_ntop(raw.size() == 4 ? AF_INET : AF_INET6, raw.data(), text, sizeof(text));
}

} // namespace

std::string bigEndian(uint64_t value, size_t bytes)
{
	std::string out;

	while (bytes--)
		out += static_cast<char>(value >> (8 * bytes));
	return out;
}

std::string rawAddress(const Address &address)
{
	const sockaddr *sa = address.get();

	if (address.family() == AF_INET)
		return {reinterpret_cast<const char *>(
				&reinterpret_cast<const sockaddr_in *>(sa)->sin_addr),
			4};
	return {reinterpret_cast<const char *>(
			&reinterpret_cast<const sockaddr_in6 *>(sa)->sin6_addr),
		16};
}

std::string plain(const Address &address)
{
	return addressText(rawAddress(address));
}

std::string Offer::encode(const Address &from, const Address &to) const
{
	return rawAddress(from) + rawAddress(to) + bigEndian(major, 1) + bigEndian(minor, 1) +
	       bigEndian(minors, 2) + bigEndian(tos, 1) + bigEndian(0, 3) + bigEndian(ack, 8) +
	       bigEndian(credits, 4) + bigEndian(0, 3) +
	       bigEndian(can | order << 2 | buffers << 4, 1);
}

Offer Offer::decode(const std::string &data, bool v6)
{
	const size_t size = v6 ? 16 : 4, at = 2 * size;
	Offer o;

	if (data.size() < (v6 ? kOfferSizeV6 : kOfferSizeV4))
		throw std::length_error("private data of " + std::to_string(data.size()) +
					" bytes");
	o.from = addressText(data.substr(0, size));
	o.to = addressText(data.substr(size, size));
	o.major = static_cast<uint8_t>(number(data, at, 1));
	o.minor = static_cast<uint8_t>(number(data, at + 1, 1));
	o.minors = static_cast<uint16_t>(number(data, at + 2, 2));
	o.tos = static_cast<uint8_t>(number(data, at + 4, 1));
	o.ack = number(data, at + 8, 8);
	o.credits = static_cast<uint32_t>(number(data, at + 16, 4));

	const auto bits = number(data, at + 23, 1);

	o.can = bits & 3;
	o.order = bits >> 2 & 3;
	o.buffers = static_cast<uint8_t>(bits >> 4);
	return o;
}

} // namespace rdstest
