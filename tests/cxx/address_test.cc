// SPDX-License-Identifier: GPL-2.0
#include <rds/socket.hpp>

#include <map>

#include <gtest/gtest.h>

namespace
{

using rds::Address;
using rds::Endpoint;

TEST(Address, BothFamilies)
{
	const auto four = Address::parse("192.0.2.1"), six = Address::parse("2001:db8::1");

	ASSERT_TRUE(four && six);
	EXPECT_TRUE(four->is_v4() && !four->is_v6() && !four->is_none());
	EXPECT_TRUE(six->is_v6() && !six->is_v4() && !six->is_none());
	EXPECT_EQ(four->bytes()[0], 192);
	EXPECT_EQ(four->bytes()[4], 0);
	EXPECT_EQ(six->bytes()[15], 1);
	EXPECT_EQ(four->to_string(), "192.0.2.1");
	EXPECT_EQ(Address::parse("2001:DB8:0::0001")->to_string(), "2001:db8::1");
	EXPECT_TRUE(Address().is_none());
	EXPECT_EQ(Address().to_string(), "-");
}

TEST(Address, AMappedOneIsIPv4)
{
	EXPECT_EQ(*Address::parse("::ffff:192.0.2.1"), *Address::parse("192.0.2.1"));
	EXPECT_EQ(Address::parse("::ffff:c000:201")->to_string(), "192.0.2.1");
	EXPECT_TRUE(Address::parse("::ffff:1:2:3")->is_v6());
}

TEST(Address, Scopes)
{
	const auto lo = if_nametoindex("lo");
	ASSERT_NE(lo, 0u);
	for (const auto &text : {std::string("fe80::1%lo"), "fe80::1%" + std::to_string(lo)}) {
		EXPECT_EQ(Address::parse(text)->scope(), lo) << text;
		EXPECT_EQ(Address::parse(text)->to_string(), "fe80::1%lo") << text;
	}
	EXPECT_EQ(Address::parse("fe80::1")->scope(), 0u);
	EXPECT_EQ(Address::parse("fe80::1%4294967295")->to_string(), "fe80::1%4294967295");
	EXPECT_NE(*Address::parse("fe80::1%1"), *Address::parse("fe80::1%2"));
}

TEST(Address, WrongOnes)
{
	using namespace std::literals;

	for (const auto text :
	     {""sv, "a-name"sv, "192.0.2"sv, "192.0.2.256"sv, " 192.0.2.1"sv, "192.0.2.1 "sv,
	      "192.0.2.1\0"sv, "::g"sv, "[::1]"sv, "fe80::1%"sv, "192.0.2.1%lo"sv,
	      "::ffff:192.0.2.1%lo"sv, "fe80::1%4294967296"sv, "fe80::1%l\0"sv,
	      "1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:"
	      "1111:2222"sv})
		EXPECT_EQ(Address::parse(text).error(), std::errc::invalid_argument) << text;
	for (const auto text : {"fe80::1%no-such"sv, "fe80::1%a-name-that-is-too-long"sv})
		EXPECT_EQ(Address::parse(text).error(), std::errc::no_such_device) << text;
}

TEST(Endpoint, ParsesAndPrints)
{
	for (const auto *text :
	     {"192.0.2.1:4000", "192.0.2.1:0", "[2001:db8::1]:65535", "[fe80::1%lo]:7"}) {
		const auto found = Endpoint::parse(text);
		ASSERT_TRUE(found) << text << ": " << found.error().message();
		EXPECT_EQ(found->to_string(), text);
	}
	EXPECT_EQ(Endpoint::parse("192.0.2.1:4000")->port, 4000);
	EXPECT_EQ(Endpoint::parse("[::ffff:192.0.2.1]:7")->to_string(), "192.0.2.1:7");
	EXPECT_EQ(Endpoint().to_string(), "-");
}

TEST(Endpoint, WrongOnes)
{
	for (const auto *text : {"",
				 ":",
				 ":7",
				 "192.0.2.1",
				 "192.0.2.1:",
				 "192.0.2.1:65536",
				 "192.0.2.1:-1",
				 "192.0.2.1:+1",
				 "192.0.2.1: 1",
				 "192.0.2.1:1x",
				 "[192.0.2.1]:7",
				 "::1:7",
				 "2001:db8::1",
				 "[::1]",
				 "[::1]7",
				 "[]:7",
				 "[::1:7",
				 "::1]:7",
				 "[[::1]]:7",
				 "a-name:7"})
		EXPECT_EQ(Endpoint::parse(text).error(), std::errc::invalid_argument) << text;
	EXPECT_EQ(Endpoint::parse("[fe80::1%no-such]:7").error(), std::errc::no_such_device);
}

TEST(Endpoint, SystemCallsHaveTheSame)
{
	sockaddr_storage name;

	for (const auto *text : {"192.0.2.1:4000", "[fe80::1%lo]:7"}) {
		const auto size = Endpoint::parse(text)->to_sockaddr(name);
		EXPECT_EQ(Endpoint::from_sockaddr(name, size).to_string(), text);
		EXPECT_EQ(Endpoint::from_sockaddr(name, size - 1), Endpoint()) << text;
	}
	EXPECT_EQ(Endpoint::parse("192.0.2.1:4660")->to_sockaddr(name), sizeof(sockaddr_in));
	sockaddr_in in;
	std::memcpy(&in, &name, sizeof(in));
	EXPECT_EQ(in.sin_port, htons(0x1234));
	EXPECT_EQ(in.sin_addr.s_addr, htonl(0xc0000201));
	EXPECT_EQ(Endpoint::parse("[::2]:4660")->to_sockaddr(name), sizeof(sockaddr_in6));
	EXPECT_EQ(Endpoint().to_sockaddr(name), 0u);
	name.ss_family = AF_UNIX;
	EXPECT_EQ(Endpoint::from_sockaddr(name, sizeof(name)), Endpoint());
}

TEST(Endpoint, IsAKey)
{
	std::map<Endpoint, int> seen;

	for (const auto *text :
	     {"192.0.2.1:1", "192.0.2.1:2", "[::1]:1", "192.0.2.2:1", "192.0.2.1:1"})
		seen[*Endpoint::parse(text)]++;
	EXPECT_EQ(seen.size(), 4u);
	EXPECT_EQ(seen[*Endpoint::parse("192.0.2.1:1")], 2);
}

} // namespace
