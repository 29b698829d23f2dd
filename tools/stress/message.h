/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The content of rds-stress' messages: a 32-byte header that says who sent what to whom,
 * then filler. Both ends are rds-stress, so the format may change with `protocol`.
 */
#ifndef RDSTOOLS_STRESS_MESSAGE_H
#define RDSTOOLS_STRESS_MESSAGE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../lib/address.h"

namespace rdstools
{

/* Raised with every change of the messages or of the control connection. */
inline constexpr unsigned protocol = 2;

/* The last two are not sent: what an RDMA operation moved, see rdma.h. */
enum class Op : std::uint8_t { request = 1, ack = 2, written = 3, read = 4 };

struct Message {
	Op op = Op::request;
	std::uint32_t run = 0; /* which test: tells stragglers of an earlier one */
	std::uint64_t sequence = 0;
	std::uint32_t length = 0; /* header included */
	std::uint16_t source_port = 0;
	std::uint16_t dest_port = 0;
	std::uint32_t source_tag = 0;
	std::uint32_t dest_tag = 0;
};

inline constexpr std::size_t header_bytes = 32;
/* The largest message that RDS can carry. */
inline constexpr std::size_t largest_message = 1024 * 1024;

/* Four bytes that stand for an address: IPv4 as it is, IPv6 as a hash. */
std::uint32_t address_tag(const Address &address);

void encode(const Message &message, std::span<std::byte> out);
/* Nothing if this is no message of ours: too short, wrong magic, unknown op. */
std::optional<Message> decode(std::span<const std::byte> in);

/*
 * Empty if the message says what the kernel says: sender and receiver, ports, length.
 * Otherwise the first difference in words.
 */
std::string describe_mismatch(const Message &message, const Address &from, const Address &to,
			      std::size_t size);

/*
 * Filler for -v: pseudo-random bytes, started at an offset that depends on sender, op and
 * sequence, so that bytes of another message, or shifted ones, do not pass.
 */
class Pattern
{
public:
	explicit Pattern(std::size_t largest);
	/* Writes everything behind the header. */
	void fill(const Message &message, std::span<std::byte> whole) const;
	/* Offset of the first wrong byte, if any. */
	std::optional<std::size_t> first_difference(const Message &message,
						    std::span<const std::byte> whole) const;

	/* The same without a header. Inverted: no byte is what it ought to become. */
	void fill_memory(const Message &content, std::span<std::byte> memory, bool inverted) const;
	std::optional<std::size_t>
	first_difference_in_memory(const Message &content, std::span<const std::byte> memory) const;

private:
	std::span<const std::byte> expected(const Message &message, std::size_t bytes) const;

	std::vector<std::byte> pool_;
};

} // namespace rdstools

#endif
