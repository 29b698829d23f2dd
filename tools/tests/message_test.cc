// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include "../stress/message.h"

using namespace rdstools;

namespace
{

Address at(const char *host, std::uint16_t port)
{
	Address address = parse_address(host);

	address.set_port(port);
	return address;
}

const Address from = at("10.9.0.1", 4001);
const Address to = at("10.9.0.2", 4003);

Message sample(std::uint32_t length = 100)
{
	return {Op::request,	   0xabcdef01,	   77, length, from.port(), to.port(),
		address_tag(from), address_tag(to)};
}

} // namespace

TEST(Message, survives_the_wire)
{
	std::byte bytes[header_bytes];

	encode(sample(), bytes);
	auto back = decode(bytes);
	ASSERT_TRUE(back);
	EXPECT_EQ(back->op, Op::request);
	EXPECT_EQ(back->run, 0xabcdef01u);
	EXPECT_EQ(back->sequence, 77u);
	EXPECT_EQ(describe_mismatch(*back, from, to, 100), "");
}

TEST(Message, is_not_made_of_anything)
{
	std::byte bytes[header_bytes] = {};

	EXPECT_FALSE(decode(bytes));
	encode(sample(), bytes);
	EXPECT_FALSE(decode(std::span(bytes).first(header_bytes - 1)));
	for (std::size_t damaged : {0, 1, 2, 3}) {
		encode(sample(), bytes);
		bytes[damaged] ^= std::byte{0x40};
		EXPECT_FALSE(decode(bytes)) << damaged;
	}
}

TEST(Message, tells_every_mix_up)
{
	Message m = sample();

	EXPECT_NE(describe_mismatch(m, from, to, 99), "");
	EXPECT_NE(describe_mismatch(m, at("10.9.0.3", 4001), to, 100), "");
	EXPECT_NE(describe_mismatch(m, at("10.9.0.1", 4002), to, 100), "");
	EXPECT_NE(describe_mismatch(m, from, at("10.9.0.4", 4003), 100), "");
	EXPECT_NE(describe_mismatch(m, from, at("10.9.0.2", 4004), 100), "");
}

TEST(Message, tags_ipv6_addresses_apart)
{
	EXPECT_NE(address_tag(parse_address("fd00:9::1")), address_tag(parse_address("fd00:9::2")));
	EXPECT_EQ(address_tag(parse_address("10.9.0.1")), 0x0a090001u);
}

TEST(Pattern, accepts_its_own)
{
	Pattern pattern(4096);
	std::vector<std::byte> bytes(4096);

	encode(sample(4096), bytes);
	pattern.fill(sample(4096), bytes);
	EXPECT_FALSE(pattern.first_difference(sample(4096), bytes));
}

TEST(Pattern, finds_one_flipped_bit_and_where)
{
	Pattern pattern(4096);
	std::vector<std::byte> bytes(4096);

	for (std::size_t at : {header_bytes, std::size_t{2000}, std::size_t{4095}}) {
		pattern.fill(sample(4096), bytes);
		bytes[at] ^= std::byte{1};
		EXPECT_EQ(pattern.first_difference(sample(4096), bytes), at);
	}
}

TEST(Pattern, differs_between_messages)
{
	Pattern pattern(4096);
	std::vector<std::byte> bytes(4096);
	Message next = sample(4096);
	Message ack = sample(4096);

	next.sequence++;
	ack.op = Op::ack;
	pattern.fill(sample(4096), bytes);
	EXPECT_TRUE(pattern.first_difference(next, bytes));
	EXPECT_TRUE(pattern.first_difference(ack, bytes));
}

TEST(Pattern, has_nothing_to_say_about_a_bare_header)
{
	Pattern pattern(header_bytes);
	std::vector<std::byte> bytes(header_bytes);

	pattern.fill(sample(header_bytes), bytes);
	EXPECT_FALSE(pattern.first_difference(sample(header_bytes), bytes));
}

TEST(Pattern, of_memory_has_no_header)
{
	Pattern pattern(64);
	std::vector<std::byte> bytes(64);
	Message content;

	content.op = Op::written;
	content.sequence = 7;
	pattern.fill_memory(content, bytes, false);
	EXPECT_FALSE(pattern.first_difference_in_memory(content, bytes));
	bytes[0] ^= std::byte{1};
	EXPECT_EQ(pattern.first_difference_in_memory(content, bytes), 0u);
	content.op = Op::read;
	EXPECT_TRUE(pattern.first_difference_in_memory(content, bytes));
}

TEST(Pattern, inverted_has_no_byte_of_what_is_to_come)
{
	Pattern pattern(4096);
	std::vector<std::byte> before(4096), after(4096);
	Message content;

	content.op = Op::written;
	pattern.fill_memory(content, before, true);
	pattern.fill_memory(content, after, false);
	for (std::size_t i = 0; i < before.size(); i++)
		ASSERT_NE(before[i], after[i]) << i;
}
