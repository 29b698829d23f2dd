// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <net/if.h>

#include <gtest/gtest.h>

#include "../lib/address.h"
#include "../lib/error.h"

using namespace rdstools;

TEST(Address, parses_and_prints_ipv4)
{
	Address address = parse_address("10.9.0.1");

	EXPECT_EQ(address.family(), AF_INET);
	EXPECT_EQ(address.host(), "10.9.0.1");
	EXPECT_EQ(address.size(), sizeof(sockaddr_in));
	address.set_port(4001);
	EXPECT_EQ(address.text(), "10.9.0.1:4001");
}

TEST(Address, parses_and_prints_ipv6)
{
	Address address = parse_address("fd00:9::0001");

	EXPECT_EQ(address.family(), AF_INET6);
	EXPECT_EQ(address.host(), "fd00:9::1");
	EXPECT_EQ(address.size(), sizeof(sockaddr_in6));
	address.set_port(65535);
	EXPECT_EQ(address.text(), "[fd00:9::1]:65535");
}

TEST(Address, keeps_the_scope_of_link_local)
{
	Address address = parse_address("fe80::1%lo");

	EXPECT_EQ(address.scope(), if_nametoindex("lo"));
	EXPECT_EQ(address.host(), "fe80::1%lo");
	address.set_scope(0);
	EXPECT_EQ(address.host(), "fe80::1");
}

TEST(Address, refuses_link_local_without_a_scope)
{
	EXPECT_THROW(parse_address("fe80::1"), Error);
}

TEST(Address, refuses_what_is_no_address)
{
	EXPECT_THROW(parse_address("10.9.0.256"), Error);
	EXPECT_THROW(parse_address("::g"), Error);
	EXPECT_THROW(parse_address(""), Error);
}

TEST(Address, turns_v4_mapped_into_ipv4_as_rds_does)
{
	Address mapped = parse_address("::ffff:10.9.0.1");

	EXPECT_EQ(mapped.family(), AF_INET);
	EXPECT_TRUE(mapped == parse_address("10.9.0.1"));
	in6_addr bytes = mapped.bytes();
	EXPECT_TRUE(IN6_IS_ADDR_V4MAPPED(&bytes));
}

TEST(Address, compares_hosts_without_port_and_scope)
{
	Address one = parse_address("fe80::1%lo");
	Address other = one;

	other.set_scope(7);
	other.set_port(5);
	EXPECT_TRUE(one.same_host(other));
	EXPECT_FALSE(one == other);
	EXPECT_FALSE(one.same_host(parse_address("10.9.0.1")));
}

TEST(Address, unspecified_says_so)
{
	EXPECT_FALSE(Address().specified());
	EXPECT_EQ(Address().host(), "-");
	EXPECT_EQ(Address().port(), 0);
	EXPECT_TRUE(parse_address("0.0.0.0").wildcard());
	EXPECT_TRUE(parse_address("::").wildcard());
	EXPECT_FALSE(parse_address("::1").wildcard());
}

TEST(Address, takes_only_complete_sockaddrs)
{
	sockaddr_in in = {};

	in.sin_family = AF_INET;
	in.sin_port = htons(7);
	auto *sa = reinterpret_cast<sockaddr *>(&in);
	EXPECT_EQ(Address::from_sockaddr(sa, sizeof(in)).port(), 7);
	EXPECT_FALSE(Address::from_sockaddr(sa, sizeof(in) - 1).specified());
	in.sin_family = AF_UNIX;
	EXPECT_FALSE(Address::from_sockaddr(sa, sizeof(in)).specified());
}

TEST(Address, numeric_looks_nothing_up_and_takes_no_scope)
{
	EXPECT_EQ(numeric_address("10.0.0.1").host(), "10.0.0.1");
	EXPECT_EQ(numeric_address("fe80::1").host(), "fe80::1");
	EXPECT_THROW(numeric_address("localhost"), Error);
	EXPECT_THROW(numeric_address("fe80::1%lo"), Error);
}

TEST(Address, source_for_loopback_is_loopback)
{
	Address source = source_for(parse_address("127.0.0.1"));

	EXPECT_EQ(source.host(), "127.0.0.1");
	EXPECT_EQ(source.port(), 0);
}
