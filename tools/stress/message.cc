// SPDX-License-Identifier: GPL-2.0
#include "message.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include "../lib/text.h"

namespace rdstools
{

namespace
{

constexpr std::uint16_t magic = 0x5253; /* "RS" */
/* Number of different pattern offsets; a prime, so that steps of any size visit them all. */
constexpr std::size_t offsets = 4099;

struct Wire {
	std::uint16_t magic;
	std::uint8_t op;
	std::uint8_t reserved;
	std::uint32_t run;
	std::uint64_t sequence;
	std::uint32_t length;
	std::uint16_t source_port;
	std::uint16_t dest_port;
	std::uint32_t source_tag;
	std::uint32_t dest_tag;
};
static_assert(sizeof(Wire) == header_bytes);

} // namespace

std::uint32_t address_tag(const Address &address)
{
	in6_addr bytes = address.bytes();

	if (address.family() == AF_INET) {
		std::uint32_t v4;
		std::memcpy(&v4, bytes.s6_addr + 12, sizeof(v4));
		return be32toh(v4);
	}
	/* FNV-1a */
	std::uint32_t hash = 2166136261u;
	for (std::uint8_t byte : bytes.s6_addr)
		hash = (hash ^ byte) * 16777619u;
	return hash;
}

void encode(const Message &message, std::span<std::byte> out)
{
	Wire wire = {htobe16(magic),
		     static_cast<std::uint8_t>(message.op),
		     0,
		     htobe32(message.run),
		     htobe64(message.sequence),
		     htobe32(message.length),
		     htobe16(message.source_port),
		     htobe16(message.dest_port),
		     htobe32(message.source_tag),
		     htobe32(message.dest_tag)};

	std::memcpy(out.data(), &wire, sizeof(wire));
}

std::optional<Message> decode(std::span<const std::byte> in)
{
	Wire wire;
	Message message;

	if (in.size() < sizeof(wire))
		return std::nullopt;
	std::memcpy(&wire, in.data(), sizeof(wire));
	message.op = static_cast<Op>(wire.op);
	if (be16toh(wire.magic) != magic || wire.reserved != 0 ||
	    (message.op != Op::request && message.op != Op::ack))
		return std::nullopt;
	message.run = be32toh(wire.run);
	message.sequence = be64toh(wire.sequence);
	message.length = be32toh(wire.length);
	message.source_port = be16toh(wire.source_port);
	message.dest_port = be16toh(wire.dest_port);
	message.source_tag = be32toh(wire.source_tag);
	message.dest_tag = be32toh(wire.dest_tag);
	return message;
}

std::string describe_mismatch(const Message &message, const Address &from, const Address &to,
			      std::size_t size)
{
	if (message.length != size)
		return format("length %zu, the sender wrote %u", size, message.length);
	if (message.source_tag != address_tag(from))
		return format("came from %s, but another address wrote it (tag %08x)",
			      from.text().c_str(), message.source_tag);
	if (message.source_port != from.port())
		return format("came from %s, but port %u wrote it", from.text().c_str(),
			      message.source_port);
	if (message.dest_tag != address_tag(to))
		return format("reached %s, but was for another address (tag %08x)",
			      to.text().c_str(), message.dest_tag);
	if (message.dest_port != to.port())
		return format("reached %s, but was for port %u", to.text().c_str(),
			      message.dest_port);
	return {};
}

Pattern::Pattern(std::size_t largest) : pool_(largest + offsets)
{
	std::uint64_t state = 0x9e3779b97f4a7c15u;

	for (std::byte &byte : pool_) {
		/* xorshift64: both ends make the same bytes without sending them. */
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		byte = static_cast<std::byte>(state >> 32);
	}
}

std::span<const std::byte> Pattern::expected(const Message &message, std::size_t bytes) const
{
	std::uint64_t start = message.sequence * 31 + message.source_port * 7u +
			      message.dest_port * 3u + static_cast<unsigned>(message.op);

	return std::span(pool_).subspan(start % offsets, bytes);
}

void Pattern::fill(const Message &message, std::span<std::byte> whole) const
{
	fill_memory(message, whole.subspan(header_bytes), false);
}

std::optional<std::size_t> Pattern::first_difference(const Message &message,
						     std::span<const std::byte> whole) const
{
	auto at = first_difference_in_memory(message, whole.subspan(header_bytes));

	return at ? std::optional(header_bytes + *at) : std::nullopt;
}

void Pattern::fill_memory(const Message &content, std::span<std::byte> memory, bool inverted) const
{
	auto bytes = expected(content, memory.size());

	if (inverted)
		std::transform(bytes.begin(), bytes.end(), memory.begin(),
			       [](std::byte byte) { return ~byte; });
	else
		std::memcpy(memory.data(), bytes.data(), bytes.size());
}

std::optional<std::size_t>
Pattern::first_difference_in_memory(const Message &content, std::span<const std::byte> memory) const
{
	auto want = expected(content, memory.size());

	if (std::memcmp(want.data(), memory.data(), want.size()) == 0)
		return std::nullopt;
	auto [at, unused] = std::mismatch(memory.begin(), memory.end(), want.begin());
	return static_cast<std::size_t>(at - memory.begin());
}

} // namespace rdstools
