// SPDX-License-Identifier: GPL-2.0
/*
 * tcp_duel_test.cc: the full tables of who calls whom.
 */
#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <cstring>
#include <set>

#include "../../transports/tcp/tcp_duel.h"

namespace
{

struct rds_addr addr(const char *text)
{
	struct rds_addr a;

	EXPECT_EQ(inet_pton(AF_INET6, text, &a), 1) << text;
	return a;
}

/* In ascending order of their 128 bits. */
const char *const kAscending[] = {
	"::1",
	"::ffff:0.0.0.1",
	"::ffff:10.0.0.1",
	"::ffff:10.0.0.2",
	"::ffff:10.0.1.1",
	"::ffff:10.1.0.0",
	"::ffff:127.0.0.1",
	"::ffff:128.0.0.1",
	"::ffff:192.168.0.255",
	"::ffff:192.168.1.0",
	"2001:db8::1",
	"2001:db8::2",
	"2001:db8::1:0:0:1",
	"2001:db8:0:1::",
	"7fff::",
	"8000::",
	"fd00::ff",
	"fd00::100",
	"fe80::1",
	"fe80::8000:0:0:0",
};

TEST(TcpDuel, tables__every_pair)
{
	constexpr size_t n = sizeof(kAscending) / sizeof(kAscending[0]);

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			struct rds_addr l = addr(kAscending[i]), f = addr(kAscending[j]);
			auto where = std::string(kAscending[i]) + " -> " + kAscending[j];

			EXPECT_EQ(rds_tcp_is_caller(&l, &f), i < j) << where;
			EXPECT_EQ(rds_tcp_may_connect(&l, &f), i != j) << where;
			EXPECT_EQ(rds_tcp_accepted_is(&l, &f),
				  i == j ? RDS_TCP_REFUSE : (i > j ? RDS_TCP_USE : RDS_TCP_KNOCK))
				<< where;
			EXPECT_EQ(rds_tcp_established_is(&l, &f),
				  i == j ? RDS_TCP_REFUSE : (i < j ? RDS_TCP_USE : RDS_TCP_KNOCK))
				<< where;
		}
	}
}

/* The two ends say the same of one connection in all cases. */
TEST(TcpDuel, meaning__both_ends_agree)
{
	for (const char *x : kAscending) {
		for (const char *y : kAscending) {
			struct rds_addr a = addr(x), b = addr(y);

			EXPECT_EQ(rds_tcp_established_is(&a, &b), rds_tcp_accepted_is(&b, &a))
				<< x << " calls " << y;
		}
	}
}

/* Each bit decides, and a higher one before a lower one. */
TEST(TcpDuel, is_caller__every_bit)
{
	for (int bit = 0; bit < 128; bit++) {
		struct rds_addr lo = {}, hi = {};
		auto *p = reinterpret_cast<unsigned char *>(&hi);
		auto *q = reinterpret_cast<unsigned char *>(&lo);

		p[bit / 8] = static_cast<unsigned char>(0x80 >> bit % 8);
		EXPECT_TRUE(rds_tcp_is_caller(&lo, &hi)) << bit;
		EXPECT_FALSE(rds_tcp_is_caller(&hi, &lo)) << bit;
		for (int below = bit + 1; below < 128; below++)
			q[below / 8] |= static_cast<unsigned char>(0x80 >> below % 8);
		EXPECT_TRUE(rds_tcp_is_caller(&lo, &hi)) << bit;
	}
}

TEST(TcpDuel, path_of_port__remainder)
{
	EXPECT_EQ(rds_tcp_path_of_port(32768), 0u);
	EXPECT_EQ(rds_tcp_path_of_port(32775), 7u);
	EXPECT_EQ(rds_tcp_path_of_port(1), 1u);
}

TEST(TcpDuel, port_for__any_with_one_path)
{
	EXPECT_EQ(rds_tcp_port_for(1, 0, 32768, 60999, 0), 0);
	EXPECT_EQ(rds_tcp_port_for(1, 0, 32768, 60999, 17), 0);
}

TEST(TcpDuel, port_for__says_the_path_and_stays_in_range)
{
	const std::pair<int, int> ranges[] = {
		{32768, 60999}, {1, 65535},	{1025, 1040},
		{1024, 1031},	{65528, 65535}, {1030, 1037},
	};

	for (auto [low, high] : ranges) {
		for (unsigned int index = 0; index < 8; index++) {
			for (uint32_t attempt = 0; attempt < 20; attempt++) {
				uint16_t p = rds_tcp_port_for(8, index, static_cast<uint16_t>(low),
							      static_cast<uint16_t>(high), attempt);

				ASSERT_GE(p, low) << low << "-" << high;
				ASSERT_LE(p, high) << low << "-" << high;
				ASSERT_EQ(rds_tcp_path_of_port(p), index);
			}
		}
	}
}

/* The first attempt is any number. */
TEST(TcpDuel, port_for__attempts_wrap)
{
	for (uint32_t attempt = ~0u - 40; attempt != 40; attempt++) {
		uint16_t p = rds_tcp_port_for(8, 5, 32768, 60999, attempt);

		ASSERT_GE(p, 32768);
		ASSERT_LE(p, 60999);
		ASSERT_EQ(rds_tcp_path_of_port(p), 5u);
		ASSERT_NE(p, rds_tcp_port_for(8, 5, 32768, 60999, attempt + 1));
	}
}

TEST(TcpDuel, port_for__another_each_time)
{
	std::set<uint16_t> seen;

	/* 1024..1055 hold four; the fifth attempt is the first again. */
	for (uint32_t attempt = 0; attempt < 4; attempt++)
		seen.insert(rds_tcp_port_for(8, 3, 1024, 1055, attempt));
	EXPECT_EQ(seen, (std::set<uint16_t>{1027, 1035, 1043, 1051}));
	EXPECT_EQ(rds_tcp_port_for(8, 3, 1024, 1055, 4), 1027);
}

TEST(TcpDuel, port_for__none_in_range)
{
	EXPECT_EQ(rds_tcp_port_for(8, 0, 1025, 1031, 0), 0);
	EXPECT_EQ(rds_tcp_port_for(8, 1, 1025, 1031, 7), 1025);
	EXPECT_EQ(rds_tcp_port_for(2, 1, 1025, 1031, 0), 1025) << "two paths are several";
	EXPECT_EQ(rds_tcp_port_for(8, 0, 1030, 1024, 0), 0);
	EXPECT_EQ(rds_tcp_port_for(8, 8, 32768, 60999, 0), 0);
}

} // namespace
