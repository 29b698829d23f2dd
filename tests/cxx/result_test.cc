// SPDX-License-Identifier: GPL-2.0
#include <rds/socket.hpp>

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace
{

rds::Result<int> half(int of)
{
	if (of % 2)
		return rds::system_error(EDOM);
	return of / 2;
}

TEST(Result, HasAValueOrAnError)
{
	const auto four = half(8), none = half(7);

	EXPECT_TRUE(four && four.has_value());
	EXPECT_EQ(*four, 4);
	EXPECT_EQ(four.error(), std::error_code());
	EXPECT_FALSE(none || none.has_value());
	EXPECT_EQ(none.error(), std::errc::argument_out_of_domain);
	EXPECT_EQ(half(8).value_or(1), 4);
	EXPECT_EQ(half(7).value_or(1), 1);
}

TEST(Result, OfABoolIsNotTakenForIt)
{
	static_assert(std::is_constructible_v<bool, rds::Result<int>>);
	static_assert(!std::is_constructible_v<bool, rds::Result<bool>>);
	EXPECT_TRUE(rds::Result<bool>(false).has_value());
}

TEST(Result, HandsOverWhatCannotBeCopied)
{
	rds::Result<std::unique_ptr<int>> made(std::make_unique<int>(7));

	EXPECT_EQ(**made, 7);
	const std::unique_ptr<int> taken = *std::move(made);
	EXPECT_EQ(*taken, 7);
	rds::Result<std::string> text(std::string("abc"));
	EXPECT_EQ(text->size(), 3u);
	text->push_back('d');
	EXPECT_EQ(std::as_const(text).value(), "abcd");
}

TEST(ResultDeathTest, WithoutAValueEndsTheProgram)
{
	EXPECT_DEATH((void)half(7).value(), "");
	EXPECT_DEATH((void)*half(7), "");
}

TEST(Status, IsDoneOrWhyNot)
{
	EXPECT_TRUE(rds::Status());
	EXPECT_FALSE(rds::Status().error());
	EXPECT_FALSE(rds::Status(rds::system_error(EPERM)));
	EXPECT_EQ(rds::Status(rds::system_error(EPERM)).error(),
		  std::errc::operation_not_permitted);
}

TEST(Errors, ThatSendersAskFor)
{
	errno = ENOBUFS;
	EXPECT_TRUE(rds::is_congested(rds::system_error()));
	EXPECT_FALSE(rds::would_wait(rds::system_error()));
	EXPECT_TRUE(rds::would_wait(rds::system_error(EAGAIN)));
	EXPECT_FALSE(rds::is_congested(rds::system_error(EAGAIN)));
	EXPECT_FALSE(rds::is_congested({}));
	EXPECT_EQ(rds::system_error(ENOBUFS), std::errc::no_buffer_space);
}

} // namespace
