// SPDX-License-Identifier: GPL-2.0
#include <cerrno>

#include <gtest/gtest.h>

#include "../lib/error.h"
#include "../lib/text.h"

using namespace rdstools;

TEST(Duration, is_in_seconds_unless_a_unit_says_otherwise)
{
	EXPECT_EQ(parse_duration("1"), 1000000000u);
	EXPECT_EQ(parse_duration("0.25"), 250000000u);
	EXPECT_EQ(parse_duration("2s"), 2000000000u);
	EXPECT_EQ(parse_duration("5ms"), 5000000u);
	EXPECT_EQ(parse_duration("5msec"), 5000000u);
	EXPECT_EQ(parse_duration("250us"), 250000u);
	EXPECT_EQ(parse_duration("250usec"), 250000u);
	EXPECT_EQ(parse_duration("0"), 0u);
}

TEST(Duration, refuses_nonsense)
{
	for (const char *text : {"", "x", "-1", "1 hour", "1h", "nan", "inf", "1e30", "ms"})
		EXPECT_THROW(parse_duration(text), Error) << text;
}

TEST(Size, knows_k_and_m)
{
	EXPECT_EQ(parse_size("8448"), 8448u);
	EXPECT_EQ(parse_size("64k"), 65536u);
	EXPECT_EQ(parse_size("1M"), 1048576u);
	EXPECT_EQ(parse_size("0.5k"), 512u);
}

TEST(Size, refuses_nonsense)
{
	for (const char *text : {"", "k", "1.5", "-1", "1g", "1kb", "1e300"})
		EXPECT_THROW(parse_size(text), Error) << text;
}

TEST(Format, makes_text_of_any_length)
{
	EXPECT_EQ(format("%s-%d", "a", 7), "a-7");
	EXPECT_EQ(format("%s", ""), "");
	EXPECT_EQ(format("%s", std::string(5000, 'x').c_str()), std::string(5000, 'x'));
}

TEST(Explain, says_what_to_do)
{
	EXPECT_EQ(explain(Step::socket, EAFNOSUPPORT, ""), "rds is not loaded: modprobe rds_tcp");
	EXPECT_EQ(explain(Step::bind, EADDRNOTAVAIL, "10.0.0.9")
			  .find("no such local address: 10.0.0.9"),
		  0u);
	EXPECT_EQ(explain(Step::bind, EADDRINUSE, "10.0.0.9:4001"),
		  "10.0.0.9:4001 is taken by another RDS socket");
}

TEST(Explain, falls_back_to_the_errno)
{
	EXPECT_EQ(explain(Step::send, ENOMEM, "h"), "cannot send to h: Cannot allocate memory");
	try {
		fail(Step::bind, EACCES, "h");
		FAIL();
	} catch (const Error &error) {
		EXPECT_EQ(error.code(), EACCES);
	}
}
